"""Sparse LTDL factorization H = L' D L (Featherstone 2005, appendix), in situ on packed ancestor rows.

L has a unit diagonal; D is stored in its place.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.types import Rows


@kernel
def ltdl(parent: Rows, rows: Rows, H: Rows) -> None:
    """Replace H by L and D: D1 d + D2 (m + a). Leaves go in pairs."""
    k = len(parent) - 1
    while k >= 0:
        if k > 0 and parent[k] == parent[k - 1]:
            eliminate_siblings(parent, rows, H, k, k - 1)
            k -= 2
        else:
            eliminate(parent, rows, H, k)
            k -= 1


@kernel
def eliminate(parent: Rows, rows: Rows, H: Rows, k: int) -> None:
    """Eliminate node k from the rows of its ancestors, two at a time."""
    first, p, i, D = rows[k], rows[k + 1] - rows[k] - 2, parent[k], H[rows[k + 1] - 1]
    while p > 0:
        up = parent[i]
        r, s = rows[i], rows[up]
        a, b = H[first + p] / D, H[first + p - 1] / D
        for j in range(p):
            y = H[first + j]
            H[r + j] = H[r + j] - y * a
            H[s + j] = H[s + j] - y * b
        H[r + p] = H[r + p] - H[first + p] * a
        H[first + p], H[first + p - 1] = a, b  # only now: the loop above needs the old values
        i = parent[up]
        p -= 2
    if p == 0:
        a = H[first] / D
        H[rows[i]] = H[rows[i]] - H[first] * a
        H[first] = a


@kernel
def eliminate_siblings(parent: Rows, rows: Rows, H: Rows, k: int, sibling: int) -> None:
    """Eliminate node k and a sibling before it together: they have the same ancestors."""
    one, two, end = rows[sibling], rows[k], rows[k + 1]
    p, i, D, E = end - two - 2, parent[k], H[end - 1], H[rows[sibling + 1] - 1]
    while p > 0:
        up = parent[i]
        r, s = rows[i], rows[up]
        a, b = H[two + p] / D, H[one + p] / E
        c, d = H[two + p - 1] / D, H[one + p - 1] / E
        for j in range(p):
            y, z = H[two + j], H[one + j]
            H[r + j] = H[r + j] - y * a - z * b
            H[s + j] = H[s + j] - y * c - z * d
        H[r + p] = H[r + p] - H[two + p] * a - H[one + p] * b
        H[two + p], H[one + p], H[two + p - 1], H[one + p - 1] = a, b, c, d
        i = parent[up]
        p -= 2
    if p == 0:
        a, b = H[two] / D, H[one] / E
        H[rows[i]] = H[rows[i]] - H[two] * a - H[one] * b
        H[two], H[one] = a, b


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
