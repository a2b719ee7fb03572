"""Divide-and-conquer articulated bodies with total accelerations (Featherstone 1999; Redon & Lin 2005), K-form.

A cluster answers forces f on its handles by accelerations a = Phi f + b, and its joints by a total acceleration
A = f' Psi f + f' p + eta, the weighted sum of squares of all their accelerations. Joining a cluster A (the parent's side) to a
cluster B by a joint consumes one handle of each. Index 1 is the handle nearest the ground, 2 the far one; a cluster with
one handle uses it for both. Everything on a handle is in its body's frame; X takes the joint's handle of A into B's.
"""

from __future__ import annotations

from typing import Any

from bough.adaptive.assembly import GROUND_WELD
from bough.adaptive.blocks import (
    add_blocks,
    add_upper,
    carry,
    carry_transposed,
    clear,
    copy,
    full_six,
    load_full,
    load_symmetric,
    load_transposed,
    multiply,
    multiply_less,
    put_six,
    six,
    store_full,
    store_symmetric,
    subtract_upper,
    sweep,
    symmetric_six,
    transposed_multiply,
    transposed_six,
)
from bough.adaptive.nodes import (
    A1, A2, A21, B1, B2, C1, C2, C12, D_, ETA, GAMMA, H, H_, K_, O12, O12B, ONE_HANDLE, P1, P2, PA1, PA2, PA21, PC1, PC2, PC12,
    PHI1, PHI2, PHI12, PSI1, PSI2, PSI12, T1, T1_, T2, T2_, TMP, TWO_HANDLES, U1_, U2_, U_, V_, W, W_, XA2, XA21, XPA2, XPA21,
    Y1_, Y2_,
)  # fmt: skip
from bough.compile.kernel import kernel
from bough.inertia import symmetric_times
from bough.spatial import add6, cross, dot6, force_in, get6, get9, get_tail, motion_out, scale6, sub6

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def tail(plan: Any, n: int) -> int:
    """Where the part of a record begins that depends on the joint's freedoms."""
    return TWO_HANDLES if plan.handles[n] == 2 else ONE_HANDLE


@kernel
def two_handled(plan: Any, code: int) -> bool:
    return code >= 0 and plan.handles[code] == 2


@kernel
def placement(plan: Any, st: Any, b: int) -> Any:
    """(R, p) of body b in its parent's frame; of a weld, nothing to do."""
    if b >= 0:
        return get9(st.X, plan.last[b]), get_tail(st.X, plan.last[b])
    return IDENTITY, ZERO3


# Leaves


@kernel
def free_body(I: Any, f: Any) -> Any:
    """The acceleration of a free rigid body under a force at its origin; I as in `Linkage.inverse`."""
    m = cross((I[6], I[7], I[8]), (f[3], f[4], f[5]))
    return turned(I, (f[0] - m[0], f[1] - m[1], f[2] - m[2]), I[9] * f[3], I[9] * f[4], I[9] * f[5])


@kernel
def turned(I: Any, n: Any, x: Any, y: Any, z: Any) -> Any:
    """The acceleration at the origin of a body whose centre accelerates by (x, y, z) under a moment n about it."""
    w = symmetric_times(I, n)
    l = cross((I[6], I[7], I[8]), w)
    return (w[0], w[1], w[2], x + l[0], y + l[1], z + l[2])


@kernel
def _put_column(S: Any, c: int, j: int, k: Any, a: Any) -> None:
    for i in range(6):
        S[c, i, j] = k * a[i]


@kernel
def leaf_inverse(plan: Any, i: int) -> Any:
    I = plan.inverse
    return (I[i, 0], I[i, 1], I[i, 2], I[i, 3], I[i, 4], I[i, 5], I[i, 6], I[i, 7], I[i, 8], I[i, 9])


