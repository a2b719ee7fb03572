"""Jbar and N on packed rows, as the paper counts them (Featherstone 2010, eqs. 10 and 33).

The library has them from full matrices (`opspace.sweeps.complete`), whose zeros vanish in traced code.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.opspace.sweeps.jacobian import DofTree, JacobianPattern
from bough.sparsity.products import unit_lsolve
from bough.spatial import fill
from bough.types import Rows, Scalar


@kernel
def transpose_times(p: JacobianPattern, Y: Rows, A: Rows, out: Rows, zero: Scalar) -> None:
    """out = Y' A for A (rows, c): sum of d_i c (m + a)."""
    fill(out, zero)
    for r in range(A.shape[0]):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            for c in range(A.shape[1]):
                out[p.dof[e], c] = out[p.dof[e], c] + Y[e] * A[r, c]


@kernel
def generalised_inverse(p: JacobianPattern, f: DofTree, L: Rows, YD: Rows, Lam: Rows, Jbar: Rows, zero: Scalar) -> None:
    """Jbar = H^-1 J' Lambda = L^-1 (YD' Lambda), unit factor (eq. 33): m (D1 + sum of d_i) (m + a)."""
    transpose_times(p, YD, Lam, Jbar, zero)
    unit_lsolve(f.parent, f.rows, L, Jbar)


@kernel
def null_space(p: JacobianPattern, J: Rows, Jbar: Rows, N: Rows, zero: Scalar, one: Scalar) -> None:
    """N = 1 - Jbar J (eq. 10): n (sum of d_i) (m + a), and n a."""
    fill(N, zero)
    for i in range(N.shape[0]):
        for r in range(Jbar.shape[1]):
            for e in range(p.of_row[r], p.of_row[r + 1]):
                N[i, p.dof[e]] = N[i, p.dof[e]] - Jbar[i, r] * J[e]
        N[i, i] = N[i, i] + one
