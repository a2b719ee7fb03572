"""Sparse LTL factorization H = L' L (Featherstone 2005, section 2), in situ on packed ancestor rows.

Row k of H holds H_kj along the path root..k; the row of an ancestor is as long as the prefix of
row k that it updates, so the inner loops are contiguous.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import sqrt
from bough.sparsity.products import lsolve, ltsolve
from bough.types import Rows


@kernel
def ltl(parent: Rows, rows: Rows, H: Rows) -> None:
    """Replace H by L: n sqrt + D1 d + D2 (m + a)."""
    for k in range(len(parent) - 1, -1, -1):
        first, last = rows[k], rows[k + 1] - 1
        H[last] = sqrt(H[last])
        for p in range(first, last):
            H[p] = H[p] / H[last]
        i = parent[k]
        for p in range(last - 1, first - 1, -1):
            update = rows[i] - first
            for j in range(first, p + 1):
                H[update + j] = H[update + j] - H[p] * H[j]
            i = parent[i]


@kernel
def ltl_product(parent: Rows, rows: Rows, L: Rows) -> None:
    """Replace L by H = L' L, undoing the factorization row by row: (D1 + n) m + D2 (m + a)."""
    for k in range(len(parent)):
        first, last = rows[k], rows[k + 1] - 1
        i = parent[k]
        for p in range(last - 1, first - 1, -1):
            update = rows[i] - first
            for j in range(first, p + 1):
                L[update + j] = L[update + j] + L[p] * L[j]
            i = parent[i]
        for p in range(first, last + 1):
            L[p] = L[p] * L[last]


@kernel
def ltl_solve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = H^-1 x: 2n d + 2 D1 (m + a) per column."""
    ltsolve(parent, rows, L, x)
    lsolve(parent, rows, L, x)


@kernel
def ltl_to_ltdl(parent: Rows, rows: Rows, L: Rows) -> None:
    """Replace the factor of H = L' L by that of H = L' D L, D on the diagonal: D1 d + n m."""
    for k in range(len(parent)):
        first, last = rows[k], rows[k + 1] - 1
        for p in range(first, last):
            L[p] = L[p] / L[last]
        L[last] = L[last] * L[last]
