"""Derivatives called by name: inputs, parameters, weights and directions put where the compiled function has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bough.dynamics.bound import Library
from bough.dynamics.engine import BoundFunction
from bough.dynamics.functions import Function, function, suggestion
from bough.dynamics.gradients import curvatures, gradients, rates
from bough.errors import OptionError, ShapeError, UnknownNameError
from bough.types import RealArray

Given = dict[str, Any]


class Derivative(NamedTuple):
    """A compiled derivative, the names of its inputs in order, and those by which is differentiated."""

    function: BoundFunction
    names: tuple[str, ...]
    wrt: tuple[str, ...]
    weights: tuple[str, ...]  # the names of weights among the inputs: one for each result, if there are any


class Gradients:
    """The derivatives of all functions of a model, each looked up once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._plans: dict[Any, Derivative] = {}

    def vjp(
        self,
        name: str,
        inputs: Sequence[Any],
        weight: Any,
        wrt: Sequence[str] | None,
        given: Given,
        threads: int | None,
    ) -> dict[str, RealArray]:
        """See `Dynamics.vjp`."""
        row, options, values = self._sorted(name, inputs, given)
        plan = self._plan(row, options, "vjp", wrt, None)
        values |= _weights(row.name, plan, weight)
        return dict(zip(plan.wrt, _several(plan, values, threads), strict=True))

    def jvp(self, name: str, inputs: Sequence[Any], along: Mapping[str, Any], given: Given, threads: int | None) -> Any:
        """See `Dynamics.jvp`."""
        row, options, values = self._sorted(name, inputs, given)
        plan = self._plan(row, options, "jvp", None, along)
        rates = _several(plan, values | {f"along_{x}": along[x] for x in along}, threads)
        return rates[0] if len(rates) == 1 else rates

    def hvp(
        self,
        name: str,
        inputs: Sequence[Any],
        weight: Any,
        along: Mapping[str, Any],
        how: tuple[Any, Given, int | None],
    ) -> dict[str, RealArray]:
        """See `Dynamics.hvp`."""
        wrt, given, threads = how
        row, options, values = self._sorted(name, inputs, given)
        plan = self._plan(row, options, "hvp", wrt, along)
        values |= {f"along_{x}": along[x] for x in along} | _weights(row.name, plan, weight)
        return dict(zip(plan.wrt, _several(plan, values, threads), strict=True))

    def _plan(self, row: Function, options: Given, kind: str, wrt: Any, along: Any) -> Derivative:
        """The derivative of this kind, compiled when it is first asked for."""
        asked = tuple(x if x is None or isinstance(x, str) else tuple(x) for x in (wrt, along))
        key = (row.name, kind, *asked, *((k, str(x)) for k, x in options.items()))
        found = self._plans.get(key)
        if found is None:
            chosen = self._chosen(row, wrt if kind != "jvp" else along)
            moving = self._chosen(row, along) if kind == "hvp" else ()
            derive = {
                "vjp": partial(gradients, wrt=chosen),
                "jvp": partial(rates, wrt=chosen),
                "hvp": partial(curvatures, wrt=chosen, along=moving),
            }[kind]
            bound = self.library.derived(row.name, options, derive, (kind, chosen, moving))
            names = tuple(spec.name for spec in bound.inputs)
            weights = tuple(x for x in names if x.startswith("weight_"))
            found = self._plans[key] = Derivative(bound, names, chosen, weights)
        return found

    def _sorted(self, name: str, inputs: Sequence[Any], given: Given) -> tuple[Function, Given, Given]:
        """The row, its options, and the values of its inputs and of the parameters by name."""
        row, parameters = function(name), self.library.parameters
        if len(inputs) != len(row.arguments):
            raise ShapeError(f"{row.name} takes {', '.join(row.arguments)}, got {len(inputs)} arrays")
        options = {key: x for key, x in given.items() if key not in parameters.inputs}
        values = dict(zip(row.arguments, inputs, strict=True))
        for key, own in parameters.defaults(inputs).items():
            if given.get(key) is not None:
                parameters.examine(key, given[key])
            values[key] = given.get(key, own)
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


def _weights(name: str, plan: Derivative, weight: Any) -> Given:
    """The weights by name: one array, or a tuple of them where the function has several results."""
    if len(plan.weights) == 1:
        return {plan.weights[0]: weight}
    if not isinstance(weight, tuple | list) or len(weight) != len(plan.weights):
        raise ShapeError(f"{name} has {len(plan.weights)} results: weight is a tuple of as many arrays")
    return dict(zip(plan.weights, weight, strict=True))


def _several(plan: Derivative, values: Given, threads: int | None) -> tuple[RealArray, ...]:
    """Call a function by the names of its inputs; always a tuple."""
    result = plan.function.call(*[values[name] for name in plan.names], threads=threads)
    return result if isinstance(result, tuple) else (result,)
