"""Rows that mix the six components [linear, angular] of a velocity: matrices, checked and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.errors import TaskError, unknown_option
from bough.types import Reference

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
