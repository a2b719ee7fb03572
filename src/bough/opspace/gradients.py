"""Derivatives of the functions of a space, by q, v, accelerations, joint forces and quantities of the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.compile.executions import CompiledFunction
from bough.compile.routine import Routine
from bough.compile.run.libraries import is_on_gpu
from bough.dynamics.functions import check_options
from bough.dynamics.gradients import Given, Gradients, Request
from bough.dynamics.library import Derive, Named
from bough.errors import TaskError
from bough.opspace.functions import DAMPED, damping_of, prepared, row, with_fixed

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace


class SpaceGradients(Gradients):
    """The derivatives of a space; Lambda is damped as in the space, and refused where it is."""

    def __init__(self, space: OperationalSpace) -> None:
        super().__init__(SpaceDerivatives(space), cache(partial(row, space)))
        self.space = space

    def _sorted(self, name: str, inputs: Sequence[Any], given: Given, named: Any) -> Request:
        space = self.space
        if name == "torques" and len(inputs) == 3:
            inputs = (*inputs, 0.0 * (inputs[1] if is_on_gpu(inputs[1]) else np.asarray(inputs[1])))
        found = super()._sorted(name, space.inputs(*inputs), given, named)
        amount = damping_of(space, name, found.options.pop("damping", None))
        check_options(found.row, found.options)
        if name in DAMPED:
            found.options["damping"] = amount
            if amount == 0.0 and name != "torques":
                self._refuse_singular(found)
        return found

    def _refuse_singular(self, asked: Request) -> None:
        space = self.space
        Lam_inv = space.inverse_inertia(asked.values["q"], **{x: asked.values[x] for x in space.parameters.inputs})
        if space.singular == "refuse":
            space.invert(Lam_inv)
        elif (space.rank(Lam_inv) < space.tasks.size).any():
            raise TaskError(f"{asked.row.name}: the tasks are singular, and what is truncated has no derivatives")


class SpaceDerivatives:
    """The routines of a space, differentiated and bound."""

    def __init__(self, space: OperationalSpace) -> None:
        self.space, self.model, self.general = space, space.model, space.general
        self.device, self.parameters = space.device, space.parameters

    def derived(self, name: str, options: Given, derive: Derive, key: Any, frames: Named | None) -> CompiledFunction:
        """See `Library.derived`."""

        def of(routine: Routine) -> Routine:
            return derive(with_fixed(routine, "damping", options["damping"]) if options else routine)

        how: Any = {
            "name": f"{key[0]} of {name}",
            "dtype": self.space.dtype or np.float64,
            "derive": of,
            "device": self.device,
        }
        return prepared(self.space, name).bind(self.space.tasks, parameters=self.parameters, **how)
