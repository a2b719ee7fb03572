"""Total accelerations (Redon & Lin 2005, section 4): weighted sums of squares of the joint accelerations in a cluster.

What divide and conquer alone does not need: a bounded pass orders clusters by it. In the symbols of `algebra`:

    H = X Psi_2^A X' + Psi_1^B    dp = X p_2^A - p_1^B    z = dp - 2 H gamma
    Y1 = H T1 - X Psi_21^A        Y2 = H T2 - Psi_12^B
    Psi_1  = Psi_1^A + u1' w u1 + T1' Y1 - Psi_12^A X' T1
    Psi_2  = Psi_2^B + u2' w u2 + T2' Y2 - Psi_21^B T2
    Psi_12 = T1' Psi_12^B - u1' w u2 - Y1' T2
    p_1 = p_1^A - 2 u1' w R - T1' z - 2 Psi_12^A X' gamma
    p_2 = p_2^B + 2 u2' w R + T2' z + 2 Psi_21^B gamma
    eta = eta^A + eta^B + R' w R + gamma' (H gamma - dp)
"""

from __future__ import annotations

from bough.adaptive.tree.blocks import (
    ZERO6,
    add_blocks,
    add_transposed,
    both_ends,
    clear,
    full_six,
    get_all,
    into_joint_frame,
    load_child,
    multiply_less,
    put_all,
    put_six,
    six,
    store_full,
    store_symmetric,
    subtract_transposed,
    symmetric_six,
    transposed_multiply,
    transposed_six,
)
from bough.adaptive.tree.layout import (
    ETA,
    GAMMA,
    H_,
    O12,
    P1,
    P2,
    PA1,
    PA2,
    PA21,
    PC1,
    PC2,
    PC12,
    PSI1,
    PSI2,
    PSI12,
    T1,
    T1_,
    T2,
    T2_,
    U1_,
    U2_,
    XPA2,
    XPA21,
    Y1_,
    Y2_,
    Blueprint,
    H,
    State,
    joint_places,
    placement,
    two_handled,
)
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.vectors import plus, put, row
from bough.spatial import add6, dot6, force_in, motion_out, scale6, sub6
from bough.types import Force, Motion, Scalar


@loop_kernel
def quadratic(plan: Blueprint, st: State, n: int, d: int) -> None:
    """Psi of node n."""
    S, two, r = st.scratch, plan.handles[n] == 2, st.record[plan.offset[n] : plan.offset[n + 1]]
    a, c, b = plan.left[n], plan.right[n], plan.body[n]
    leaves = a < 0 and c < 0  # only the joint between them moves: H and Psi of both are zero
    load_child(plan, st, a, (PA1, PA21, PA2), (PSI1, PSI12, PSI2))
    load_child(plan, st, c, (PC1, PC12, PC2), (PSI1, PSI12, PSI2))
    c12 = PC12 if two_handled(plan, c) else PC1
    if leaves:
        clear(S, H_)
    else:
        R, p = placement(plan, st, b)
        a21, a2 = (PA21, PA2) if two_handled(plan, a) else (PA1, PA1)
        into_joint_frame(S, XPA21, XPA2, a21, a2, R, p)
        add_blocks(S, H_, XPA2, PC1)
        # Psi_1 += u1 w u1' + T1' (H T1 - Psi_21) - Psi_12 T1
        multiply_less(S, Y1_, H_, T1_, XPA21)
        add_transposed(S, PA1, T1_, Y1_)
        subtract_transposed(S, PA1, XPA21, T1_)
    _add_weighted(plan, st, b, d, PA1, U1_, U1_, 1.0)
    store_symmetric(S, H_, r, H)
    store_symmetric(S, PA1, r, PSI1)
    if two:
        if c12 == PC1:
            put_all(S, PC2, get_all(S, PC1))
        if leaves:
            clear(S, O12)
        else:
            # Psi_12 = T1' Psi_12^B - Y1' T2 - u1 w u2'
            transposed_multiply(S, O12, T1_, c12)
            subtract_transposed(S, O12, Y1_, T2_)
            multiply_less(S, Y2_, H_, T2_, c12)
            add_transposed(S, PC2, T2_, Y2_)
            subtract_transposed(S, PC2, c12, T2_)
        _add_weighted(plan, st, b, d, O12, U1_, U2_, -1.0)
        _add_weighted(plan, st, b, d, PC2, U2_, U2_, 1.0)
        store_full(S, O12, r, PSI12)
        store_symmetric(S, PC2, r, PSI2)


@kernel
def _add_weighted(plan: Blueprint, st: State, b: int, d: int, c: int, u: int, v: int, sign: float) -> None:
    """c += sign u' w v."""
    S = st.scratch
    for x in range(d):
        for y in range(d):
            weight = sign * st.metric[plan.metric_index[b] + d * x + y]
            for i in range(6):
                put(S, c, i, plus(row(S, c, i), weight * S[u, x, i], row(S, v, y)))


@loop_kernel
def _slopes(plan: Blueprint, st: State, code: int) -> tuple[Motion, Motion, Scalar]:
    """p of a child at both handles, and its eta; the joints of a leaf are none."""
    if code < 0:
        return ZERO6, ZERO6, 0.0
    p1, p2 = both_ends(plan, st, code, P1, P2)
    return p1, p2, st.record[plan.offset[code] + ETA]


@kernel
def _cross(plan: Blueprint, st: State, code: int, x: Force, far: bool) -> Motion:
    """Psi_12 x of a child, or Psi_21 x when `far`; one handle is both."""
    if code < 0:
        return ZERO6
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    if plan.handles[code] == 1:
        return symmetric_six(r, PSI1, x)
    if far:
        return transposed_six(r, PSI12, x)
    return full_six(r, PSI12, x)


@loop_kernel
def linear_total(plan: Blueprint, st: State, n: int) -> None:
    """p and eta of node n, once gamma and R are known: matrix-vector products only."""
    r, b, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.handles[n] == 2
    a, c = plan.left[n], plan.right[n]
    p1A, p2A, etaA = _slopes(plan, st, a)
    p1C, p2C, etaC = _slopes(plan, st, c)
    R, p = placement(plan, st, b)
    dp, gamma = sub6(motion_out(R, p, p2A), p1C), six(r, GAMMA)
    eta, s1, s2 = etaA + etaC, ZERO6, ZERO6
    at = joint_places(plan, n)
    for x in range(at.d):
        weighted = 0.0
        for y in range(at.d):
            weighted += st.metric[plan.metric_index[b] + at.d * x + y] * r[at.R + y]
        eta += weighted * r[at.R + x]
        s1 = add6(s1, scale6(weighted, six(r, at.u1 + 6 * x)))
        if two:
            s2 = add6(s2, scale6(weighted, six(r, at.u2 + 6 * x)))
    Hg = symmetric_six(r, H, gamma)
    z = sub6(dp, scale6(2.0, Hg))
    s1 = add6(s1, _cross(plan, st, a, force_in(R, p, gamma), False))
    put_six(r, P1, sub6(sub6(p1A, scale6(2.0, s1)), transposed_six(r, T1, z)))
    r[ETA] = eta + dot6(gamma, sub6(Hg, dp))
    if two:
        s2 = add6(s2, _cross(plan, st, c, gamma, True))
        put_six(r, P2, add6(add6(p2C, scale6(2.0, s2)), transposed_six(r, T2, z)))
