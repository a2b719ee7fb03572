"""Lambda from Lambda^-1 = L D L' (Cholesky's factorization without square roots): m^3 / 2 (m + a), without pivoting.

The k-th pivot is what row k can still move when the rows before it are held; its square over that of the diagonal is
free of units, and near zero where row k depends on those rows. The sum of the inverses of these numbers is the strain:
about m for independent rows, and large as soon as one row depends on others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.errors import TaskError

FloatArray = npt.NDArray[Any]


@kernel
def invert(m: Any, A: Any, damping: Any, out: Any, strain: Any, w: Any) -> None:
    """out = (A + damping 1)^-1 of a symmetric positive definite A, (n, n), both triangles, and the strain.

    L and D row by row, then the inverse from its last row to its first (Takahashi, Fagan & Chin 1973). All sums are
    inner products in which the newest number comes last, so that it delays one operation only.
    """
    n, one = len(A), m.one[0]
    strain[0] = m.zero[0]
    for i in range(n):
        d = A[i, i] + damping[0]
        whole = d
        for j in range(i):
            x = A[i, j]
            for k in range(j):
                x = x - w.U[k] * w.L[j, k]
            w.U[j] = x
            w.L[i, j] = x / w.D[j]
            d = d - x * w.L[i, j]
        w.D[i] = d
        strain[0] = strain[0] + (whole / d) * (whole / d)
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i - 1, -1):
            x = m.zero[0]
            if j == i:
                x = one / w.D[i]
            for k in range(n - 1, i, -1):
                x = x - w.L[k, i] * out[k, j]
            out[i, j] = x
            out[j, i] = x


INVERT = Routine(
    "inertia",
    invert,
    inputs={"Lam_inv": "rows rows", "damping": "1"},
    outputs={"Lam": "rows rows", "strain": "1"},
    work={"L": "rows rows", "U": "rows", "D": "rows"},
)


def scaled_eigenvalues(Lam_inv: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Square roots d of the diagonal, and eigenvalues and eigenvectors of D^-1 Lambda^-1 D^-1: free of units."""
    d = np.sqrt(np.abs(np.diagonal(Lam_inv, axis1=-2, axis2=-1)))
    d = np.where(d > 0.0, d, 1.0)
    scaled = Lam_inv / (d[..., :, None] * d[..., None, :])
    values, vectors = np.linalg.eigh(scaled)
    return d, values, vectors


def rank(Lam_inv: FloatArray, threshold: float) -> npt.NDArray[np.int64]:
    """The number of directions in which the tasks can be moved: () or (batch,)."""
    _, values, _ = scaled_eigenvalues(Lam_inv)
    count: npt.NDArray[np.int64] = np.count_nonzero(values > threshold * values[..., -1:], axis=-1)
    return count


def truncated_inverse(Lam_inv: FloatArray, threshold: float) -> FloatArray:
    """The inverse on the directions that move (eigenvalues above threshold times the largest), zero on the others."""
    d, values, vectors = scaled_eigenvalues(Lam_inv)
    keep = values > threshold * values[..., -1:]
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    core = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return core / (d[..., :, None] * d[..., None, :])


def dependent_rows(Lam_inv: FloatArray, threshold: float) -> list[int]:
    """Rows of one Lambda^-1 that depend on the rows before them."""
    d, values, _ = scaled_eigenvalues(Lam_inv)
    A = Lam_inv / np.outer(d, d)
    rows: list[int] = []
    for k in range(len(A)):
        if A[k, k] <= threshold * max(values[-1], 1.0):
            rows.append(k)
        else:
            A = A - np.outer(A[:, k], A[k]) / A[k, k]
    return rows


def check_threshold(threshold: float) -> float:
    if not 0.0 < threshold < 1.0:
        raise TaskError(f"threshold is a fraction of the largest eigenvalue, between 0 and 1, got {threshold}")
    return float(threshold)


def check_damping(damping: float) -> float:
    if not (np.isfinite(damping) and damping > 0.0):
        raise TaskError(f"damping is added to Lambda^-1 and must be positive and finite, got {damping}")
    return float(damping)
