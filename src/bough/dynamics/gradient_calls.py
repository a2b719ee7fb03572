"""Derivatives called by name: inputs, parameters, weights and directions put where the compiled function has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.dynamics.bound import Library
from bough.dynamics.engine import BoundFunction
from bough.dynamics.functions import Function, function, suggestion
from bough.dynamics.gradients import curvatures, gradients, rates
from bough.errors import OptionError, ShapeError, UnknownNameError

Array = npt.NDArray[Any]
Given = dict[str, Any]


@dataclass(frozen=True)
class Gradients:
    """The derivatives of all functions of a model."""

    library: Library

    def vjp(
        self,
        name: str,
        inputs: Sequence[Any],
        weight: Any,
        wrt: Sequence[str] | None,
        given: Given,
        threads: int | None,
    ) -> dict[str, Array]:
        """See `Dynamics.vjp`."""
        row, options, values = self._sorted(name, inputs, given)
        chosen = self._chosen(row, wrt)
        found = self.library.derived(row.name, options, partial(gradients, wrt=chosen), ("vjp", chosen))
        return dict(zip(chosen, _several(found, values | _weight(found, weight), threads), strict=True))

    def jvp(
        self, name: str, inputs: Sequence[Any], along: Mapping[str, Any], given: Given, threads: int | None
    ) -> Array:
        """See `Dynamics.jvp`."""
        row, options, values = self._sorted(name, inputs, given)
        chosen = self._chosen(row, along)
        found = self.library.derived(row.name, options, partial(rates, wrt=chosen), ("jvp", chosen))
        return _several(found, values | {f"along_{x}": along[x] for x in chosen}, threads)[0]

    def hvp(
        self,
        name: str,
        inputs: Sequence[Any],
        weight: Any,
        along: Mapping[str, Any],
        how: tuple[Any, Given, int | None],
    ) -> dict[str, Array]:
        """See `Dynamics.hvp`."""
        wrt, given, threads = how
        row, options, values = self._sorted(name, inputs, given)
        chosen, moving = self._chosen(row, wrt), self._chosen(row, along)
        derive = partial(curvatures, wrt=chosen, along=moving)
        found = self.library.derived(row.name, options, derive, ("hvp", chosen, moving))
        values |= _weight(found, weight) | {f"along_{x}": along[x] for x in moving}
        return dict(zip(chosen, _several(found, values, threads), strict=True))

    def _sorted(self, name: str, inputs: Sequence[Any], given: Given) -> tuple[Function, Given, Given]:
        """The row, its options, and the values of its inputs and of the parameters by name."""
        row, parameters = function(name), self.library.parameters
        if len(inputs) != len(row.arguments):
            raise ShapeError(f"{row.name} takes {', '.join(row.arguments)}, got {len(inputs)} arrays")
        options = {key: x for key, x in given.items() if key not in parameters.inputs}
        values = dict(zip(row.arguments, inputs, strict=True))
        single = all(getattr(x, "dtype", None) == np.float32 for x in inputs)
        for key, own in parameters.own.items():
            if given.get(key) is not None:
                parameters.examine(key, given[key])
            values[key] = given.get(key, own.astype(np.float32) if single else own)
        return row, options, values

    def _chosen(self, row: Function, names: Sequence[str] | Mapping[str, Any] | None) -> tuple[str, ...]:
        """Inputs and parameters by which something is differentiated, in the order of the function."""
        known = (*row.arguments, *self.library.parameters.inputs)
        wanted = known if names is None else tuple(names)
        if isinstance(names, str) or not wanted:
            raise OptionError(f"{row.name} is differentiated by some of {', '.join(known)}; got {names!r}")
        for name in wanted:
            if name not in known:
                raise UnknownNameError(f"{row.name} has no input {name!r}{suggestion(name, known)}")
        return tuple(name for name in known if name in wanted)


def _weight(found: BoundFunction, weight: Any) -> Given:
    """The weight under its name."""
    name = next(spec.name for spec in found.inputs if spec.name.startswith("weight_"))
    return {name: weight}


def _several(found: BoundFunction, values: Given, threads: int | None) -> tuple[Array, ...]:
    """Call a function by the names of its inputs; always a tuple."""
    result = found.call(*(values[spec.name] for spec in found.inputs), threads=threads)
    return result if isinstance(result, tuple) else (result,)
