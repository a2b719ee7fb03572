"""Loops of a moving linkage: impulses at the end of each step keep them closed, to second order in dt.

The velocities v' after a step open a loop at rates J v'. Unit impulses lam on the closing frames answer with M^-1 J',
one sweep each, and those are applied that leave J v' = -gap / h: after v + h qdd of a semi-implicit step, before it
moves; after a step that keeps momenta, where it ends, so that it keeps them, too. In each stage of a step of fourth
order forces lam keep J qdd + J' v = 0, and impulses at its end take away what drift is left. On a contracted tree the
frames are on rigid clusters; a loop within one of them is closed as it is. The forces found last are known to the
survey that chooses active joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.closure import Closures
from bough.adaptive.compiled import compiled
from bough.adaptive.handles import closing_force
from bough.adaptive.motion import (
    FASTEST,
    ActiveRegion,
    MotionEngine,
    advance,
    place,
    put_back,
    rk4_begin,
    rk4_end,
    rk4_stage,
    velocities,
)
from bough.adaptive.passes import Loads
from bough.types import FloatArray, IntArray

Seats = tuple[IntArray, FloatArray]
TINY = 1e-5  # s, over which the bending of loops is looked at


class HeldLoops:
    """Closures of a linkage in motion."""

    def __init__(self, closures: Closures) -> None:
        self.closures = closures
        self.force = np.zeros((len(closures.bodies), 6))  # on closing bodies, in their frames, moment first

    def seats(self, region: ActiveRegion | None, loads: Loads) -> Seats:
        """Primitives of the tree in motion that bear the closing bodies, -1 the ground, and where they are there."""
        bodies = self.closures.bodies
        if region is None:
            return bodies, np.tile(np.r_[np.eye(3).ravel(), np.zeros(3)], (len(bodies), 1))
        at = loads.slot[bodies]
        return region.pieces.bearer[at], region.pieces.pose[at]

    def step(self, engine: MotionEngine, loads: Loads, seats: Seats, h: float) -> bool:
        """One semi-implicit step; False, and nothing done, if it diverges."""
        s, at = engine.state, engine.mechanism.v_index
        after = self.velocities_after(engine, loads, seats, h)
        if after is None:
            return False
        s.qdd[at], s.v[at] = (after - s.v[at]) / h, after
        compiled(advance)(engine.mechanism, s, h)
        return True

    def step_momenta(self, engine: MotionEngine, loads: Loads, seats: Seats, h: float) -> bool:
        """One step that keeps momenta; False, and nothing done, if it diverges."""
        s, at = engine.state, engine.mechanism.v_index
        if engine.march(loads, "momentum", h, 1):
            return False
        found, qdd = s.v[at].copy(), s.qdd[at].copy()
        s.v[at] = self._close(engine, seats, found, h)
        s.qdd[at] = qdd + (s.v[at] - found) / h
        return True

    def step_rk4(self, engine: MotionEngine, loads: Loads, seats: Seats, h: float) -> bool:
        """One step of fourth order; False, and nothing done, if it diverges."""
        s, m = engine.state, engine.mechanism
        compiled(rk4_begin)(m, s)
        for stage in range(4):
            engine.solve(loads, 0.0)
            self._hold(engine, seats)
            compiled(rk4_stage)(m, s, stage, h)
        compiled(rk4_end)(m, s, h)
        wrong = compiled(put_back)(m, s)
        if wrong >= 0:
            engine.work.u[0] = wrong
            return False
        force, qdd, at = self.force.copy(), s.qdd[m.v_index].copy(), m.v_index
        s.v[at] = self._close(engine, seats, s.v[at], h)
        s.qdd[at], self.force[:] = qdd, force  # of the stages: known to surveys
        return True

    def _hold(self, engine: MotionEngine, seats: Seats) -> None:
        """Accelerations with which the loops stay as they are."""
        s, at, q = engine.state, engine.mechanism.v_index, engine.state.q
        v, kept = s.v[at].copy(), q.copy()
        rates = []
        for move in (-TINY, 2.0 * TINY):
            compiled(advance)(engine.mechanism, s, move)
            rates.append(self._rates(engine, seats, self.poses(engine, seats), v))
        q[:] = kept
        rows = self.poses(engine, seats)
        columns, _ = self.closures.columns(rows)
        bend = (rates[1] - rates[0]) / (2.0 * TINY)
        free = self._rates(engine, seats, rows, s.qdd[at]) + bend
        s.qdd[at] = self._answer_all(engine, seats, (rows, columns), (s.qdd[at], free, np.zeros_like(free)), 0.0)

    def velocities_after(self, engine: MotionEngine, loads: Loads, seats: Seats, h: float) -> FloatArray | None:
        """Velocities (n,) at the end of a step of h, with the loops held by `force`; None if they are no motion."""
        s, at = engine.state, engine.mechanism.v_index
        engine.solve(loads, h)
        found = s.v[at] + h * s.qdd[at]
        wrong = np.flatnonzero(~(np.abs(found) <= FASTEST))
        if len(wrong):
            engine.work.u[0] = wrong[0]
            return None
        return self._close(engine, seats, found, h)

    def _close(self, engine: MotionEngine, seats: Seats, found: FloatArray, h: float) -> FloatArray:
        """Velocities (n,) after impulses that close the loops in a step of h; `found` are those before."""
        rows = self.poses(engine, seats)
        columns, gap = self.closures.columns(rows)
        free = self._rates(engine, seats, rows, found)
        after = self._answer_all(engine, seats, (rows, columns), (found, free, gap / h), h)
        self.force /= h
        return after

    def _answer_all(self, engine: MotionEngine, seats: Seats, at: Any, given: Any, h: float) -> FloatArray:
        """Rates (n,) with the impulses, or forces, that close loops; these are `force` then.

        `at`: poses and columns of the loops. `given`: rates without them, how loops open then and should not.
        """
        (rows, columns), (found, free, gap) = at, given
        G, Y = np.zeros((len(columns), len(columns))), np.zeros((len(found), len(columns)))
        for k, column in enumerate(columns):
            Y[:, k] = self._answer(engine, seats, column, h)
            G[:, k] = self._rates(engine, seats, rows, Y[:, k])
        lam, self.closures.rank = closing_force(G, free, gap, self.closures.turns)
        self.force[:] = 0.0
        for x, column in zip(lam, columns, strict=True):
            for body, wrench, _ in column:
                self.force[np.searchsorted(self.closures.bodies, body)] += x * wrench
        return np.asarray(found + Y @ lam)

    def poses(self, engine: MotionEngine, seats: Seats) -> FloatArray:
        """(k, 12) of the closing bodies in the world."""
        compiled(place)(engine.mechanism, engine.state, engine.work)
        bearer, pose = seats
        up = np.where(bearer[:, None] < 0, np.r_[np.eye(3).ravel(), np.zeros(3)], engine.work.P[np.maximum(bearer, 0)])
        R = up[:, :9].reshape(-1, 3, 3)
        turn = R @ pose[:, :9].reshape(-1, 3, 3)
        return np.concatenate([turn.reshape(-1, 9), up[:, 9:] + np.einsum("nij,nj->ni", R, pose[:, 9:])], axis=1)

    def _rates(self, engine: MotionEngine, seats: Seats, rows: FloatArray, v: FloatArray) -> FloatArray:
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

    def _answer(self, engine: MotionEngine, seats: Seats, column: list[tuple[int, Any, Any]], h: float) -> FloatArray:
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
