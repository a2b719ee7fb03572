"""Where the tasks are, and how far from where they should be: position errors of task rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import WORLD
from bough.opspace.space import OperationalSpace
from bough.opspace.tasks import FrameTask, JointTask, MomentumTask, RelativeTask, Task

Array = npt.NDArray[np.float64]


class Tracker:
    """Positions and position errors of the tasks of a space, for one configuration at a time.

    The position of a pose, orientation or relative task is a homogeneous matrix (4, 4); of a position task and of the
    centre of mass a point (3,); of a joint its coordinates. Momentum has none.
    """

    def __init__(self, space: OperationalSpace, dynamics: Dynamics | None = None) -> None:
        self.space = space
        self.dynamics = dynamics or Dynamics(space.model, general=space.general)
        self._matrices = {t.name: np.array(t.matrix) for t in space.tasks.tasks if not isinstance(t, JointTask)}
        self._whole = {name: np.array_equal(A, np.eye(6)) for name, A in self._matrices.items()}

    def positions(self, q: Any) -> dict[str, Any]:
        """The position of every task, by name."""
        return {task.name: self.position(task, q) for task in self.space.tasks.tasks}

    def position(self, task: Task, q: Any) -> Any:
        """Where one task is."""
        if isinstance(task, FrameTask):
            at = self._placement(task.frame, q)
            if any(task.point):
                at = at.copy()
                at[:3, 3] += at[:3, :3] @ task.point
            return at
        if isinstance(task, RelativeTask):
            return inverse(self._placement(task.base, q)) @ self._placement(task.frame, q)
        if isinstance(task, JointTask):
            return np.array(q[self.space.model.joint(task.joint).q])
        return self.dynamics.center_of_mass(q) if task.per_mass else None

    def errors(self, q: Any, targets: Mapping[str, Any]) -> Array:
        """Target less position of all rows (m,), in the rows' own axes; zero for tasks without a target."""
        error = np.zeros(self.space.tasks.size)
        for task in self.space.tasks.tasks:
            target = targets.get(task.name)
            if target is not None:
                error[self.space.tasks.slices[task.name]] = self.error(task, q, target)
        return error

    def error(self, task: Task, q: Any, target: Any) -> Array:
        """Target less position of the rows of one task."""
        here = self.position(task, q)
        if isinstance(task, FrameTask | RelativeTask):
            error = self._frame_error(task, q, here, np.asarray(target, float))
            return error if self._whole[task.name] else self._matrices[task.name] @ error
        if isinstance(task, JointTask):
            joint, other = self.space.model.joint(task.joint), np.array(q)
            other[joint.q] = target
            return self.space.model.difference(q, other)[joint.v]
        if here is None:
            raise TaskError(f"task {task.name!r}: momentum has no position to reach, give it a velocity instead")
        return self._matrices[task.name][:, :3] @ (np.asarray(target, float) - here)

    def _frame_error(self, task: FrameTask | RelativeTask, q: Any, here: Array, target: Array) -> Array:
        """[linear, angular] error of a frame in the axes of the task's reference."""
        if isinstance(task, FrameTask) and task.reference == "world":
            raise TaskError(f"task {task.name!r}: the world reference has no position; use local_world_aligned")
        if target.shape == (3,):
            target = np.block([[here[:3, :3], target[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        if target.shape != (4, 4):
            raise TaskError(f"task {task.name!r}: a target is a point (3,) or a matrix (4, 4), got {target.shape}")
        gap = target[:3, 3] - here[:3, 3]
        turn = rotation_vector(target[:3, :3] @ here[:3, :3].T)
        if task.reference == "local":
            gap, turn = here[:3, :3].T @ gap, here[:3, :3].T @ turn
        elif isinstance(task, RelativeTask):
            axes = self._placement(task.base, q)[:3, :3]
            gap, turn = axes @ gap, axes @ turn
        return np.concatenate([gap, turn])

    def _placement(self, frame: str, q: Any) -> Array:
        return np.eye(4) if frame == WORLD else self.dynamics.placement(q, frame)


def inverse(placement: Array) -> Array:
    """The inverse of a homogeneous matrix (4, 4)."""
    R, out = placement[:3, :3], np.eye(4)
    out[:3, :3], out[:3, 3] = R.T, -R.T @ placement[:3, 3]
    return out


def rotation_vector(R: Array) -> Array:
    """The rotation vector (3,) of a rotation matrix, its length at most pi."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.tolist()
    x, y, z = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (xx + yy + zz - 1.0)
    if sine > 1e-6 or cosine > 0.0:
        scale = math.atan2(sine, cosine) / sine if sine > 1e-6 else 1.0
        return np.array([scale * x, scale * y, scale * z])
    # half a turn: the axis is the column of R + 1 that is longest
    column = (R + np.eye(3))[:, np.argmax(np.diag(R))]
    axis: Array = np.pi * column / np.linalg.norm(column)
    return axis


class Spin:
    """Rotation matrices about a fixed rotation vector (3,), of which a call takes a share."""

    def __init__(self, turn: Array) -> None:
        self.angle = float(np.linalg.norm(turn))
        x, y, z = turn / self.angle if self.angle > 0.0 else turn
        self._K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._K2, self._one = self._K @ self._K, np.eye(3)

    def __call__(self, share: float) -> Array:
        angle = share * self.angle
        R: Array = self._one + math.sin(angle) * self._K + (1.0 - math.cos(angle)) * self._K2
        return R


def has_position(task: Task) -> bool:
    """Whether a task's rows are velocities of something that has a position."""
    return not isinstance(task, MomentumTask) or task.per_mass
