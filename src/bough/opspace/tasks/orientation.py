"""The orientation of a frame."""

from __future__ import annotations

from bough.arguments import explained
from bough.opspace.tasks.frame import FrameTask, frame_task
from bough.opspace.tasks.matrix import ANGULAR
from bough.types import Reference


@explained
def orientation(frame: str, reference: Reference = "local_world_aligned", *, name: str | None = None) -> FrameTask:
    """Three rows: the angular velocity of a frame."""
    return frame_task("orientation", frame, ANGULAR, reference, (0, 0, 0), name)
