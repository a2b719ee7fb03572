"""Many descents at once, or one: rows that go down from their starts, each with its own damping, until they end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.control.ik.objectives import Objective
from bough.control.ik.problem import FAR, Goals, Level
from bough.control.ik.step import COST, FLOOR, SHARE, SIZE
from bough.types import BoolArray, FloatArray, IntArray

FIRST_SHARE = 0.1
LEAST = 1e-10  # damping that is always there: no matrix is singular
SETTLED = 1e-6  # a step this short changes nothing any more


class Ended(NamedTuple):
    """Where descents ended, a row for each."""

    q: FloatArray
    cost: FloatArray  # |W e| of the first level, by which rows are compared
    error: FloatArray  # |e|
    iterations: IntArray


class Descent:
    """Levels on a model, and a secondary objective."""

    def __init__(self, levels: list[Level], objective: Objective | None, threads: int | None = None) -> None:
        self.first, self.lower, self.objective, self.threads = levels[0], levels[1:], objective, threads
        self.nv = self.first.model.nv

    @property
    def settles(self) -> bool:
        """Whether there is something left to do when the first level has been reached."""
        return bool(self.lower) or self.objective is not None

    def __call__(self, q: FloatArray, goals: list[Goals], owner: IntArray, tolerance: float, most: int) -> Ended:
        """Descend from q (rows, nq); of rows with one owner, the others end when the first has reached its target."""
        if len(q) == 1:
            return self.one(q[0], [g.first for g in goals], tolerance, most)
        rows: IntArray = np.arange(len(q))
        owners, best, state = owner, nowhere(q), begun(len(q))
        reached = np.zeros(int(owner.max(initial=0)) + 1, bool)
        for _ in range(most):
            moved, state, motion = self.step(q, goals, state)
            ended = state[:, SIZE] <= tolerance
            self._keep(best, rows, q, state, ended)
            if self.settles:
                ended &= np.abs(motion).max(axis=1) <= SETTLED
            q = moved
            if not ended.any():
                continue
            reached[owners[ended]] = True
            chosen = np.flatnonzero(~reached[owners])
            if not len(chosen):
                break
            rows, owners, q, state = rows[chosen], owners[chosen], q[chosen], state[chosen]
            goals = [g.of(chosen) for g in goals]
        return best

    def one(self, q: FloatArray, goals: list[Goals], tolerance: float, most: int) -> Ended:
        """The same from one q (nq,), by code for one configuration."""
        best, least, error, state, done = q, np.inf, np.inf, begun(1)[0], 0
        for _ in range(most):
            moved, state, motion = self.step(q, goals, state)
            done += 1
            cost, size = float(state[COST]), float(state[SIZE])
            ended = size <= tolerance
            if cost < least or (ended and self.settles):
                best, least, error = q, cost, size
            if ended and (not self.settles or np.abs(motion).max() <= SETTLED):
                break
            q = moved
        return Ended(best[None], np.array([least]), np.array([error]), np.array([done]))

    def step(self, q: FloatArray, goals: list[Goals], state: FloatArray) -> Any:
        """(moved, state, motion) of the first level: each level, the objective last, within what those above leave.

        For rows, or for one q (nq,).
        """
        if self.objective is None:
            pull = np.zeros((*q.shape[:-1], self.nv))
        else:
            pull = self.objective(q) if q.ndim == 2 else self.objective(q[None])[0]
        for level, goal in reversed([*zip(self.lower, goals[1:], strict=True)]):
            pull = level.function.call(q, *goal, level.weights(q), state, pull, threads=self.threads)[2]
        return self.first.function.call(q, *goals[0], self.first.weights(q), state, pull, threads=self.threads)

    def _keep(self, best: Ended, rows: IntArray, q: FloatArray, state: FloatArray, near: Any) -> None:
        """Keep what costs less than before; where there is more to do, the last that is near enough."""
        best.iterations[rows] += 1
        better: BoolArray = state[:, COST] < best.cost[rows]
        if self.settles:
            better |= near
        best.q[rows[better]] = q[better]
        best.cost[rows[better]], best.error[rows[better]] = state[better, COST], state[better, SIZE]


def begun(rows: int, floor: float = LEAST, share: float = FIRST_SHARE) -> FloatArray:
    """(rows, 4) states before the first step, from which any error is better."""
    state = np.empty((rows, 4))
    state[:, FLOOR], state[:, SHARE], state[:, COST], state[:, SIZE] = floor, share, FAR, FAR
    return state


def nowhere(q: FloatArray) -> Ended:
    """Rows that have not moved yet."""
    far = np.full(len(q), np.inf)
    return Ended(q.copy(), far, far.copy(), np.zeros(len(q), np.int64))
