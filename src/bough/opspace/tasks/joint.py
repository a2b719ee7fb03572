"""The motion of one joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.errors import JOINTS
from bough.opspace.tasks.seed import JOINT, REACTION, Seed
from bough.opspace.tasks.task import Aim, Task
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
    """A row for each freedom of the joint: its axis on the body, and minus that on the parent."""
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
