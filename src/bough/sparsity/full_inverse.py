"""The whole of H^-1 = L^-1 D^-1 L^-T from an LTDL factor: an entry sums over the common ancestors of its two DoF."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import Rows, Scalar


@kernel
def invert_unit(parent: Rows, rows: Rows, L: Rows) -> None:
    """Replace the unit factor L by M = L^-1, which has its pattern: D2 (m + a) at most. The diagonal stays."""
    for i in range(len(parent)):
        first, last = rows[i], rows[i + 1] - 1
        # root first: M_ij needs only those L_ik whose k is not above j
        for p in range(first, last):
            x = L[p]
            k = parent[i]
            for r in range(last - 1, p, -1):
                x = x + L[r] * L[rows[k] + p - first]
                k = parent[k]
            L[p] = -x


@kernel
def divide_columns(parent: Rows, rows: Rows, M: Rows, E: Rows, one: Scalar) -> None:
    """E = M D^-1 in packed rows, with D on the diagonal of M: D1 + n divisions."""
    for i in range(len(parent)):
        first, last = rows[i], rows[i + 1] - 1
        E[last] = one / M[last]
        k = parent[i]
        for p in range(last - 1, first - 1, -1):
            E[p] = M[p] / M[rows[k + 1] - 1]
            k = parent[k]


@kernel
def inverse_entry(rows: Rows, M: Rows, E: Rows, i: int, j: int, a: int) -> Scalar:
    """(H^-1)_ij for j <= i, where a is their last common ancestor."""
    shared = rows[a + 1] - rows[a]
    # the diagonal of M stands for 1, so the deepest term has no product if a is j itself
    x = E[rows[i] + shared - 1]
    if a != j:
        x = x * M[rows[j] + shared - 1]
    for p in range(shared - 1):
        x = x + E[rows[i] + p] * M[rows[j] + p]
    return x
