"""Selected inverse: the entries of H^-1 on the pattern of H, from its LTDL factor (Takahashi, Fagan & Chin 1973)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import Rows


@kernel
def selected_inverse(parent: Rows, rows: Rows, L: Rows, Z: Rows) -> None:
    """Fill Z, packed as L is, from the roots to the tips: n d + 2 D2 m + (2 D2 - D1) a.

    Z_ij = -sum_k L_ik Z_kj and Z_ii = 1 / D_i - sum_k L_ik Z_ki, with j and k over the ancestors of i.
    """
    for i in range(len(parent)):
        first, last = rows[i], rows[i + 1] - 1
        j = parent[i]
        for p in range(last - 1, first - 1, -1):  # k up to and including j: row j of Z
            other = rows[j] - first
            z = -(L[first] * Z[other + first])
            for k in range(first + 1, p + 1):
                z = z - L[k] * Z[other + k]
            Z[p] = z
            j = parent[j]
        k = parent[i]
        for q in range(last - 1, first, -1):  # k below j: row k of Z
            other = rows[k] - first
            for p in range(first, q):
                Z[p] = Z[p] - L[q] * Z[other + p]
            k = parent[k]
        z = 1 / L[last]
        for p in range(first, last):
            z = z - L[p] * Z[p]
        Z[last] = z
