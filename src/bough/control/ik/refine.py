"""Priorities where some of them cannot be reached: Newton steps on the set of minima of those above.

Where the error of a priority stays above zero, its minima are where the slope g = -J' W^2 e is zero, and they stay
minima along the null space of the Hessian dg/dq, not of J. So the rows that lower priorities must not move are J of
priorities that are reached, and dg/dq of those that are not (after Pfeiffer, Edwards & Kheddar 2023, hierarchies by
Newton's method). With A such rows and c what they lack, a step of priority k is
    d = -A^+ c + N y,  N the null space of A,  (N' H N + damping 1) y = -N' (g + H d),
H the Hessian of the priority, its curvature made positive. Joints that d would carry beyond a limit move to it. A few
steps -A^+ c lead back to the minima above. A step that leaves them or is no better is undone, and the damping grows.
Hessians are central differences of slopes. On the CPU, one row after the other.
"""

from __future__ import annotations

from operator import le
from typing import Any, NamedTuple

import numpy as np

from bough.control.ik.problem import Goals, Hierarchy
from bough.types import FloatArray

STEP = 1e-5  # of central differences, rad or m
RANK = 1e-5  # singular values of rows, relative to the largest, below which they do not count
SETTLED = 1e-9  # a motion this short ends the steps
NEGLIGIBLE = 1e-13  # a change of |W e|^2 that ends them as well, relative to 1 + |W e|^2
DAMPING, MOST = 1e-3, 1e8  # at first, and where steps end
PRESSED = 1e-6  # slope at which a limit counts as active
KEPT = 1e-10  # how much farther priorities above may get, beside what they have reached
GO_ON = 2  # candidates, from one priority to the next
RETURNS = 3  # steps back to the minima above, which a long step leaves


class Slopes(NamedTuple):
    """Errors at a configuration, and slopes and Hessians of |W e|^2 / 2 of each priority."""

    e: list[FloatArray]
    J: list[FloatArray]
    g: list[FloatArray]
    H: list[FloatArray]

    @property
    def sizes(self) -> list[float]:
        return [float(np.linalg.norm(x)) for x in self.e]


