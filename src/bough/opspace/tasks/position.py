"""The position of a frame."""

from __future__ import annotations

import numpy.typing as npt

from bough.arguments import explained
from bough.opspace.tasks.frame import FrameTask, frame_task
from bough.opspace.tasks.matrix import LINEAR
from bough.types import Reference


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
