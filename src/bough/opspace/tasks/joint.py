"""The motion of one joint."""

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
from bough.opspace.sweeps.wrenches import JOINT, REACTION
from bough.opspace.tasks.task import Aim, Seed, Task
from bough.types import FloatArray


@dataclass(frozen=True)
class JointTask(Task):
    """The velocity of one joint, a row for each of its degrees of freedom; its position are its coordinates."""

    joint: str

    def seeds(self, model: Model) -> list[list[Seed]]:
        return joint_seeds(model, self.joint)

    def position(self, dynamics: Dynamics, q: Any) -> FloatArray:
        return np.array(q[dynamics.model.joint(self.joint).q], float)

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        joint, other, goal = dynamics.model.joint(self.joint), np.array(q, float), np.asarray(target, float)
        if goal.shape not in ((), other[joint.q].shape):
            raise TaskError(f"task {self.name!r}: a target has shape {other[joint.q].shape}, got {goal.shape}")
        other[joint.q] = goal
        return dynamics.model.difference(q, other)[joint.v]

    def aim(self, model: Model) -> Aim:
        return Aim(JOINTS)


@explained
def joint(joint: str, *, name: str | None = None) -> JointTask:
    """One row for each degree of freedom of a joint: its velocity."""
    return JointTask(name or f"joint({joint})", joint)


def joint_seeds(model: Model, name: str) -> list[list[Seed]]:
    """A row for each DoF of the joint: its axis on the body, and minus that on the parent."""
    m = model.mechanism
    joint = model.joint(name)
    last = int(model.frames.body[model.frame(joint.body)])
    tied = {k for k in range(len(m.axis)) if m.dof[last] > k or k >= m.dof[last + 1]} if model.couplings else set()
    rows: list[tuple[int, list[Seed]]] = []
    for k in (k for k in range(len(m.axis)) if joint.v.start <= m.v_index[k] < joint.v.stop and k not in tied):
        body = int(np.searchsorted(m.dof, k, side="right")) - 1
        axis = np.eye(6)[m.axis[k]]
        row = [Seed(JOINT, body, axis, dof=k)]
        if m.parent[body] >= 0:
            row.append(Seed(REACTION, int(m.parent[body]), -axis, other=body))
        rows.append((int(m.v_index[k]), row))
    return [row for _, row in sorted(rows, key=lambda item: item[0])]


# The posture: many joints at once, as a task of its own.


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
