"""Rows of six numbers that compiled code keeps in one vector register; interpreted, they are tuples.

A loop over six columns would stay scalar code. So the few things that blocks do with whole rows are functions of their
own: their meaning is here, and `vectors` gives the compiler one or two instructions for each.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import lowered_by

lowered_by("bough.adaptive.node.vectors", __file__)

WIDTH = 8  # numbers from one row of scratch to the next: the last two are padding and mean nothing


def row(S: Any, c: int, i: int) -> Any:
    """Row i of block c."""
    return tuple(S[c, i, :6])


def put(S: Any, c: int, i: int, x: Any) -> None:
    """Write row i of block c."""
    S[c, i, :6] = x


def taken(r: Any, o: int) -> Any:
    """Six numbers of a record."""
    return tuple(r[o : o + 6])


def give(r: Any, o: int, x: Any) -> None:
    """Write six numbers of a record."""
    r[o : o + 6] = x


def unpacked(r: Any, o: int) -> Any:
    """The six rows of a symmetric block from its upper triangle in a record."""
    return tuple(tuple(r[o + place(min(i, j), max(i, j))] for j in range(6)) for i in range(6))


def pack(r: Any, o: int, rows: Any) -> None:
    """The upper triangle of six rows into a record."""
    for i in range(6):
        for j in range(i, 6):
            r[o + place(i, j)] = rows[i][j]


def place(i: int, j: int) -> int:
    """Where the upper triangle, packed row by row, has entry (i, j)."""
    return 6 * i - i * (i + 1) // 2 + j


def flipped(rows: Any) -> Any:
    """Six rows as six columns."""
    return tuple(zip(*rows, strict=True))


def joined(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Six numbers as a row."""
    return (a, b, c, d, e, f)


def scaled(a: Any, x: Any) -> Any:
    """a x."""
    return tuple(a * y for y in x)


def plus(z: Any, a: Any, x: Any) -> Any:
    """z + a x."""
    return tuple(u + a * y for u, y in zip(z, x, strict=True))


def replaced(x: Any, k: int, a: Any) -> Any:
    """x with entry k set to a."""
    return (*x[:k], a, *x[k + 1 :])
