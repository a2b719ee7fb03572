"""The pose of a frame."""

from __future__ import annotations

import numpy.typing as npt

from bough.arguments import explained
from bough.opspace.tasks.frame import FrameTask, frame_task
from bough.opspace.tasks.matrix import WHOLE
from bough.types import Reference


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
