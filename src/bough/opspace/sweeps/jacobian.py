"""The task Jacobian in packed rows, and its products (Featherstone 2010, sections 5 and 8, Figs. 5 and 6).

Each degree of freedom is written once as a motion in world axes about its tree's root; an entry of J is then one
product with the row's wrench: about 12 operations for each column of a pose, whatever the depth.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism, freedom, joint_motion
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, place_bodies, wrench_in_world
from bough.spatial import dot6, get6, get9, get_tail, motion_in, put6
from bough.types import Rows, Scalar, Workspace


@kernel
def packed_jacobian(m: Mechanism, t: Seeds, p: JacobianPattern, J: Rows, w: Workspace) -> None:
    """J in packed rows, (E,), from the joint motions in w.X; t must place the bodies of all supports."""
    place_bodies(m, t, w)
    for a in range(len(t.placed)):
        i = t.placed[a]
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.S, k, motion_in(get9(w.place, i), get_tail(w.place, i), freedom(m, k, m.one[0])))
    for e in range(len(p.dof)):
        J[e] = p.constant[e]
    for s in range(len(t.kind)):
        e = p.of_seed[s]
        if e >= 0:
            K = wrench_in_world(m, t, s, w)
            while e >= 0:
                J[e] = J[e] + dot6(K, get6(w.S, p.dof[e]))
                e = p.up[e]


@kernel
def spread_jacobian(m: Mechanism, p: JacobianPattern, packed: Rows, J: Rows) -> None:
    """Packed rows as a full (rows, nv) matrix in the order of v; mimic joints add into the columns of their leaders."""
    for r in range(J.shape[0]):
        for c in range(J.shape[1]):
            J[r, c] = m.zero[0]
        for e in range(p.of_row[r], p.of_row[r + 1]):
            c = m.v_index[p.dof[e]]
            J[r, c] = J[r, c] + m.ratio[p.dof[e]] * packed[e]


@kernel
def jacobian(m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, J: Rows, w: Workspace) -> None:
    """J, (rows, nv), from q."""
    joint_motion(m, q, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, J)


@kernel
def jacobian_times(p: JacobianPattern, J: Rows, x: Rows, y: Rows) -> None:
    """y = J x on packed rows, x in the kernel's order: sum of d_i (m + a), less an addition for each row."""
    for r in range(len(y)):
        e = p.of_row[r + 1] - 1
        y[r] = J[e] * x[p.dof[e]]
        for b in range(e - 1, p.of_row[r] - 1, -1):
            y[r] = y[r] + J[b] * x[p.dof[b]]


@kernel
def jacobian_transpose_times(p: JacobianPattern, J: Rows, x: Rows, y: Rows, zero: Scalar) -> None:
    """y = J' x on packed rows: sum of d_i (m + a)."""
    for k in range(len(y)):
        y[k] = zero
    for r in range(len(x)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            y[p.dof[e]] = y[p.dof[e]] + J[e] * x[r]


JACOBIAN_WORK = PLACEMENT_WORK | {"S": "dofs 6"}
JACOBIAN = Routine(
    "task_jacobian", jacobian, inputs={"q": "nq"}, outputs={"J": "rows nv"}, work=JACOBIAN_WORK | {"J": "entries"}
)
