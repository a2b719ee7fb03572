"""Lambda from Lambda^-1 = L D L' (Cholesky's factorization without square roots): m^3 / 2 (m + a), without pivoting.

With a scale d_k^2 of the mobility of each row, x_k = d_k^2 Lambda_kk has no unit: how heavy row k is, compared with
what is usual. With s the sum of x_k^2 (the strain) and e the smallest eigenvalue of D^-1 Lambda^-1 D^-1,
sqrt(s / m) <= 1 / e <= sqrt(s m): s below 1 / (m threshold^2) shows e above threshold.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism
from bough.types import Rows, Workspace


@kernel
def ldl(A: Rows, damping: Rows, w: Workspace) -> None:
    """w.L and pivots D of A + damping 1 = L D L', unit lower triangular L, row by row."""
    for i in range(len(A)):
        d = A[i, i] + damping
        for j in range(i):
            x = A[i, j]
            for k in range(j):
                x = x - w.U[k] * w.L[j, k]
            w.U[j] = x
            w.L[i, j] = x / w.pivot[j]
            d = d - x * w.L[i, j]
        w.pivot[i] = d


@kernel
def ldl_solve(x: Rows, w: Workspace) -> None:
    """x <- (L D L')^-1 x."""
    n = len(x)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - w.L[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] / w.pivot[i]
        for j in range(n - 1, i, -1):
            x[i] = x[i] - w.L[j, i] * x[j]


@kernel
def invert(m: Mechanism, A: Rows, damping: Rows, scale: Rows, out: Rows, strain: Rows, w: Workspace) -> None:
    """out = (A + damping 1)^-1 of a symmetric positive definite A, (n, n), both triangles, and the strain.

    L and D row by row, then the inverse from its last row to its first (Takahashi, Fagan & Chin 1973). All sums are
    inner products in which the newest number comes last, so that it delays one operation only.
    """
    n, one = len(A), m.one[0]
    strain[0] = m.zero[0]
    ldl(A, damping[0], w)
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i - 1, -1):
            x = m.zero[0]
            if j == i:
                x = one / w.pivot[i]
            for k in range(n - 1, i, -1):
                x = x - w.L[k, i] * out[k, j]
            out[i, j] = x
            out[j, i] = x
        x = out[i, i] * scale[i]
        strain[0] = strain[0] + x * x


LDL_WORK = {"L": "rows rows", "U": "rows", "pivot": "rows"}
INVERT = Routine(
    "inertia",
    invert,
    inputs={"Lam_inv": "rows rows", "damping": "1", "scale": "rows"},
    outputs={"Lam": "rows rows", "strain": "1"},
    work=LDL_WORK,
)
