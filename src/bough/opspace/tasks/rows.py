"""Rows of the user's own on the velocity of a frame."""

from __future__ import annotations

import numpy.typing as npt

from bough.arguments import explained
from bough.opspace.tasks.frame import FrameTask, frame_task
from bough.opspace.tasks.matrix import checked_matrix
from bough.types import Reference


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
