"""Rows on the velocity of one frame: its pose, position or orientation, or rows of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.errors import FRAME, FRAME_AXES, WORLD_AXES
from bough.opspace.sweeps.wrenches import ALIGNED, FIXED, LOCAL
from bough.opspace.tasks.task import (
    ANGULAR,
    LINEAR,
    WHOLE,
    Aim,
    Matrix,
    Seed,
    Task,
    acting_at,
    angular_first,
    checked_matrix,
    checked_point,
    checked_reference,
    component_names,
    frame_error,
    moved,
    moving,
    placed,
    placement_of,
)
from bough.types import FloatArray, Reference


@dataclass(frozen=True)
class FrameTask(Task):
    """Rows on the [linear, angular] velocity of one frame, taken at `point` (in the frame's own axes).

    Its position is a homogeneous matrix (4, 4); a target may also be a point (3,), which leaves the orientation free,
    or of an orientation a rotation (3, 3).
    """

    frame: str
    matrix: Matrix
    reference: Reference
    point: tuple[float, ...]

    def seeds(self, model: Model) -> list[list[Seed]]:
        (body, R, p), point = moving(model, self.frame, self.name), np.array(self.point)
        wrenches = angular_first(self.matrix)
        if self.reference == "local":
            return [[Seed(LOCAL, body, placed(acting_at(c, point), R, p))] for c in wrenches]
        if self.reference == "world":
            if point.any():
                raise TaskError(f"task {self.name!r}: a point has no meaning in the world reference, which has its own")
            return [[Seed(FIXED, body, c)] for c in wrenches]
        return [[Seed(ALIGNED, body, c, p + R @ point)] for c in wrenches]

    def row_names(self, count: int) -> tuple[str, ...]:
        return component_names(self.name, self.matrix)

    def position(self, dynamics: Dynamics, q: Any) -> FloatArray:
        return moved(placement_of(dynamics, self.frame, q), self.point)

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        if self.reference == "world":
            raise TaskError(f"task {self.name!r}: the world reference has no position; use local_world_aligned")
        here = self.position(dynamics, q)
        axes = here[:3, :3].T if self.reference == "local" else None
        error = frame_error(self.name, here, target, axes, self.matrix)
        return error if self.matrix == WHOLE else np.array(self.matrix) @ error

    def aim(self, model: Model) -> Aim:
        if self.reference == "world":
            raise TaskError(f"task {self.name!r}: the world reference has no position; use local_world_aligned")
        at = moving(model, self.frame, self.name).at(self.point)
        return Aim(FRAME, self.matrix, at, axes=FRAME_AXES if self.reference == "local" else WORLD_AXES)


def frame_task(
    kind: str, frame: str, matrix: Matrix, reference: Reference, point: npt.ArrayLike, name: str | None
) -> FrameTask:
    """A checked `FrameTask`, named after its kind and frame unless a name is given."""
    at = checked_point(point, name or f"{kind}({frame})")
    name = name or f"{kind}({frame}{f', point={list(at)}' if any(at) else ''})"
    return FrameTask(name, frame, matrix, checked_reference(reference, name), at)


@explained
def pose(
    frame: str,
    reference: Reference = "local_world_aligned",
    *,
    point: npt.ArrayLike = (0, 0, 0),
    name: str | None = None,
) -> FrameTask:
    """Six rows [linear, angular]: the velocity of a frame, linear at `point` of it."""
    return frame_task("pose", frame, WHOLE, reference, point, name)


@explained
def position(
    frame: str,
    reference: Reference = "local_world_aligned",
    *,
    point: npt.ArrayLike = (0, 0, 0),
    name: str | None = None,
) -> FrameTask:
    """Three rows: the linear velocity of a frame at `point`."""
    return frame_task("position", frame, LINEAR, reference, point, name)


@explained
def orientation(frame: str, reference: Reference = "local_world_aligned", *, name: str | None = None) -> FrameTask:
    """Three rows: the angular velocity of a frame."""
    return frame_task("orientation", frame, ANGULAR, reference, (0, 0, 0), name)


@explained
def rows(
    frame: str,
    matrix: npt.ArrayLike,
    reference: Reference = "local",
    *,
    point: npt.ArrayLike = (0, 0, 0),
    name: str | None = None,
) -> FrameTask:
    """k rows of your own, matrix (6,) or (k, 6), on the [linear, angular] velocity of a frame."""
    return frame_task("rows", frame, checked_matrix(matrix, f"rows({frame})"), reference, point, name)