@kernel
def load_leaf(plan: Any, st: Any, leaf: int, c: int) -> None:
    """Phi of one copy of a body: its inertia is shared evenly among the copies. The ground does not yield."""
    S, i = st.scratch, plan.leaf_body[leaf]
    if i == len(plan.parent):
        clear(S, c)
        return
    I, k = leaf_inverse(plan, i), float(plan.copies[i])
    x, y, z = I[6], I[7], I[8]
    # Turning: w = J^-1 n, l = c x w. Pushing along an axis e also turns, by n = -c x e.
    _put_column(S, c, 0, k, turned(I, (1.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 1, k, turned(I, (0.0, 1.0, 0.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 2, k, turned(I, (0.0, 0.0, 1.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 3, k, turned(I, (0.0, -z, y), I[9], 0.0, 0.0))
    _put_column(S, c, 4, k, turned(I, (z, 0.0, -x), 0.0, I[9], 0.0))
    _put_column(S, c, 5, k, turned(I, (-y, x, 0.0), 0.0, 0.0, I[9]))


@kernel
def leaf_bias(plan: Any, st: Any, g: Any, leaf: int) -> Any:
    """b of a leaf. The first copy of a body bears its force; relative to free fall, the ground accelerates upward."""
    i = plan.leaf_body[leaf]
    if i == len(plan.parent):
        return (0.0, 0.0, 0.0, -g[0], -g[1], -g[2])
    if leaf >= len(plan.parent):
        return ZERO6
    return scale6(float(plan.copies[i]), free_body(leaf_inverse(plan, i), get6(st.force, plan.last[i])))


@kernel
def leaf_acceleration(m: Any, plan: Any, st: Any, leaf: int, f: Any) -> Any:
    """The acceleration of a body, relative to free fall, when f acts on its handle."""
    i = plan.leaf_body[leaf]
    k = float(plan.copies[i])
    return add6(leaf_bias(plan, st, m.gravity, leaf), scale6(k, free_body(leaf_inverse(plan, i), f)))


# The joint: W, U, D from K = X Phi_2^A X' + Phi_1^B


@kernel
def constrain(m: Any, plan: Any, st: Any, b: int) -> None:
    """W (constraint forces), U and D (joint acceleration) of the joint of body b, from K. K itself is destroyed."""
    k0, d = plan.dof[b], plan.dof[b + 1] - plan.dof[b]
    if d == 1 and plan.simple[b] == 1 and m.pitch[k0] == 0.0:
        _one_axis(st.scratch, m.axis[k0])
    elif plan.simple[b] == 1:
        _several_axes(m, st.scratch, k0, d)
    else:
        _any_subspace(st.scratch, st.freedoms, k0, d)
    for a in range(d):
        if m.armature[k0 + a] != 0.0:
            _add_armature(st.scratch, a, d, m.armature[k0 + a])


@kernel
def _one_axis(S: Any, axis: int) -> None:
    """One freed axis z: W = -swept, U = e_z - swept row z, D = swept zz."""
    for k in range(6):
        if k != axis:
            sweep(S, K_, k)
    for i in range(6):
        for j in range(6):
            S[W_, i, j] = -S[K_, i, j]
        S[U_, 0, i] = -S[K_, axis, i]
    for i in range(6):
        S[W_, i, axis] = 0.0
        S[W_, axis, i] = 0.0
    S[U_, 0, axis] = 1.0
    S[D_, 0, 0] = S[K_, axis, axis]


@kernel
def _is_freed(m: Any, k0: int, d: int, axis: int) -> bool:
    for k in range(k0, k0 + d):
        if m.axis[k] == axis:
            return True
    return False


@kernel
def _several_axes(m: Any, S: Any, k0: int, d: int) -> None:
    """Any set of freed axes; a helical joint is sheared so that its screw becomes a pure turn."""
    pitch = m.pitch[k0] if d == 1 else 0.0
    for j in range(6):
        S[K_, 5, j] -= pitch * S[K_, 2, j]
    for i in range(6):
        S[K_, i, 5] -= pitch * S[K_, i, 2]
    for axis in range(6):
        if not _is_freed(m, k0, d, axis):
            sweep(S, K_, axis)
    for i in range(6):
        held = not _is_freed(m, k0, d, i)
        for j in range(6):
            S[W_, i, j] = -S[K_, i, j] if held and not _is_freed(m, k0, d, j) else 0.0
    for a in range(d):
        for j in range(6):
            S[U_, a, j] = 0.0 if _is_freed(m, k0, d, j) else -S[K_, m.axis[k0 + a], j]
        S[U_, a, m.axis[k0 + a]] = 1.0
        for c in range(d):
            S[D_, a, c] = S[K_, m.axis[k0 + a], m.axis[k0 + c]]
    for j in range(6):
        S[W_, 2, j] -= pitch * S[W_, 5, j]
    for i in range(6):
        S[W_, i, 2] -= pitch * S[W_, i, 5]
    for a in range(d):
        S[U_, a, 2] -= pitch * S[U_, a, 5]


@kernel
def _any_subspace(S: Any, freedoms: Any, k0: int, d: int) -> None:
    """Freedoms along any axes: V = K^-1, D = (S' V S)^-1, U = D S' V, W = V - V S U."""
    for k in range(6):
        sweep(S, K_, k)
    for a in range(6):
        for j in range(6):
            S[V_, a, j] = 0.0
            S[D_, a, j] = 0.0
            if a < d:
                for k in range(6):
                    S[V_, a, j] -= freedoms[k0 + a, k] * S[K_, k, j]
    for a in range(d):
        for c in range(d):
            for k in range(6):
                S[D_, a, c] += S[V_, a, k] * freedoms[k0 + c, k]
    for a in range(d):
        sweep(S, D_, a)
    for a in range(d):
        for c in range(d):
            S[D_, a, c] = -S[D_, a, c]
    for a in range(d):
        for j in range(6):
            S[U_, a, j] = 0.0
            for c in range(d):
                S[U_, a, j] += S[D_, a, c] * S[V_, c, j]
    for i in range(6):
        for j in range(6):
            S[W_, i, j] = -S[K_, i, j]
            for a in range(d):
                S[W_, i, j] -= S[V_, a, i] * S[U_, a, j]


@kernel
def _add_armature(S: Any, a: int, d: int, armature: float) -> None:
    """A rotor on freedom a: D' = (D^-1 + armature)^-1, and W, U with it, by one rank-one change."""
    x = armature / (1.0 + armature * S[D_, a, a])
    for i in range(6):
        for j in range(6):
            S[W_, i, j] += x * S[U_, a, i] * S[U_, a, j]
    for c in range(d):
        S[V_, 0, c] = x * S[D_, c, a]
    for j in range(6):
        S[V_, 1, j] = S[U_, a, j]
    for c in range(d):
        S[V_, 2, c] = S[D_, a, c]
    for c in range(d):
        for j in range(6):
            S[U_, c, j] -= S[V_, 0, c] * S[V_, 1, j]
        for e in range(d):
            S[D_, c, e] -= S[V_, 0, c] * S[V_, 2, e]


# The node, full: everything that depends on the configuration


@kernel
def full(m: Any, plan: Any, st: Any, n: int) -> None:
    """Phi and Psi of node n, from its children and its joint; its forces too. About 2,300 multiplications."""
    S, b, two = st.scratch, plan.body[n], plan.handles[n] == 2
    a, c = plan.left[n], plan.right[n]
    inner = a >= 0 or c >= 0
    shared_a, shared_c = not two_handled(plan, a), not two_handled(plan, c)
    _load(plan, st, a, A1, A21, A2)
    _load(plan, st, c, C1, C12, C2)
    R, p = placement(plan, st, b)
    a21, a2 = (A1, A1) if shared_a else (A21, A2)
    _into_joint_frame(S, XA21, XA2, a21, a2, R, p)
    add_blocks(S, K_, XA2, C1)
    d = 0
    if b >= 0:
        d = plan.dof[b + 1] - plan.dof[b]
        constrain(m, plan, st, b)
    else:
        _hold(S, b)
    multiply(S, T1_, W_, XA21)
    _project(S, U1_, XA21, d)
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    subtract_upper(S, A1, XA21, T1_)
    store_symmetric(S, A1, r, PHI1)
    store_symmetric(S, W_, r, W)
    store_full(S, T1_, r, T1)
    if two:
        c12 = C12
        if shared_c:
            c12 = C1
            copy(S, C2, C1)
        multiply(S, T2_, W_, c12)
        _project(S, U2_, c12, d)
        transposed_multiply(S, TMP, T1_, c12)
        store_full(S, TMP, r, PHI12)
        subtract_upper(S, C2, c12, T2_)
        store_symmetric(S, C2, r, PHI2)
        store_full(S, T2_, r, T2)
    o = tail(plan, n)
    for x in range(d):
        put_row(S, U_, x, r, o + 6 * x)
        put_row(S, U1_, x, r, o + (d + 7) * d + 6 * x)
        if two:
            put_row(S, U2_, x, r, o + (d + 13) * d + 6 * x)
        for y in range(d):
            r[o + 6 * d + d * x + y] = S[D_, x, y]
    _total(plan, st, n, d, inner)
    linear(m, plan, st, n)


@kernel
def put_row(S: Any, c: int, i: int, r: Any, o: int) -> None:
    for j in range(6):
        r[o + j] = S[c, i, j]


@kernel
def _load(plan: Any, st: Any, code: int, one: int, cross_block: int, two: int) -> None:
    """Phi of a child: block `one`, and with two handles `cross_block` and `two`.

    The cross block of A is wanted as Phi_21, that of B as Phi_12: rows at the joint in both.
    """
    S = st.scratch
    if code < 0:
        load_leaf(plan, st, ~code, one)
        return
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    load_symmetric(S, one, r, PHI1)
    if plan.handles[code] == 2:
        if one == A1:
            load_transposed(S, cross_block, r, PHI12)
        else:
            load_full(S, cross_block, r, PHI12)
        load_symmetric(S, two, r, PHI2)


@kernel
def _into_joint_frame(S: Any, x21: int, x2: int, a21: int, a2: int, R: Any, p: Any) -> None:
    """X a21 and X a2 X'."""
    carry(S, x21, a21, R, p)
    if a21 == a2:
        carry_transposed(S, x2, x21, R, p)
    else:
        carry(S, TMP, a2, R, p)
        carry_transposed(S, x2, TMP, R, p)


@kernel
def _hold(S: Any, b: int) -> None:
    """A weld: W = K^-1. Copies of the ground need no force to stay together."""
    if b == GROUND_WELD:
        clear(S, W_)
        return
    for k in range(6):
        sweep(S, K_, k)
    for i in range(6):
        for j in range(6):
            S[W_, i, j] = -S[K_, i, j]


@kernel
def _project(S: Any, c: int, a: int, d: int) -> None:
    """c = U a, one row for each freedom."""
    for x in range(d):
        for j in range(6):
            S[c, x, j] = (
                S[U_, x, 0] * S[a, 0, j] + S[U_, x, 1] * S[a, 1, j] + S[U_, x, 2] * S[a, 2, j]
                + S[U_, x, 3] * S[a, 3, j] + S[U_, x, 4] * S[a, 4, j] + S[U_, x, 5] * S[a, 5, j]
            )  # fmt: skip


@kernel
def _total(plan: Any, st: Any, n: int, d: int, inner: bool) -> None:
    """Psi of node n. Over two leaves only the joint itself moves: Psi = u w u'."""
    S, two, r = st.scratch, plan.handles[n] == 2, st.record[plan.offset[n] : plan.offset[n + 1]]
    a, c, b = plan.left[n], plan.right[n], plan.body[n]
    if not inner:
        clear(S, PA1)
        clear(S, H_)
        _add_weighted(plan, st, b, d, PA1, U1_, U1_, 1.0)
        store_symmetric(S, PA1, r, PSI1)
        store_symmetric(S, H_, r, H)
        if two:
            clear(S, PC2)
            clear(S, O12)
            _add_weighted(plan, st, b, d, PC2, U2_, U2_, 1.0)
            _add_weighted(plan, st, b, d, O12, U1_, U2_, -1.0)
            store_symmetric(S, PC2, r, PSI2)
            store_full(S, O12, r, PSI12)
        return
    _load_total(plan, st, a, PA1, PA21, PA2)
    _load_total(plan, st, c, PC1, PC12, PC2)
    R, p = placement(plan, st, b)
    a21, a2 = (PA21, PA2) if two_handled(plan, a) else (PA1, PA1)
    _into_joint_frame(S, XPA21, XPA2, a21, a2, R, p)
    add_blocks(S, H_, XPA2, PC1)
    store_symmetric(S, H_, r, H)
    # Psi_1 += u1 w u1' + T1' (H T1 - Psi_21) - Psi_12 T1
    multiply_less(S, Y1_, H_, T1_, XPA21)
    _add_weighted(plan, st, b, d, PA1, U1_, U1_, 1.0)
    add_upper(S, PA1, T1_, Y1_)
    subtract_upper(S, PA1, XPA21, T1_)
    store_symmetric(S, PA1, r, PSI1)
    if two:
        c12 = PC12
        if not two_handled(plan, c):
            c12 = PC1
            copy(S, PC2, PC1)
        # Psi_12 = T1' Psi_12^B - Y1' T2 - u1 w u2'
        transposed_multiply(S, O12, T1_, c12)
        transposed_multiply(S, O12B, Y1_, T2_)
        for i in range(6):
            for j in range(6):
                S[O12, i, j] -= S[O12B, i, j]
        _add_weighted(plan, st, b, d, O12, U1_, U2_, -1.0)
        store_full(S, O12, r, PSI12)
        multiply_less(S, Y2_, H_, T2_, c12)
        _add_weighted(plan, st, b, d, PC2, U2_, U2_, 1.0)
        add_upper(S, PC2, T2_, Y2_)
        subtract_upper(S, PC2, c12, T2_)
        store_symmetric(S, PC2, r, PSI2)


@kernel
def _load_total(plan: Any, st: Any, code: int, one: int, cross_block: int, two: int) -> None:
    """Psi of a child; the joints of a leaf are none."""
    S = st.scratch
    if code < 0:
        clear(S, one)
        return
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    load_symmetric(S, one, r, PSI1)
    if plan.handles[code] == 2:
        if one == PA1:
            load_transposed(S, cross_block, r, PSI12)
        else:
            load_full(S, cross_block, r, PSI12)
        load_symmetric(S, two, r, PSI2)


@kernel
def _add_weighted(plan: Any, st: Any, b: int, d: int, c: int, u: int, v: int, sign: float) -> None:
    """c += sign u' w v."""
    S = st.scratch
    for x in range(d):
        for y in range(d):
            weight = sign * st.metric[plan.metric_index[b] + d * x + y]
            for i in range(6):
                for j in range(6):
                    S[c, i, j] += weight * S[u, x, i] * S[v, y, j]


# The node, linear: what forces alone change


@kernel
def bias(m: Any, plan: Any, st: Any, code: int) -> Any:
    """(b, p) of a child at both handles and its eta: (b1, p1, b2, p2, eta)."""
    if code < 0:
        b = leaf_bias(plan, st, m.gravity, ~code)
        return b, ZERO6, b, ZERO6, 0.0
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    if plan.handles[code] == 2:
        return six(r, B1), six(r, P1), six(r, B2), six(r, P2), r[ETA]
    return six(r, B1), six(r, P1), six(r, B1), six(r, P1), r[ETA]


@kernel
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


@kernel
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


# Back-substitution


@kernel
def total_acceleration(plan: Any, st: Any, n: int, f1: Any, f2: Any) -> float:
    """A of node n under forces on its handles; rounding below zero is cut off."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    A = r[ETA] + dot6(f1, add6(six(r, P1), symmetric_six(r, PSI1, f1)))
    if plan.handles[n] == 2:
        A += dot6(f2, add6(six(r, P2), symmetric_six(r, PSI2, f2))) + 2.0 * dot6(f1, full_six(r, PSI12, f2))
    return max(A, 0.0)


@kernel
def joint_force(plan: Any, st: Any, n: int, f1: Any, f2: Any) -> Any:
    """The force that A exerts on B through the joint, in B's frame."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    f = add6(six(r, GAMMA), full_six(r, T1, f1))
    if plan.handles[n] == 2:
        f = sub6(f, full_six(r, T2, f2))
    return f


@kernel
def joint_acceleration(m: Any, plan: Any, st: Any, n: int, f1: Any, f2: Any) -> float:
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
    square = 0.0
    for x in range(d):
        for y in range(d):
            weight = st.metric[plan.metric_index[b] + d * x + y]
            square += weight * st.qdd[m.v_index[k0 + x]] * st.qdd[m.v_index[k0 + y]]
    return square


@kernel
def hand_down(plan: Any, st: Any, n: int, f1: Any, f2: Any) -> Any:
    """Forces on the handles of both children: (f1, f2) of A and (f1, f2) of B; one handle takes both."""
    f = joint_force(plan, st, n, f1, f2)
    R, p = placement(plan, st, plan.body[n])
    back = scale6(-1.0, force_in(R, p, f))
    a1, a2, c1, c2 = f1, back, f, f2
    if not two_handled(plan, plan.left[n]):
        a1, a2 = add6(f1, back), ZERO6
    if not two_handled(plan, plan.right[n]):
        c1, c2 = add6(f, f2), ZERO6
    return a1, a2, c1, c2
