"""Many descents at once: rows that go down from their starts, each with its own damping, until they end.

A row keeps its damping as a share of its error, which it halves when the error falls and doubles when it grows; no step
is taken back (Sugihara 2011). Joints that are at a limit and would be pushed beyond it are held until they are not.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.control.ik.problem import Goals, Level
from bough.control.ik.wishes import Wish
from bough.joints import LAST_SCREW
from bough.model import Model
from bough.types import BoolArray, FloatArray, IntArray

SHARE, LEAST_SHARE, MOST_SHARE = 0.1, 1e-3, 10.0
FLOOR = 1e-10  # damping that is always there: no matrix is singular
SETTLED = 1e-6  # a step this short changes nothing any more

Sizes: TypeAlias = tuple[FloatArray, FloatArray]


class Bounds:
    """Position limits of the joints of one freedom, where they are in q and in v."""

    def __init__(self, model: Model, active: bool = True) -> None:
        m = model.mechanism
        single = np.flatnonzero((m.kind <= LAST_SCREW) & (m.ratio[m.dof[:-1]] == 1.0))
        q, v = m.q_index[single], m.v_index[m.dof[single]]
        lower, upper = model.limits.lower[v], model.limits.upper[v]
        some = (np.isfinite(lower) | np.isfinite(upper)) & active
        self.single, self.nv = q, model.nv
        self.q, self.v, self.lower, self.upper = q[some], v[some], lower[some], upper[some]

    def clip(self, q: FloatArray) -> FloatArray:
        """Put q (batch, nq) within the limits, in place; returns it."""
        if len(self.q):
            q[:, self.q] = np.clip(q[:, self.q], self.lower, self.upper)
        return q

    def free(self, q: FloatArray, slope: FloatArray) -> FloatArray:
        """(batch, nv): 0 for joints at a limit that the slope pushes outwards, else 1."""
        free = np.ones((len(q), self.nv))
        if len(self.q):
            x, s = q[:, self.q], slope[:, self.v]
            free[:, self.v] = ~(((x <= self.lower) & (s < 0.0)) | ((x >= self.upper) & (s > 0.0)))
        return free


class Ended(NamedTuple):
    """Where descents ended, a row for each."""

    q: FloatArray
    cost: FloatArray  # |W e| of the first level, by which rows are compared
    error: FloatArray  # |e|
    iterations: IntArray


class Descent:
    """Levels on a model, with limits and a motion that is wished besides."""

    def __init__(self, levels: list[Level], bounds: Bounds, wish: Wish | None, threads: int | None = None) -> None:
        self.first, self.lower, self.bounds, self.wish, self.threads = levels[0], levels[1:], bounds, wish, threads

    @property
    def settles(self) -> bool:
        """Whether there is something left to do when the first level has been reached."""
        return bool(self.lower) or self.wish is not None

    def __call__(self, q: FloatArray, goals: list[Goals], owner: IntArray, tolerance: float, most: int) -> Ended:
        """Descend from q (rows, nq); of rows with one owner, the others end when the first has reached its target."""
        rows: IntArray = np.arange(len(q))
        owners = owner
        best = nowhere(q)
        reached = np.zeros(int(owner.max(initial=0)) + 1, bool)
        share, before = np.full(len(q), SHARE), np.full(len(q), np.inf)
        free = np.ones((len(q), self.bounds.nv))
        for _ in range(most):
            moved, error, slope, step = self.step(q, goals, np.stack([share, np.full(len(q), FLOOR)], axis=1), free)
            size, cost = self.first.size(error), self.first.cost(error)
            self._keep(best, rows, q, (cost, size), size <= tolerance)
            share = np.where(cost < before, np.maximum(0.5 * share, LEAST_SHARE), np.minimum(2.0 * share, MOST_SHARE))
            q = self.bounds.clip(moved)
            free = self.bounds.free(q, slope)
            ended = size <= tolerance
            if self.settles:
                ended &= np.abs(step).max(axis=1) <= SETTLED
            reached[owners[ended]] = True
            going = ~reached[owners]
            if not going.all():
                if not going.any():
                    break
                chosen = np.flatnonzero(going)
                rows, owners, q, share = rows[chosen], owners[chosen], q[chosen], share[chosen]
                cost, free = cost[chosen], free[chosen]
                goals = [g.of(chosen) for g in goals]
            before = cost
        return best

    def step(self, q: FloatArray, goals: list[Goals], damping: FloatArray, free: FloatArray) -> Any:
        """(moved, error, slope, step) of the first level: each level, the wish last, within what those above leave."""
        pull = np.zeros((len(q), self.bounds.nv)) if self.wish is None else self.wish(q)
        for level, goal in reversed([*zip(self.lower, goals[1:], strict=True)]):
            pull = level.function.call(q, *goal, level.weights(len(q)), damping, free, pull, threads=self.threads)[3]
        weights = self.first.weights(len(q))
        return self.first.function.call(q, *goals[0], weights, damping, free, pull, threads=self.threads)

    def _keep(
        self, best: Ended, rows: IntArray, q: FloatArray, sizes: tuple[FloatArray, FloatArray], near: Any
    ) -> None:
        """Keep what costs less than before; where there is more to do, the last that is near enough."""
        best.iterations[rows] += 1
        better: BoolArray = sizes[0] < best.cost[rows]
        if self.settles:
            better |= near
        best.q[rows[better]] = q[better]
        best.cost[rows[better]], best.error[rows[better]] = (x[better] for x in sizes)


def nowhere(q: FloatArray) -> Ended:
    """Rows that have not moved yet."""
    far = np.full(len(q), np.inf)
    return Ended(q.copy(), far, far.copy(), np.zeros(len(q), np.int64))
