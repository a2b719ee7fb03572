"""Joint forces that give tasks wanted accelerations, in one sweep (Khatib 1987; Featherstone 2010, eqs. 9, 10 and 33).

tau = C + J' Lambda (a - Jdot v - J H^-1 tau0) + tau0, which is C + J' Lambda (a - Jdot v) + N' tau0: neither Lambda
nor N is formed, and C cancels gravity and velocities. With Lambda = (Lambda^-1 + damping 1)^-1 nothing is singular.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import BIAS_WORK, drift
from bough.opspace.sweeps.factored import FACTORED, factored, joint_bias
from bough.opspace.sweeps.inverse import LDL_WORK, ldl, ldl_solve
from bough.opspace.sweeps.jacobian import jacobian_transpose_times
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import unit_ltsolve
from bough.types import Rows, Workspace


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
