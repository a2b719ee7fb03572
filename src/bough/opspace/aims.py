"""Aims of a task set as arrays for the kernels, and targets as these read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import asarray, full
from bough.errors import NonFiniteError, ShapeError, TaskError
from bough.opspace.sweeps.errors import CENTER, DISTANCE, FRAME, JOINTS, Aims
from bough.opspace.sweeps.wrenches import JOINT
from bough.opspace.tasks import Aim, JointTask, Task
from bough.opspace.taskset import TaskSet
from bough.types import FloatArray

# How far R' R of a target may be from the identity
ORTHOGONAL = 1e-6
FARTHEST = 1e50
EYE, LAST_ROW = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])


class AimSet:
    """The measures of the rows of a task set: `arrays` for kernels, and `targets` by name.

    With `all_rows` False, tasks that have no position (momentum) are omitted: their errors are zero.
    """

    def __init__(self, tasks: TaskSet, *, all_rows: bool = True) -> None:
        self.tasks, self.model = tasks, tasks.model
        aims = [(task, task.aim(self.model)) for task in tasks.tasks if all_rows or task.has_position]
        self.placed: list[tuple[Task, Aim]] = [(task, aim) for task, aim in aims if aim.kind != JOINTS]
        self.jointed = [task for task, aim in aims if aim.kind == JOINTS]
        aimed: dict[str, str] = {}
        for task in self.jointed:
            for name in self._joints(task):
                if name in aimed:
                    raise TaskError(f"tasks {aimed[name]!r} and {task.name!r} both have a target for joint {name!r}")
                aimed[name] = task.name

    @property
    def size(self) -> int:
        """The number of rows of targets, at least one, which is not read if it is the only one."""
        return max(1, len(self.placed))

    @cached_property
    def arrays(self) -> Aims:
        """The arrays of the aims for kernels."""
        slices, aims = self.tasks.slices, [aim for _, aim in self.placed]
        rows = [np.arange(slices[task.name].start, slices[task.name].stop) for task, _ in self.placed]
        joints = [(r, s.dof) for r, row in enumerate(self.tasks.rows) for s in row if s.kind == JOINT]
        chosen = {r for task in self.jointed for r in range(slices[task.name].start, slices[task.name].stop)}
        joints = [(r, k) for r, k in joints if r in chosen]
        return Aims(
            kind=np.array([a.kind for a in aims], np.int64),
            of_aim=np.cumsum([0, *map(len, rows)]).astype(np.int64),
            row=np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64),
            matrix=np.concatenate([np.zeros((0, 6)), *(np.array(a.matrix) for a in aims)]),
            body=np.array([a.frame.body for a in aims], np.int64),
            R=np.array([a.frame.R for a in aims]).reshape(-1, 9),
            p=np.array([a.frame.p for a in aims]).reshape(-1, 3),
            base=np.array([a.base.body for a in aims], np.int64),
            base_R=np.array([a.base.R for a in aims]).reshape(-1, 9),
            base_p=np.array([a.base.p for a in aims]).reshape(-1, 3),
            axes=np.array([a.axes for a in aims], np.int64),
            joint_row=np.array([r for r, _ in joints], np.int64),
            joint_dof=np.array([k for _, k in joints], np.int64),
        )

    def targets(
        self, targets: Mapping[str, Any], posture: FloatArray, like: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """(batch, aims, 12) and (batch, nq) from a target for each task, by name; the batch may be 1.

        Joints that no task names have the coordinates of `posture`. With `like`, an array on a GPU, both are there, and
        only shapes are checked.
        """
        one = self._one_placement_each(targets) if like is None else None
        if one is not None:
            return one, posture[None].copy()
        placements = [self._placements(task, aim, targets[task.name], like) for task, aim in self.placed]
        joints = [(task, self._coordinates(task, targets[task.name], like)) for task in self.jointed]
        batch = common_batch({t.name: len(x) for (t, _), x in zip(self.placed, placements, strict=True)}
                       | {t.name: len(x) for t, x in joints})  # fmt: skip
        target = full((batch, self.size, 12), 0.0, like)
        for a, x in enumerate(placements):
            target[:, a] = x
        goal = full((batch, self.model.nq), 0.0, like) + asarray(posture + 0.0, like)
        for task, x in joints:
            self._put(task, x, goal)
        return target, goal

    def target(self, name: str, target: Any, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(12,) of a task that aims at a placement; `goal` (nq,) with the coordinates that one of joints aims at."""
        for task, aim in self.placed:
            if task.name == name:
                return self._placements(task, aim, target)[0], goal
        task = next(task for task in self.jointed if task.name == name)
        whole = goal[None].copy()
        self._put(task, self._coordinates(task, target), whole)
        return np.zeros(12), whole[0]

    def _put(self, task: Task, x: FloatArray, goal: FloatArray) -> None:
        """Write the coordinates that a task aims at into configurations (batch, nq)."""
        for name in self._joints(task):
            part = self.model.joint(name).q
            goal[:, part] = x if isinstance(task, JointTask) else x[:, part]

    def _joints(self, task: Task) -> tuple[str, ...]:
        """The joints that a task aims at."""
        if isinstance(task, JointTask):
            return (task.joint,)
        return getattr(task, "joints", ()) or self.model.joint_names

    def alone(self, targets: Mapping[str, Any]) -> bool:
        """Whether none of the targets is a batch."""
        return not any(self.is_batch(task, targets[task.name]) for task in self.tasks.tasks if task.has_position)

    def is_batch(self, task: Task, target: Any) -> bool:
        """Whether a target of a task is one for each row; numbers for a joint of one DoF are as many targets."""
        shape = np.shape(target)
        if task not in self.jointed:
            if shape == (3, 3) and self._is_orientation(task.aim(self.model)):
                return False
            return shape not in ((4, 4), (3,), ()) or (shape == (3,) and task.aim(self.model).kind == DISTANCE)
        one = isinstance(task, JointTask) and self.model.joint(task.joint).q.stop - self.model.joint(task.joint).q.start
        return len(shape) > 1 or (one == 1 and len(shape) == 1 and shape != (1,))

    def usable(self, task: Task, target: Any) -> Any:
        """(batch,) which targets of a task are finite, near enough and placements where they should be."""
        x = np.atleast_1d(np.asarray(real_array(f"task {task.name!r}: the target", target), float))
        x = x if self.is_batch(task, target) else x[None]
        rows = x.reshape(len(x), math.prod(x.shape[1:]))
        good = np.isfinite(rows).all(axis=1) & (np.abs(rows).max(axis=1, initial=0.0) <= FARTHEST)
        if x.shape[1:] == (4, 4):
            good[good] = [are_placements(T[None]) for T in x[good]]
        if x.shape[1:] == (3, 3):
            good[good] = [are_rotations(R[None]) for R in x[good]]
        return good

    def _one_placement_each(self, targets: Mapping[str, Any]) -> FloatArray | None:
        """(1, aims, 12) where all targets are placements, sound and none of them a batch; else None."""
        if self.jointed or not self._all_frames:
            return None
        x = [targets[task.name] for task, _ in self.placed]
        if not all(type(T) is np.ndarray and T.shape == (4, 4) and T.dtype == np.float64 for T in x):
            return None
        T = np.array(x)
        if not np.abs(T).max() <= FARTHEST or not are_placements(T):
            return None
        return np.concatenate([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]], axis=1)[None]

    @cached_property
    def _all_frames(self) -> bool:
        return bool(self.placed) and all(aim.kind == FRAME for _, aim in self.placed)

    def _placements(self, task: Task, aim: Aim, target: Any, like: Any = None) -> Any:
        """(batch, 12): R and p; a point has the identity for R, a rotation the origin for p."""
        x = checked(task.name, target) if like is None else asarray(target, like)
        if x.shape[-2:] == (4, 4) and aim.kind == FRAME and x.ndim <= 3:
            x = x.reshape(-1, 4, 4)
            if like is None and not are_placements(x):
                raise TaskError(
                    f"task {task.name!r}: the target is no placement, its 3 x 3 part is no rotation or its last row "
                    f"not 0 0 0 1"
                )
            return packed(x[:, :3, :3], x[:, :3, 3])
        if x.shape[-2:] == (3, 3) and x.ndim <= 3 and self._is_orientation(aim):
            x = x.reshape(-1, 3, 3)
            if like is None and not are_rotations(x):
                raise TaskError(f"task {task.name!r}: the target is no rotation")
            return packed(x, full((len(x), 3), 0.0, x))
        if x.shape[-1:] == (3,) and x.ndim <= 2 and (aim.kind == CENTER or not turns(aim).any()):
            x = x.reshape(-1, 3)
            return packed(asarray(np.tile(EYE, (len(x), 1, 1)), x), x)
        if aim.kind == DISTANCE and x.ndim <= 1:
            p = full((x.reshape(-1).shape[0], 3), 0.0, x)
            p[:, 0] = x.reshape(-1)
            return packed(asarray(np.tile(EYE, (len(p), 1, 1)), x), p)
        if aim.kind == DISTANCE:
            raise ShapeError(f"task {task.name!r}: a target is a number, or a batch of them, got shape {x.shape}")
        expected = "a point (3,)" if aim.kind == CENTER else "a placement (4, 4)"
        expected = "a placement (4, 4) or a rotation (3, 3)" if self._is_orientation(aim) else expected
        raise ShapeError(f"task {task.name!r}: a target is {expected}, or a batch of them, got shape {x.shape}")

    def _is_orientation(self, aim: Aim) -> bool:
        """Whether an aim measures turns only: a rotation is a target of it."""
        return aim.kind == FRAME and bool(turns(aim).all())

    def _coordinates(self, task: Task, target: Any, like: Any = None) -> Any:
        """(batch, n): coordinates of one joint, or a whole configuration."""
        x, model = checked(task.name, target) if like is None else asarray(target, like), self.model
        part = model.joint(task.joint).q if isinstance(task, JointTask) else slice(0, model.nq)
        n = part.stop - part.start
        if n == 1 and x.ndim < 2:
            x = x.reshape(-1, 1)
        if x.ndim not in (1, 2) or x.shape[-1] != n:
            raise ShapeError(f"task {task.name!r}: a target has shape ({n},) or (batch, {n}), got {x.shape}")
        return x.reshape(-1, n)


