"""Six or eight numbers in one vector register: the few operations that loops over blocks of them need.

A loop over six or eight columns would stay scalar code, so operations on a whole row are functions of their own.
Interpreted, a row is a tuple; compiled, it is a vector of eight lanes (`lower/vectors.py`). Of six numbers the last two
lanes are padding.
"""

from __future__ import annotations

from typing import Any

from bough.types import Block, Rows, Scalar, Six

WIDTH = 8  # numbers from one row of a block of scratch to the next


def scaled(a: Scalar, x: Any) -> Any:
    """a x."""
    return tuple(a * y for y in x)


def plus(z: Any, a: Scalar, x: Any) -> Any:
    """z + a x."""
    return tuple(u + a * y for u, y in zip(z, x, strict=True))


def over(x: Any, a: Scalar) -> Any:
    """x / a."""
    return tuple(y / a for y in x)


# Eight neighbouring elements of an array


def eight(A: Rows, p: int) -> Any:
    """Eight elements of A from p on."""
    return tuple(A[p : p + 8])


def put_eight(A: Rows, p: int, x: Any) -> None:
    """Write eight elements of A from p on."""
    A[p : p + 8] = x


def subtract_eight(A: Rows, p: int, x: Any) -> None:
    """Subtract x from eight elements of A from p on."""
    A[p : p + 8] = [a - y for a, y in zip(A[p : p + 8], x, strict=True)]


# Rows of six: scratch S is (blocks, 6, WIDTH); a record r is flat, its symmetric blocks packed row by row


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
    """The offset of entry (i, j) in the upper triangle, packed row by row."""
    return 6 * i - i * (i + 1) // 2 + j


def flipped(rows: Block) -> Block:
    """Six rows as six columns."""
    return tuple(zip(*rows, strict=True))


def joined(a: Scalar, b: Scalar, c: Scalar, d: Scalar, e: Scalar, f: Scalar) -> Six:
    """Six numbers as a row."""
    return (a, b, c, d, e, f)


def replaced(x: Six, k: int, a: Scalar) -> Six:
    """x with entry k set to a."""
    return (*x[:k], a, *x[k + 1 :])
