"""Grasps: how several hands share the load of one object (the augmented object of Chang & Khatib 2001)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bough.types import FloatArray


def share_wrench(points: Sequence[npt.ArrayLike], wrench: npt.ArrayLike) -> FloatArray:
    """Forces and moments (k, 6) on k grips that add up to `wrench` (6,) = [force, moment about the origin].

    All in the same axes; the least of all such forces (the augmented object's grasp, without internal forces).
    """
    p = np.asarray(points, float).reshape(-1, 3)
    G = np.zeros((6, 6 * len(p)))
    for k, x in enumerate(p):
        G[:, 6 * k : 6 * k + 6] = np.eye(6)
        G[3:, 6 * k : 6 * k + 3] = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.linalg.lstsq(G, np.asarray(wrench, float), rcond=None)[0].reshape(-1, 6)
