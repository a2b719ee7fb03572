"""Everything about tasks from q and v in one sweep, Lambda, Jbar and N included (Featherstone 2010, eqs. 5 to 10).

What a program without branches can give: Lambda is (Lambda^-1 + damping 1)^-1, and a singular task set shows as numbers
that are not finite unless it is damped. Quantities that are not outputs vanish from the traced program.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.crba import MASS_MATRIX, mass_matrix
from bough.dynamics.rnea import RNEA, newton_euler, rnea
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import BIAS_WORK, drift
from bough.opspace.sweeps.errors import ERROR_WORK, Aims, task_errors
from bough.opspace.sweeps.factored import (
    DYNAMICS,
    FACTORED,
    LDL_WORK,
    factored,
    invert,
    joint_bias,
    ldl,
    ldl_solve,
    weighted_bias,
)
from bough.opspace.sweeps.jacobian import (
    JACOBIAN_WORK,
    DofTree,
    JacobianPattern,
    jacobian_transpose_times,
    packed_jacobian,
    spread_jacobian,
)
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import unit_ltsolve
from bough.types import Rows, Workspace


@kernel
def complete(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, damping: Rows, v: Rows,
    J: Rows, Jdot_v: Rows, beta: Rows, Lam_inv: Rows, Lam: Rows, Jbar: Rows, N: Rows, w: Workspace,
) -> None:  # fmt: skip
    """All quantities of tasks."""
    drift(m, t, q, v, Jdot_v, w)
    for r in range(len(beta)):
        beta[r] = Jdot_v[r]
    weighted_bias(m, t, p, f, q, J, w.X_J, Lam_inv, beta, w)
    invert(m, Lam_inv, damping, w.scale, Lam, w.strain, w)
    consistent(m, J, Lam, Jbar, N, w)


@kernel
def consistent(m: Mechanism, J: Rows, Lam: Rows, Jbar: Rows, N: Rows, w: Workspace) -> None:
    """Jbar = H^-1 J' Lambda and N = 1 - Jbar J, with H^-1 J' in w.X_J."""
    n, rows = Jbar.shape
    for i in range(n):
        for r in range(rows):
            x = m.zero[0]
            for c in range(rows):
                x = x + w.X_J[i, c] * Lam[c, r]
            Jbar[i, r] = x
    for i in range(n):
        for j in range(n):
            x = m.zero[0]
            if i == j:
                x = m.one[0]
            for r in range(rows):
                x = x - Jbar[i, r] * J[r, j]
            N[i, j] = x


@kernel
def mu_rho(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, damping: Rows, v: Rows,
    mu: Rows, w: Workspace,
) -> None:  # fmt: skip
    """mu + rho = -Lambda beta."""
    complete(
        m, t, p, f, q, damping, v,
        w.jacobian, w.drift, w.bias, w.inverse_inertia, w.inertia, w.jbar, w.nullspace, w,
    )  # fmt: skip
    for r in range(len(mu)):
        x = m.zero[0]
        for c in range(len(mu)):
            x = x - w.inertia[r, c] * w.bias[c]
        mu[r] = x


COMPLETE = Routine(
    "operational_space",
    complete,
    inputs={"q": "nq", "damping": "1", "v": "nv"},
    outputs={
        "jacobian": "rows nv",
        "drift": "rows",
        "bias": "rows",
        "inverse_inertia": "rows rows",
        "inertia": "rows rows",
        "jbar": "nv rows",
        "nullspace": "nv nv",
    },
    work=dict(DYNAMICS.work) | LDL_WORK | {"X_J": "nv rows", "scale": "rows", "strain": "1"},
)
MU_RHO = Routine(
    "mu_rho", mu_rho, COMPLETE.inputs, {"mu_rho": "rows"}, {**COMPLETE.work, **COMPLETE.outputs}, COMPLETE.zeros
)


# Joint forces that give tasks prescribed accelerations (Khatib 1987; Featherstone 2010, eqs. 9, 10 and 33).
#
# tau = C + J' Lambda (a - Jdot v - J H^-1 tau0) + tau0, which is C + J' Lambda (a - Jdot v) + N' tau0: neither Lambda
# nor N is formed, and C cancels gravity and velocities. With Lambda = (Lambda^-1 + damping 1)^-1 nothing is singular.


@kernel
def task_torques(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, v: Rows, a: Rows, tau0: Rows,
    damping: Rows, tau: Rows, w: Workspace,
) -> None:  # fmt: skip
    """tau (nv,) for accelerations a (rows,) of the tasks, tau0 (nv,) in their null space."""
    drift(m, t, q, v, w.F, w)
    joint_bias(m, w.C, w)
    factored(m, t, p, f, q, w.J, w.factor, w.YD, w.Lam_inv, w)
    for k in range(len(m.v_index)):
        w.x[k, 0] = tau0[m.v_index[k]]
    unit_ltsolve(f.parent, f.rows, w.factor, w.x)
    for r in range(len(a)):
        missing = a[r] - w.F[r]
        for e in range(p.of_row[r], p.of_row[r + 1]):
            missing = missing - w.YD[e] * w.x[p.dof[e], 0]
        w.F[r] = missing
    ldl(w.Lam_inv, damping[0], w)
    ldl_solve(w.F, w)
    jacobian_transpose_times(p, w.J, w.F, w.z, m.zero[0])
    for k in range(len(m.v_index)):
        tau[m.v_index[k]] = tau0[m.v_index[k]] + w.z[k] + w.C[k, 0]


TASK_TORQUES = Routine(
    "torques",
    task_torques,
    inputs={"q": "nq", "v": "nv", "acceleration": "rows", "tau0": "nv", "damping": "1"},
    outputs={"tau": "nv"},
    work=BIAS_WORK
    | dict(FACTORED.work)
    | LDL_WORK
    | {"J": "entries", "factor": "packed", "YD": "entries", "Lam_inv": "rows rows"}
    | {"f": "bodies 6", "C": "dofs 1", "x": "dofs 1", "z": "dofs", "F": "rows"},
)


# All that inverse dynamics with tasks needs, in one sweep: H, C, J, J v, Jdot v and the errors of the rows.


@kernel
def whole(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, v: Rows, target: Rows, posture: Rows, qdd: Rows,
    H: Rows, C: Rows, J: Rows, rate: Rows, bias: Rows, error: Rows, w: Workspace,
) -> None:  # fmt: skip
    """H qdd + C = tau, rate = J v, bias = Jdot v, error = target less position; qdd is fixed at zero."""
    mass_matrix(m, q, H, w)
    newton_euler(m, v, qdd, C, w)
    drift(m, t, q, v, bias, w)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, J)
    for r in range(len(rate)):
        x = m.zero[0]
        for c in range(len(v)):
            x = x + J[r, c] * v[c]
        rate[r] = x
    task_errors(m, t, g, q, target, posture, error, w)


WHOLE = Routine(
    "whole_body",
    whole,
    inputs={"q": "nq", "v": "nv", "target": "aims 12", "posture": "nq", "qdd": "nv"},
    outputs={"H": "nv nv", "C": "nv", "J": "rows nv", "rate": "rows", "bias": "rows", "error": "rows"},
    work=dict(RNEA.work) | dict(MASS_MATRIX.work) | BIAS_WORK | JACOBIAN_WORK | ERROR_WORK | {"J": "entries"},
).without("qdd")


# What is left of the equations of a constrained motion: both vanish along it, and so do their derivatives.
#
# The implicit function theorem needs no more: see `constrained_derivatives`.


@kernel
def residuals(
    m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, v: Rows, qdd: Rows, force: Rows, damping: Rows,
    unbalanced: Rows, unmet: Rows, w: Workspace,
) -> None:  # fmt: skip
    """H qdd + C - J' f (nv,) and J qdd + Jdot v + damping J v (rows,)."""
    rnea(m, q, v, qdd, unbalanced, w)
    drift(m, t, q, v, unmet, w)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.whole)
    for r in range(len(unmet)):
        for c in range(len(v)):
            unmet[r] = unmet[r] + w.whole[r, c] * (qdd[c] + damping[0] * v[c])
            unbalanced[c] = unbalanced[c] - w.whole[r, c] * force[r]


RESIDUALS = Routine(
    "constrained_dynamics",
    residuals,
    inputs={"q": "nq", "v": "nv", "qdd": "nv", "force": "rows", "damping": "1"},
    outputs={"unbalanced": "nv", "unmet": "rows"},
    work=dict(RNEA.work) | BIAS_WORK | JACOBIAN_WORK | {"J": "entries", "whole": "rows nv"},
)
