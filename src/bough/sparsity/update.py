"""Path-local rank-one update of an LTDL factor (Gill, Golub, Murray & Saunders 1974, on one path of the tree)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import Rows


@kernel
def rank_one_update(parent: Rows, rows: Rows, L: Rows, tip: Rows, v: Rows, s: Rows) -> None:
    """Turn the factor of H into that of H + s v v', with v along the path root..tip: O(depth^2).

    `tip` and `s` hold one number each; v holds one for each node of the path. v and s are used up.
    """
    k = tip[0]
    for q in range(len(v) - 1, -1, -1):
        first, last = rows[k], rows[k + 1] - 1
        p = v[q]
        D = L[last]
        L[last] = D + s[0] * p * p
        b = s[0] * p / L[last]
        s[0] = s[0] * D / L[last]
        for j in range(q):
            v[j] = v[j] - p * L[first + j]
            L[first + j] = L[first + j] + b * v[j]
        k = parent[k]
