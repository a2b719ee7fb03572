"""Operational-space dynamics: tasks, Lambda^-1 by every method, Lambda, Jbar, N, bias, hierarchies, constraints.

Belongs here: quantities of rows on a model at one instant. Packages: `tasks` (one file a type of task), `methods` (one
file a method for Lambda^-1), `sweeps` (kernels they share). At the top: the set of tasks on a model, the space, its
state, the planner, hierarchies, constrained dynamics. Does not belong here: laws and references (`control`), time
(`simulate`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from warnings import warn

from bough.compile.graph.program import OperationCount
from bough.errors import OptionError, TaskError
from bough.model import Model
from bough.opspace.aims import AimSet
from bough.opspace.constrained import Constrained, ConstrainedDynamics, ConstrainedInverse, ConstrainedInverseDynamics
from bough.opspace.hierarchy import Hierarchy, Prioritised
from bough.opspace.loops import ClosedLoops, Loops, Mobility, close_loops, closure_targets, closure_tasks, mobility
from bough.opspace.methods import METHODS, prepare
from bough.opspace.methods.dense import dense_count
from bough.opspace.planner import MethodPlan, counted, make_plan
from bough.opspace.space import OperationalSpace
from bough.opspace.sparse_factorization import SparseFactorization, SparseRows, UnitSparseFactorization
from bough.opspace.state import OperationalState
from bough.opspace.tasks import (
    Aim,
    Seed,
    Task,
    center_of_mass,
    distance,
    joint,
    momentum,
    orientation,
    pose,
    position,
    posture,
    relative,
    rows,
)
from bough.opspace.taskset import TaskSet
from bough.opspace.tracking import Tracker

__all__ = [
    "METHODS",
    "Aim",
    "AimSet",
    "ClosedLoops",
    "Constrained",
    "ConstrainedDynamics",
    "ConstrainedInverse",
    "ConstrainedInverseDynamics",
    "Hierarchy",
    "Loops",
    "MethodPlan",
    "Mobility",
    "OperationalSpace",
    "OperationalState",
    "Prioritised",
    "Seed",
    "SparseFactorization",
    "SparseRows",
    "Task",
    "TaskSet",
    "Tracker",
    "UnitSparseFactorization",
    "center_of_mass",
    "close_loops",
    "closure_targets",
    "closure_tasks",
    "count",
    "distance",
    "joint",
    "make_plan",
    "mobility",
    "momentum",
    "orientation",
    "pose",
    "position",
    "posture",
    "relative",
    "rows",
]


FORMER = {"Innovations": SparseFactorization, "UnitInnovations": UnitSparseFactorization}


def __getattr__(name: str) -> Any:
    if name not in FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(f"bough.opspace.{name} is called {FORMER[name].__name__} now", DeprecationWarning, stacklevel=2)
    return FORMER[name]


def count(model: Model, function: str, method: str | None, tasks: Iterable[Task]) -> OperationCount:
    """Operations of `inverse_inertia` on a model with these tasks, everything from q included.

    Those of "dense" include every zero of H and J; traced code omits them, as `plan` shows.
    """
    if function != "inverse_inertia":
        raise OptionError(f"with tasks the function to count is 'inverse_inertia', got {function!r}")
    found = tasks if isinstance(tasks, TaskSet) else TaskSet(model, tasks)
    name = make_plan(found).choice if method in (None, "auto") else str(method)
    result = dense_count(found) if name == "dense" else counted(prepare(name, found), found)
    if result is None:
        raise TaskError(f"the graph of {name!r} on {model.name!r} is too large to be counted")
    return result
