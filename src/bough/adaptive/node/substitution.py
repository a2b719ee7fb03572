"""Back-substitution at one node (Featherstone 1999; Redon & Lin 2005): total acceleration, forces down, qdd out."""

from __future__ import annotations

from bough.adaptive.node.blocks import full_six, six, symmetric_six
from bough.adaptive.node.layout import (
    ETA,
    GAMMA,
    P1,
    P2,
    PSI1,
    PSI2,
    PSI12,
    T1,
    T2,
    Blueprint,
    State,
    placement,
    tail,
    two_handled,
)
from bough.adaptive.node.leaves import ZERO6
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import add6, dot6, force_in, scale6, sub6
from bough.types import Force, Rows, Scalar


@inlined
@loop_kernel
def total_acceleration(plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """A of node n under forces on its handles; rounding below zero is cut off."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    A = r[ETA] + dot6(f1, add6(six(r, P1), symmetric_six(r, PSI1, f1)))
    if plan.handles[n] == 2:
        A += dot6(f2, add6(six(r, P2), symmetric_six(r, PSI2, f2))) + 2.0 * dot6(f1, full_six(r, PSI12, f2))
    return max(A, 0.0)


@inlined
@kernel
def joint_force(plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> Force:
    """The force that A exerts on B through the joint, in B's frame."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    f = add6(six(r, GAMMA), full_six(r, T1, f1))
    if plan.handles[n] == 2:
        f = sub6(f, full_six(r, T2, f2))
    return f


@inlined
@loop_kernel
def joint_acceleration(m: Mechanism, plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """Write qdd of the joint of node n; returns its weighted square."""
    b = plan.body[n]
    if b < 0:
        return 0.0
    r, o = st.record[plan.offset[n] : plan.offset[n + 1]], tail(plan, n)
    k0, d = plan.dof[b], plan.dof[b + 1] - plan.dof[b]
    for x in range(d):
        a = r[o + 6 * d + d * d + x] - dot6(six(r, o + (d + 7) * d + 6 * x), f1)
        if plan.handles[n] == 2:
            a += dot6(six(r, o + (d + 13) * d + 6 * x), f2)
        st.qdd[m.v_index[k0 + x]] = a
    return joint_square(m, plan, st, b, st.qdd)


@inlined
@loop_kernel
def joint_square(m: Mechanism, plan: Blueprint, st: State, b: int, a: Rows) -> Scalar:
    """The weighted square of what the joint of body b has in `a` (nv,); 0 for a weld."""
    square = 0.0
    if b < 0:
        return square
    k0, d = plan.dof[b], plan.dof[b + 1] - plan.dof[b]
    for x in range(d):
        for y in range(d):
            weight = st.metric[plan.metric_index[b] + d * x + y]
            square += weight * a[m.v_index[k0 + x]] * a[m.v_index[k0 + y]]
    return square


@inlined
@loop_kernel
def hand_down(plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> tuple[Force, Force, Force, Force]:
    """Forces on the handles of both children: (f1, f2) of A and (f1, f2) of B; one handle takes both."""
    return share_out(plan, st, n, joint_force(plan, st, n, f1, f2), f1, f2)


@inlined
@loop_kernel
def share_out(plan: Blueprint, st: State, n: int, f: Force, f1: Force, f2: Force) -> tuple[Force, Force, Force, Force]:
    """`hand_down`, once the force f through the joint is known."""
    R, p = placement(plan, st, plan.body[n])
    back = scale6(-1.0, force_in(R, p, f))
    a1, a2, c1, c2 = f1, back, f, f2
    if not two_handled(plan, plan.left[n]):
        a1, a2 = add6(f1, back), ZERO6
    if not two_handled(plan, plan.right[n]):
        c1, c2 = add6(f, f2), ZERO6
    return a1, a2, c1, c2
