"""What is asked of inverse kinematics: tasks from a user's words, their weights, priorities and levels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.executions import CompiledFunction
from bough.compile.run.arrays import real_array
from bough.control.ik.step import Limited, step_routine
from bough.errors import ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, pose, position
from bough.opspace.methods import Prepared
from bough.types import FloatArray, IntArray

Key: TypeAlias = str | Task
Targets: TypeAlias = Mapping[Key, Any]


SHARES = (1e-3, 10.0)  # bounds of the share of the error that is damping
FAR = 1e300  # no limit, and no error yet: numbers that are finite


class Bounds:
    """Position limits of the joints of one freedom, where they are in q and in v."""

    def __init__(self, model: Model, active: bool = True) -> None:
        q, v = model.scalar_joints
        lower, upper = model.limits.lower[v], model.limits.upper[v]
        some = (np.isfinite(lower) | np.isfinite(upper)) & active
        self.model, self.single, self.q = model, q, q[some]
        lower, upper = (np.clip(x[some], -FAR, FAR) for x in (lower, upper))
        self.limited = Limited(self.q, v[some], lower, upper, np.array(SHARES))

    def clip(self, q: FloatArray) -> FloatArray:
        """Put q (batch, nq) within the limits, in place; returns it."""
        if len(self.q):
            q[:, self.q] = np.minimum(np.maximum(q[:, self.q], self.limited.lower), self.limited.upper)
        return q


class Goals(NamedTuple):
    """Targets of one level, a row for each problem."""

    target: FloatArray  # (batch, aims, 12)
    posture: FloatArray  # (batch, nq)

    def of(self, rows: IntArray) -> Goals:
        return Goals(self.target[rows], self.posture[rows])

    @property
    def first(self) -> Goals:
        """Those of the first problem, without the leading axis."""
        return Goals(self.target[0], self.posture[0])

    def repeated(self, batch: int) -> Goals:
        """The same for `batch` problems, where these are one or as many."""
        if len(self.target) == len(self.posture) == batch:
            return self
        return Goals(*(np.ascontiguousarray(np.broadcast_to(x, (batch, *x.shape[1:]))) for x in self))


class Level:
    """Tasks of one priority on a model: their rows, and the compiled step."""

    def __init__(self, bounds: Bounds, tasks: TaskSet, weights: Mapping[str, Any]) -> None:
        self.model, self.tasks, self.bounds = tasks.model, tasks, bounds
        self.aims = AimSet(self.tasks)
        self.weight = np.concatenate([_weight(weights.get(name, 1.0), name, rows.stop - rows.start)
                                      for name, rows in self.tasks.slices.items()])  # fmt: skip
        self._weights = self.weight[None]

    def weights(self, q: FloatArray) -> FloatArray:
        """(rows,) for one q, or (batch, rows) once for each row: arrays that fit need no second look in a call."""
        if q.ndim == 1:
            return self.weight
        batch = len(q)
        if len(self._weights) < batch:
            self._weights = np.tile(self.weight, (batch, 1))
        return self._weights[:batch]

    @cached_property
    def function(self) -> CompiledFunction:
        """(q, target, posture, weight, state, pull) -> (moved, state, motion)."""
        tasks, m = self.tasks, self.model
        sizes = tasks.sizes | {"aims": self.aims.size, "small": min(tasks.size, m.nv)}
        constants = (m.mechanism, tasks.with_placements, tasks.pattern, self.aims.arrays, self.bounds.limited)
        return Prepared(step_routine(tasks.size, m.nv), constants, sizes).bind(tasks)

    def goals(self, targets: Mapping[str, Any]) -> tuple[Goals, bool]:
        """The targets of the level's tasks, and whether none of them is a batch."""
        target, posture = self.aims.targets(targets, self.model.neutral)
        return Goals(target, posture), self.aims.alone(targets)


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
            tasks.append(_of_frame(key, real_array(f"target of {key!r}", target).shape))
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


def levels(
    bounds: Bounds, tasks: tuple[Task, ...], weights: Mapping[str, Any], ranks: Mapping[str, Any]
) -> list[Level]:
    """Tasks by priority, the first (0) first."""
    for name, rank in ranks.items():
        if not isinstance(rank, int | np.integer) or rank < 0:
            raise TaskError(f"the priority of {name!r} is a number 0, 1, ... (0 comes first), got {rank!r}")
    order = sorted({ranks.get(task.name, 0) for task in tasks})
    chosen = [tuple(task for task in tasks if ranks.get(task.name, 0) == rank) for rank in order]
    return [Level(bounds, TaskSet(bounds.model, group), weights) for group in chosen]


def _of_frame(frame: str, shape: tuple[int, ...]) -> Task:
    if shape[-2:] == (4, 4):
        return pose(frame)
    if len(shape) in (1, 2) and shape[-1] == 3:
        return position(frame)
    raise ShapeError(f"target of {frame!r}: expected a placement (4, 4) or a point (3,), or a batch, got shape {shape}")


def _weight(given: Any, name: str, rows: int) -> FloatArray:
    x = np.asarray(real_array(f"the weight of {name!r}", given), float)
    if x.shape not in ((), (rows,)) or not np.isfinite(x).all() or (x < 0.0).any() or not x.any():
        raise TaskError(f"the weight of {name!r} is above zero, or {rows} numbers, none negative, got {given!r}")
    return np.broadcast_to(x, rows).astype(float)
