"""Products and substitutions with a sparse triangular factor (Featherstone 2005, appendix and Table 1).

All work in situ on x, one column for each right-hand side. L is in packed ancestor rows; the
diagonal of a `unit_` factor is taken as 1 whatever is stored there. Per column and with the
notation of `bough.cost`: D1 (m + a) for a unit factor, and n m or n d more for the others.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import Rows, Scalar

# One row of a product: i meets its ancestors j = parent(i), ..., root at L[rows[i] + p].


@kernel
def ancestors_sum(parent: Rows, rows: Rows, L: Rows, x: Rows, i: int, c: int) -> Scalar:
    """sum_j L_ij x_j of a node that is no root; what is found last (the parent's) comes last, the rest in two sums."""
    j = parent[i]
    last = rows[i + 1] - 2 - rows[i]
    near = L[rows[i] + last] * x[j, c]
    if last == 0:
        return near
    j = parent[j]
    even = L[rows[i] + last - 1] * x[j, c]
    if last == 1:
        return even + near
    j = parent[j]
    odd = L[rows[i] + last - 2] * x[j, c]
    for p in range(last - 3, -1, -1):
        j = parent[j]
        if (last - p) % 2 == 1:
            even = even + L[rows[i] + p] * x[j, c]
        else:
            odd = odd + L[rows[i] + p] * x[j, c]
    return even + odd + near


@kernel
def add_ancestors(parent: Rows, rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_i += sum_j L_ij x_j"""
    if parent[i] >= 0:
        for c in range(x.shape[1]):
            x[i, c] = x[i, c] + ancestors_sum(parent, rows, L, x, i, c)


@kernel
def subtract_ancestors(parent: Rows, rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_i -= sum_j L_ij x_j"""
    if parent[i] >= 0:
        for c in range(x.shape[1]):
            x[i, c] = x[i, c] - ancestors_sum(parent, rows, L, x, i, c)


@kernel
def add_to_ancestors(parent: Rows, rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_j += L_ij x_i"""
    for c in range(x.shape[1]):
        xi = x[i, c]
        j = parent[i]
        for p in range(rows[i + 1] - 2, rows[i] - 1, -1):
            x[j, c] = x[j, c] + L[p] * xi
            j = parent[j]


@kernel
def subtract_from_ancestors(parent: Rows, rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_j -= L_ij x_i"""
    for c in range(x.shape[1]):
        xi = x[i, c]
        j = parent[i]
        for p in range(rows[i + 1] - 2, rows[i] - 1, -1):
            x[j, c] = x[j, c] - L[p] * xi
            j = parent[j]


@kernel
def multiply_row(rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_i *= L_ii"""
    for c in range(x.shape[1]):
        x[i, c] = L[rows[i + 1] - 1] * x[i, c]


@kernel
def divide_row(rows: Rows, L: Rows, x: Rows, i: int) -> None:
    """x_i /= L_ii"""
    for c in range(x.shape[1]):
        x[i, c] = x[i, c] / L[rows[i + 1] - 1]


# The four products, with a unit and with a general diagonal.


@kernel
def unit_lmul(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L x"""
    for i in range(len(parent) - 1, -1, -1):
        add_ancestors(parent, rows, L, x, i)


@kernel
def lmul(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L x"""
    for i in range(len(parent) - 1, -1, -1):
        multiply_row(rows, L, x, i)
        add_ancestors(parent, rows, L, x, i)


@kernel
def unit_ltmul(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L' x"""
    for i in range(len(parent)):
        add_to_ancestors(parent, rows, L, x, i)


@kernel
def ltmul(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L' x, in situ because x_i is scaled only after its ancestors have used it."""
    for i in range(len(parent)):
        add_to_ancestors(parent, rows, L, x, i)
        multiply_row(rows, L, x, i)


@kernel
def unit_lsolve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L^-1 x"""
    for i in range(len(parent)):
        subtract_ancestors(parent, rows, L, x, i)


@kernel
def lsolve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L^-1 x"""
    for i in range(len(parent)):
        subtract_ancestors(parent, rows, L, x, i)
        divide_row(rows, L, x, i)


@kernel
def unit_ltsolve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L^-T x"""
    for i in range(len(parent) - 1, -1, -1):
        subtract_from_ancestors(parent, rows, L, x, i)


@kernel
def ltsolve(parent: Rows, rows: Rows, L: Rows, x: Rows) -> None:
    """x = L^-T x"""
    for i in range(len(parent) - 1, -1, -1):
        divide_row(rows, L, x, i)
        subtract_from_ancestors(parent, rows, L, x, i)


@kernel
def multiply_diagonal(parent: Rows, rows: Rows, D: Rows, x: Rows) -> None:
    """x = D x, n m per column."""
    for i in range(len(parent)):
        multiply_row(rows, D, x, i)


@kernel
def divide_diagonal(parent: Rows, rows: Rows, D: Rows, x: Rows) -> None:
    """x = D^-1 x, n d per column."""
    for i in range(len(parent)):
        divide_row(rows, D, x, i)


@kernel
def hmul(parent: Rows, rows: Rows, H: Rows, x: Rows, y: Rows) -> None:
    """y = H x from the packed lower triangle of a symmetric H: n m + 2 D1 (m + a) per column."""
    for i in range(len(parent)):
        for c in range(x.shape[1]):
            xi = x[i, c]
            yi = H[rows[i + 1] - 1] * xi
            j = parent[i]
            for p in range(rows[i + 1] - 2, rows[i] - 1, -1):
                yi = yi + H[p] * x[j, c]
                y[j, c] = y[j, c] + H[p] * xi
                j = parent[j]
            y[i, c] = yi


# The products and substitutions with a factor, in the order in which its users name them
GENERAL = (lmul, ltmul, lsolve, ltsolve)
UNIT = (unit_lmul, unit_ltmul, unit_lsolve, unit_ltsolve)
