"""Homogeneous matrices: placements of frames, what lies between two of them, and turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import WORLD
from bough.spatial import rotation_vector
from bough.types import FloatArray


def placement_of(dynamics: Dynamics, frame: str, q: Any) -> FloatArray:
    """The placement (4, 4) of a frame, the world included."""
    return np.eye(4) if frame == WORLD else dynamics.placement(q, frame)


def moved(placement: FloatArray, point: Sequence[float]) -> FloatArray:
    """A placement moved to a point of its frame."""
    if not any(point):
        return placement
    out = placement.copy()
    out[:3, 3] += out[:3, :3] @ point
    return out


def inverse(placement: FloatArray) -> FloatArray:
    """The inverse of a homogeneous matrix (4, 4)."""
    R, out = placement[:3, :3], np.eye(4)
    out[:3, :3], out[:3, 3] = R.T, -R.T @ placement[:3, 3]
    return out


def frame_error(task: str, here: FloatArray, target: npt.ArrayLike, axes: FloatArray | None) -> FloatArray:
    """[linear, angular] from `here` to a target placement (4, 4) or point (3,), turned by `axes` (3, 3) if given."""
    goal = np.asarray(target, float)
    if goal.shape == (3,):
        goal = np.block([[here[:3, :3], goal[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    if goal.shape != (4, 4):
        raise TaskError(f"task {task!r}: a target is a point (3,) or a matrix (4, 4), got {goal.shape}")
    gap, turn = goal[:3, 3] - here[:3, 3], rotation_vector(goal[:3, :3] @ here[:3, :3].T)
    return np.concatenate([gap, turn] if axes is None else [axes @ gap, axes @ turn])


class Spin:
    """Rotation matrices about a fixed rotation vector (3,), of which a call takes a share."""

    def __init__(self, turn: FloatArray) -> None:
        self.angle = float(np.linalg.norm(turn))
        x, y, z = turn / self.angle if self.angle > 0.0 else turn
        self._K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._K2, self._one = self._K @ self._K, np.eye(3)

    def __call__(self, share: float) -> FloatArray:
        angle = share * self.angle
        R: FloatArray = self._one + math.sin(angle) * self._K + (1.0 - math.cos(angle)) * self._K2
        return R
