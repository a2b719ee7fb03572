"""Spaces with quantities of the model as inputs: what they may be, and how their functions come to take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bough.compile.executions import BoundFunction, bind_arrays
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import Device
from bough.dynamics.given import Parameters
from bough.dynamics.parameters import check_inputs
from bough.errors import TaskError
from bough.model import Model, mark_limbs
from bough.opspace.methods import Prepared
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


def dynamics_of(model: Model, parameters: Parameters, general: bool) -> Dynamics:
    """The functions that a space shares, with its inputs."""
    return Dynamics(model, inputs=parameters.inputs, general=general)


def bind_with(
    prepared: Prepared, parameters: Parameters, tasks: TaskSet, device: Device, how: dict[str, Any]
) -> BoundFunction:
    """A routine as a function of arrays, with parameters as keywords if it depends on the mechanism at all."""
    if not parameters or "q" not in prepared.routine.inputs:
        return prepared.bind(tasks, how["general"], how["dtype"], how["name"], device)
    return parameters.given_to(_with_inputs(prepared, parameters, tasks, {"device": device, **how}))


def bind_plain(prepared: Prepared, parameters: Parameters, tasks: TaskSet, general: bool) -> BoundFunction:
    """A routine as a function of arrays, the last of which are the parameters."""
    if not parameters:
        return prepared.bind(tasks, general)
    return _with_inputs(prepared, parameters, tasks, {"general": general})


def _with_inputs(prepared: Prepared, parameters: Parameters, tasks: TaskSet, how: dict[str, Any]) -> BoundFunction:
    mechanism, *constants = prepared.constants
    routine, more, twins = parameters.prepared(prepared.routine, tuple(constants), mark_limbs)
    first = tasks.traced_mechanism if parameters.folds else mechanism
    how = {"twins": twins, "explain": tasks.model.explain, **how}
    groups, folded = (mechanism, *more), (first, *more)
    return bind_arrays(routine, groups, prepared.sizes, folded=lambda: folded, **how)
