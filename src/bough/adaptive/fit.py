"""Two rigid bodies held together at several frames: whether they can be, and where one then is in the other.

The turn that brings points and directions of one body onto those of the other is found by Wahba's problem; where they
lie on one line, the turn about it by the same problem in the plane across. The shift is linear then. All is exact but
for rounding; frames that miss each other by what figures in files are rounded to are not held against anybody.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.types import FloatArray

MISSED = 1e-4  # m or rad, or that share of a body's size where it is smaller than 1 m: more than figures are rounded to
ROUNDED = 1e-9  # share of the size below which a distance may be rounding
ONE_LINE, SURE = 1e-13, 1e-8  # squares of shares of the size: what lies on one line, and what certainly does not


class Grip(NamedTuple):
    """A frame of one rigid body (R, p), held to one of another along these axes of the second: 0-2 turn, 3-5 slide."""

    a: tuple[FloatArray, FloatArray]
    b: tuple[FloatArray, FloatArray]
    held: frozenset[int]

    @property
    def directions(self) -> list[tuple[FloatArray, FloatArray]]:
        """Directions of both bodies that are parallel."""
        axes = (0, 1, 2) if 2 in self.held else (2,) if 0 in self.held else ()
        return [(self.a[0][:, k], self.b[0][:, k]) for k in axes]

    def missed(self, R: FloatArray, t: FloatArray) -> tuple[float, float]:
        """How far its frames turn (rad) and lie (m) apart where x of the first body is R x + t of the second."""
        turn = max((float(np.linalg.norm(R @ a - b)) for a, b in self.directions), default=0.0)
        apart = self.b[0].T @ (R @ self.a[1] + t - self.b[1])
        return turn, max((abs(float(apart[k - 3])) for k in self.held if k >= 3), default=0.0)


class Fit(NamedTuple):
    """How far frames miss each other at best, 0 where they may meet; and where the first body is, if that is sure."""

    gap: float
    pose: tuple[FloatArray, FloatArray] | None = None


def _aligned(a: FloatArray, b: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """The turn R with b = R a (rows), as nearly as can be; how much more any other misses; and the axes of a."""
    U, s, Vt = np.linalg.svd(b.T @ a)
    s[-1] *= (sign := np.sign(np.linalg.det(U @ Vt)))
    U[:, -1] *= sign
    return U @ Vt, float(s[-2] + s[-1]), Vt


def _centred(x: FloatArray) -> FloatArray:
    return x - x.mean(axis=0) if len(x) else x


def fit(ties: list[Grip]) -> Fit:
    """Whether a rigid body can be held to another by all of these at once."""
    places = np.array([(t.a[1], t.b[1]) for t in ties])
    size = float(np.abs(places - places.mean(axis=0)).max())
    unit = min(size, 1.0) or 1.0
    slack = max(MISSED, ROUNDED * float(np.abs(places).max()) / unit)
    pins = np.array([3 <= len(t.held & {3, 4, 5}) for t in ties])
    points, along = places[pins] / unit, [d for t in ties for d in t.directions]
    pairs = [np.array([d[side] for d in along]).reshape(-1, 3) for side in (0, 1)]
    a, b = (np.concatenate([_centred(points[:, side]), pairs[side]]) for side in (0, 1))
    R, sure, axes = _aligned(a, b)
    left, whole = np.linalg.norm(a @ R.T - b, axis=1), float((a * a).sum() + (b * b).sum())
    if left.max(initial=0.0) > slack:
        worst = int(left.argmax())
        return Fit(float(left[worst]) * (unit if worst < len(points) else 1.0))
    if sure <= ONE_LINE * whole:
        if whole <= ONE_LINE:
            return Fit(0.0)  # held at a point, if at all
        E, across = axes[1:], axes[1:] @ R.T
        x, y = _centred(places[:, 0] @ E.T) / unit, _centred(places[:, 1] @ across.T) / unit
        Q, sure, _ = _aligned(x, y)
        off = float(np.linalg.norm(x @ Q.T - y, axis=1).max())
        if off > slack:
            return Fit(off * unit)
        R = across.T @ Q @ E + np.outer(R @ axes[0], axes[0])
    if sure <= SURE * whole:
        return Fit(0.0)
    return _shifted(ties, R, unit * slack + size * (slack if left.max() > ROUNDED else 0.0) / sure**0.5)


def _shifted(ties: list[Grip], R: FloatArray, slack: float) -> Fit:
    """The same when the turn is known."""
    rows = [(t.b[0][:, k - 3], t.b[1] - R @ t.a[1]) for t in ties for k in sorted(t.held) if k >= 3]
    A, x = np.array([n for n, _ in rows]), np.array([n @ p for n, p in rows])
    t, _, rank, _ = np.linalg.lstsq(A, x, rcond=1e-6)
    gap = float(np.abs(A @ t - x).max())
    return Fit(gap) if gap > slack else Fit(0.0, (R, t) if rank == 3 else None)
