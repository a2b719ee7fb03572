"""From a task's description to the seeds of its rows on the bodies of a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.wrenches import (
    ALIGNED,
    FIXED,
    FOLLOWING,
    FOLLOWING_ALIGNED,
    JOINT,
    LOCAL,
    MOMENTUM,
    REACTION,
)
from bough.opspace.tasks import FrameTask, JointTask, MomentumTask, RelativeTask, Task

FloatArray = npt.NDArray[np.float64]


class Seed(NamedTuple):
    """One row on one body; see `wrenches.Seeds` for the fields."""

    kind: int
    body: int
    wrench: FloatArray
    point: FloatArray = np.zeros(3)
    other: int = -1
    dof: int = -1


def seeds_of(model: Model, task: Task) -> list[list[Seed]]:
    """For each row of the task its seeds, each on another body."""
    if isinstance(task, FrameTask):
        return _frame_rows(model, task)
    if isinstance(task, RelativeTask):
        return _relative_rows(model, task)
    if isinstance(task, MomentumTask):
        return _momentum_rows(model, task)
    return _joint_rows(model, task)


def _angular_first(matrix: object) -> FloatArray:
    return np.asarray(matrix, float)[:, [3, 4, 5, 0, 1, 2]]


def _at(wrench: FloatArray, point: FloatArray) -> FloatArray:
    """A wrench acting at `point`, about the origin."""
    return np.concatenate([wrench[:3] + np.cross(point, wrench[3:]), wrench[3:]])


def _placed(wrench: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    """A wrench out of the frame placed at (R, p)."""
    return _at(np.concatenate([R @ wrench[:3], R @ wrench[3:]]), p)


def _frame_rows(model: Model, task: FrameTask) -> list[list[Seed]]:
    number, point = model.frame(task.frame), np.array(task.point)
    body, R, p = int(model.frames.body[number]), model.frames.R[number], model.frames.p[number]
    if body < 0:
        raise TaskError(f"task {task.name!r}: frame {task.frame!r} is fixed to the world and cannot move")
    wrenches = _angular_first(task.matrix)
    if task.reference == "local":
        return [[Seed(LOCAL, body, _placed(_at(c, point), R, p))] for c in wrenches]
    if task.reference == "world":
        if point.any():
            raise TaskError(f"task {task.name!r}: a point has no meaning in the world reference, which has its own")
        return [[Seed(FIXED, body, c)] for c in wrenches]
    return [[Seed(ALIGNED, body, c, p + R @ point)] for c in wrenches]


def _relative_rows(model: Model, task: RelativeTask) -> list[list[Seed]]:
    number, base = model.frame(task.frame), int(model.frames.body[model.frame(task.base)])
    body, R, p = int(model.frames.body[number]), model.frames.R[number], model.frames.p[number]
    if body == base:
        where = "the world" if body < 0 else "one body"
        raise TaskError(
            f"task {task.name!r}: {task.frame!r} and {task.base!r} are both fixed to {where} and cannot move apart"
        )
    local = task.reference == "local"
    rows: list[list[Seed]] = []
    for c in _angular_first(task.matrix):
        own = _placed(c, R, p) if local else c
        if body < 0:
            rows.append([Seed(FIXED, base, -(own if local else _at(c, p)))])
            continue
        row = [Seed(LOCAL, body, own) if local else Seed(ALIGNED, body, own, p)]
        if base >= 0:
            row.append(Seed(FOLLOWING if local else FOLLOWING_ALIGNED, base, -own, p, body))
        rows.append(row)
    return rows


def _momentum_rows(model: Model, task: MomentumTask) -> list[list[Seed]]:
    heavy = np.flatnonzero(model.mechanism.inertia.any(axis=1)).tolist()
    scale = 1.0 / model.total_mass if task.per_mass else 1.0
    return [[Seed(MOMENTUM, i, scale * c) for i in heavy] for c in _angular_first(task.matrix)]


def _joint_rows(model: Model, task: JointTask) -> list[list[Seed]]:
    m = model.mechanism
    joint = model.joint(task.joint)
    last = int(model.frames.body[model.frame(joint.body)])
    tied = {k for k in range(len(m.axis)) if m.dof[last] > k or k >= m.dof[last + 1]} if model.couplings else set()
    rows: list[tuple[int, list[Seed]]] = []
    for k in (k for k in range(len(m.axis)) if joint.v.start <= m.v_index[k] < joint.v.stop and k not in tied):
        body = int(np.searchsorted(m.dof, k, side="right")) - 1
        axis = np.eye(6)[m.axis[k]]
        row = [Seed(JOINT, body, axis, dof=k)]
        if m.parent[body] >= 0:
            row.append(Seed(REACTION, int(m.parent[body]), -axis, other=body))
        rows.append((int(m.v_index[k]), row))
    return [row for _, row in sorted(rows, key=lambda item: item[0])]
