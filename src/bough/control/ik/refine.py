"""Lower priorities where some priority cannot be reached: Newton steps on the set of minima of those above.

Where the error of a priority stays above zero, its minima are where the slope g = -J' W^2 e is zero, and they stay
minima along the null space of the Hessian dg/dq, not of J. So the rows that lower priorities must not move are J of
priorities that are reached, and dg/dq of those that are not (after Pfeiffer, Edwards & Kheddar 2023, hierarchies by
Newton's method). With A such rows and c what they lack, a step of priority k is
    d = -A^+ c + N y,  N the null space of A,  (N' H N + damping 1) y = -N' (g + H d),
H the Hessian of the priority, its curvature made positive. A few steps -A^+ c lead back to the minima above. A step
that leaves them or is no better is undone, and the damping grows. Hessians are central differences of slopes. On the
CPU, one row after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.control.ik.problem import Goals, Hierarchy
from bough.types import FloatArray

STEP = 1e-5  # of central differences, rad or m
RANK = 1e-7  # singular values of rows, relative to the largest, below which they do not count
STEPS = 60
SETTLED = 1e-9  # a motion this short ends the steps
DAMPING, MOST = 1e-3, 1e8  # at first, and where steps end
PRESSED = 1e-6  # slope at which a limit counts as active
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

    def __init__(self, hierarchy: Hierarchy, goals: Goals, tolerance: float) -> None:
        self.hierarchy, self.goals, self.tolerance = hierarchy, goals, tolerance
        self.model, self.limits = hierarchy.model, hierarchy.bounds.limited

    def __call__(self, q: FloatArray) -> FloatArray:
        """q (nq,) with each priority at its minimum within those above, as far as steps lead there."""
        for k in range(1, self.hierarchy.levels):
            q = self._priority(k, q)
        return q

    def _priority(self, k: int, q: FloatArray) -> FloatArray:
        damping, here = DAMPING, self._slopes(q)
        for _ in range(STEPS):
            if damping > MOST or here.sizes[k] <= self.tolerance:
                break
            d = self._step(k, q, here, damping)
            if np.abs(d).max() <= SETTLED:
                break
            moved, there = self._moved(q, d)
            for _ in range(RETURNS):
                if self._is_kept(k, there.sizes, here.sizes) or not there.sizes[k] < here.sizes[k]:
                    break
                moved, there = self._moved(moved, self._step(k, moved, there, np.inf))
            if self._is_kept(k, there.sizes, here.sizes) and there.sizes[k] < here.sizes[k]:
                q, here, damping = moved, there, damping / 4
            else:
                damping *= 4
        return q

    def _moved(self, q: FloatArray, d: FloatArray) -> tuple[FloatArray, Slopes]:
        moved = self.hierarchy.bounds.clip(self.model.integrate(q, d)[None])[0]
        return moved, self._slopes(moved)

    def _is_kept(self, k: int, new: list[float], old: list[float]) -> bool:
        """Whether priorities above k are where they were."""
        return all(x <= max(y, self.tolerance) + 0.1 * self.tolerance for x, y in zip(new[:k], old[:k], strict=True))

    def _step(self, k: int, q: FloatArray, s: Slopes, damping: float) -> FloatArray:
        """d (nv,), with joints fixed that it would push beyond a limit; with infinite damping only back to A q = c."""
        free = np.ones(self.model.nv, bool)
        for j in range(k):
            if s.sizes[j] > self.tolerance:  # what its slope presses against a limit stays there
                free[self._beyond(q, -s.g[j], PRESSED)] = False
        for _ in range(self.model.nv):
            d = np.zeros(self.model.nv)
            d[free] = self._free_step(k, s, damping, free)
            beyond = self._beyond(q, d, 0.0)
            if not len(beyond):
                break
            free[beyond] = False
        return d

    def _beyond(self, q: FloatArray, d: FloatArray, least: float) -> Any:
        """DoFs at a limit that d pushes outwards by more than `least`."""
        x, v = q[self.limits.q], self.limits.v
        low, high = (x <= self.limits.lower) & (d[v] < -least), (x >= self.limits.upper) & (d[v] > least)
        return v[low | high]

    def _free_step(self, k: int, s: Slopes, damping: float, free: Any) -> FloatArray:
        A, c = [], []
        for j in range(k):
            is_reached = s.sizes[j] <= self.tolerance
            A.append(s.J[j][:, free] if is_reached else s.H[j][np.ix_(free, free)])
            c.append(-s.e[j] if is_reached else s.g[j][free])
        U, D, Vt = np.linalg.svd(np.concatenate(A))
        rank = int(np.count_nonzero(RANK * D[0] < D)) if len(D) else 0
        back = -Vt[:rank].T @ ((U[:, :rank].T @ np.concatenate(c)) / D[:rank])
        N, H, g = Vt[rank:].T, s.H[k][np.ix_(free, free)], s.g[k][free]
        if not N.shape[1]:
            return back
        values, vectors = np.linalg.eigh(N.T @ H @ N)
        slope = vectors.T @ (N.T @ (g + H @ back))
        return back - N @ (vectors @ (slope / (np.abs(values) + damping)))

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
