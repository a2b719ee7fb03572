"""Everything about tasks from q and v in one sweep, Lambda, Jbar and N included (Featherstone 2010, eqs. 5 to 10).

What a program without branches can give: Lambda is (Lambda^-1 + damping 1)^-1, and a singular task set shows as numbers
that are not finite unless it is damped. Quantities that are not wanted are left out of the traced program.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import drift
from bough.opspace.sweeps.factored import DYNAMICS, weighted_bias
from bough.opspace.sweeps.inverse import LDL_WORK, invert
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
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
