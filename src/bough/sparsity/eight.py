"""Eight neighbouring numbers that compiled code keeps in one vector register; interpreted, they are tuples.

Loops over eight rows and eight columns at once would stay scalar code. So the few things that blocks do with eight
numbers are functions of their own: their meaning is here, and `lanes` gives the compiler an instruction for each.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import lowered_by

lowered_by("bough.sparsity.lanes", __file__)


def eight(A: Any, p: int) -> Any:
    """Eight elements of A from p on."""
    return tuple(A[p : p + 8])


def put(A: Any, p: int, x: Any) -> None:
    """Write eight elements of A from p on."""
    A[p : p + 8] = x


def take_off(A: Any, p: int, x: Any) -> None:
    """Subtract x from eight elements of A from p on."""
    A[p : p + 8] = [a - y for a, y in zip(A[p : p + 8], x, strict=True)]


def scaled(a: Any, x: Any) -> Any:
    """a x"""
    return tuple(a * y for y in x)


def plus(z: Any, a: Any, x: Any) -> Any:
    """z + a x"""
    return tuple(u + a * y for u, y in zip(z, x, strict=True))


def over(x: Any, a: Any) -> Any:
    """x / a"""
    return tuple(y / a for y in x)
