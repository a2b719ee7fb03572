"""Sparse UDU' factorization M = U D U' (Shimanovskij, algorithms 1 to 3), in situ.

Column k of the upper triangle of M, packed, is row k of the lower one: U' is the L of LTDL.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.sparsity.ltdl import ltdl
from bough.sparsity.products import divide_row, subtract_from_ancestors, unit_lsolve
from bough.types import Rows


@kernel
def udut(parent: Rows, rows: Rows, M: Rows) -> None:
    """Replace M by U and D (algorithm 1): D1 d + D2 (m + a)."""
    ltdl(parent, rows, M)


@kernel
def udut_forward(parent: Rows, rows: Rows, U: Rows, x: Rows) -> None:
    """x = (U D)^-1 x (algorithm 2): n d + D1 (m + a) per column."""
    for j in range(len(parent) - 1, -1, -1):
        subtract_from_ancestors(parent, rows, U, x, j)
        divide_row(rows, U, x, j)


@kernel
def udut_backward(parent: Rows, rows: Rows, U: Rows, x: Rows) -> None:
    """x = U^-T x (algorithm 3): D1 (m + a) per column."""
    unit_lsolve(parent, rows, U, x)


@kernel
def udut_solve(parent: Rows, rows: Rows, U: Rows, x: Rows) -> None:
    """x = M^-1 x: n d + 2 D1 (m + a) per column."""
    udut_forward(parent, rows, U, x)
    udut_backward(parent, rows, U, x)
