"""Inverse kinematics by Levenberg-Marquardt on the manifold of configurations, for many targets and starts at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import is_count, is_real, real_array
from bough.control.ik.descent import LEAST, Descent, Ended, begun
from bough.control.ik.objectives import away_from_singularity, sum_of, towards
from bough.control.ik.problem import Bounds, Goals, Key, by_name, levels
from bough.control.ik.step import SIZE
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError, UnknownNameError
from bough.model import Model
from bough.opspace import Task, closure_targets, closure_tasks
from bough.opspace.aims import common_batch
from bough.opspace.status import BAD_INPUT, OK, UNMET
from bough.types import FloatArray, IntArray

PATIENCE = 3  # times as many steps as a start has, for the nearest of those that failed


class Solution(NamedTuple):
    """Answers of `solve`; in a batch with a leading axis."""

    q: FloatArray  # (nq,) the nearest configuration found, within the limits
    success: Any  # () whether all tasks of the first priority are within the tolerance
    error: Any  # () |target less position| of their rows: metres and radians together
    iterations: Any  # () steps of all starts together
    starts: Any  # () how many starts were tried


class Step(NamedTuple):
    """One step of `step`: the velocity to command, where it leads, and the error before it."""

    velocity: FloatArray  # (nv,)
    q: FloatArray  # (nq,)
    error: Any  # ()


class InverseKinematics:
    """Tasks on a model, compiled for inverse kinematics.

    `weights` are numbers, or one for each row of a task; tasks of `priorities` 1, 2, ... are met as far as those before
    them leave it, then `posture` (nq,) and `manipulability`, a gain on the slope of log sqrt(det(J J')) of the first.
    """

    def __init__(
        self,
        model: Model,
        tasks: Iterable[Task],
        *,
        weights: Mapping[Key, Any] | None = None,
        priorities: Mapping[Key, int] | None = None,
        posture: npt.ArrayLike | None = None,
        manipulability: float = 0.0,
        limits: bool = True,
    ) -> None:
        if limits not in (True, False):
            raise TaskError(f"limits is True or False, got {limits!r}")
        self.model, self.tasks = model, tuple(tasks)
        names: dict[Key, str] = {task: task.name for task in self.tasks}
        ranks = by_name(priorities, names, "a priority")
        # loops are closed before all else
        loops = closure_tasks(model)
        self.closed = closure_targets(model)
        self.bounds = Bounds(model, limits)
        self.loops = levels(self.bounds, loops, {}, {})
        self.levels = levels(self.bounds, (*loops, *self.tasks), by_name(weights, names, "a weight"), ranks)
        if not is_real(manipulability) or not 0.0 <= manipulability < np.inf:
            raise TaskError(f"manipulability is a gain that is not negative, got {manipulability!r}")
        if posture is not None and np.ndim(posture) != 1:
            raise ShapeError(f"posture has shape ({model.nq},), got {np.shape(posture)}")
        objectives = [] if posture is None else [towards(model, configurations(model, "posture", posture)[0])]
        if manipulability > 0.0:
            objectives.append(away_from_singularity(self.levels[0].tasks, manipulability))
        self.objective = sum_of(objectives)

    def solve(
        self,
        targets: Mapping[str, Any],
        q0: npt.ArrayLike | None = None,
        *,
        tolerance: float = 1e-6,
        iterations: int | None = None,
        starts: int = 16,
        seed: int = 0,
        threads: int | None = None,
    ) -> Solution:
        """Configurations in which the tasks are at their targets, given by their names: see `bough.ik.solve`."""
        model = self.model
        _check_search(tolerance, iterations, starts, seed)
        goals, alone = self.goals(targets)
        given = model.neutral if q0 is None else q0
        first = configurations(model, "q0", given)
        batch = common_batch({"q0": len(first), "targets": len(goals[0].target)})
        begin = self.bounds.clip(np.array(np.broadcast_to(first, (batch, model.nq))))
        full = [g.repeated(batch) for g in goals]
        most = 20 + model.nv // 2 if iterations is None else iterations
        found = self._search(begin, full, (tolerance, most, starts), seed, threads)
        return Solution(*(x[0] for x in found)) if alone and np.ndim(given) == 1 else found

    def with_status(
        self, targets: Mapping[str, Any], q0: npt.ArrayLike | None = None, **search: Any
    ) -> tuple[Solution, IntArray]:
        """What `solve` finds, and a status for each row: no row of a batch raises for the others.

        It is 0 where the targets are reached, 2 where one of them or the start is not finite, too far or no placement
        (q and error are NaN there), and 4 where they are not reached: q is the nearest configuration found.
        """
        self._check_names(targets)
        start = np.asarray(real_array("q0", self.model.neutral if q0 is None else q0), float)
        batches, good = self._usable(targets, start)
        rows = np.flatnonzero(good)
        begin = np.broadcast_to(start, (len(good), self.model.nq))
        chosen = {name: np.asarray(x, float)[rows] if name in batches else x for name, x in targets.items()}
        found = self.solve(chosen, begin[rows], **search) if len(rows) else None
        q, error = np.full((len(good), self.model.nq), np.nan), np.full(len(good), np.nan)
        whole = Solution(q, np.zeros(len(good), bool), error, *np.zeros((2, len(good)), int))
        if found is not None:
            for x, part in zip(whole, found, strict=True):
                x[rows] = part
        status = np.where(good, np.where(whole.success, OK, UNMET), BAD_INPUT)
        return (whole, status) if batches or start.ndim > 1 else (Solution(*(x[0] for x in whole)), status[0])

    def _usable(self, targets: Mapping[str, Any], start: FloatArray) -> tuple[set[str], Any]:
        """Which targets come as batches, and for each row (batch,) whether all that it needs can be used."""
        configurations(self.model, "q0", np.zeros(start.shape))
        parts: dict[str, Any] = {"q0": _configured(self.model, start.reshape(-1, self.model.nq))}
        batches = set()
        for level in self.levels:
            for task in level.tasks.tasks:
                if task.name in targets:
                    parts[task.name] = level.aims.usable(task, targets[task.name])
                    batches |= {task.name} if level.aims.is_batch(task, targets[task.name]) else set()
        count = common_batch({name: len(x) for name, x in parts.items()})
        return batches, np.all([np.broadcast_to(x, count) for x in parts.values()], axis=0)

    def step(
        self,
        targets: Mapping[str, Any],
        q: npt.ArrayLike,
        *,
        gain: float = 1.0,
        dt: float = 1.0,
        damping: float = LEAST,
        threads: int | None = None,
    ) -> Step:
        """One step towards the targets from q: `gain` is the share of the error that goes away in a unit of time.

        The velocity is slowed down as a whole where a joint would exceed its velocity limit, and joints stop at their
        position limits after `dt`.
        """
        if not all(map(is_real, (gain, dt, damping))) or not (gain >= 0.0 and dt > 0.0 and damping > 0.0):
            raise TaskError(f"gain must not be negative, dt and damping above zero, got {gain!r}, {dt!r}, {damping!r}")
        goals, alone = self.goals(targets)
        x = configurations(self.model, "q", q)
        batch = common_batch({"q": len(x), "targets": len(goals[0].target)})
        x = self.bounds.clip(np.array(np.broadcast_to(x, (batch, self.model.nq))))
        full = [g.repeated(batch) for g in goals]
        _, state, step = Descent(self.levels, self.objective, threads).step(x, full, begun(batch, damping, 0.0))
        v = gain * step
        v /= np.maximum(1.0, np.abs(v / self.model.limits.velocity).max(axis=1))[:, None]
        moved = self.bounds.clip(self.model.integrate(x, dt * v, threads=threads))
        v = self.model.difference(x, moved, threads=threads) / dt
        found = Step(v, moved, state[:, SIZE])
        return Step(*(y[0] for y in found)) if alone and np.ndim(q) == 1 else found

    def goals(self, targets: Mapping[str, Any]) -> tuple[list[Goals], bool]:
        """Targets of each level, in batches of one size, and whether none of them came as a batch."""
        self._check_names(targets)
        found = [level.goals({**targets, **self.closed}) for level in self.levels]
        batch = common_batch({f"level {k}": len(g.target) for k, (g, _) in enumerate(found)})
        return [g.repeated(batch) for g, _ in found], all(alone for _, alone in found)

    def _check_names(self, targets: Mapping[str, Any]) -> None:
        names = [task.name for task in self.tasks]
        if set(targets) != set(names):
            odd = sorted(set(targets) ^ set(names))[0]
            raise UnknownNameError(f"targets are for {', '.join(map(repr, names))}; {odd!r} is missing or no task")

    def _search(
        self, begin: FloatArray, goals: list[Goals], limits: tuple[float, int, int], seed: int, threads: int | None
    ) -> Solution:
        """Descents from `begin`, then from ever more drawn starts at once for those that failed."""
        tolerance, most, starts = limits
        descent, batch = Descent(self.levels, self.objective, threads), len(begin)
        best = descent(begin, goals, np.arange(batch), tolerance, most)
        tried, rows, wave = np.ones(batch, np.int64), np.flatnonzero(best.error > tolerance), 1
        rows = rows[: len(rows) if starts > 1 else 0]
        rng = np.random.default_rng(seed) if len(rows) else None
        while len(rows):
            owner = np.repeat(np.arange(len(rows)), wave)
            start = self._drawn(begin[rows[owner]], rng)
            ended = descent(start, [g.of(rows[owner]) for g in goals], owner, tolerance, most)
            _merge(best, rows[owner], ended)
            tried[rows] += wave
            rows = rows[(best.error[rows] > tolerance) & (tried[rows] < starts)]
            if len(rows):
                done = int(tried[rows[0]])
                wave = min(done, starts - done)
        # where nothing was reached, the nearest is approached further: slow limits, or a target out of reach
        rows = np.flatnonzero(best.error > tolerance)
        if len(rows):
            goals = [g.of(rows) for g in goals]
            _merge(best, rows, descent(best.q[rows], goals, np.arange(len(rows)), tolerance, PATIENCE * most))
            if self.loops:
                self._close(best, rows, goals, (tolerance, PATIENCE * most))
        return Solution(best.q, best.error <= tolerance, best.error, best.iterations, tried)

    def _close(self, best: Ended, rows: IntArray, goals: list[Goals], limits: tuple[float, int]) -> None:
        """Rows whose targets would pull their loops open are closed again, and their errors measured there."""
        whole = self.loops[0].goals(self.closed)[0].repeated(len(rows))
        found = Descent(self.loops, None)(best.q[rows], [whole], np.arange(len(rows)), *limits)
        state = Descent(self.levels, self.objective).step(found.q, goals, begun(len(rows)))[1]
        closed = found.error <= limits[0]
        best.q[rows[closed]], best.error[rows[closed]] = found.q[closed], state[closed, SIZE]

    def _drawn(self, q: FloatArray, rng: Any) -> FloatArray:
        """Starts (rows, nq): all joints of one freedom are drawn anew, others (a floating base) stay."""
        some = self.model.random_configuration(rng, len(q))
        out, single = q.copy(), self.bounds.single
        out[:, single] = some[:, single]
        return self.bounds.clip(out)


def _merge(best: Ended, rows: IntArray, ended: Ended) -> None:
    """Take over what is better; several rows of `ended` may belong to one row of `best`."""
    np.add.at(best.iterations, rows, ended.iterations)
    order = np.argsort(-ended.cost, kind="stable")  # the best last: it overwrites the others
    order = order[ended.cost[order] < best.cost[rows[order]]]
    best.q[rows[order]], best.cost[rows[order]] = ended.q[order], ended.cost[order]
    best.error[rows[order]] = ended.error[order]


def _check_search(tolerance: Any, iterations: Any, starts: Any, seed: Any) -> None:
    counts = [x for x in (starts, iterations) if x is not None]
    if not is_real(tolerance) or not tolerance > 0.0 or not all(map(is_count, counts)):
        raise TaskError(f"tolerance > 0, starts >= 1, iterations >= 1: got {tolerance!r}, {starts!r}, {iterations!r}")
    if not is_count(seed, 0):
        raise TaskError(f"seed is a number 0, 1, ..., got {seed!r}")


def _configured(model: Model, q: FloatArray) -> Any:
    """(batch,) which rows are configurations: finite, and with quaternions that are rotations."""
    good: Any = np.isfinite(q).all(axis=1)
    rows = np.flatnonzero(good)
    try:
        model.integrate(q[rows], np.zeros((len(rows), model.nv)))
    except NumericalError as error:
        good[rows[list(error.rows)]] = False
    return good


def configurations(model: Model, name: str, given: npt.ArrayLike) -> FloatArray:
    """(batch, nq) of finite numbers."""
    q = np.asarray(real_array(name, given), float)
    if q.ndim not in (1, 2) or q.shape[-1] != model.nq:
        raise ShapeError(f"{name} has shape ({model.nq},) or (batch, {model.nq}), got {q.shape}")
    if not np.isfinite(q).all():
        raise NonFiniteError(f"{name} is not finite")
    return q.reshape(-1, model.nq)