class Refinement:
    """Newton steps for one problem, a row of a batch, from near the minimum of its first priority."""

    def __init__(self, hierarchy: Hierarchy, goals: Goals, tolerance: float, steps: int) -> None:
        self.hierarchy, self.goals, self.tolerance, self.steps = hierarchy, goals, tolerance, steps
        self.model, self.limits = hierarchy.model, hierarchy.bounds.limited

    def __call__(self, candidates: FloatArray) -> FloatArray:
        """q (nq,), the best of all (many, nq), with each priority at a minimum within those above.

        Of candidates that are alike so far, those with the least error of the next priority go on.
        """
        some = list(candidates)
        for k in range(self.hierarchy.levels):
            found = [(q, self._slopes(q).sizes) for q in (self._priority(k, q) for q in some)]
            least = min(sizes[k] for _, sizes in found)
            alike = [x for x in found if x[1][k] <= max(least + KEPT, self.tolerance)]
            some = [q for q, _ in sorted(alike, key=lambda x: x[1][min(k + 1, len(x[1]) - 1)])[:GO_ON]]
        return some[0]

    def _priority(self, k: int, q: FloatArray) -> FloatArray:
        damping, here = DAMPING, self._slopes(q)
        most = [max(x, self.tolerance) + KEPT * (1.0 + x) for x in here.sizes[:k]]
        for _ in range(self.steps):
            if damping > MOST or here.sizes[k] <= self.tolerance:
                break
            d = self._step(k, q, here, damping)
            if np.abs(d).max() <= SETTLED or abs(here.g[k] @ d) <= NEGLIGIBLE * (1.0 + here.sizes[k] ** 2):
                break
            moved, there = self._moved(q, d)
            for _ in range(RETURNS):
                if all(map(le, there.sizes, most)) or not there.sizes[k] < here.sizes[k]:
                    break
                moved, there = self._moved(moved, self._step(k, moved, there, np.inf))
            if all(map(le, there.sizes, most)) and there.sizes[k] < here.sizes[k]:
                q, here, damping = moved, there, damping / 4
            else:
                damping *= 4
        return q

    def _moved(self, q: FloatArray, d: FloatArray) -> tuple[FloatArray, Slopes]:
        moved = self.hierarchy.bounds.clip(self.model.integrate(q, d)[None])[0]
        return moved, self._slopes(moved)

    def _step(self, k: int, q: FloatArray, s: Slopes, damping: float) -> FloatArray:
        """d (nv,), in which joints stop at their limits; with infinite damping only back to A d = c."""
        low, high = np.full((2, self.model.nv), np.inf) * [[-1.0], [1.0]]
        low[self.limits.v], high[self.limits.v] = (
            self.limits.lower - q[self.limits.q],
            self.limits.upper - q[self.limits.q],
        )
        free, d = np.ones(self.model.nv, bool), np.zeros(self.model.nv)
        for j in range(k + (damping < np.inf)):
            if s.sizes[j] > self.tolerance:  # what its slope presses against a limit stays there
                slope = s.g[j] - self._rows_above(j, s, free)[0].T @ self._multipliers(j, s, free)
                free &= ~(((low >= 0.0) & (slope > PRESSED)) | ((high <= 0.0) & (slope < -PRESSED)))
        for _ in range(self.model.nv):
            d[free] = self._free_step(k, s, damping, free, d)
            beyond = free & ((d < low) | (d > high))
            if not beyond.any():
                break
            d, free = np.clip(d, low, high), free & ~beyond
        return d

    def _free_step(self, k: int, s: Slopes, damping: float, free: Any, d: FloatArray) -> FloatArray:
        """d of the joints that are free, where the others move by theirs."""
        fixed = np.where(free, 0.0, d)
        A, c = self._rows_above(k, s, free)
        U, D, Vt = np.linalg.svd(A[:, free])
        rank = int(np.count_nonzero(RANK * D[0] < D)) if len(D) else 0
        back = -Vt[:rank].T @ ((U[:, :rank].T @ (c + A @ fixed)) / D[:rank])
        N, H, g = Vt[rank:].T, s.H[k][np.ix_(free, free)], (s.g[k] + s.H[k] @ fixed)[free]
        if not N.shape[1]:
            return back
        values, vectors = np.linalg.eigh(N.T @ H @ N)
        slope = vectors.T @ (N.T @ (g + H @ back))
        return back - N @ (vectors @ (slope / (np.abs(values) + damping)))

    def _rows_above(self, k: int, s: Slopes, free: Any) -> tuple[FloatArray, FloatArray]:
        """A (rows, nv) that lower priorities must not move, and c."""
        A, c = [np.zeros((0, self.model.nv))], [np.zeros(0)]
        for j in range(k):
            is_reached = s.sizes[j] <= self.tolerance
            A.append(s.J[j] if is_reached else s.H[j][free])
            c.append(-s.e[j] if is_reached else s.g[j][free])
        return np.concatenate(A), np.concatenate(c)

    def _multipliers(self, k: int, s: Slopes, free: Any) -> FloatArray:
        """Of the rows above k: by which they balance its slope on the joints that are free."""
        return np.linalg.lstsq(self._rows_above(k, s, free)[0][:, free].T, s.g[k][free], rcond=RANK)[0]

    def _slopes(self, q: FloatArray) -> Slopes:
        nv, last = self.model.nv, self.hierarchy.last
        shifts = STEP * np.concatenate([np.zeros((1, nv)), np.eye(nv), -np.eye(nv)])
        near = self.model.integrate(np.tile(q, (len(shifts), 1)), shifts)
        goals = Goals(*(np.tile(x, (len(near), *(1,) * (x.ndim - 1))) for x in self.goals))
        e, J = self.hierarchy.linearised().call(near, *goals, self.hierarchy.weight)
        parts = [slice(a, b) for a, b in zip([0, *last[:-1]], last, strict=True)]
        g = [-np.einsum("brn,br->bn", J[:, part], e[:, part]) for part in parts]
        H = [(x[1 : nv + 1] - x[nv + 1 :]) / (2 * STEP) for x in g]
        return Slopes([e[0, p] for p in parts], [J[0, p] for p in parts], [x[0] for x in g], [(h + h.T) / 2 for h in H])
