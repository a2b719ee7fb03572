"""Seeds: one row of a task on one body, and the wrenches that rows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.wrenches import ALIGNED as ALIGNED
from bough.opspace.sweeps.wrenches import ALONG as ALONG
from bough.opspace.sweeps.wrenches import CENTER as CENTER
from bough.opspace.sweeps.wrenches import FIXED as FIXED
from bough.opspace.sweeps.wrenches import FOLLOWING as FOLLOWING
from bough.opspace.sweeps.wrenches import FOLLOWING_ALIGNED as FOLLOWING_ALIGNED
from bough.opspace.sweeps.wrenches import JOINT as JOINT
from bough.opspace.sweeps.wrenches import LOCAL as LOCAL
from bough.opspace.sweeps.wrenches import MOMENTUM as MOMENTUM
from bough.opspace.sweeps.wrenches import REACTION as REACTION
from bough.types import FloatArray


class Seed(NamedTuple):
    """One row on one body: a constant wrench c (6,), angular first, and how K follows from it (the kind).

    LOCAL: c in the body's frame. ALIGNED: c in world axes at `point` of the body. FIXED: c fixed in the world, about
    its origin. FOLLOWING: c in the frame of body `other`. FOLLOWING_ALIGNED: c in world axes at `point` of `other`.
    MOMENTUM: the body's inertia times c, a motion in world axes about the centre of mass; CENTER: the same over the
    mass of all bodies. JOINT: c along freedom `dof` of the body's own joint, with REACTION on its parent.
    ALONG: a unit force at `point` of the body, away from the point c[:3] of body `other` or of the world.
    """

    kind: int
    body: int
    wrench: FloatArray
    point: FloatArray = np.zeros(3)
    other: int = -1
    dof: int = -1


class Attachment(NamedTuple):
    """Where a frame is on its body: the kernel's body, -1 for the world, and its placement there."""

    body: int
    R: FloatArray
    p: FloatArray

    def at(self, point: Sequence[float]) -> Attachment:
        """The same frame moved to a point of it."""
        return self._replace(p=self.p + self.R @ np.array(point, float))


def attachment(model: Model, frame: str) -> Attachment:
    """The body that carries a frame, and the frame's place on it."""
    number = model.frame(frame)
    return Attachment(int(model.frames.body[number]), model.frames.R[number], model.frames.p[number])


def moving(model: Model, frame: str, task: str) -> Attachment:
    """The same for a frame that must be able to move."""
    found = attachment(model, frame)
    if found.body < 0:
        raise TaskError(f"task {task!r}: frame {frame!r} is fixed to the world and cannot move")
    return found


def angular_first(matrix: object) -> FloatArray:
    """Rows on [linear, angular] velocities as wrenches."""
    return np.asarray(matrix, float)[:, [3, 4, 5, 0, 1, 2]]


def acting_at(wrench: FloatArray, point: FloatArray) -> FloatArray:
    """A wrench acting at `point`, about the origin."""
    return np.concatenate([wrench[:3] + np.cross(point, wrench[3:]), wrench[3:]])


def placed(wrench: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    """A wrench out of the frame placed at (R, p)."""
    return acting_at(np.concatenate([R @ wrench[:3], R @ wrench[3:]]), p)
