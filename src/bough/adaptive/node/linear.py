"""The force part of a node (Redon & Lin 2005): b, p and eta after forces or torques have changed."""

from __future__ import annotations

from typing import Any

from bough.adaptive.node.blocks import full_six, put_six, six, symmetric_six, transposed_six
from bough.adaptive.node.layout import B1, B2, ETA, GAMMA, P1, P2, PSI1, PSI12, T1, T2, H, W, placement, tail
from bough.adaptive.node.leaves import ZERO6, leaf_bias
from bough.compile.kernel import inlined
from bough.spatial import add6, dot6, force_in, motion_out, scale6, sub6


@inlined
def bias(m: Any, plan: Any, st: Any, code: int) -> Any:
    """(b, p) of a child at both handles and its eta: (b1, p1, b2, p2, eta)."""
    if code < 0:
        b = leaf_bias(plan, st, m.gravity, ~code)
        return b, ZERO6, b, ZERO6, 0.0
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    if plan.handles[code] == 2:
        return six(r, B1), six(r, P1), six(r, B2), six(r, P2), r[ETA]
    return six(r, B1), six(r, P1), six(r, B1), six(r, P1), r[ETA]


@inlined
def cross_total(plan: Any, st: Any, code: int, x: Any, far: bool) -> Any:
    """Psi_12 x of a child, or Psi_21 x when `far`; one handle is both."""
    if code < 0:
        return ZERO6
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    if plan.handles[code] == 1:
        return symmetric_six(r, PSI1, x)
    if far:
        return transposed_six(r, PSI12, x)
    return full_six(r, PSI12, x)


@inlined
def linear(m: Any, plan: Any, st: Any, n: int) -> None:
    """b, p, eta of node n after forces or torques have changed: matrix-vector products only."""
    r, b, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.handles[n] == 2
    a, c = plan.left[n], plan.right[n]
    b1A, p1A, b2A, p2A, etaA = bias(m, plan, st, a)
    b1C, p1C, b2C, p2C, etaC = bias(m, plan, st, c)
    R, p = placement(plan, st, b)
    beta = sub6(motion_out(R, p, b2A), b1C)
    dp = sub6(motion_out(R, p, p2A), p1C)
    gamma = symmetric_six(r, W, beta)
    e1, e2 = transposed_six(r, T1, beta), ZERO6
    if two:
        e2 = transposed_six(r, T2, beta)
    eta = etaA + etaC
    s1, s2 = ZERO6, ZERO6
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
        for x in range(d):
            weighted = 0.0
            for y in range(d):
                weighted += st.metric[plan.metric_index[b] + d * x + y] * r[R_ + y]
            eta += weighted * r[R_ + x]
            s1 = add6(s1, scale6(weighted, six(r, u1 + 6 * x)))
            if two:
                s2 = add6(s2, scale6(weighted, six(r, u2 + 6 * x)))
    put_six(r, GAMMA, gamma)
    put_six(r, B1, sub6(b1A, e1))
    Hg = symmetric_six(r, H, gamma)
    z = sub6(dp, scale6(2.0, Hg))
    back = force_in(R, p, gamma)
    s1 = add6(s1, cross_total(plan, st, a, back, False))
    put_six(r, P1, sub6(sub6(p1A, scale6(2.0, s1)), transposed_six(r, T1, z)))
    r[ETA] = eta + dot6(gamma, sub6(Hg, dp))
    if two:
        put_six(r, B2, add6(b2C, e2))
        s2 = add6(s2, cross_total(plan, st, c, gamma, True))
        put_six(r, P2, add6(add6(p2C, scale6(2.0, s2)), transposed_six(r, T2, z)))
