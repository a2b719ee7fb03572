"""Spaces with quantities of the model as inputs: what they may be, and how their functions come to take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bough.compile.executions import CompiledFunction, bind_arrays
from bough.compile.routine import Routine
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import Device
from bough.dynamics.given import Parameters
from bough.dynamics.parameters import SHAPES, check_inputs
from bough.errors import OptionError, TaskError
from bough.model import mark_limbs
from bough.opspace.methods import METHODS, Prepared, prepare
from bough.opspace.quantities import PUBLIC, routines
from bough.opspace.taskset import TaskSet


def parameters_of(tasks: TaskSet, inputs: Sequence[str], dynamics: Dynamics | None) -> Parameters:
    """The inputs that are named, or those of `dynamics`; what tasks cannot follow is refused."""
    model = tasks.model
    known = check_inputs(model, inputs)
    if dynamics is not None and known and known != dynamics.inputs:
        theirs = ", ".join(dynamics.inputs) or "none"
        raise TaskError(f"the inputs of the space are {', '.join(known)}, and those of its dynamics {theirs}")
    found = known or (dynamics.inputs if dynamics else ())
    return Parameters(model, found, dynamics.check if dynamics else None)


def by_rows(parameters: Parameters, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values that serve all rows, and those with one for each; unknown names are refused."""
    for name in given:
        if name not in parameters.inputs:
            hint = f"; make it with inputs={(*parameters.inputs, name)}" if name in SHAPES else ""
            known = ", ".join(parameters.inputs) or "it has none"
            raise OptionError(f"{name!r} is no input of this space: {known}{hint}")
    each = {k: np.asarray(x) for k, x in given.items() if np.ndim(x) > parameters.own[k].ndim}
    return {k: x for k, x in given.items() if k not in each}, each


NOTHING: Mapping[str, Any] = {}


class Functions:
    """The compiled functions behind quantities and methods of a space, each made when it is first asked for."""

    def __init__(self, tasks: TaskSet, parameters: Parameters, device: Device, how: dict[str, Any]) -> None:
        self.tasks, self.parameters, self.device, self.how = tasks, parameters, device, how
        self._made: dict[str, CompiledFunction] = {}

    def get(self, name: str, given: Mapping[str, Any] = NOTHING) -> CompiledFunction:
        """The one of this name, for a call with the keywords `given`."""
        if given:
            self.parameters.declared(PUBLIC.get(name, name), given, "OperationalSpace")
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name)
        return found

    def _make(self, name: str) -> CompiledFunction:
        if name in METHODS:
            prepared, public = prepare(name, self.tasks), "inverse_inertia"
        else:
            routine, constants = routines(self.tasks)[name]
            prepared = Prepared(routine, (self.tasks.model.mechanism, *constants), self.tasks.sizes)
            public = PUBLIC.get(name, "OperationalSpace")
        parameters = self.parameters if "q" in prepared.routine.inputs else Parameters(self.tasks.model)
        return bind_given(prepared, parameters, self.tasks, {**self.how, "name": public, "device": self.device})


def bind_given(prepared: Prepared, parameters: Parameters, tasks: TaskSet, how: dict[str, Any]) -> CompiledFunction:
    """A routine as a function of arrays, with the parameters as keywords."""
    if not parameters:
        return prepared.bind(tasks, **how)
    return parameters.given_to(with_inputs(prepared, parameters, tasks, how))


def bind_plain(prepared: Prepared, parameters: Parameters, tasks: TaskSet, general: bool) -> CompiledFunction:
    """A routine as a function of arrays, the last of which are the parameters."""
    if not parameters:
        return prepared.bind(tasks, general)
    return with_inputs(prepared, parameters, tasks, {"general": general})


def with_inputs(
    prepared: Prepared,
    parameters: Parameters,
    tasks: TaskSet,
    how: dict[str, Any],
    derive: Callable[[Routine], Routine] | None = None,
) -> CompiledFunction:
    """The routine, or what is derived of it, as a function of arrays, among which the parameters are."""
    mechanism, *constants = prepared.constants
    routine, more, twins = parameters.prepared(prepared.routine, tuple(constants), mark_limbs)
    routine = derive(routine) if derive else routine
    first = tasks.traced_mechanism if parameters.folds else mechanism
    how = {"twins": twins, "explain": tasks.model.explain, **how}
    groups, folded = (mechanism, *more), (first, *more)
    return bind_arrays(routine, groups, prepared.sizes, folded=lambda: folded, **how)
