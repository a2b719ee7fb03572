"""Inverse kinematics by Levenberg-Marquardt on the manifold of configurations, for many targets and starts at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import device_of
from bough.compile.run.arrays import is_count, is_real, real_array
from bough.compile.run.libraries import asarray, full, is_on_gpu, library_of
from bough.control.ik.objectives import POSTURE_GAIN, Objective, away_from_singularity
from bough.control.ik.problem import LEAST, Array, Bounds, Hierarchy, Key, Targets, by_name, by_priority
from bough.control.ik.search import Search
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError, UnknownNameError
from bough.model import Model
from bough.opspace import Task, TaskSet, closure_targets, closure_tasks, pose
from bough.opspace.aims import common_batch
from bough.opspace.status import BAD_INPUT, OK, UNMET
from bough.types import FloatArray, IntArray


class Solution(NamedTuple):
    """Answers of `solve`; in a batch with a leading axis."""

    q: FloatArray  # (nq,) the nearest configuration found, within the limits
    success: Any  # () whether all tasks are within the tolerance; with several priorities (priorities,), for each
    error: Any  # |target less position| of their rows, alike: metres and radians together
    iterations: Any  # () steps of all starts together
    starts: Any  # () how many starts were tried


class Step(NamedTuple):
    """One step of `step`: the velocity to command, where it leads, and the error before it."""

    velocity: FloatArray  # (nv,)
    q: FloatArray  # (nq,)
    error: Any  # (), or (priorities,)


@explained
class InverseKinematics:
    """Tasks on a model, compiled for inverse kinematics; the name of a frame stands for its pose.

    `weights` are numbers, or one for each row of a task; tasks of `priorities` 1, 2, ... are met as far as those before
    them leave it, then `posture` (nq,) and `manipulability`, a gain on the slope of log sqrt(det(J J')) of the first.
    """

    def __init__(
        self,
        model: Model,
        tasks: Iterable[Task | str],
        *,
        weights: Mapping[Key, Any] | None = None,
        priorities: Mapping[Key, int] | None = None,
        posture: npt.ArrayLike | None = None,
        manipulability: float = 0.0,
        limits: bool = True,
    ) -> None:
        if limits not in (True, False):
            raise TaskError(f"limits is True or False, got {limits!r}")
        self.model = model
        if isinstance(tasks, Task | str):
            raise TaskError('tasks are a list of tasks or names of frames, as ["hand"] or [bough.position("hand")]')
        given = tuple(tasks)
        for task in given:
            if not isinstance(task, Task | str):
                raise TaskError(f"expected tasks or names of frames, got {task!r}")
        self.tasks = tuple(task if isinstance(task, Task) else pose(task) for task in given)
        self.names: dict[Key, str] = {key: task.name for key, task in zip(given, self.tasks, strict=True)}
        self.names |= {task: task.name for task in self.tasks}
        levels = by_priority(self.tasks, by_name(priorities, self.names, "a priority"))
        weighed = by_name(weights, self.names, "a weight")
        self.bounds = Bounds(model, limits)
        if not is_real(manipulability) or not 0.0 <= manipulability < np.inf:
            raise TaskError(f"manipulability is a gain that is not negative, got {manipulability!r}")
        if posture is not None and np.ndim(posture) != 1:
            raise ShapeError(f"posture has shape ({model.nq},), got {np.shape(posture)}")
        objectives: list[Objective] = []
        if posture is not None:
            goal = configurations(model, "posture", posture)[0]
            objectives.append(lambda q: POSTURE_GAIN * model.difference(q, goal))
        if manipulability > 0.0:
            objectives.append(away_from_singularity(TaskSet(model, levels[0]), manipulability))
        self.objective: Objective | None = (
            (lambda q: np.sum([x(q) for x in objectives], axis=0)) if objectives else None
        )
        loops = closure_tasks(model)  # closed before all else
        self.closed, self.has_loops = closure_targets(model), bool(loops)
        levels = [loops, *levels] if loops else levels
        self.hierarchy = Hierarchy(self.bounds, levels, weighed, self.objective is not None)

    def solve(
        self,
        targets: Targets,
        q0: Any = None,
        *,
        tolerance: float = 1e-6,
        iterations: int | None = None,
        starts: int = 16,
        seed: int = 0,
        threads: int | None = None,
        device: str | None = None,
    ) -> Solution:
        """Configurations in which the tasks are at their targets: see `bough.ik.solve`.

        Targets are given by task, by the name of a task, or by the frame that was named in its place.
        """
        model = self.model
        steps = 1 if iterations is None else iterations
        if not is_real(tolerance) or not tolerance > 0.0 or not is_count(starts) or not is_count(steps):
            got = f"{tolerance!r}, {starts!r}, {iterations!r}"
            raise TaskError(f"tolerance > 0, starts >= 1, iterations >= 1: got {got}")
        if not is_count(seed, 0):
            raise TaskError(f"seed is a number 0, 1, ..., got {seed!r}")
        found = self._named(targets)
        like = device_array([*found.values(), q0], device)
        if like is not None and self.objective is not None:
            raise TaskError("posture= and manipulability= are for the CPU; on a GPU give a task posture() a priority")
        goals, alone = self.hierarchy.goals(found, like)
        given = asarray(model.neutral + 0.0, like) if q0 is None else q0
        first = configurations(model, "q0", given, like)
        batch = common_batch({"q0": len(first), "targets": len(goals.target)})
        begin = self.bounds.clip(repeated(first, batch))
        most = 20 + model.nv // 2 if iterations is None else iterations
        search = Search(self.bounds, self.objective, (tolerance, most, starts), seed, threads)
        best, tried = search(self.hierarchy, begin, goals.repeated(batch))
        success = best.error <= tolerance
        if self.has_loops:  # nothing succeeds where they are open
            success = success & success[:, :1]
        error = self._by_priority(best.error)
        ended = Solution(best.q, self._by_priority(success), error, best.iterations, tried)
        return Solution(*(x[0] for x in ended)) if alone and np.ndim(given) == 1 else ended

    def with_status(
        self, targets: Targets, q0: npt.ArrayLike | None = None, **search: Any
    ) -> tuple[Solution, IntArray]:
        """The result of `solve`, and a status for each row: no row of a batch raises for the others.

        It is 0 where the targets are reached, 2 where one of them or the start is not finite, too far or no placement
        (q and error are NaN there), and 4 where they are not reached: q is the nearest configuration found.
        """
        named = self._named(targets)
        start = np.asarray(real_array("q0", self.model.neutral if q0 is None else q0), float)
        batches, good = self._usable(named, start)
        rows = np.flatnonzero(good)
        begin = np.broadcast_to(start, (len(good), self.model.nq))
        chosen = {name: np.asarray(x, float)[rows] if name in batches else x for name, x in named.items()}
        found = self.solve(chosen, begin[rows], **search) if len(rows) else None
        count = (len(good), *self._priorities)
        q, error = np.full((len(good), self.model.nq), np.nan), np.full(count, np.nan)
        whole = Solution(q, np.zeros(count, bool), error, *np.zeros((2, len(good)), int))
        if found is not None:
            for x, part in zip(whole, found, strict=True):
                x[rows] = part
        reached = whole.success.all(axis=-1) if self._priorities else whole.success
        status = np.where(good, np.where(reached, OK, UNMET), BAD_INPUT)
        return (whole, status) if batches or start.ndim > 1 else (Solution(*(x[0] for x in whole)), status[0])

    def _usable(self, targets: Mapping[str, Any], start: FloatArray) -> tuple[set[str], Any]:
        """Which targets come as batches, and for each row (batch,) whether all that it needs can be used."""
        configurations(self.model, "q0", np.zeros(start.shape))
        parts: dict[str, Any] = {"q0": _configured(self.model, start.reshape(-1, self.model.nq))}
        batches = set()
        aims = self.hierarchy.aims
        for task in self.tasks:
            parts[task.name] = aims.usable(task, targets[task.name])
            batches |= {task.name} if aims.is_batch(task, targets[task.name]) else set()
        count = common_batch({name: len(x) for name, x in parts.items()})
        return batches, np.all([np.broadcast_to(x, count) for x in parts.values()], axis=0)

    def step(
        self,
        targets: Targets,
        q: npt.ArrayLike,
        *,
        gain: float = 1.0,
        dt: float = 1.0,
        damping: float = LEAST,
        threads: int | None = None,
    ) -> Step:
        """One step towards the targets from q: `gain` is the share of the error that goes away in a unit of time.

        Where a joint is at its velocity limit, or would pass a position limit after `dt`, the others make up for it as
        far as they can: priority by priority, the velocity leaves the least error within these limits.
        """
        if not all(map(is_real, (gain, dt, damping))) or not (gain >= 0.0 and dt > 0.0 and damping > 0.0):
            raise TaskError(f"gain must not be negative, dt and damping above zero, got {gain!r}, {dt!r}, {damping!r}")
        goals, alone = self.hierarchy.goals(self._named(targets))
        x = configurations(self.model, "q", q)
        batch = common_batch({"q": len(x), "targets": len(goals.target)})
        x = self.bounds.clip(repeated(x, batch))
        e, J = self.hierarchy.linearised().call(x, *goals.repeated(batch), self.hierarchy.weight, threads=threads)
        pull = np.zeros((batch, self.model.nv)) if self.objective is None else gain * self.objective(x)
        box = self.bounds.velocities(x, dt)
        v = self.hierarchy.servo.call(gain * e, J, *box, pull, np.array([damping]), threads=threads)
        moved = self.bounds.clip(self.model.integrate(x, dt * v, threads=threads))
        v = self.model.difference(x, moved, threads=threads) / dt
        found = Step(v, moved, self._by_priority(self.hierarchy.norms(self.hierarchy.unweighted(e))))
        return Step(*(y[0] for y in found)) if alone and np.ndim(q) == 1 else found

    @property
    def _priorities(self) -> tuple[int, ...]:
        """The shape of results for each priority: () of one."""
        count = self.hierarchy.levels - self.has_loops
        return (count,) if count > 1 else ()

    def _by_priority(self, x: Any) -> Any:
        """(batch, priorities) without the loops, (batch,) where there is one priority."""
        x = x[:, self.has_loops :]
        return x if self._priorities else x[:, 0]

    def _named(self, targets: Targets) -> dict[str, Any]:
        """Targets by the names of the tasks, one for each."""
        names = list(dict.fromkeys(self.names.values()))
        found: dict[Any, Any] = {}
        for key in targets:
            name = self.names.get(key, key)
            if name in found:
                raise TaskError(f"there are two targets for {name!r}")
            found[name] = targets[key]
        odd = sorted(set(found) ^ set(names), key=str)
        if odd:
            raise UnknownNameError(f"targets are for {', '.join(map(repr, names))}; {odd[0]!r} is missing or no task")
        return found | self.closed


def _configured(model: Model, q: FloatArray) -> Any:
    """(batch,) which rows are configurations: finite, and with quaternions that are rotations."""
    good: Any = np.isfinite(q).all(axis=1)
    rows = np.flatnonzero(good)
    try:
        model.integrate(q[rows], np.zeros((len(rows), model.nv)))
    except NumericalError as error:
        good[rows[list(error.rows)]] = False
    return good


def configurations(model: Model, name: str, given: Any, like: Array | None = None) -> Array:
    """(batch, nq), checked to be finite on the CPU, and not checked on the GPU."""
    q = np.asarray(real_array(name, given), float) if like is None else asarray(given, like)
    if q.ndim not in (1, 2) or q.shape[-1] != model.nq:
        raise ShapeError(f"{name} has shape ({model.nq},) or (batch, {model.nq}), got {tuple(q.shape)}")
    if like is None and not np.isfinite(q).all():
        raise NonFiniteError(f"{name} is not finite")
    return q.reshape(-1, model.nq)


def repeated(q: Array, batch: int) -> Array:
    """A copy of q (1 or batch, nq) with as many rows."""
    return q + 0 if len(q) == batch else full((batch, q.shape[1]), 0.0, q) + q


def device_array(arrays: Iterable[Any], device: str | None) -> Array | None:
    """One of the arrays that are on a GPU, None if none is; `device` says where all are expected."""
    wanted = device_of(device, "rows")
    found = next((x for x in arrays if is_on_gpu(x)), None)
    if device is not None and (found is not None) != wanted.is_gpu:
        where = "on the host" if found is None else "on a GPU"
        raise ShapeError(f"device={device!r}, but the targets are {where}: give tensors where they shall be used")
    if found is not None and (library_of(found) not in ("torch", "cupy") or not str(found.dtype).endswith("float64")):
        kind = f"{type(found).__name__} of {found.dtype}"
        raise ShapeError(f"on a GPU targets are float64 tensors of PyTorch or CuPy, got {kind}")
    return found
