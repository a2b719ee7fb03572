"""The posture: many joints at once, as a task of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.errors import JOINTS
from bough.opspace.tasks.joint import joint_seeds
from bough.opspace.tasks.seed import Seed
from bough.opspace.tasks.task import Aim, Task
from bough.types import FloatArray


@dataclass(frozen=True)
class PostureTask(Task):
    """The velocities of the joints named, in their order; its position is the whole configuration (nq,)."""

    joints: tuple[str, ...]

    def seeds(self, model: Model) -> list[list[Seed]]:
        return [row for name in self._listed(model) for row in joint_seeds(model, name)]

    def position(self, dynamics: Dynamics, q: Any) -> FloatArray:
        return np.array(q, float)

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        model, goal = dynamics.model, np.asarray(target, float)
        if goal.shape != (model.nq,):
            raise TaskError(f"task {self.name!r}: a target is a configuration ({model.nq},), got {goal.shape}")
        difference = model.difference(q, goal)
        return np.concatenate([difference[model.joint(name).v] for name in self._listed(model)])

    def aim(self, model: Model) -> Aim:
        return Aim(JOINTS)

    def _listed(self, model: Model) -> tuple[str, ...]:
        return self.joints or tuple(model.joint_names)


@explained
def posture(joints: Iterable[str] = (), *, name: str = "posture") -> PostureTask:
    """The velocity of each of these joints, a row for each degree of freedom; all joints of the model if none is named.

    A target is a configuration (nq,).
    """
    if isinstance(joints, str):
        raise TaskError(f"task {name!r}: joints is a list of names, got the single string {joints!r}")
    return PostureTask(name, tuple(joints))
