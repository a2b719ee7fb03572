"""Searches from many starts, and what to do where some priority cannot be reached.

Where the error of a priority stays above zero, its curvature misleads the steps of lower ones. So those above the
last are solved for themselves, the errors that they leave become offsets, and all descend once more from there.
"""

from __future__ import annotations

import numpy as np

from bough.compile.executions import CPU, GPU
from bough.compile.run.libraries import asarray, full, is_on_gpu
from bough.control.ik.descent import Descent, Ended, chosen, nowhere, numbered
from bough.control.ik.objectives import Objective
from bough.control.ik.problem import Array, Bounds, Goals, Hierarchy
from bough.control.ik.refine import Refinement

NEWTON = 2  # times as many Newton steps as a start has
CANDIDATES = 7  # further minima from which Newton steps go down
PATIENCE = 4  # times as many steps as a start has, for the nearest of those that failed
POOL = 128  # starts that are drawn for a wave


class Search:
    """`limits` are the tolerance, the steps of a start, and how many starts there are at most."""

    def __init__(
        self,
        bounds: Bounds,
        objective: Objective | None,
        limits: tuple[float, int, int],
        seed: int,
        threads: int | None = None,
    ) -> None:
        self.bounds, self.objective, self.threads = bounds, objective, threads
        self.tolerance, self.most, self.starts = limits
        self.seed = seed

    def __call__(self, hierarchy: Hierarchy, begin: Array, goals: Goals) -> tuple[Ended, Array]:
        """The nearest configurations that were found from `begin` (batch, nq), and how many starts were tried."""
        objective = self.objective if hierarchy.has_objective else None
        descent = Descent(hierarchy, objective, self.threads, GPU if is_on_gpu(begin) else CPU)
        best = descent(begin, goals, self.tolerance, self.most)
        tried = full((len(begin),), 1, begin, "int64")
        if (missed := self._missed(best)).any():
            self._start_again(descent, begin, goals, best, tried)
            missed = self._missed(best)
        rows = chosen(missed)
        if len(rows):  # the nearest is approached further: slow limits, or a target out of reach
            self._approach(descent, best.q[rows], goals.of(rows), best, rows)
            if hierarchy.lower:
                self._in_turn(descent, begin, goals, best, rows)
            if not descent.device.is_gpu and (hierarchy.levels > 1 or not hierarchy.lower):
                self._refine(descent, goals, best)
        return best, tried

    def _missed(self, ended: Ended) -> Array:
        return (ended.error > self.tolerance).any(1)

    def _start_again(self, descent: Descent, begin: Array, goals: Goals, best: Ended, tried: Array) -> None:
        """Descents from ever more drawn starts at once for the rows that failed."""
        rows, done, rng = chosen(self._missed(best)), 1, np.random.default_rng(self.seed)
        while len(rows) and done < self.starts:
            wave = min(done, self.starts - done)
            owner = numbered(len(rows) * wave, begin) // wave
            some = goals.of(rows[owner])
            start = self._drawn(begin[rows[owner]], some, wave, rng)
            ended = descent(start, some, self.tolerance, self.most, owner)
            for k in range(wave):
                best.merge(rows, Ended(*(x[k::wave] for x in ended)), self.tolerance)
            done += wave
            tried[rows] = done
            rows = rows[(best.error[rows] > self.tolerance).any(1)]

    def _approach(self, descent: Descent, q: Array, goals: Goals, best: Ended, rows: Array) -> None:
        """Descend from q with more patience; what is better, without offsets, is taken over."""
        ended = descent(q, goals, self.tolerance, PATIENCE * self.most)
        best.merge(rows, descent.measured(ended, goals), self.tolerance)

    def _in_turn(self, descent: Descent, begin: Array, goals: Goals, best: Ended, rows: Array) -> None:
        """Solve the priorities above the last, then all with the errors that those leave as offsets."""
        above = descent.hierarchy.above
        ended, _ = self(above, begin[rows], above.own(goals.of(rows)))
        best.iterations[rows] += ended.iterations
        some = goals.of(rows)
        error = Descent(above, None, self.threads, descent.device).errors(ended.q, above.own(some))
        offset, first = full((len(rows), descent.hierarchy.tasks.size), 0.0, begin) + some.offset, 0
        for k, last in enumerate(above.last):
            far = (ended.error[:, k] > self.tolerance)[:, None]
            offset[:, first:last] = error[:, first:last] * far
            first = last
        self._approach(descent, ended.q, some._replace(offset=offset), best, rows)

    def _refine(self, descent: Descent, goals: Goals, best: Ended) -> None:
        """Newton steps where some priority is not reached, from the nearest and, with several, from other minima."""
        rows = chosen(self._missed(best))
        if not len(rows):
            return
        starts = best.q[rows][:, None]
        if descent.hierarchy.levels > 1:
            owner = np.repeat(rows, CANDIDATES)
            some = goals.of(owner)
            drawn = self._drawn(best.q[owner], some, CANDIDATES, np.random.default_rng(self.seed))
            ended = descent(drawn, some, self.tolerance, self.most)
            starts = np.concatenate([starts, ended.q.reshape(len(rows), CANDIDATES, -1)], axis=1)
        refined = (Refinement(descent.hierarchy, goals.of([r]), self.tolerance, NEWTON * self.most) for r in rows)
        q = np.array([refine(some) for refine, some in zip(refined, starts, strict=True)])
        measured = descent.measured(nowhere(q, descent.hierarchy.levels)._replace(q=q), goals.of(rows))
        best.merge(rows, measured, self.tolerance)

    def _drawn(self, q: Array, goals: Goals, count: int, rng: np.random.Generator) -> Array:
        """Starts (rows, nq), `count` for each problem: joints of one DoF are drawn, others (a floating base) stay.

        Digits of the target say which of a pool they are: what is beside a problem in a batch has no say in its answer.
        """
        single, out = self.bounds.single, q + 0
        pool = asarray(self.bounds.model.random_configuration(rng, max(POOL, count))[:, single], q)
        first = asarray(1e6 * abs(goals.target).sum((1, 2)) % POOL, q, "int64")
        out[:, single] = pool[(first + numbered(len(q), q) % count) % len(pool)]
        return self.bounds.clip(out)
