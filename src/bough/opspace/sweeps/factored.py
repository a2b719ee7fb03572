"""Quantities from the LTDL factor of H in one sweep: J, H^-1 J', Lambda^-1 and beta (Featherstone 2010, eqs. 5 to 9).

Matrices at the boundary are in the order of v.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.crba import crba
from bough.dynamics.newton_euler import body_force
from bough.joints import Mechanism, along, force_to_parent
from bough.opspace.methods.ltdl import LTDL
from bough.opspace.sweeps.bias import BIAS_WORK, drift, gravity_in_bodies
from bough.opspace.sweeps.jacobian import (
    DofTree,
    JacobianPattern,
    outer_product,
    packed_jacobian,
    solve_rows_unit,
    spread_jacobian,
)
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.ltdl import ltdl
from bough.sparsity.products import unit_lsolve, unit_ltsolve
from bough.spatial import add6, angular, get3, get6, get10, linear, put6, sub3
from bough.types import Rows, Workspace

# Lambda from Lambda^-1 = L D L' (Cholesky's factorization without square roots): m^3 / 2 (m + a), without pivoting.
#
# With a scale d_k^2 of the mobility of each row, x_k = d_k^2 Lambda_kk has no unit: how heavy row k is, compared with
# what is usual. With s the sum of x_k^2 (the strain) and e the smallest eigenvalue of D^-1 Lambda^-1 D^-1,
# sqrt(s / m) <= 1 / e <= sqrt(s m): s below 1 / (m threshold^2) shows e above threshold.


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


@kernel
def factored(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, J: Rows, L: Rows, YD: Rows, Lam_inv: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """Packed J, packed LTDL factor of H, Y_D and Lambda^-1 from q."""
    crba(m, q, L, w)
    packed_jacobian(m, t, p, J, w)
    ltdl(f.parent, f.rows, L)
    for e in range(len(p.dof)):
        w.Y[e] = J[e]
    solve_rows_unit(p, f, L, w.Y, YD)
    outer_product(p, YD, w.Y, Lam_inv, m.zero[0])


@kernel
def weighted(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, J: Rows, X: Rows, Lam_inv: Rows, w: Workspace
) -> None:
    """J (rows, nv), X = H^-1 J' (nv, rows) and Lambda^-1 from q."""
    factored(m, t, p, f, q, w.J, w.factor, w.YD, Lam_inv, w)
    spread_jacobian(m, p, w.J, J)
    spread_columns(m, p, w.YD, w.columns)
    unit_lsolve(f.parent, f.rows, w.factor, w.columns)
    for k in range(len(m.v_index)):
        for r in range(X.shape[1]):
            X[m.v_index[k], r] = w.columns[k, r]


@kernel
def dynamics(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, v: Rows, J: Rows, X: Rows, Lam_inv: Rows,
    beta: Rows, w: Workspace,
) -> None:  # fmt: skip
    """J, X and Lambda^-1 from q, and beta from q and v on the same factor."""
    drift(m, t, q, v, beta, w)
    weighted_bias(m, t, p, f, q, J, X, Lam_inv, beta, w)


@kernel
def weighted_bias(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, J: Rows, X: Rows, Lam_inv: Rows, beta: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """`weighted`, and beta = Jdot v - J H^-1 C from the Jdot v that it holds; after `drift`."""
    joint_bias(m, w.C, w)
    weighted(m, t, p, f, q, J, X, Lam_inv, w)
    unit_ltsolve(f.parent, f.rows, w.factor, w.C)
    for r in range(len(beta)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            beta[r] = beta[r] - w.YD[e] * w.C[p.dof[e], 0]


@kernel
def joint_bias(m: Mechanism, C: Rows, w: Workspace) -> None:
    """C (dofs, 1): the joint forces under which no joint accelerates, from the accelerations that `drift` leaves."""
    gravity_in_bodies(m, (m.gravity[0], m.gravity[1], m.gravity[2]), w)
    for i in range(len(m.parent)):
        a = get6(w.a, i)
        a0 = sub3(linear(a), get3(w.g, i))
        put6(w.f, i, body_force(get10(m.inertia, i), get3(w.w, i), angular(a), a0))
    for i in range(len(m.parent) - 1, -1, -1):
        F, up = get6(w.f, i), m.parent[i]
        for k in range(m.dof[i], m.dof[i + 1]):
            C[k, 0] = along(m, k, F)
        if up >= 0:
            put6(w.f, up, add6(get6(w.f, up), force_to_parent(m, w.X, i, F)))


@kernel
def spread_columns(m: Mechanism, p: JacobianPattern, Y: Rows, columns: Rows) -> None:
    """Packed rows as the columns of a full (dofs, rows) matrix, in the order of the kernel."""
    for k in range(columns.shape[0]):
        for r in range(columns.shape[1]):
            columns[k, r] = m.zero[0]
    for r in range(columns.shape[1]):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            columns[p.dof[e], r] = Y[e]


FACTORED = Routine(
    "factored",
    factored,
    inputs={"q": "nq"},
    outputs={"J": "entries", "L": "packed", "YD": "entries", "Lam_inv": "rows rows"},
    work={name: shape for name, shape in LTDL.work.items() if name not in ("H", "YD")},
)
WEIGHTED = Routine(
    "weighted",
    weighted,
    inputs={"q": "nq"},
    outputs={"J": "rows nv", "X": "nv rows", "Lam_inv": "rows rows"},
    work=dict(FACTORED.work) | {"J": "entries", "factor": "packed", "YD": "entries", "columns": "dofs rows"},
)
DYNAMICS = Routine(
    "operational_dynamics",
    dynamics,
    inputs={"q": "nq", "v": "nv"},
    outputs={**WEIGHTED.outputs, "beta": "rows"},
    work=BIAS_WORK | dict(WEIGHTED.work) | {"f": "bodies 6", "C": "dofs 1"},
)
