"""`Task`: the base class of tasks; `Aim`: the measure of its rows, as data for kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError, unknown_option
from bough.model import WORLD, Model
from bough.model.parameters import matrix
from bough.opspace.sweeps.errors import WORLD_AXES
from bough.spatial import rotation_vector
from bough.types import FloatArray, Reference

# Homogeneous matrices: placements of frames, what lies between two of them, and turns.


def placement_of(dynamics: Dynamics, frame: str, q: Any) -> FloatArray:
    """The placement (4, 4) of a frame, the world included."""
    return np.eye(4) if frame == WORLD else dynamics.placement(q, frame)


def moved(placement: FloatArray, point: Sequence[float]) -> FloatArray:
    """A placement moved to a point of its frame."""
    if not any(point):
        return placement
    out = placement.copy()
    out[:3, 3] += out[:3, :3] @ point
    return out


def frame_error(
    task: str, here: FloatArray, target: npt.ArrayLike, axes: FloatArray | None, rows: Matrix
) -> FloatArray:
    """Rows of [linear, angular] from `here` to a target, turned by `axes` (3, 3) if given.

    A target is a placement (4, 4), a point (3,) for rows that measure positions, or a rotation (3, 3) for others.
    """
    goal = np.asarray(target, float)
    positions = goal.shape == (4, 4) or any(any(row[:3]) for row in rows)
    if goal.shape == (3,) and positions:
        goal = matrix(here[:3, :3], goal)
    elif goal.shape == (3, 3) and not positions:
        goal = matrix(goal, here[:3, 3])
    if goal.shape != (4, 4):
        other = "a point (3,)" if positions else "a rotation (3, 3)"
        raise TaskError(f"task {task!r}: a target is {other} or a matrix (4, 4), got {goal.shape}")
    gap, turn = goal[:3, 3] - here[:3, 3], rotation_vector(goal[:3, :3] @ here[:3, :3].T)
    return np.concatenate([gap, turn] if axes is None else [axes @ gap, axes @ turn])


# Rows that mix the six components [linear, angular] of a velocity: matrices, checked and named.


Matrix: TypeAlias = tuple[tuple[float, ...], ...]

REFERENCES: tuple[str, ...] = get_args(Reference)
WHOLE: Matrix = tuple(tuple(float(i == j) for j in range(6)) for i in range(6))
LINEAR, ANGULAR = WHOLE[:3], WHOLE[3:]
_AXES = ("x", "y", "z", "rx", "ry", "rz")


def checked_matrix(matrix: npt.ArrayLike, name: str) -> Matrix:
    """A (6,) or (k, 6) matrix as tuples."""
    table = np.atleast_2d(np.asarray(matrix, float))
    if table.ndim != 2 or table.shape[1] != 6 or not len(table):
        raise TaskError(f"task {name!r}: rows have shape (k, 6) or (6,), got {np.asarray(matrix).shape}")
    if not np.isfinite(table).all() or not table.any(axis=1).all():
        raise TaskError(f"task {name!r}: every row must be finite and not zero")
    return tuple(map(tuple, table.tolist()))


def checked_point(point: npt.ArrayLike, name: str) -> tuple[float, ...]:
    """A point (3,) as a tuple."""
    offset = np.asarray(point, float)
    if offset.shape != (3,) or not np.isfinite(offset).all():
        raise TaskError(f"task {name!r}: a point is three finite numbers, got {np.asarray(point).tolist()}")
    return tuple(offset.tolist())


def checked_reference(reference: Reference, name: str) -> Reference:
    if reference not in REFERENCES:
        raise unknown_option(f"task {name!r}: there is no reference {reference!r}", reference, REFERENCES)
    return reference


def component_names(name: str, matrix: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """name.x, name.rz, ... for rows that pick one component, name.0, name.1, ... for others."""
    picked = [np.flatnonzero(row) for row in matrix]
    return tuple(f"{name}.{_AXES[p[0]] if len(p) == 1 else r}" for r, p in enumerate(picked))


# Seeds: one row of a task on one body, and the wrenches that rows are made of.


class Seed(NamedTuple):
    """One row on one body: a constant wrench c (6,), angular first, and how K follows from it (the kind).

    LOCAL: c in the body's frame. ALIGNED: c in world axes at `point` of the body. FIXED: c fixed in the world, about
    its origin. FOLLOWING: c in the frame of body `other`. FOLLOWING_ALIGNED: c in world axes at `point` of `other`.
    MOMENTUM: the body's inertia times c, a motion in world axes about the centre of mass; CENTER: the same over the
    mass of all bodies. JOINT: c along DoF `dof` of the body's own joint, with REACTION on its parent.
    ALONG: a unit force at `point` of the body, away from the point c[:3] of body `other` or of the world.
    """

    kind: int
    body: int
    wrench: FloatArray
    point: FloatArray = np.zeros(3)
    other: int = -1
    dof: int = -1


class Attachment(NamedTuple):
    """Where a frame is on its body: the kernel's body, -1 for the world, and its placement there."""

    body: int
    R: FloatArray
    p: FloatArray

    def at(self, point: Sequence[float]) -> Attachment:
        """The same frame moved to a point of it."""
        return self._replace(p=self.p + self.R @ np.array(point, float))


