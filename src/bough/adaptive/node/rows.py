"""Rows of six numbers that compiled code keeps in one vector register; interpreted, they are tuples.

A loop over six columns would stay scalar code. So the few things that blocks do with whole rows are functions of their
own: their meaning is here, and `vectors` gives the compiler one or two instructions for each.
"""

from __future__ import annotations

from bough.compile.kernel import lowered_by
from bough.types import Block, Rows, Scalar, Six

lowered_by("bough.adaptive.node.vectors", __file__)

WIDTH = 8  # numbers from one row of scratch to the next: the last two are padding and mean nothing


def row(S: Rows, c: int, i: int) -> Six:
    """Row i of block c."""
    return tuple(S[c, i, :6])


def put(S: Rows, c: int, i: int, x: Six) -> None:
    """Write row i of block c."""
    S[c, i, :6] = x


def taken(r: Rows, o: int) -> Six:
    """Six numbers of a record."""
    return tuple(r[o : o + 6])


def give(r: Rows, o: int, x: Six) -> None:
    """Write six numbers of a record."""
    r[o : o + 6] = x


def unpacked(r: Rows, o: int) -> Block:
    """The six rows of a symmetric block from its upper triangle in a record."""
    return tuple(tuple(r[o + place(min(i, j), max(i, j))] for j in range(6)) for i in range(6))


def pack(r: Rows, o: int, rows: Block) -> None:
    """The upper triangle of six rows into a record."""
    for i in range(6):
        for j in range(i, 6):
            r[o + place(i, j)] = rows[i][j]


def place(i: int, j: int) -> int:
    """Where the upper triangle, packed row by row, has entry (i, j)."""
    return 6 * i - i * (i + 1) // 2 + j


def flipped(rows: Block) -> Block:
    """Six rows as six columns."""
    return tuple(zip(*rows, strict=True))


def joined(a: Scalar, b: Scalar, c: Scalar, d: Scalar, e: Scalar, f: Scalar) -> Six:
    """Six numbers as a row."""
    return (a, b, c, d, e, f)


def scaled(a: Scalar, x: Six) -> Six:
    """a x."""
    return tuple(a * y for y in x)


def plus(z: Six, a: Scalar, x: Six) -> Six:
    """z + a x."""
    return tuple(u + a * y for u, y in zip(z, x, strict=True))


def replaced(x: Six, k: int, a: Scalar) -> Six:
    """x with entry k set to a."""
    return (*x[:k], a, *x[k + 1 :])
