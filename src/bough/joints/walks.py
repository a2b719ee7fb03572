"""Walks over the screws between a body and its parent: one for each quantity, made of how it takes a single screw.

A walk goes through the joint, which is a screw about z or a placement, and through what is fixed between the parent and
the joint: a screw about x, one about z before it, or a placement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from bough.compile.kernel import kernel
from bough.joints.mechanism import LAST_SCREW, PLACED, ZX_SCREWS, Mechanism
from bough.spatial import get9, get_tail
from bough.types import Rotation, Rows, Scalar, Vector

T = TypeVar("T")
Screw: TypeAlias = Callable[[Scalar, Scalar, Scalar, T], T]  # by (cos, sin, d)
Placement: TypeAlias = Callable[[Rotation, Vector, T], T]
Walk: TypeAlias = Callable[[Mechanism, Rows, int, T], T]


def inward(name: str, doc: str, z_in: Screw[T], x_in: Screw[T], placed_in: Placement[T]) -> Walk[T]:
    """The kernel `name` that takes a quantity from body i's frame into the parent's."""

    def walk(m: Mechanism, X: Rows, i: int, x: Any) -> Any:
        if m.kind[i] <= LAST_SCREW:
            x = z_in(X[i, 0], X[i, 1], X[i, 2], x)
        else:
            x = placed_in(get9(X, i), get_tail(X, i), x)
        fixed = m.fixed_kind[i]
        if fixed == PLACED:
            return placed_in(get9(m.fixed, i), get_tail(m.fixed, i), x)
        x = x_in(m.fixed[i, 3], m.fixed[i, 4], m.fixed[i, 5], x)
        if fixed == ZX_SCREWS:
            x = z_in(m.fixed[i, 0], m.fixed[i, 1], m.fixed[i, 2], x)
        return x

    return _named(walk, name, doc)


def outward(name: str, doc: str, z_out: Screw[T], x_out: Screw[T], placed_out: Placement[T]) -> Walk[T]:
    """The kernel `name` that takes a quantity from the parent's frame into body i's."""

    def walk(m: Mechanism, X: Rows, i: int, x: Any) -> Any:
        fixed = m.fixed_kind[i]
        if fixed == PLACED:
            x = placed_out(get9(m.fixed, i), get_tail(m.fixed, i), x)
        else:
            if fixed == ZX_SCREWS:
                x = z_out(m.fixed[i, 0], m.fixed[i, 1], m.fixed[i, 2], x)
            x = x_out(m.fixed[i, 3], m.fixed[i, 4], m.fixed[i, 5], x)
        if m.kind[i] <= LAST_SCREW:
            return z_out(X[i, 0], X[i, 1], X[i, 2], x)
        return placed_out(get9(X, i), get_tail(X, i), x)

    return _named(walk, name, doc)


def _named(walk: Walk[T], name: str, doc: str) -> Walk[T]:
    walk.__name__ = walk.__qualname__ = name
    walk.__doc__ = doc
    return kernel(walk)
