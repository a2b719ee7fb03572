"""6 x 6 blocks: products on scratch space, and the packed form in which a node keeps them.

Scratch is an array (blocks, 6, 6); a block is named by its number. A node's record is flat: a symmetric block is its
upper triangle row by row (21 numbers), a general one its rows (36). Six-vectors are tuples, as everywhere in Bough.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.spatial import dot6, motion_out


@kernel
def six(r: Any, o: int) -> Any:
    """Six numbers of a record."""
    return (r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5])


@kernel
def put_six(r: Any, o: int, x: Any) -> None:
    r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5] = x[0], x[1], x[2], x[3], x[4], x[5]


@kernel
def load_symmetric(S: Any, c: int, r: Any, o: int) -> None:
    for i in range(6):
        for j in range(i, 6):
            S[c, i, j] = r[o]
            S[c, j, i] = r[o]
            o += 1


@kernel
def store_symmetric(S: Any, c: int, r: Any, o: int) -> None:
    for i in range(6):
        for j in range(i, 6):
            r[o] = S[c, i, j]
            o += 1


@kernel
def load_full(S: Any, c: int, r: Any, o: int) -> None:
    for i in range(6):
        for j in range(6):
            S[c, i, j] = r[o + 6 * i + j]


@kernel
def load_transposed(S: Any, c: int, r: Any, o: int) -> None:
    for i in range(6):
        for j in range(6):
            S[c, j, i] = r[o + 6 * i + j]


@kernel
def store_full(S: Any, c: int, r: Any, o: int) -> None:
    for i in range(6):
        for j in range(6):
            r[o + 6 * i + j] = S[c, i, j]


@kernel
def clear(S: Any, c: int) -> None:
    for i in range(6):
        for j in range(6):
            S[c, i, j] = 0.0


@kernel
def copy(S: Any, c: int, a: int) -> None:
    for i in range(6):
        for j in range(6):
            S[c, i, j] = S[a, i, j]


@kernel
def symmetric_six(r: Any, o: int, x: Any) -> Any:
    """A packed symmetric block times a vector."""
    return (
        r[o] * x[0] + r[o + 1] * x[1] + r[o + 2] * x[2] + r[o + 3] * x[3] + r[o + 4] * x[4] + r[o + 5] * x[5],
        r[o + 1] * x[0] + r[o + 6] * x[1] + r[o + 7] * x[2] + r[o + 8] * x[3] + r[o + 9] * x[4] + r[o + 10] * x[5],
        r[o + 2] * x[0] + r[o + 7] * x[1] + r[o + 11] * x[2] + r[o + 12] * x[3] + r[o + 13] * x[4] + r[o + 14] * x[5],
        r[o + 3] * x[0] + r[o + 8] * x[1] + r[o + 12] * x[2] + r[o + 15] * x[3] + r[o + 16] * x[4] + r[o + 17] * x[5],
        r[o + 4] * x[0] + r[o + 9] * x[1] + r[o + 13] * x[2] + r[o + 16] * x[3] + r[o + 18] * x[4] + r[o + 19] * x[5],
        r[o + 5] * x[0] + r[o + 10] * x[1] + r[o + 14] * x[2] + r[o + 17] * x[3] + r[o + 19] * x[4] + r[o + 20] * x[5],
    )


@kernel
def full_six(r: Any, o: int, x: Any) -> Any:
    """A block times a vector."""
    return (
        dot6(six(r, o), x),
        dot6(six(r, o + 6), x),
        dot6(six(r, o + 12), x),
        dot6(six(r, o + 18), x),
        dot6(six(r, o + 24), x),
        dot6(six(r, o + 30), x),
    )


@kernel
def transposed_six(r: Any, o: int, x: Any) -> Any:
    """The transpose of a block times a vector."""
    a, b, c = six(r, o), six(r, o + 6), six(r, o + 12)
    d, e, f = six(r, o + 18), six(r, o + 24), six(r, o + 30)
    return (
        a[0] * x[0] + b[0] * x[1] + c[0] * x[2] + d[0] * x[3] + e[0] * x[4] + f[0] * x[5],
        a[1] * x[0] + b[1] * x[1] + c[1] * x[2] + d[1] * x[3] + e[1] * x[4] + f[1] * x[5],
        a[2] * x[0] + b[2] * x[1] + c[2] * x[2] + d[2] * x[3] + e[2] * x[4] + f[2] * x[5],
        a[3] * x[0] + b[3] * x[1] + c[3] * x[2] + d[3] * x[3] + e[3] * x[4] + f[3] * x[5],
        a[4] * x[0] + b[4] * x[1] + c[4] * x[2] + d[4] * x[3] + e[4] * x[4] + f[4] * x[5],
        a[5] * x[0] + b[5] * x[1] + c[5] * x[2] + d[5] * x[3] + e[5] * x[4] + f[5] * x[5],
    )


@kernel
def carry(S: Any, c: int, a: int, R: Any, p: Any) -> None:
    """c = X a: each column is a motion brought into the frame placed at (R, p)."""
    for j in range(6):
        x = motion_out(R, p, (S[a, 0, j], S[a, 1, j], S[a, 2, j], S[a, 3, j], S[a, 4, j], S[a, 5, j]))
        S[c, 0, j], S[c, 1, j], S[c, 2, j] = x[0], x[1], x[2]
        S[c, 3, j], S[c, 4, j], S[c, 5, j] = x[3], x[4], x[5]


@kernel
def carry_transposed(S: Any, c: int, a: int, R: Any, p: Any) -> None:
    """c = X a', so that two carries make the congruence X a X' of a symmetric block."""
    for j in range(6):
        x = motion_out(R, p, (S[a, j, 0], S[a, j, 1], S[a, j, 2], S[a, j, 3], S[a, j, 4], S[a, j, 5]))
        S[c, 0, j], S[c, 1, j], S[c, 2, j] = x[0], x[1], x[2]
        S[c, 3, j], S[c, 4, j], S[c, 5, j] = x[3], x[4], x[5]


@kernel
def add_blocks(S: Any, c: int, a: int, b: int) -> None:
    for i in range(6):
        for j in range(6):
            S[c, i, j] = S[a, i, j] + S[b, i, j]


@kernel
def multiply(S: Any, c: int, a: int, b: int) -> None:
    """c = a b."""
    for i in range(6):
        x0, x1, x2, x3, x4, x5 = S[a, i, 0], S[a, i, 1], S[a, i, 2], S[a, i, 3], S[a, i, 4], S[a, i, 5]
        for j in range(6):
            S[c, i, j] = (
                x0 * S[b, 0, j]
                + x1 * S[b, 1, j]
                + x2 * S[b, 2, j]
                + x3 * S[b, 3, j]
                + x4 * S[b, 4, j]
                + x5 * S[b, 5, j]
            )


@kernel
def multiply_less(S: Any, c: int, a: int, b: int, d: int) -> None:
    """c = a b - d."""
    for i in range(6):
        x0, x1, x2, x3, x4, x5 = S[a, i, 0], S[a, i, 1], S[a, i, 2], S[a, i, 3], S[a, i, 4], S[a, i, 5]
        for j in range(6):
            S[c, i, j] = (
                (x0 * S[b, 0, j] + x1 * S[b, 1, j] + x2 * S[b, 2, j])
                + (x3 * S[b, 3, j] + x4 * S[b, 4, j] + x5 * S[b, 5, j] - S[d, i, j])
            )  # fmt: skip


@kernel
def transposed_multiply(S: Any, c: int, a: int, b: int) -> None:
    """c = a' b."""
    for i in range(6):
        x0, x1, x2, x3, x4, x5 = S[a, 0, i], S[a, 1, i], S[a, 2, i], S[a, 3, i], S[a, 4, i], S[a, 5, i]
        for j in range(6):
            S[c, i, j] = (
                x0 * S[b, 0, j]
                + x1 * S[b, 1, j]
                + x2 * S[b, 2, j]
                + x3 * S[b, 3, j]
                + x4 * S[b, 4, j]
                + x5 * S[b, 5, j]
            )


