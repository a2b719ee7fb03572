"""Aims: what a task's rows measure, as data, so that kernels can say how far they are from a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.opspace.sweeps.errors import CENTER, DISTANCE, FRAME, FRAME_AXES, FREE_Z, JOINTS, WORLD_AXES
from bough.opspace.tasks.matrix import LINEAR, Matrix
from bough.opspace.tasks.seed import Attachment

__all__ = ["CENTER", "DISTANCE", "FRAME", "FRAME_AXES", "FREE_Z", "JOINTS", "WORLD_AXES", "Aim"]

WORLD = Attachment(-1, np.eye(3), np.zeros(3))


class Aim(NamedTuple):
    """What rows measure. FRAME: `matrix` times [linear, angular] from the placement of `frame` in `base` to a target,
    in the axes that `axes` names. CENTER: the same of the centre of mass. JOINTS: coordinates. DISTANCE: of origins.
    """

    kind: int
    matrix: Matrix = LINEAR
    frame: Attachment = WORLD
    base: Attachment = WORLD
    axes: int = WORLD_AXES
