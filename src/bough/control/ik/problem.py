"""What is asked of inverse kinematics: tasks from a user's words, their weights, priorities and levels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.executions import BoundFunction
from bough.control.ik.step import step_routine
from bough.errors import ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, pose, position
from bough.opspace.methods import Prepared
from bough.types import FloatArray, IntArray

Key: TypeAlias = str | Task
Targets: TypeAlias = Mapping[Key, Any]


class Goals(NamedTuple):
    """Targets of one level, a row for each problem."""

    target: FloatArray  # (batch, aims, 12)
    posture: FloatArray  # (batch, nq)

    def of(self, rows: IntArray) -> Goals:
        return Goals(self.target[rows], self.posture[rows])

    def repeated(self, batch: int) -> Goals:
        """The same for `batch` problems, where these are one or as many."""
        return Goals(*(np.ascontiguousarray(np.broadcast_to(x, (batch, *x.shape[1:]))) for x in self))


class Level:
    """Tasks of one priority on a model: their rows, and the compiled step."""

    def __init__(self, model: Model, tasks: tuple[Task, ...], weights: Mapping[str, Any]) -> None:
        self.model, self.tasks = model, TaskSet(model, tasks)
        self.aims = AimSet(self.tasks)
        self.weight = np.concatenate([_weight(weights.get(name, 1.0), name, rows.stop - rows.start)
                                      for name, rows in self.tasks.slices.items()])  # fmt: skip
        self._weights = self.weight[None]
        self.counted = (self.weight > 0.0).astype(float)

    def weights(self, batch: int) -> FloatArray:
        """(batch, rows) the weights once for each row: arrays that fit need no second look in a call."""
        if len(self._weights) < batch:
            self._weights = np.tile(self.weight, (batch, 1))
        return self._weights[:batch]

    @cached_property
    def function(self) -> BoundFunction:
        """(q, target, posture, weight, damping, free, pull) -> (moved, error, slope, step)."""
        tasks, m = self.tasks, self.model
        sizes = tasks.sizes | {"aims": self.aims.size, "small": min(tasks.size, m.nv)}
        constants = (m.mechanism, tasks.with_placements, tasks.pattern, self.aims.arrays)
        return Prepared(step_routine(tasks.size, m.nv), constants, sizes).bind(tasks)

    def goals(self, targets: Mapping[str, Any]) -> tuple[Goals, bool]:
        """The targets of the level's tasks, and whether none of them is a batch."""
        target, posture = self.aims.targets(targets, self.model.neutral)
        return Goals(target, posture), self.aims.alone(targets)

    def cost(self, error: FloatArray) -> FloatArray:
        """|W e| (batch,)."""
        cost: FloatArray = np.linalg.norm(error * self.weight, axis=1)
        return cost

    def size(self, error: FloatArray) -> FloatArray:
        """|e| (batch,) of the rows that have a weight."""
        size: FloatArray = np.sqrt(np.einsum("ij,ij,j->i", error, error, self.counted))
        return size


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
            tasks.append(_of_frame(key, np.shape(target)))
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


def levels(model: Model, tasks: tuple[Task, ...], weights: Mapping[str, Any], ranks: Mapping[str, Any]) -> list[Level]:
    """Tasks by priority, the first (0) first."""
    for name, rank in ranks.items():
        if not isinstance(rank, int | np.integer) or rank < 0:
            raise TaskError(f"the priority of {name!r} is a number 0, 1, ... (0 comes first), got {rank!r}")
    order = sorted({ranks.get(task.name, 0) for task in tasks})
    chosen = [tuple(task for task in tasks if ranks.get(task.name, 0) == rank) for rank in order]
    return [Level(model, group, weights) for group in chosen]


def _of_frame(frame: str, shape: tuple[int, ...]) -> Task:
    if shape[-2:] == (4, 4):
        return pose(frame)
    if len(shape) in (1, 2) and shape[-1] == 3:
        return position(frame)
    raise ShapeError(f"target of {frame!r}: expected a placement (4, 4) or a point (3,), or a batch, got shape {shape}")


def _weight(given: Any, name: str, rows: int) -> FloatArray:
    x = np.asarray(given, float)
    if x.shape not in ((), (rows,)) or not np.isfinite(x).all() or (x < 0.0).any() or not x.any():
        raise TaskError(
            f"the weight of {name!r} is a number above zero, or {rows} numbers of which none is negative, got {given!r}"
        )
    return np.broadcast_to(x, rows).astype(float)