def are_placements(T: FloatArray) -> bool:
    """Whether all of T (k, 4, 4) are: a rotation and a point over 0 0 0 1."""
    return are_rotations(T[:, :3, :3]) and bool(np.abs(T[:, 3] - LAST_ROW).max(initial=0.0) <= ORTHOGONAL)


def are_rotations(R: FloatArray) -> bool:
    """Whether all of R (k, 3, 3) are."""
    off: FloatArray = np.abs(R @ R.transpose(0, 2, 1) - EYE)
    return bool(off.max(initial=0.0) <= ORTHOGONAL and np.linalg.det(R).min(initial=1.0) > 0.0)


def packed(R: Any, p: Any) -> Any:
    """(k, 12) of rotations (k, 3, 3) and points (k, 3)."""
    found = full((len(p), 12), 0.0, p)
    found[:, :9], found[:, 9:] = R.reshape(-1, 9), p
    return found


def turns(aim: Aim) -> Any:
    """(rows,) which rows of an aim measure a turn."""
    return np.array(aim.matrix)[:, 3:].any(axis=1)


def checked(name: str, target: Any) -> FloatArray:
    """A target as an array of finite numbers."""
    x = np.asarray(real_array(f"task {name!r}: the target", target), float)
    if not np.isfinite(x).all():
        raise NonFiniteError(f"task {name!r}: the target is not finite")
    if np.abs(x).max(initial=0.0) > FARTHEST:
        raise TaskError(f"task {name!r}: the target has a number beyond {FARTHEST:g}, whose powers cannot be computed")
    return x


def common_batch(sizes: Mapping[str, int]) -> int:
    """The one size of batches that is not 1."""
    many = {name: n for name, n in sizes.items() if n != 1}
    if len(set(many.values())) > 1:
        raise ShapeError(f"batches have one size, but {', '.join(f'{name} has {n} rows' for name, n in many.items())}")
    return next(iter(many.values()), 1)
