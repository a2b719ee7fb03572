"""Aims: what a task's rows measure, as data, so that kernels can say how far they are from a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.opspace.sweeps.errors import CENTER, FRAME, JOINTS
from bough.opspace.tasks.matrix import LINEAR, Matrix
from bough.opspace.tasks.seed import Attachment

__all__ = ["CENTER", "FRAME", "JOINTS", "Aim"]

WORLD = Attachment(-1, np.eye(3), np.zeros(3))


class Aim(NamedTuple):
    """What rows measure. FRAME: `matrix` times [linear, angular] from the placement of `frame` in `base` to a target,
    in the axes of `frame` if `local`, else in the world's. CENTER: the same of the centre of mass. JOINTS: coordinates.
    """

    kind: int
    matrix: Matrix = LINEAR
    frame: Attachment = WORLD
    base: Attachment = WORLD
    local: bool = False
