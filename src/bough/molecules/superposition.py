"""The rotation and shift that lay one set of points on another (Kabsch 1976)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError
from bough.types import FloatArray


def superposition(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R (3, 3) and t (3,) that minimise the sum of |R x_k + t - y_k|^2, for x and y (k, 3)."""
    if x.shape != y.shape or x.ndim != 2 or x.shape[1] != 3:
        raise ShapeError(f"expected two arrays (k, 3), got {x.shape} and {y.shape}")
    a, b = x.mean(axis=0), y.mean(axis=0)
    U, _, V = np.linalg.svd((x - a).T @ (y - b))
    sign = np.sign(np.linalg.det(U @ V))
    R = (U * [1.0, 1.0, sign] @ V).T
    return R, b - R @ a


def rmsd(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Root-mean-square deviation of points (k, 3), after the best superposition."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    R, t = superposition(a, b)
    return float(np.sqrt(np.mean(np.sum((a @ R.T + t - b) ** 2, axis=1))))
