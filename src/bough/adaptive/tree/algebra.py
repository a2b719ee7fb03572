"""Divide-and-conquer articulated bodies (Featherstone 1999; Redon & Lin 2005), K-form: how a cluster yields to forces.

A cluster answers forces f on its handles by accelerations a = Phi f + b, and its joints by a total acceleration
A = f' Psi f + f' p + eta, the weighted sum of squares of all their accelerations. Joining a cluster A (the parent's
side) to a cluster B by a joint consumes one handle of each. Index 1 is the handle nearest the ground, 2 the
far one; a cluster with one handle uses it for both. Everything on a handle is in its body's frame; X takes the joint's
handle of A into B's. S spans the joint's DoF, T the constrained directions (T' S = 0), V' S = 1, Q its torque:

    leaf:   Phi = I^-1,  b = I^-1 f
    joint:  K = X Phi_2^A X' + Phi_1^B     W = T (T' K T)^-1 T'     U = V' (1 - K W)      D = V' (K - K W K) V
            beta = X b_2^A - b_1^B         gamma = W beta + U' Q    R = D Q - U beta
    weld:   W = K^-1
    up:     T1 = W X Phi_21^A    T2 = W Phi_12^B    u1 = U X Phi_21^A    u2 = U Phi_12^B
            Phi_1 = Phi_1^A - (X Phi_21^A)' T1      b_1 = b_1^A - T1' beta - u1' Q
            Phi_2 = Phi_2^B - Phi_21^B T2           b_2 = b_2^B + T2' beta + u2' Q
            Phi_12 = T1' Phi_12^B
    down:   f_joint = gamma + T1 f_1 - T2 f_2       qdd = R - u1 f_1 + u2 f_2
            A gets (f_1, -X' f_joint), B gets (f_joint, f_2)

The differences cost digits where a light body hangs on a heavy one: Phi_1^A is then large and Phi_1 small. How many is
measured on the linkage at hand (`engine.Noise`).

A bounded pass orders clusters by their total accelerations, which divide and conquer alone does not need (Redon & Lin
2005, section 4); w are weights of joints:

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

from bough.adaptive.tree.assembly import GROUND_WELD
from bough.adaptive.tree.blocks import (
    ZERO6,
    across,
    add_blocks,
    add_transposed,
    both_ends,
    clear,
    full_six,
    get_all,
    into_joint_frame,
    joint_terms,
    leaf_bias,
    load_child,
    mix,
    multiply,
    multiply_less,
    negate,
    put_all,
    put_six,
    six,
    store_full,
    store_symmetric,
    subtract_transposed,
    sweep,
    symmetric_six,
    transform,
    transposed_multiply,
    transposed_six,
)
from bough.adaptive.tree.layout import (
    A1,
    A2,
    A21,
    B1,
    B2,
    C1,
    C2,
    C12,
    D_,
    ETA,
    GAMMA,
    H_,
    K_,
    O12,
    P1,
    P2,
    PA1,
    PA2,
    PA21,
    PC1,
    PC2,
    PC12,
    PHI1,
    PHI2,
    PHI12,
    PSI1,
    PSI2,
    PSI12,
    T1,
    T1_,
    T2,
    T2_,
    TMP,
    U1_,
    U2_,
    U_,
    V_,
    W_,
    XA2,
    XA21,
    XF,
    XPA2,
    XPA21,
    Y1_,
    Y2_,
    H,
    Keeps,
    Layout,
    State,
    W,
    joint_places,
    placement,
    two_handled,
)
from bough.adaptive.tree.rigid import join_forces, join_inertia
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.vectors import give, joined, plus, put, replaced, row, scaled
from bough.joints import Mechanism
from bough.spatial import add6, dot6, force_in, motion_out, scale6, sub6
from bough.types import Force, Motion, Rows, Scalar

# A joint between two clusters (Featherstone 1999, in the K-form): what it transmits and how it yields.
#
# K = X Phi_2^A X' + Phi_1^B takes a force through the joint to the gap in acceleration that it opens. W takes a gap
# to the constraint force that closes it, U to the joint's acceleration, D a joint torque to that acceleration: W = T
# (T' K T)^-1 T' with T the constrained axes. Sweeping K on those axes gives all three at once, and W is exactly zero
# along the freed axes.


WELDED = 1e300  # an armature that nothing moves


@loop_kernel
def constrain(m: Mechanism, plan: Layout, st: State, b: int) -> None:
    """W (constraint forces), U and D (joint acceleration) of the joint of body b, from K. K itself is destroyed.

    A weld has W = K^-1; copies of the ground need no force to stay together.
    """
    S, k0, d, simple, pitch, freed = st.scratch, 0, 0, False, 0.0, 0
    if b == GROUND_WELD:
        clear(S, W_)
        return
    if b >= 0:
        k0, d, simple = plan.dof[b], plan.dof[b + 1] - plan.dof[b], plan.simple[b] == 1
    if simple:
        freed = _freed_axes(m, k0, d)
        pitch = m.pitch[k0] if d == 1 else 0.0
    if pitch != 0.0:  # sheared, a screw is a pure rotation
        put(S, K_, 5, plus(row(S, K_, 5), -pitch, row(S, K_, 2)))
        for i in range(6):
            S[K_, i, 5] -= pitch * S[K_, i, 2]
    for axis in range(6):
        if not freed >> axis & 1:
            sweep(S, K_, axis)
    negate(S, W_, K_)
    if simple:
        _own_axes(m, S, k0, d)
    else:
        _any_subspace(S, st.freedoms, k0, d)
    if pitch != 0.0:
        put(S, W_, 2, plus(row(S, W_, 2), -pitch, row(S, W_, 5)))
        for i in range(6):
            S[W_, i, 2] -= pitch * S[W_, i, 5]
        S[U_, 0, 2] -= pitch * S[U_, 0, 5]
    for a in range(d):
        if m.armature[k0 + a] != 0.0:
            _add_armature(S, a, d, m.armature[k0 + a])


@kernel
def _freed_axes(m: Mechanism, k0: int, d: int) -> int:
    """The freed axes as bits."""
    bits = 0
    for k in range(k0, k0 + d):
        bits |= 1 << m.axis[k]
    return bits


@loop_kernel
def _own_axes(m: Mechanism, S: Rows, k0: int, d: int) -> None:
    """Freed axes of the body's frame, F: W = -swept without F, U_a = e_a - swept row a without F, D = swept FF."""
    for a in range(d):
        x = row(S, W_, m.axis[k0 + a])
        for c in range(d):
            x = replaced(x, m.axis[k0 + c], 1.0 if a == c else 0.0)
            S[D_, a, c] = S[K_, m.axis[k0 + a], m.axis[k0 + c]]
        put(S, U_, a, x)
    for a in range(d):
        put(S, W_, m.axis[k0 + a], joined(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        for i in range(6):
            S[W_, i, m.axis[k0 + a]] = 0.0


@loop_kernel
def _any_subspace(S: Rows, freedoms: Rows, k0: int, d: int) -> None:
    """Freedoms along any axes, from W = K^-1: V = S' W, D = (V S)^-1, U = D V, and W less V' U."""
    clear(S, V_)
    clear(S, D_)
    for a in range(d):
        for k in range(6):
            put(S, V_, a, plus(row(S, V_, a), freedoms[k0 + a, k], row(S, W_, k)))
        for c in range(d):
            for k in range(6):
                S[D_, a, c] += S[V_, a, k] * freedoms[k0 + c, k]
    for a in range(d):
        sweep(S, D_, a)
    negate(S, D_, D_)
    multiply(S, U_, D_, V_)
    subtract_transposed(S, W_, V_, U_)


@loop_kernel
def _add_armature(S: Rows, a: int, d: int, armature: float) -> None:
    """A rotor on DoF a: D' = (D^-1 + armature)^-1, and W, U with it, by one rank-one change; it may be welded."""
    x = 1.0 / S[D_, a, a] if armature >= WELDED else armature / (1.0 + armature * S[D_, a, a])
    u = row(S, U_, a)
    for i in range(6):
        put(S, W_, i, plus(row(S, W_, i), x * S[U_, a, i], u))
    for c in range(d):
        S[V_, 0, c], S[V_, 2, c] = x * S[D_, c, a], S[D_, a, c]
    for c in range(d):
        put(S, U_, c, plus(row(S, U_, c), -S[V_, 0, c], u))
        for e in range(d):
            S[D_, c, e] -= S[V_, 0, c] * S[V_, 2, e]
    if armature >= WELDED:
        put(S, U_, a, scaled(0.0, u))
        for c in range(d):
            S[D_, a, c], S[D_, c, a] = 0.0, 0.0


# The force part of a node (Redon & Lin 2005): b, gamma and R after forces or torques have changed; see `algebra`.


@loop_kernel
def bias(m: Mechanism, plan: Layout, st: State, code: int) -> tuple[Motion, Motion]:
    """b of a child at both handles."""
    if code < 0:
        b = leaf_bias(plan, st, m.gravity, ~code)
        return b, b
    return both_ends(plan, st, code, B1, B2)


@loop_kernel
def linear(m: Mechanism, plan: Layout, st: State, n: int, keeps: Keeps) -> None:
    """b of node n after forces or torques have changed, and what else it `keeps`: matrix-vector products only."""
    r, b, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.handles[n] == 2
    b1A, b2A = bias(m, plan, st, plan.left[n])
    b1C, b2C = bias(m, plan, st, plan.right[n])
    R, p = placement(plan, st, b)
    beta = sub6(motion_out(R, p, b2A), b1C)
    gamma, e1, e2 = joint_terms(plan, st, n, beta, st.tau, plan.dof[max(b, 0)], 1.0)
    put_six(r, GAMMA, gamma)
    put_six(r, B1, sub6(b1A, e1))
    if two:
        put_six(r, B2, add6(b2C, e2))
    if len(keeps.total) > 0:
        linear_total(plan, st, n)
    if len(keeps.rigid) > 0:
        join_forces(m, plan, st, n, beta)


@loop_kernel
def full(m: Mechanism, plan: Layout, st: State, n: int, keeps: Keeps) -> None:
    """Phi of node n, from its children and its joint; b too.

    It may keep total accelerations (Psi, p, eta), and itself as a rigid body (`rigid`). About 1,100 multiplications,
    with total accelerations 2,300, as a rigid body 150 more.
    """
    d = matrices(m, plan, st, n)
    if len(keeps.total) > 0:
        quadratic(plan, st, n, d)
    if len(keeps.rigid) > 0:
        join_inertia(m, plan, st, n)
    linear(m, plan, st, n, keeps)


@loop_kernel
def matrices(m: Mechanism, plan: Layout, st: State, n: int) -> int:
    """Phi of node n and how its joint yields, without forces; returns the DoF of the joint."""
    S, b, two = st.scratch, plan.body[n], plan.handles[n] == 2
    a, c = plan.left[n], plan.right[n]
    load_child(plan, st, a, (A1, A21, A2), (PHI1, PHI12, PHI2))
    load_child(plan, st, c, (C1, C12, C2), (PHI1, PHI12, PHI2))
    R, p = placement(plan, st, b)
    a21, a2 = (A21, A2) if two_handled(plan, a) else (A1, A1)
    transform(S, XF, R, p)
    into_joint_frame(S, XA21, XA2, a21, a2, R, p)
    add_blocks(S, K_, XA2, C1)
    at = joint_places(plan, n)
    d = at.d
    constrain(m, plan, st, b)
    multiply(S, T1_, W_, XA21)
    _project(S, U1_, XA21, d)
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    subtract_transposed(S, A1, XA21, T1_)
    store_symmetric(S, A1, r, PHI1)
    store_symmetric(S, W_, r, W)
    store_full(S, T1_, r, T1)
    if two:
        c12 = C12
        if not two_handled(plan, c):
            c12 = C1
            put_all(S, C2, get_all(S, C1))
        multiply(S, T2_, W_, c12)
        _project(S, U2_, c12, d)
        transposed_multiply(S, TMP, T1_, c12)
        store_full(S, TMP, r, PHI12)
        subtract_transposed(S, C2, c12, T2_)
        store_symmetric(S, C2, r, PHI2)
        store_full(S, T2_, r, T2)
    for x in range(d):
        give(r, at.U + 6 * x, row(S, U_, x))
        give(r, at.u1 + 6 * x, row(S, U1_, x))
        if two:
            give(r, at.u2 + 6 * x, row(S, U2_, x))
        for y in range(d):
            r[at.D + d * x + y] = S[D_, x, y]
    return d


@kernel
def _project(S: Rows, c: int, a: int, d: int) -> None:
    """c = U a, one row for each DoF."""
    rows = get_all(S, a)
    for x in range(d):
        put(S, c, x, mix(across(S, U_, x), rows))


# Total accelerations (Redon & Lin 2005, section 4).


@loop_kernel
def quadratic(plan: Layout, st: State, n: int, d: int) -> None:
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
def _add_weighted(plan: Layout, st: State, b: int, d: int, c: int, u: int, v: int, sign: float) -> None:
    """c += sign u' w v."""
    S = st.scratch
    for x in range(d):
        for y in range(d):
            weight = sign * st.metric[plan.metric_index[b] + d * x + y]
            for i in range(6):
                put(S, c, i, plus(row(S, c, i), weight * S[u, x, i], row(S, v, y)))


@loop_kernel
def _slopes(plan: Layout, st: State, code: int) -> tuple[Motion, Motion, Scalar]:
    """p of a child at both handles, and its eta; the joints of a leaf are none."""
    if code < 0:
        return ZERO6, ZERO6, 0.0
    p1, p2 = both_ends(plan, st, code, P1, P2)
    return p1, p2, st.record[plan.offset[code] + ETA]


@kernel
def _cross(plan: Layout, st: State, code: int, x: Force, far: bool) -> Motion:
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
def linear_total(plan: Layout, st: State, n: int) -> None:
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


# Back-substitution at one node (Featherstone 1999; Redon & Lin 2005): total acceleration, forces down, qdd out.


@loop_kernel
def total_acceleration(plan: Layout, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """A of node n under forces on its handles; rounding below zero is cut off."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    A = r[ETA] + dot6(f1, add6(six(r, P1), symmetric_six(r, PSI1, f1)))
    if plan.handles[n] == 2:
        A += dot6(f2, add6(six(r, P2), symmetric_six(r, PSI2, f2))) + 2.0 * dot6(f1, full_six(r, PSI12, f2))
    return max(A, 0.0)


@kernel
def joint_force(plan: Layout, st: State, n: int, f1: Force, f2: Force) -> Force:
    """The force that A exerts on B through the joint, in B's frame."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    f = add6(six(r, GAMMA), full_six(r, T1, f1))
    if plan.handles[n] == 2:
        f = sub6(f, full_six(r, T2, f2))
    return f


@loop_kernel
def put_acceleration(m: Mechanism, plan: Layout, st: State, n: int, f1: Force, f2: Force, qdd: Rows) -> None:
    """Write the acceleration of the joint of node n into qdd (nv,)."""
    r, at = st.record[plan.offset[n] : plan.offset[n + 1]], joint_places(plan, n)
    for x in range(at.d):
        a = r[at.R + x] - dot6(six(r, at.u1 + 6 * x), f1)
        if plan.handles[n] == 2:
            a += dot6(six(r, at.u2 + 6 * x), f2)
        qdd[m.v_index[plan.dof[plan.body[n]] + x]] = a


@loop_kernel
def joint_acceleration(m: Mechanism, plan: Layout, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """Write qdd of the joint of node n; returns its weighted square."""
    put_acceleration(m, plan, st, n, f1, f2, st.qdd)
    return joint_square(m, plan, st, plan.body[n], st.qdd)


@loop_kernel
def joint_square(m: Mechanism, plan: Layout, st: State, b: int, a: Rows) -> Scalar:
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


@loop_kernel
def hand_down(plan: Layout, st: State, n: int, f1: Force, f2: Force) -> tuple[Force, Force, Force, Force]:
    """Forces on the handles of both children: (f1, f2) of A and (f1, f2) of B; one handle takes both."""
    return share_out(plan, st, n, joint_force(plan, st, n, f1, f2), f1, f2)


@loop_kernel
def share_out(plan: Layout, st: State, n: int, f: Force, f1: Force, f2: Force) -> tuple[Force, Force, Force, Force]:
    """`hand_down`, once the force f through the joint is known."""
    R, p = placement(plan, st, plan.body[n])
    back = scale6(-1.0, force_in(R, p, f))
    a1, a2, c1, c2 = f1, back, f, f2
    if not two_handled(plan, plan.left[n]):
        a1, a2 = add6(f1, back), ZERO6
    if not two_handled(plan, plan.right[n]):
        c1, c2 = add6(f, f2), ZERO6
    return a1, a2, c1, c2
