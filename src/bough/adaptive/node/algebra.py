"""Divide-and-conquer articulated bodies with total accelerations (Featherstone 1999; Redon & Lin 2005), K-form.

A cluster answers forces f on its handles by accelerations a = Phi f + b, and its joints by a total acceleration
A = f' Psi f + f' p + eta, the weighted sum of squares of all their accelerations. Joining a cluster A (the parent's
side) to a cluster B by a joint consumes one handle of each. Index 1 is the handle nearest the ground, 2 the far one;
a cluster with one handle uses it for both. Everything on a handle is in its body's frame; X takes the joint's handle
of A into B's.
"""

from __future__ import annotations

from typing import Any

from bough.adaptive.assembly import GROUND_WELD
from bough.adaptive.node.blocks import (
    across,
    add_blocks,
    add_transposed,
    carry,
    clear,
    copy,
    get_all,
    load_full,
    load_symmetric,
    load_transposed,
    mix,
    multiply,
    multiply_less,
    negate,
    put_row,
    store_full,
    store_symmetric,
    subtract_transposed,
    sweep,
    transform,
    transposed_multiply,
)
from bough.adaptive.node.constrain import constrain
from bough.adaptive.node.layout import (
    A1,
    A2,
    A21,
    C1,
    C2,
    C12,
    D_,
    H_,
    K_,
    O12,
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
    W_,
    XA2,
    XA21,
    XF,
    XPA2,
    XPA21,
    Y1_,
    Y2_,
    H,
    W,
    placement,
    tail,
    two_handled,
)  # fmt: skip
from bough.adaptive.node.leaves import load_leaf
from bough.adaptive.node.linear import linear
from bough.adaptive.node.rows import plus, put, row
from bough.compile.kernel import inlined, kernel


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
    transform(S, XF, R, p)
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
    subtract_transposed(S, A1, XA21, T1_)
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
        subtract_transposed(S, C2, c12, T2_)
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


@inlined
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
        multiply(S, x2, x21, XF)
    else:
        carry(S, TMP, a2, R, p)
        multiply(S, x2, TMP, XF)


@kernel
def _hold(S: Any, b: int) -> None:
    """A weld: W = K^-1. Copies of the ground need no force to stay together."""
    if b == GROUND_WELD:
        clear(S, W_)
        return
    for k in range(6):
        sweep(S, K_, k)
    negate(S, W_, K_)


@kernel
def _project(S: Any, c: int, a: int, d: int) -> None:
    """c = U a, one row for each freedom."""
    rows = get_all(S, a)
    for x in range(d):
        put(S, c, x, mix(across(S, U_, x), rows))


@inlined
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
    add_transposed(S, PA1, T1_, Y1_)
    subtract_transposed(S, PA1, XPA21, T1_)
    store_symmetric(S, PA1, r, PSI1)
    if two:
        c12 = PC12
        if not two_handled(plan, c):
            c12 = PC1
            copy(S, PC2, PC1)
        # Psi_12 = T1' Psi_12^B - Y1' T2 - u1 w u2'
        transposed_multiply(S, O12, T1_, c12)
        subtract_transposed(S, O12, Y1_, T2_)
        _add_weighted(plan, st, b, d, O12, U1_, U2_, -1.0)
        store_full(S, O12, r, PSI12)
        multiply_less(S, Y2_, H_, T2_, c12)
        _add_weighted(plan, st, b, d, PC2, U2_, U2_, 1.0)
        add_transposed(S, PC2, T2_, Y2_)
        subtract_transposed(S, PC2, c12, T2_)
        store_symmetric(S, PC2, r, PSI2)


@inlined
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


@inlined
def _add_weighted(plan: Any, st: Any, b: int, d: int, c: int, u: int, v: int, sign: float) -> None:
    """c += sign u' w v."""
    S = st.scratch
    for x in range(d):
        for y in range(d):
            weight = sign * st.metric[plan.metric_index[b] + d * x + y]
            for i in range(6):
                put(S, c, i, plus(row(S, c, i), weight * S[u, x, i], row(S, v, y)))
