"""Sparse algorithms on packed rows (Featherstone 2010, section 8, Figs. 8 to 10, and eqs. 10, 32 and 33).

Rows have the pattern of J: the degrees of freedom on the way from the tasks' bodies to the root. `parent` and `rows`
describe the packed factor of H. Supports may be single paths or unions of them (relative tasks, momentum).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.sparsity.products import unit_lsolve
from bough.spatial import fill
from bough.types import Rows, Scalar


@kernel
def solve_rows(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows) -> None:
    """Y = J L^-1 in situ on a copy of J (Fig. 8): d_i divisions and d_i (d_i - 1) / 2 (m + a) for each row."""
    for e in range(len(p.dof) - 1, -1, -1):
        k = p.dof[e]
        Y[e] = Y[e] / L[f.rows[k + 1] - 1]
        subtract_from_ancestors(p, f, L, Y, e)


@kernel
def solve_rows_unit(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows, YD: Rows) -> None:
    """Y = J L^-1 in situ for a unit factor, and YD = Y D^-1 (Fig. 9), at the same cost."""
    for e in range(len(p.dof) - 1, -1, -1):
        subtract_from_ancestors(p, f, L, Y, e)
        YD[e] = Y[e] / L[f.rows[p.dof[e] + 1] - 1]


@kernel
def subtract_from_ancestors(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows, e: int) -> None:
    """Y_j -= Y_k L_kj for the ancestors j of entry e's degree of freedom k."""
    a, b = p.up[e], f.rows[p.dof[e] + 1] - 2
    while a >= 0:
        Y[a] = Y[a] - Y[e] * L[b]
        a = p.up[a]
        b = b - 1


@kernel
def outer_product(p: JacobianPattern, A: Rows, B: Rows, out: Rows, zero: Scalar) -> None:
    """A B' of two matrices with the pattern of J, known to be symmetric (Fig. 10): d_ij m + (d_ij - 1) a."""
    for r in range(len(out)):
        for s in range(r + 1):
            x = row_product(p, A, B, r, s, zero)
            out[r, s] = x
            out[s, r] = x


@kernel
def row_product(p: JacobianPattern, A: Rows, B: Rows, r: int, s: int, zero: Scalar) -> Scalar:
    """Row r of A times row s of B: entries meet where both rows have the same degree of freedom."""
    a, b, terms, x = p.of_row[r], p.of_row[s], 0, zero
    while a < p.of_row[r + 1] and b < p.of_row[s + 1]:
        if p.dof[a] == p.dof[b]:
            if terms == 0:
                x = A[a] * B[b]
            else:
                x = x + A[a] * B[b]
            terms = terms + 1
            a = a + 1
            b = b + 1
        elif p.dof[a] < p.dof[b]:
            a = a + 1
        else:
            b = b + 1
    return x


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
