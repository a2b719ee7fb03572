"""Configurations moved onto held rows: the least way in the metric of the masses that undoes a gap, to first order.

With Lambda^-1 = J H^-1 J' from the sparse factor of H, the move is -H^-1 J' Lambda gap (a Gauss-Newton step).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism, integrate_joint
from bough.opspace.methods.ltdl import LTDL
from bough.opspace.sweeps.factored import factored
from bough.opspace.sweeps.held import Proximal, factor_held, fit_held
from bough.opspace.sweeps.inverse import LDL_WORK
from bough.opspace.sweeps.jacobian import jacobian_transpose_times
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import unit_lsolve
from bough.types import Rows, Workspace


@kernel
def close_gap(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, c: Proximal, q: Rows, gap: Rows, q_next: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """q moved by -H^-1 J' Lambda gap."""
    factored(m, t, p, f, q, w.J, w.H, w.YD, w.A, w)
    factor_held(m, c, w.A, c.weight[0], w)
    fit_held(m, c, w.A, gap, w.force, w)
    add_row_impulses(m, p, f, w.force, w.move, w)
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.move, -m.one[0], q_next)


@kernel
def add_row_impulses(m: Mechanism, p: JacobianPattern, f: DofTree, force: Rows, out: Rows, w: Workspace) -> None:
    """out (nv,) = H^-1 J' force = L^-1 (D^-1 Y' force), from w.YD and the factor in w.H."""
    jacobian_transpose_times(p, w.YD, force, w.z, m.zero[0])
    for j in range(len(m.v_index)):
        w.column[j, 0] = w.z[j]
    unit_lsolve(f.parent, f.rows, w.H, w.column)
    for a in range(len(f.leader)):
        out[a] = w.column[f.leader[a], 0]


CLOSE_GAP = Routine(
    "close_loops",
    close_gap,
    inputs={"q": "nq", "gap": "rows"},
    outputs={"q_next": "nq"},
    work=dict(LTDL.work) | LDL_WORK
    | {"A": "rows rows", "J": "entries", "YD": "entries", "H": "packed", "left": "rows", "force": "rows"}
    | {"z": "dofs", "column": "dofs 1", "move": "nv"},
)  # fmt: skip
