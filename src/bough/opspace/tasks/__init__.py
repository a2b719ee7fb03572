"""Tasks: what an operational space controls (Khatib 1987; Featherstone 2010, section 4).

A task is a list of rows, each a linear form on the velocities of bodies. It is described without a model; `TaskSet`
finds its frames. Rows on a frame act on its six-vector [linear, angular] velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.errors import TaskError

Reference: TypeAlias = Literal["local", "world", "local_world_aligned"]
REFERENCES = ("local", "world", "local_world_aligned")
Matrix: TypeAlias = tuple[tuple[float, ...], ...]

_EYE: Matrix = tuple(tuple(float(i == j) for j in range(6)) for i in range(6))
_LINEAR, _ANGULAR = _EYE[:3], _EYE[3:]
_AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class FrameTask:
    """Rows on the velocity of one frame, taken at `point` (in the frame's own axes)."""

    name: str
    frame: str
    matrix: Matrix
    reference: Reference
    point: tuple[float, ...]
    row_names: tuple[str, ...]


@dataclass(frozen=True)
class RelativeTask:
    """Rows on the velocity of `frame` seen from `base`, both taken as rigid bodies, at the origin of `frame`."""

    name: str
    frame: str
    base: str
    matrix: Matrix
    reference: Reference
    row_names: tuple[str, ...]


@dataclass(frozen=True)
class MomentumTask:
    """Rows on the momentum of the whole mechanism about its centre of mass, or that divided by its mass."""

    name: str
    matrix: Matrix
    per_mass: bool
    row_names: tuple[str, ...]


@dataclass(frozen=True)
class JointTask:
    """The velocity of one joint, a row for each of its degrees of freedom."""

    name: str
    joint: str


Task: TypeAlias = FrameTask | RelativeTask | MomentumTask | JointTask


def pose(frame: str, reference: Reference = "local_world_aligned", *, point: npt.ArrayLike = (0, 0, 0),
         name: str | None = None) -> FrameTask:  # fmt: skip
    """Six rows [linear, angular]: the velocity of a frame, linear at `point` of it."""
    return _frame_task("pose", frame, _EYE, reference, point, name)


def position(frame: str, reference: Reference = "local_world_aligned", *, point: npt.ArrayLike = (0, 0, 0),
             name: str | None = None) -> FrameTask:  # fmt: skip
    """Three rows: the linear velocity of a frame at `point`."""
    return _frame_task("position", frame, _LINEAR, reference, point, name)


def orientation(frame: str, reference: Reference = "local_world_aligned", *, name: str | None = None) -> FrameTask:
    """Three rows: the angular velocity of a frame."""
    return _frame_task("orientation", frame, _ANGULAR, reference, (0, 0, 0), name)


def rows(frame: str, matrix: npt.ArrayLike, reference: Reference = "local", *, point: npt.ArrayLike = (0, 0, 0),
         name: str | None = None) -> FrameTask:  # fmt: skip
    """k rows of your own, matrix (6,) or (k, 6), on the [linear, angular] velocity of a frame."""
    table = _matrix(matrix, f"rows({frame})")
    return _frame_task("rows", frame, table, reference, point, name)


def relative(frame: str, base: str, reference: Reference = "local_world_aligned", *,
             matrix: npt.ArrayLike | None = None, name: str | None = None) -> RelativeTask:  # fmt: skip
    """Six rows [linear, angular]: the velocity of `frame` as seen from `base`, at the origin of `frame`.

    Axes are those of `frame` ("local") or of the world ("local_world_aligned"). `matrix` (k, 6) picks or mixes rows.
    """
    name = name or f"relative({frame}, {base})"
    if reference == "world":
        raise TaskError(f"task {name!r}: reference is 'local' or 'local_world_aligned' for a relative task")
    table = _EYE if matrix is None else _matrix(matrix, name)
    return RelativeTask(name, frame, base, table, _checked(reference, name), _names(name, table))


def center_of_mass(*, name: str = "center_of_mass") -> MomentumTask:
    """Three rows: the velocity of the centre of mass of all bodies, in world axes."""
    return MomentumTask(name, _LINEAR, True, _names(name, _LINEAR))


def momentum(part: Literal["linear", "angular", "both"] = "both", *, name: str | None = None) -> MomentumTask:
    """Momentum of all bodies in world axes: linear, angular about the centre of mass, or both (six rows)."""
    parts = {"linear": _LINEAR, "angular": _ANGULAR, "both": _EYE}
    if part not in parts:
        raise TaskError(f"momentum takes part 'linear', 'angular' or 'both', got {part!r}")
    name = name or ("momentum" if part == "both" else f"momentum({part})")
    return MomentumTask(name, parts[part], False, _names(name, parts[part]))


def joint(joint: str, *, name: str | None = None) -> JointTask:
    """One row for each degree of freedom of a joint: its velocity."""
    return JointTask(name or f"joint({joint})", joint)


def _frame_task(kind: str, frame: str, matrix: Matrix, reference: Reference, point: npt.ArrayLike,
                name: str | None) -> FrameTask:  # fmt: skip
    offset = np.asarray(point, float)
    shift = "" if not offset.any() else f", point={offset.tolist()}"
    name = name or f"{kind}({frame}{shift})"
    if offset.shape != (3,) or not np.isfinite(offset).all():
        raise TaskError(f"task {name!r}: point must be three finite numbers, got {np.asarray(point).tolist()}")
    reference = _checked(reference, name)
    return FrameTask(name, frame, matrix, reference, tuple(offset.tolist()), _names(name, matrix))


def _checked(reference: Reference, name: str) -> Reference:
    if reference not in REFERENCES:
        raise TaskError(f"task {name!r}: reference {reference!r} is none of {', '.join(map(repr, REFERENCES))}")
    return reference


def _matrix(matrix: npt.ArrayLike, name: str) -> Matrix:
    table = np.atleast_2d(np.asarray(matrix, float))
    if table.ndim != 2 or table.shape[1] != 6 or not len(table):
        raise TaskError(f"task {name!r}: rows have shape (k, 6) or (6,), got {np.asarray(matrix).shape}")
    if not np.isfinite(table).all() or not table.any(axis=1).all():
        raise TaskError(f"task {name!r}: every row must be finite and not zero")
    return tuple(map(tuple, table.tolist()))


def _names(name: str, matrix: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """name.x, name.rz, ... for rows that pick one component, name.0, name.1, ... for others."""
    picked = [np.flatnonzero(row) for row in matrix]
    return tuple(f"{name}.{_AXES[p[0]] if len(p) == 1 else r}" for r, p in enumerate(picked))
