"""Problems of inverse kinematics: tasks, their targets, weights, priorities and levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.executions import CPU, CompiledFunction, Device, bind_arrays
from bough.compile.routine import Routine
from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import asarray, full, is_on_gpu, on_host
from bough.control.ik.servo import LINEARISE, SERVO
from bough.control.ik.step import FLOOR, LOWER, PRIORITY_STEP, RIGID, SHARE, Limited, Priorities, step_routine
from bough.errors import ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, orientation, pose, position
from bough.opspace.aims import are_rotations
from bough.opspace.methods import Prepared
from bough.types import FloatArray

Key: TypeAlias = str | Task
Targets: TypeAlias = Mapping[Any, Any]  # Key -> target
Array: TypeAlias = Any  # of numpy, or of a library on the GPU


SHARES = (1e-3, 10.0)  # bounds of the share of the error that is damping
FIRST_SHARES = (0.1, 1.0)  # of the first priority, and of the others
LEAST = 1e-10  # damping that is always there: no matrix is singular
FAR = 1e300  # no limit, and no error yet: numbers that are finite


class Bounds:
    """Position limits of joints with one degree of freedom, and their places in q and v."""

    def __init__(self, model: Model, active: bool = True) -> None:
        q, v = model.scalar_joints
        lower, upper = model.limits.lower[v], model.limits.upper[v]
        some = (np.isfinite(lower) | np.isfinite(upper)) & active
        self.model, self.single, self.q = model, np.array(q), q[some]
        lower, upper = (np.clip(x[some], -FAR, FAR) for x in (lower, upper))
        self.limited = Limited(self.q, v[some], lower, upper, np.array([*SHARES, RIGID]))

    def clip(self, q: FloatArray) -> FloatArray:
        """Put q (batch, nq) within the limits, in place; returns it."""
        if len(self.q):
            lower, upper = asarray(self.limited.lower, q), asarray(self.limited.upper, q)
            q[:, self.q] = q[:, self.q].clip(lower, upper)
        return q

    def velocities(self, q: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest (batch, nv) that keep the velocity limits, and the position limits after dt."""
        high = np.tile(np.minimum(self.model.limits.velocity, FAR), (len(q), 1))
        low, at = -high, self.limited.v
        low[:, at] = np.maximum(low[:, at], (self.limited.lower - q[:, self.q]) / dt)
        high[:, at] = np.minimum(high[:, at], (self.limited.upper - q[:, self.q]) / dt)
        return low, high


class Goals(NamedTuple):
    """Targets, a row for each problem; on a GPU posture and offset may be one for all, without that axis."""

    target: Array  # (batch, aims, 12)
    posture: Array  # (batch, nq)
    offset: Array  # (batch, task rows) errors that may stay: those of priorities that cannot be reached

    def of(self, rows: Any) -> Goals:
        return Goals(self.target[rows], *(x[rows] if x.ndim == 2 else x for x in self[1:]))

    @property
    def first(self) -> Goals:
        """Those of the first problem, without the leading axis."""
        return Goals(*(x[0] for x in self))

    def repeated(self, batch: int) -> Goals:
        """The same for `batch` problems, where these are one or as many."""
        return Goals(*(x if x.ndim == 1 or len(x) == batch else full((batch, *x.shape[1:]), 0.0, x) + x for x in self))


