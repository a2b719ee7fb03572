"""Loops of a moving linkage: after a semi-implicit step, impulses at its ends keep them closed, to second order in dt.

v' = v + h qdd opens a loop at rates J v'. Unit impulses lam on the closing frames answer with M^-1 J', one sweep each,
and those are applied that leave J v' = -gap / h. On a contracted tree the frames are on rigid clusters; a loop within
one of them is closed as it is. The forces found last are known to the survey that chooses active joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.closure import Closures
from bough.adaptive.compiled import compiled
from bough.adaptive.handles import closing_force
from bough.adaptive.motion import FASTEST, ActiveRegion, MotionEngine, advance, place, velocities
from bough.adaptive.passes import Loads
from bough.types import FloatArray, IntArray


class HeldLoops:
    """Closures of a linkage in motion."""

    def __init__(self, closures: Closures) -> None:
        self.closures = closures
        self.force = np.zeros((len(closures.bodies), 6))  # on closing bodies, in their frames, moment first

    def seats(self, region: ActiveRegion | None, loads: Loads) -> tuple[IntArray, FloatArray]:
        """Primitives of the tree in motion that bear the closing bodies, -1 the ground, and where they are there."""
        bodies = self.closures.bodies
        if region is None:
            return bodies, np.tile(np.r_[np.eye(3).ravel(), np.zeros(3)], (len(bodies), 1))
        at = loads.slot[bodies]
        return region.pieces.bearer[at], region.pieces.pose[at]

    def step(self, engine: MotionEngine, loads: Loads, seats: tuple[IntArray, FloatArray], h: float) -> bool:
        """One step; False, and nothing done, if it diverges."""
        s, at = engine.state, engine.mechanism.v_index
        after = self.velocities_after(engine, loads, seats, h)
        if after is None:
            return False
        s.qdd[at], s.v[at] = (after - s.v[at]) / h, after
        compiled(advance)(engine.mechanism, s, h)
        return True

    def velocities_after(
        self, engine: MotionEngine, loads: Loads, seats: tuple[IntArray, FloatArray], h: float
    ) -> FloatArray | None:
        """Velocities (n,) at the end of a step of h, with the loops held by `force`; None if they are no motion."""
        s, at = engine.state, engine.mechanism.v_index
        engine.solve(loads, h)
        found = s.v[at] + h * s.qdd[at]
        if not np.isfinite(found).all() or np.abs(found).max(initial=0.0) > FASTEST:
            return None
        rows = self.poses(engine, seats)
        columns, gap = self.closures.columns(rows)
        free = self._rates(engine, seats, rows, found)
        G, Y = np.zeros((len(columns), len(columns))), np.zeros((len(at), len(columns)))
        for k, column in enumerate(columns):
            Y[:, k] = self._answer(engine, seats, column, h)
            G[:, k] = self._rates(engine, seats, rows, Y[:, k])
        lam, self.closures.rank = closing_force(G, free, gap / h, self.closures.turns)
        self.force[:] = 0.0
        for x, column in zip(lam, columns, strict=True):
            for body, wrench, _ in column:
                self.force[np.searchsorted(self.closures.bodies, body)] += x / h * wrench
        return np.asarray(found + Y @ lam)

    def poses(self, engine: MotionEngine, seats: tuple[IntArray, FloatArray]) -> FloatArray:
        """(k, 12) of the closing bodies in the world."""
        compiled(place)(engine.mechanism, engine.state, engine.work)
        bearer, pose = seats
        up = np.where(bearer[:, None] < 0, np.r_[np.eye(3).ravel(), np.zeros(3)], engine.work.P[np.maximum(bearer, 0)])
        R = up[:, :9].reshape(-1, 3, 3)
        turn = R @ pose[:, :9].reshape(-1, 3, 3)
        return np.concatenate([turn.reshape(-1, 9), up[:, 9:] + np.einsum("nij,nj->ni", R, pose[:, 9:])], axis=1)

    def _rates(
        self, engine: MotionEngine, seats: tuple[IntArray, FloatArray], rows: FloatArray, v: FloatArray
    ) -> FloatArray:
        """How fast the loops open at these velocities of the joints in motion."""
        s, at = engine.state, engine.mechanism.v_index
        kept, s.v[at] = s.v[at].copy(), v
        compiled(velocities)(engine.mechanism, s, engine.work)
        s.v[at] = kept
        motions: dict[int, Any] = {-1: np.zeros(6)}
        for body, bearer, pose in zip(self.closures.bodies.tolist(), *seats, strict=True):
            u = engine.work.a[bearer] if bearer >= 0 else np.zeros(6)
            R = pose[:9].reshape(3, 3)
            motions[body] = np.concatenate([R.T @ u[:3], R.T @ (u[3:] + np.cross(u[:3], pose[9:]))])
        return self.closures.rates(rows, motions)

    def _answer(
        self, engine: MotionEngine, seats: tuple[IntArray, FloatArray], column: list[tuple[int, Any, Any]], h: float
    ) -> FloatArray:
        """The velocities of the joints in motion that unit impulses give."""
        bearer, pose = seats
        engine.work.momentum[:] = 0.0
        for body, wrench, _ in column:
            k = int(np.searchsorted(self.closures.bodies, body))
            if bearer[k] >= 0:
                R = pose[k, :9].reshape(3, 3)
                f = R @ wrench[3:]
                engine.work.momentum[bearer[k]] += np.concatenate([R @ wrench[:3] + np.cross(pose[k, 9:], f), f])
        return engine.answer(h)

    def let_know(self, loads: Loads, rows: FloatArray | None) -> None:
        """Put the forces found last, turned by the poses `rows` (k, 12), among the loads; with None take them away.

        Closing bodies always have a row of their own there, the last one in the world's axes.
        """
        at = loads.along[loads.slot[self.closures.bodies]] - 1
        loads.force[at], loads.moment[at] = 0.0, 0.0
        if rows is not None:
            R = rows[:, :9].reshape(-1, 3, 3)
            loads.moment[at] = np.einsum("nij,nj->ni", R, self.force[:, :3])
            loads.force[at] = np.einsum("nij,nj->ni", R, self.force[:, 3:])