@kernel
def subtract_upper(S: Any, c: int, a: int, b: int) -> None:
    """c -= a' b where the product is symmetric: the upper triangle is enough."""
    for i in range(6):
        x0, x1, x2, x3, x4, x5 = S[a, 0, i], S[a, 1, i], S[a, 2, i], S[a, 3, i], S[a, 4, i], S[a, 5, i]
        for j in range(i, 6):
            S[c, i, j] -= (
                x0 * S[b, 0, j]
                + x1 * S[b, 1, j]
                + x2 * S[b, 2, j]
                + x3 * S[b, 3, j]
                + x4 * S[b, 4, j]
                + x5 * S[b, 5, j]
            )


@kernel
def add_upper(S: Any, c: int, a: int, b: int) -> None:
    """c += a' b, upper triangle."""
    for i in range(6):
        x0, x1, x2, x3, x4, x5 = S[a, 0, i], S[a, 1, i], S[a, 2, i], S[a, 3, i], S[a, 4, i], S[a, 5, i]
        for j in range(i, 6):
            S[c, i, j] += (
                x0 * S[b, 0, j]
                + x1 * S[b, 1, j]
                + x2 * S[b, 2, j]
                + x3 * S[b, 3, j]
                + x4 * S[b, 4, j]
                + x5 * S[b, 5, j]
            )


@kernel
def sweep(S: Any, c: int, k: int) -> None:
    """Beaton's sweep of a symmetric block on axis k: a set of swept axes holds minus the inverse of its sub-block."""
    pivot = 1.0 / S[c, k, k]
    for i in range(6):
        if i != k:
            x = S[c, i, k] * pivot
            for j in range(6):
                if j != k:
                    S[c, i, j] -= x * S[c, k, j]
    for i in range(6):
        x = S[c, i, k] * pivot
        S[c, i, k], S[c, k, i] = x, x
    S[c, k, k] = -pivot


@kernel
def put_row(S: Any, c: int, i: int, r: Any, o: int) -> None:
    for j in range(6):
        r[o + j] = S[c, i, j]
