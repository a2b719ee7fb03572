"""Forward dynamics of a mechanism whose rows are held, by the sparse factor H = L' D L (Featherstone 2010).

With Y = J L^-1 and z = L^-T (tau - C): the rows' free acceleration is Jdot v + Y D^-1 z, A = Lambda^-1 = Y D^-1 Y', and
forces f of the rows (by `row_forces`, as in `held`) give qdd = L^-1 D^-1 (z + Y' f).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import drift, rows_velocity
from bough.opspace.sweeps.factored import DYNAMICS, factored, joint_bias
from bough.opspace.sweeps.held import HELD_DYNAMICS, Proximal, row_forces
from bough.opspace.sweeps.inverse import LDL_WORK
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.types import Rows, Workspace


@kernel
def held_by_factor(
    m: Mechanism, t: Seeds, p: JacobianPattern, d: DofTree, c: Proximal, q: Rows, v: Rows, tau: Rows,
    target: Rows, damping: Rows, proximal: Rows, qdd: Rows, f: Rows, residual: Rows, w: Workspace,
) -> None:  # fmt: skip
    """qdd and row forces f such that H qdd + C = tau + J' f and the rows accelerate by target - damping J v."""
    drift(m, t, q, v, w.y, w)
    rows_velocity(m, t, w.rate_of_rows, w)
    joint_bias(m, w.C, w)
    factored(m, t, p, d, q, w.J, w.H, w.YD, w.A, w)
    for k in range(len(m.v_index)):
        w.C[k, 0] = tau[m.v_index[k]] - w.C[k, 0]
    unit_ltsolve(d.parent, d.rows, w.H, w.C)
    for r in range(len(f)):
        y = w.y[r]
        for e in range(p.of_row[r], p.of_row[r + 1]):
            y = y + w.YD[e] * w.C[p.dof[e], 0]
        w.gap[r] = target[r] - damping[0] * w.rate_of_rows[r] - y
    row_forces(m, c, w.A, w.gap, proximal, f, residual, w)
    for r in range(len(f)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            w.C[p.dof[e], 0] = w.C[p.dof[e], 0] + w.Y[e] * f[r]
    divide_diagonal(d.parent, d.rows, w.H, w.C)
    unit_lsolve(d.parent, d.rows, w.H, w.C)
    for k in range(len(m.v_index)):
        qdd[m.v_index[k]] = w.C[k, 0]


HELD_BY_FACTOR = Routine(
    "constrained_dynamics",
    held_by_factor,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "rows", "damping": "1", "proximal": "1",
    },
    outputs=dict(HELD_DYNAMICS.outputs),
    work=dict(DYNAMICS.work) | LDL_WORK
    | {"H": "packed", "A": "rows rows", "gap": "rows", "left": "rows", "y": "rows"}
    | {"rate_of_rows": "rows"},
)  # fmt: skip
