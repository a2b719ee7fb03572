"""Paths: references that move, through points and placements at given times."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.control.references import Reference
from bough.errors import ShapeError
from bough.model.parameters import matrix
from bough.spatial import rotation_vector
from bough.types import FloatArray


class Spin:
    """Rotation matrices about a fixed rotation vector (3,), of which a call takes a share."""

    def __init__(self, turn: FloatArray) -> None:
        self.angle = float(np.linalg.norm(turn))
        x, y, z = turn / self.angle if self.angle > 0.0 else turn
        self._K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._K2, self._one = self._K @ self._K, np.eye(3)

    def __call__(self, share: float) -> FloatArray:
        angle = share * self.angle
        R: FloatArray = self._one + math.sin(angle) * self._K + (1.0 - math.cos(angle)) * self._K2
        return R


@explained
class CubicPath:
    """The cubic spline through points (k, n) at times (k,), at rest at both ends, where it stays; k at least 2.

    Two equal points in a row are a pause: the path rests between them.
    """

    def __init__(self, times: npt.ArrayLike, points: npt.ArrayLike) -> None:
        self.times, self.points = np.asarray(times, float), np.asarray(points, float)
        k = len(self.times)
        if self.times.ndim != 1 or self.points.ndim != 2 or len(self.points) != k or k < 2:
            raise ShapeError(f"times are (k,) and points (k, n), k > 1: got {self.times.shape}, {self.points.shape}")
        h = np.diff(self.times)
        if not (np.isfinite(self.times).all() and np.isfinite(self.points).all() and (h > 0).all()):
            raise ShapeError("the times of a path must ascend, and all numbers be finite")
        # slopes at the knots, from continuity of the second derivative; zero at the ends
        A, b = np.eye(k), np.zeros_like(self.points)
        pause = (np.diff(self.points, axis=0) == 0.0).all(axis=1)
        for i in (i for i in range(1, k - 1) if not (pause[i - 1] or pause[i])):
            A[i, i - 1 : i + 2] = 1 / h[i - 1], 2 / h[i - 1] + 2 / h[i], 1 / h[i]
            step = np.diff(self.points[i - 1 : i + 2], axis=0)
            b[i] = 3 * (step[0] / h[i - 1] ** 2 + step[1] / h[i] ** 2)
        slopes = np.linalg.solve(A, b)
        x0, x1, h = self.points[:-1], self.points[1:], h[:, None]
        m0, m1 = h * slopes[:-1], h * slopes[1:]
        self._pieces = np.stack([x0, m0, 3 * (x1 - x0) - 2 * m0 - m1, 2 * (x0 - x1) + m0 + m1], axis=1)
        self._starts = self.times.tolist()

    def __call__(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration (n,) at time t."""
        i, starts = self.segment(t), self._starts
        h = starts[i + 1] - starts[i]
        s = (t - starts[i]) / h
        if not starts[0] < t < starts[-1]:
            still = np.zeros_like(self.points[0])
            return self.points[0 if t <= starts[0] else -1].copy(), still, still.copy()
        powers = [
            [1.0, s, s * s, s * s * s],
            [0.0, 1 / h, 2 * s / h, 3 * s * s / h],
            [0.0, 0.0, 2 / h**2, 6 * s / h**2],
        ]
        x, dx, ddx = np.array(powers) @ self._pieces[i]
        return x, dx, ddx

    def segment(self, t: float) -> int:
        """The number of the piece that t falls in; the first or last one outside."""
        return min(max(bisect_right(self._starts, t) - 1, 0), len(self._starts) - 2)


@explained
class PosePath:
    """Placements (k, 4, 4) at times (k,): positions on a cubic spline, turns about fixed axes from rest to rest."""

    def __init__(self, times: npt.ArrayLike, placements: npt.ArrayLike) -> None:
        self.placements = np.asarray(placements, float)
        if self.placements.ndim != 3 or self.placements.shape[1:] != (4, 4):
            raise ShapeError(f"placements have shape (k, 4, 4), got {self.placements.shape}")
        self.path = CubicPath(times, self.placements[:, :3, 3])
        R = self.placements[:, :3, :3]
        self._turns = np.array([rotation_vector(b @ a.T) for a, b in pairwise(R)])
        self._spins = [Spin(turn) for turn in self._turns]

    def __call__(self, t: float) -> Reference:
        """Placement (4, 4), velocity and acceleration (6,) = [linear, angular] in world axes."""
        p, v, a = self.path(t)
        i, times = self.path.segment(t), self.path.times
        h = float(times[i + 1] - times[i])
        s = min(max((t - float(times[i])) / h, 0.0), 1.0)
        placement = matrix(self._spins[i](s * s * (3 - 2 * s)) @ self.placements[i, :3, :3], p)
        turn = self._turns[i]
        rates = np.concatenate([v, 6 * s * (1 - s) / h * turn]), np.concatenate([a, (6 - 12 * s) / h**2 * turn])
        if times[0] < t < times[-1]:
            return Reference(placement, *rates)
        return Reference(placement, np.zeros(6), np.zeros(6))