class Hierarchy:
    """Tasks by priority on a model, and whether an objective comes last; the compiled step."""

    def __init__(
        self, bounds: Bounds, levels: Sequence[Sequence[Task]], weights: Mapping[str, Any], has_objective: bool
    ) -> None:
        self.model, self.bounds, self.has_objective = bounds.model, bounds, has_objective
        self._levels, self._weights = levels, weights
        self._functions: dict[Device, CompiledFunction] = {}
        self._linearised: dict[Device, CompiledFunction] = {}
        self.tasks = TaskSet(self.model, [task for level in levels for task in level])
        slices = self.tasks.slices
        self.last = [slices[level[-1].name].stop for level in levels]
        self.levels = len(levels)  # that have rows
        self.lower = self.levels - 1 + has_objective  # after the first, the objective among them
        self.aims = AimSet(self.tasks)
        self.weight = np.concatenate([_weight(weights.get(name, 1.0), name, rows.stop - rows.start)
                                      for name, rows in slices.items()])  # fmt: skip

    @cached_property
    def first_state(self) -> tuple[FloatArray, ...]:
        """State of a row before the first step, from which any error is better: (levels, 4), and the push of others."""
        state = np.full((self.levels, 4), FAR)
        state[:, SHARE], state[:, FLOOR] = FIRST_SHARES[1], LOWER
        state[0, SHARE], state[0, FLOOR] = FIRST_SHARES[0], LEAST
        return (state, np.zeros((self.lower, self.model.nv))) if self.lower else (state,)

    @cached_property
    def above(self) -> Hierarchy:
        """The same without its last priority."""
        levels = self._levels if self.has_objective else self._levels[:-1]
        return Hierarchy(self.bounds, levels, self._weights, False)

    def function(self, device: Device = CPU) -> CompiledFunction:
        """(q, *goals, weight, state) -> (moved, state), compiled once.

        With several priorities (..., state, pull, push) -> (moved, state, push, wish).
        """
        if device not in self._functions:
            self._functions[device] = self.prepared().bind(self.tasks, device=device)
        return self._functions[device]

    def prepared(self) -> Prepared:
        """The routine of the step with its constants."""
        rows, nv, limited = self.tasks.size, self.model.nv, self.bounds.limited
        if self.lower:
            return self._on_tasks(PRIORITY_STEP, rows, limited, self._order)
        return self._on_tasks(step_routine(rows, nv), min(rows, nv), limited)

    def linearised(self, device: Device = CPU) -> CompiledFunction:
        """(q, *goals, weight) -> (W e, W J), compiled once."""
        if device not in self._linearised:
            self._linearised[device] = self._on_tasks(LINEARISE, 1).bind(self.tasks, device=device)
        return self._linearised[device]

    @cached_property
    def servo(self) -> CompiledFunction:
        """(W e, W J, low, high, pull, damping) -> velocity."""
        found = Prepared(SERVO, (self._order,), self.tasks.sizes)
        return bind_arrays(*found, general=True, name="inverse kinematics")

    @cached_property
    def _order(self) -> Priorities:
        return Priorities(np.array([*self.last, *([self.tasks.size] if self.has_objective else [])]))

    def _on_tasks(self, routine: Routine, small: int, *constants: tuple[Any, ...]) -> Prepared:
        """A routine on these tasks, with further constants; `small` is the order of its matrix."""
        tasks = self.tasks
        sizes = tasks.sizes | {"aims": self.aims.size, "small": small, "levels": self.levels, "lower": self.lower}
        groups = (self.model.mechanism, tasks.with_placements, tasks.pattern, self.aims.arrays, *constants)
        return Prepared(routine, groups, sizes)

    def goals(self, targets: Mapping[str, Any], like: Array | None = None) -> tuple[Goals, bool]:
        """Targets by the names of tasks, and whether none of them is a batch; on a GPU where `like` is."""
        target, posture = self.aims.targets(targets, self.model.neutral, like)
        found = Goals(target, posture, full((1, self.tasks.size), 0.0, like))
        if like is not None:
            found = Goals(target, posture if self.aims.jointed else posture[0] + 0, found.offset[0])
        return found, self.aims.alone(targets)

    def own(self, goals: Goals) -> Goals:
        """Those of goals, of more priorities, that are its own."""
        return Goals(goals.target[:, : self.aims.size] + 0, goals.posture, goals.offset[..., : self.tasks.size] + 0)

    def unweighted(self, e: Array) -> Array:
        """e (batch, rows) from W e; zero in rows without a weight."""
        return e * asarray(np.divide(1.0, self.weight, out=np.zeros(len(self.weight)), where=self.weight > 0.0), e)

    def norms(self, e: FloatArray) -> FloatArray:
        """(batch, levels) |e| of each priority."""
        return np.stack([np.linalg.norm(x, axis=1) for x in np.split(e, self.last[:-1], axis=1)], axis=1)


def by_priority(tasks: Iterable[Task], ranks: Mapping[str, Any]) -> list[tuple[Task, ...]]:
    """Tasks of each priority, the first (0) first."""
    for name, rank in ranks.items():
        if not isinstance(rank, int | np.integer) or rank < 0:
            raise TaskError(f"the priority of {name!r} is a number 0, 1, ... (0 comes first), got {rank!r}")
    order = sorted({ranks.get(task.name, 0) for task in tasks})
    return [tuple(task for task in tasks if ranks.get(task.name, 0) == rank) for rank in order]


def named(targets: Targets) -> tuple[tuple[Task, ...], dict[str, Any], dict[Key, str]]:
    """The tasks, their targets by name, and the name of each key: a frame with a placement is a pose, with a point a
    position.
    """
    if not targets or not hasattr(targets, "items"):
        raise TaskError('targets are {frame or task: target}, such as {"hand": T}, and at least one')
    tasks: list[Task] = []
    for key, target in targets.items():
        if isinstance(key, Task):
            tasks.append(key)
        elif isinstance(key, str):
            tasks.append(_of_frame(key, target if is_on_gpu(target) else real_array(f"target of {key!r}", target)))
        else:
            raise TaskError(f"a target belongs to a frame's name or to a task, got {key!r}")
    names = {key: task.name for key, task in zip(targets, tasks, strict=True)}
    return tuple(tasks), {names[key]: target for key, target in targets.items()}, names


def by_name(given: Mapping[Key, Any] | None, names: Mapping[Key, str], what: str) -> dict[str, Any]:
    """Weights or priorities by the names of tasks."""
    found = {}
    for key, value in (given or {}).items():
        name = names.get(key, key if key in names.values() else None)
        if not isinstance(name, str):
            listed = ", ".join(map(repr, names.values()))
            raise TaskError(f"{what} for {key!r}, which has no target; there are targets for {listed}")
        found[name] = value
    return found


def _of_frame(frame: str, target: Array) -> Task:
    shape = tuple(target.shape)
    if shape[-2:] == (4, 4):
        return pose(frame)
    if len(shape) == 3 and shape[1:] == (3, 3):
        return orientation(frame)
    if shape == (3, 3) and are_rotations(on_host(target)[None]):
        raise ShapeError(
            f"target of {frame!r}: a rotation (3, 3) may be meant, or three points: give it as "
            f"{{bough.orientation({frame!r}): R}} or {{bough.position({frame!r}): points}}"
        )
    if len(shape) in (1, 2) and shape[-1] == 3:
        return position(frame)
    raise ShapeError(
        f"target of {frame!r}: expected a placement (4, 4), a point (3,) or rotations (batch, 3, 3), or a batch, got "
        f"shape {shape}"
    )


def _weight(given: Any, name: str, rows: int) -> FloatArray:
    x = np.asarray(real_array(f"the weight of {name!r}", given), float)
    if x.shape not in ((), (rows,)) or not np.isfinite(x).all() or (x < 0.0).any() or not x.any():
        raise TaskError(f"the weight of {name!r} is above zero, or {rows} numbers, none negative, got {given!r}")
    return np.broadcast_to(x, rows).astype(float)