def attachment(model: Model, frame: str) -> Attachment:
    """The body that carries a frame, and the frame's place on it."""
    number = model.frame(frame)
    return Attachment(int(model.frames.body[number]), model.frames.R[number], model.frames.p[number])


def moving(model: Model, frame: str, task: str) -> Attachment:
    """The same for a frame that must be able to move."""
    found = attachment(model, frame)
    if found.body < 0:
        raise TaskError(f"task {task!r}: frame {frame!r} is fixed to the world and cannot move")
    return found


def angular_first(matrix: object) -> FloatArray:
    """Rows on [linear, angular] velocities as wrenches."""
    return np.asarray(matrix, float)[:, [3, 4, 5, 0, 1, 2]]


def acting_at(wrench: FloatArray, point: FloatArray) -> FloatArray:
    """A wrench acting at `point`, about the origin."""
    return np.concatenate([wrench[:3] + np.cross(point, wrench[3:]), wrench[3:]])


def placed(wrench: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    """A wrench out of the frame placed at (R, p)."""
    return acting_at(np.concatenate([R @ wrench[:3], R @ wrench[3:]]), p)


IN_WORLD = Attachment(-1, np.eye(3), np.zeros(3))


class Aim(NamedTuple):
    """The measure of rows. FRAME: `matrix` times [linear, angular] from the placement of `frame` in `base` to a target,
    in the axes that `axes` names. CENTER: the same of the centre of mass. JOINTS: coordinates. DISTANCE: of origins.
    """

    kind: int
    matrix: Matrix = LINEAR
    frame: Attachment = IN_WORLD
    base: Attachment = IN_WORLD
    axes: int = WORLD_AXES


@dataclass(frozen=True)
class Task(ABC):
    """Rows, each a linear form on the velocities of bodies: y_r = sum over its seeds of K . v_body."""

    name: str

    @abstractmethod
    def seeds(self, model: Model) -> list[list[Seed]]:
        """For each row its seeds, no two of them on one body."""

    def row_names(self, count: int) -> tuple[str, ...]:
        """One name for each of the task's `count` rows."""
        return tuple(f"{self.name}.{k}" for k in range(count))

    @property
    def has_position(self) -> bool:
        """Whether the rows are velocities of something that has a position."""
        return True

    def position(self, dynamics: Dynamics, q: Any) -> Any:
        """Where the task is in configuration q (nq,)."""
        raise TaskError(f"task {self.name!r}: its rows have no position to reach, give it a velocity instead")

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        """Target less position of the rows, in the rows' own axes: its rate is minus the rows' velocity."""
        here = np.asarray(self.position(dynamics, q), float)
        goal = np.asarray(target, float)
        if goal.shape != here.shape:
            raise TaskError(f"task {self.name!r}: a target has shape {here.shape}, got {goal.shape}")
        return np.atleast_1d(goal - here)

    def aim(self, model: Model) -> Aim:
        """The measure of the rows, for kernels that compute errors themselves, such as inverse kinematics."""
        raise TaskError(f"task {self.name!r}: its rows have no aim, so that nothing can be solved for their target")
