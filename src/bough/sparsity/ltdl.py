"""Sparse LTDL factorization H = L' D L (Featherstone 2005, appendix), in situ on packed ancestor rows.

L has a unit diagonal; D is stored in its place.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.types import Rows


@kernel
def ltdl(parent: Rows, rows: Rows, H: Rows) -> None:
    """Replace H by L and D: D1 d + D2 (m + a)."""
    for k in range(len(parent) - 1, -1, -1):
        first, last = rows[k], rows[k + 1] - 1
        i = parent[k]
        for p in range(last - 1, first - 1, -1):
            a = H[p] / H[last]
            update = rows[i] - first
            for j in range(first, p + 1):
                H[update + j] = H[update + j] - H[j] * a
            H[p] = a  # only now: the loop above needs the old value
            i = parent[i]


@kernel
def ltdl_product(parent: Rows, rows: Rows, L: Rows) -> None:
    """Replace L and D by H = L' D L, undoing the factorization row by row: D1 m + D2 (m + a)."""
    for k in range(len(parent)):
        first, last = rows[k], rows[k + 1] - 1
        i = parent[k]
        for p in range(last - 1, first - 1, -1):
            a = L[p] * L[last]
            update = rows[i] - first
            for j in range(first, p + 1):
                L[update + j] = L[update + j] + a * L[j]
            L[p] = a
            i = parent[i]


@kernel
def ltdl_solve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = H^-1 x: n d + 2 D1 (m + a) per column."""
    unit_ltsolve(parent, rows, L, x)
    divide_diagonal(parent, rows, L, x)
    unit_lsolve(parent, rows, L, x)
