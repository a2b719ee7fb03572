"""Many descents at once, or one: rows that go down from their starts, each with its own damping, until they end.

Written for arrays of numpy, PyTorch and CuPy alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.executions import CPU, Device
from bough.compile.run.libraries import asarray, full
from bough.control.ik.objectives import Objective
from bough.control.ik.problem import FAR, Array, Goals, Hierarchy
from bough.control.ik.step import COST, FLOOR, SIZE
from bough.types import FloatArray

SETTLED = 1e-6  # a step this short changes nothing any more
ON_GPU, FEW = 4, 8  # on a GPU: steps between two checks of the rows; one in so many may have ended before all move up


Errors: TypeAlias = tuple[Any, Any]  # costs and errors, one of each for every priority


class Ended(NamedTuple):
    """Where descents ended, a row for each."""

    q: Array
    cost: Array  # (rows, priorities) |W e|, by which rows are compared
    error: Array  # (rows, priorities) |e|
    iterations: Array

    @property
    def errors(self) -> Errors:
        return self.cost.T, self.error.T

    def put(self, rows: Any, other: Ended, chosen: Any) -> None:
        """Take over the answers in chosen rows of another, as `rows`."""
        for mine, new in zip(self[:3], other[:3], strict=True):
            mine[rows] = new[chosen]

    def merge(self, rows: Any, other: Ended, tolerance: float) -> None:
        """Take over what is better in another, whose rows are `rows` of this."""
        self.iterations[rows] += other.iterations
        better = chosen(is_better(other.errors, Ended(*(x[rows] for x in self)).errors, tolerance, False))
        self.put(rows[better], other, better)


class Descent:
    """Priorities on a model, and a secondary objective."""

    def __init__(
        self, hierarchy: Hierarchy, objective: Objective | None, threads: int | None = None, device: Device = CPU
    ) -> None:
        self.hierarchy, self.objective, self.threads, self.device = hierarchy, objective, threads, device
        self._weights, self._function = hierarchy.weight[None], hierarchy.function(device)
        self._first = hierarchy.first_state

    def __call__(
        self,
        q: Array,
        goals: Goals,
        tolerance: float,
        most: int,
        owner: Array | None = None,
        floor: Array | None = None,
    ) -> Ended:
        """Descend from q (rows, nq); of rows with one owner, the others end when the first has reached its targets.

        `floor` (rows,) is the least damping of the first priority.
        """
        if len(q) == 1 and not self.device.is_gpu and floor is None:
            return self.one(q[0], goals.first, tolerance, most)
        rows, state, newer = numbered(len(q), q), self.begun(q), self.objective is not None
        if floor is not None:
            state[0][:, 0, FLOOR] = floor
        owner = rows if owner is None else owner
        best, found = nowhere(q, self.hierarchy.levels), nowhere(q, self.hierarchy.levels)
        reached = full((len(q),), 0, q, "bool")
        for k in range(1, most + 1):
            moved, state, wish = self.step(q, goals, state)
            if not self.device.is_gpu or k % ON_GPU == 1 or k == most:
                here = Ended(q, state[0][:, :, COST], state[0][:, :, SIZE], None)
                better = chosen(is_better(here.errors, best.errors, tolerance, newer))
                if len(better):
                    best.put(better, here, better)
                ended = here.error[:, 0] <= tolerance
                for j in range(1, self.hierarchy.levels):
                    ended = ended & (here.error[:, j] <= tolerance)
                if wish is not None:
                    still = (abs(wish) <= SETTLED).all(1)
                    ended = (ended & still) if newer else (ended | still)
                first = chosen(ended)
                if len(first) > (len(rows) // FEW if self.device.is_gpu and k < most else 0):
                    reached[owner[first]] = True
                    gone = reached[owner]
                    left, gone = chosen(~gone), chosen(gone)
                    found.put(rows[gone], best, gone)
                    found.iterations[rows[gone]] = k
                    rows, owner, moved, goals = rows[left], owner[left], moved[left], goals.of(left)
                    state, best = tuple(x[left] for x in state), Ended(*(x[left] for x in best))
                    if not len(rows):
                        return found
            q = moved
        found.put(rows, best, slice(None))
        found.iterations[rows] = most
        return found

    def one(self, q: FloatArray, goals: Goals, tolerance: float, most: int) -> Ended:
        """The same from one q (nq,), by code for one configuration."""
        state, levels, newer = self._first, self.hierarchy.levels, self.objective is not None
        best, least, done = q, ([FAR] * levels, [FAR] * levels), 0
        for _ in range(most):
            moved, state, wish = self.step(q, goals, state)
            done += 1
            numbers = state[0].tolist()
            here = [x[COST] for x in numbers], [x[SIZE] for x in numbers]
            if is_better(here, least, tolerance, newer):
                best, least = q, here
            ended = max(here[1]) <= tolerance
            if self.hierarchy.lower and ended is newer:
                ended = bool(np.abs(wish).max() <= SETTLED)
            if ended:
                break
            q = moved
        return Ended(best[None], np.array(least[0])[None], np.array(least[1])[None], np.array([done]))

    def step(self, q: Array, goals: Goals, state: tuple[Array, ...]) -> Any:
        """(moved, state, wish) for rows, or for one q (nq,); a state is that of priorities, and their last push."""
        weight = self.hierarchy.weight if q.ndim == 1 else self.weights(q)
        if not self.hierarchy.lower:
            moved, after = self._function.call(q, *goals, weight, state[0], threads=self.threads)
            return moved, (after,), None
        if self.objective is None:
            pull = full((*q.shape[:-1], self.hierarchy.model.nv), 0.0, q)
        else:
            pull = self.objective(q) if q.ndim == 2 else self.objective(q[None])[0]
        given = (q, *goals, weight, state[0], pull, state[1])
        moved, after, pushed, wish = self._function.call(*given, threads=self.threads)
        return moved, (after, pushed), wish

    def measured(self, ended: Ended, goals: Goals) -> Ended:
        """The same with costs and errors at its q, without offsets."""
        state = self.step(ended.q, goals._replace(offset=goals.offset * 0), self.begun(ended.q))[1][0]
        return ended._replace(cost=state[:, :, COST] + 0, error=state[:, :, SIZE] + 0)

    def errors(self, q: Array, goals: Goals) -> Array:
        """(rows, task rows) errors at q, without a weight zero."""
        given = (q, *goals._replace(offset=goals.offset * 0), self.weights(q))
        return self.hierarchy.unweighted(self.hierarchy.linearised(self.device).call(*given, threads=self.threads)[0])

    def weights(self, q: Array) -> Array:
        """(rows,) for all, or on the CPU (batch, rows): arrays of the right shape and type take the fast call."""
        if self.device.is_gpu:
            self._weights = asarray(self._weights, q)
            return self._weights[0]
        if len(self._weights) < len(q):
            self._weights = np.tile(self.hierarchy.weight, (len(q), 1))
        return self._weights[: len(q)]

    def begun(self, q: Array) -> tuple[Array, ...]:
        """States before the first step, from which any error is better."""
        state = full((len(q), *self._first[0].shape), 0.0, q) + asarray(self._first[0], q)
        return (state, *(full((len(q), *x.shape), 0.0, q) for x in self._first[1:]))


def chosen(mask: Array) -> Array:
    """The numbers of rows where a mask is true."""
    found = mask.nonzero()
    return found[0] if isinstance(found, tuple) else found[:, 0]


def numbered(count: int, like: Array) -> Array:
    """0, 1, ... where `like` is."""
    return full((count,), 1, like, "int64").cumsum(0) - 1


def nowhere(q: Array, levels: int) -> Ended:
    """Rows that have not moved yet."""
    far, count = full((len(q), levels), FAR, q), full((len(q),), 0, q, "int64")
    return Ended(q + 0, far, far + 0, count)


def is_better(a: Errors, b: Errors, tolerance: float, newer: bool) -> Any:
    """Whether a is nearer than b, the first priority first; where they are alike, whether a is `newer`.

    Both are costs and errors of each priority: numbers, or arrays (rows,). Errors within the tolerance are alike; the
    last priority decides by any difference.
    """
    last = len(a[0]) - 1
    if last == 0 and not newer:
        return a[0][0] < b[0][0]
    better: Any = False
    tie: Any = True
    for k, (x, y, e, f) in enumerate(zip(a[0], b[0], a[1], b[1], strict=True)):
        x, y, slack = x * (e > tolerance), y * (f > tolerance), tolerance if k < last else 0.0
        better = better | (tie & (x < y - slack))
        tie = tie & (abs(x - y) <= slack)
    return better | tie if newer else better
