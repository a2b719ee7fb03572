"""Operational-space dynamics: tasks, Lambda^-1 by every method, Lambda, Jbar, N, bias, hierarchies."""

from __future__ import annotations

from collections.abc import Iterable

from bough.compile.graph.program import OperationCount
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.constrained import ConstrainedDynamics
from bough.opspace.hierarchy import Hierarchy
from bough.opspace.methods import METHODS, prepare
from bough.opspace.planner import Plan, counted, make_plan
from bough.opspace.space import OperationalSpace
from bough.opspace.state import OperationalState
from bough.opspace.tasks import (
    Task,
    center_of_mass,
    joint,
    momentum,
    orientation,
    pose,
    position,
    relative,
    rows,
)
from bough.opspace.taskset import TaskSet

__all__ = [
    "METHODS",
    "ConstrainedDynamics",
    "Hierarchy",
    "OperationalSpace",
    "OperationalState",
    "Plan",
    "Task",
    "TaskSet",
    "center_of_mass",
    "count",
    "joint",
    "make_plan",
    "momentum",
    "orientation",
    "pose",
    "position",
    "relative",
    "rows",
]


def count(model: Model, function: str, method: str | None, tasks: Iterable[Task]) -> OperationCount:
    """Operations of `inverse_inertia` on a model with these tasks, everything from q included."""
    if function != "inverse_inertia":
        raise TaskError(f"with tasks the function to count is 'inverse_inertia', got {function!r}")
    found = tasks if isinstance(tasks, TaskSet) else TaskSet(model, tasks)
    name = make_plan(found).choice if method in (None, "auto") else str(method)
    result = counted(prepare(name, found), found)
    if result is None:
        raise TaskError(f"the graph of {name!r} on {model.name!r} is too large to be counted")
    return result
