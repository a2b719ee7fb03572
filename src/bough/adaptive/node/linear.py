"""The force part of a node (Redon & Lin 2005): b, gamma and R after forces or torques have changed; see `algebra`."""

from __future__ import annotations

from bough.adaptive.node.blocks import put_six, six, symmetric_six, transposed_six
from bough.adaptive.node.layout import B1, B2, GAMMA, RIGID, T1, T2, TOTAL, Blueprint, State, W, placement, tail
from bough.adaptive.node.leaves import ZERO6, leaf_bias
from bough.adaptive.node.locked import join_forces
from bough.adaptive.node.total import linear_total
from bough.compile.kernel import inlined, loop_kernel
from bough.joints import Mechanism
from bough.spatial import add6, dot6, motion_out, scale6, sub6
from bough.types import Motion


@inlined
@loop_kernel
def bias(m: Mechanism, plan: Blueprint, st: State, code: int) -> tuple[Motion, Motion]:
    """b of a child at both handles."""
    if code < 0:
        b = leaf_bias(plan, st, m.gravity, ~code)
        return b, b
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    if plan.handles[code] == 2:
        return six(r, B1), six(r, B2)
    return six(r, B1), six(r, B1)


@inlined
@loop_kernel
def linear(m: Mechanism, plan: Blueprint, st: State, n: int, keeps: int) -> None:
    """b of node n after forces or torques have changed, and what else it `keeps`: matrix-vector products only."""
    r, b, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.handles[n] == 2
    b1A, b2A = bias(m, plan, st, plan.left[n])
    b1C, b2C = bias(m, plan, st, plan.right[n])
    R, p = placement(plan, st, b)
    beta = sub6(motion_out(R, p, b2A), b1C)
    gamma = symmetric_six(r, W, beta)
    e1, e2 = transposed_six(r, T1, beta), ZERO6
    if two:
        e2 = transposed_six(r, T2, beta)
    if b >= 0:
        d, k0, o = plan.dof[b + 1] - plan.dof[b], plan.dof[b], tail(plan, n)
        U, D, R_, u1, u2 = o, o + 6 * d, o + 6 * d + d * d, o + (d + 7) * d, o + (d + 13) * d
        for x in range(d):
            Q = st.tau[k0 + x]
            gamma = add6(gamma, scale6(Q, six(r, U + 6 * x)))
            e1 = add6(e1, scale6(Q, six(r, u1 + 6 * x)))
            if two:
                e2 = add6(e2, scale6(Q, six(r, u2 + 6 * x)))
            rest = -dot6(six(r, U + 6 * x), beta)
            for y in range(d):
                rest += r[D + d * x + y] * st.tau[k0 + y]
            r[R_ + x] = rest
    put_six(r, GAMMA, gamma)
    put_six(r, B1, sub6(b1A, e1))
    if two:
        put_six(r, B2, add6(b2C, e2))
    if keeps & TOTAL:
        linear_total(plan, st, n)
    if keeps & RIGID:
        join_forces(m, plan, st, n, beta)
