"""Routes to the motion of held rows: by sweeps that eliminate them (PV), or by the sparse factor of H.

Each is one routine from (q, v, tau) to accelerations and forces; the planner counts both and takes the cheaper one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from bough.compile.routine import Routine
from bough.opspace.methods import Prepared, dof_tree
from bough.opspace.planner import MethodPlan, choose_held, plan_held
from bough.opspace.sweeps.held import HELD_DYNAMICS, Proximal
from bough.opspace.sweeps.held_by_factor import HELD_BY_FACTOR
from bough.opspace.taskset import TaskSet


class Routes:
    """The routes of a set of held rows."""

    def __init__(self, tasks: TaskSet, iterations: int) -> None:
        self.tasks = tasks
        self.settings = Proximal(np.array([iterations]), np.array([1.0 / tasks.size]))

    def by_sweeps(self, routine: Routine) -> Prepared:
        """A routine of `sweeps.held`."""
        tasks = self.tasks
        constants = (tasks.model.mechanism, tasks.seeds, tasks.slots, tasks.pattern, self.settings)
        return Prepared(routine, constants, tasks.sizes)

    @cached_property
    def by_name(self) -> dict[str, Prepared]:
        tasks = self.tasks
        by_factor = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks), self.settings)
        return {"pv": self.by_sweeps(HELD_DYNAMICS), "factor": Prepared(HELD_BY_FACTOR, by_factor, tasks.sizes)}

    def plan(self, dtype: npt.DTypeLike) -> MethodPlan:
        """What both cost, and which is taken."""
        return plan_held(self.by_name, self.tasks, dtype)

    def chosen(self, dtype: npt.DTypeLike) -> Prepared:
        """The one that costs less; in single precision always the sweeps, which lose fewer digits."""
        return self.by_name[choose_held(self.by_name, self.tasks, dtype)]
