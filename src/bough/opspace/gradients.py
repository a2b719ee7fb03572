"""Derivatives of the functions of a space, by q, v, accelerations, joint forces and quantities of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.compile.executions import CompiledFunction
from bough.compile.routine import Routine
from bough.compile.run.libraries import is_on_gpu
from bough.dynamics.functions import Function, check_options
from bough.dynamics.gradients import Given, Gradients, Request
from bough.dynamics.library import Derive, Named
from bough.errors import TaskError
from bough.opspace.functions import DAMPED, damping_of, prepared, row, with_fixed

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace


class SpaceGradients(Gradients):
    """The derivatives of a space; Lambda is damped as in the space, and refused where it is."""

    def __init__(self, space: OperationalSpace) -> None:
        super().__init__(space.dynamics._library)
        self.space, self.parameters, self.general = space, space.parameters, space.general
        self._rows: dict[str, Function] = {}

    def row(self, name: str) -> Function:
        if name not in self._rows:
            self._rows[name] = row(self.space, name)
        return self._rows[name]

    def request(self, name: str, inputs: Sequence[Any], given: Given, named: Any) -> Request:
        space = self.space
        if name == "torques" and len(inputs) == 3:
            inputs = (*inputs, 0.0 * (inputs[1] if is_on_gpu(inputs[1]) else np.asarray(inputs[1])))
        found = super().request(name, space.inputs(*inputs), given, named)
        amount = damping_of(space, name, found.options.pop("damping", None))
        check_options(found.row, found.options)
        if name in DAMPED:
            found.options["damping"] = amount
            if amount == 0.0 and name != "torques":
                self._refuse_singular(found)
        return found

    def _refuse_singular(self, request: Request) -> None:
        space = self.space
        Lam_inv = space.inverse_inertia(request.values["q"], **{x: request.values[x] for x in self.parameters.inputs})
        if space.singular == "refuse":
            space.invert(Lam_inv)
        elif (space.rank(Lam_inv) < space.tasks.size).any():
            raise TaskError(f"{request.row.name}: the tasks are singular, and what is truncated has no derivatives")

    def closed_form(self, request: Request, chosen: Sequence[str], threads: int | None) -> Given | None:
        return None

    def derived(self, name: str, options: Given, derive: Derive, key: Any, frames: Named | None) -> CompiledFunction:
        """The routine of a space, differentiated and bound."""

        def of(routine: Routine) -> Routine:
            return derive(with_fixed(routine, "damping", options["damping"]) if options else routine)

        space = self.space
        how: dict[str, Any] = {"dtype": space.dtype or np.float64, "derive": of, "device": space.device}
        found = prepared(space, name)
        return found.bind(space.tasks, name=f"{key[0]} of {name}", parameters=self.parameters, **how)
