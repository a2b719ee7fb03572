"""Divide-and-conquer articulated bodies (Featherstone 1999; Redon & Lin 2005), K-form: how a cluster yields to forces.

A cluster answers forces f on its handles by accelerations a = Phi f + b, and its joints by a total acceleration
A = f' Psi f + f' p + eta, the weighted sum of squares of all their accelerations (`total`). Joining a cluster A (the
parent's side) to a cluster B by a joint consumes one handle of each. Index 1 is the handle nearest the ground, 2 the
far one; a cluster with one handle uses it for both. Everything on a handle is in its body's frame; X takes the joint's
handle of A into B's. S spans the joint's freedoms, T the constrained directions (T' S = 0), V' S = 1, Q its torque:

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
measured on the linkage at hand (`engines.noise`).
"""

from __future__ import annotations

from bough.adaptive.assembly import GROUND_WELD
from bough.adaptive.node.blocks import (
    across,
    add_blocks,
    clear,
    copy,
    get_all,
    into_joint_frame,
    load_child,
    mix,
    multiply,
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
    K_,
    PHI1,
    PHI2,
    PHI12,
    RIGID,
    T1,
    T1_,
    T2,
    T2_,
    TMP,
    TOTAL,
    U1_,
    U2_,
    U_,
    W_,
    XA2,
    XA21,
    XF,
    Blueprint,
    State,
    W,
    placement,
    tail,
    two_handled,
)
from bough.adaptive.node.leaves import load_leaf
from bough.adaptive.node.linear import linear
from bough.adaptive.node.locked import join_inertia
from bough.adaptive.node.total import quadratic
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.compile.vectors import put
from bough.joints import Mechanism
from bough.types import Rows


@loop_kernel
def full(m: Mechanism, plan: Blueprint, st: State, n: int, keeps: int) -> None:
    """Phi of node n, from its children and its joint; b too. It `keeps` TOTAL: Psi, p and eta; RIGID: see `locked`.

    About 1,100 multiplications, with TOTAL 2,300, with RIGID 150 more.
    """
    d = matrices(m, plan, st, n)
    if keeps & TOTAL:
        quadratic(plan, st, n, d)
    if keeps & RIGID:
        join_inertia(m, plan, st, n)
    linear(m, plan, st, n, keeps)


@inlined
@loop_kernel
def matrices(m: Mechanism, plan: Blueprint, st: State, n: int) -> int:
    """Phi of node n and how its joint yields, without forces; returns the freedoms of the joint."""
    S, b, two = st.scratch, plan.body[n], plan.handles[n] == 2
    a, c = plan.left[n], plan.right[n]
    _load(plan, st, a, A1, A21, A2)
    _load(plan, st, c, C1, C12, C2)
    R, p = placement(plan, st, b)
    a21, a2 = (A21, A2) if two_handled(plan, a) else (A1, A1)
    transform(S, XF, R, p)
    into_joint_frame(S, XA21, XA2, a21, a2, R, p)
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
        if not two_handled(plan, c):
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
    return d


@inlined
@loop_kernel
def _load(plan: Blueprint, st: State, code: int, one: int, cross_block: int, two: int) -> None:
    """Phi of a child: block `one`, and with two handles `cross_block` and `two`."""
    if code < 0:
        load_leaf(plan, st, ~code, one)
    else:
        load_child(plan, st, code, (one, cross_block, two), (PHI1, PHI12, PHI2))


@loop_kernel
def _hold(S: Rows, b: int) -> None:
    """A weld: W = K^-1. Copies of the ground need no force to stay together."""
    if b == GROUND_WELD:
        clear(S, W_)
        return
    for k in range(6):
        sweep(S, K_, k)
    negate(S, W_, K_)


@kernel
def _project(S: Rows, c: int, a: int, d: int) -> None:
    """c = U a, one row for each freedom."""
    rows = get_all(S, a)
    for x in range(d):
        put(S, c, x, mix(across(S, U_, x), rows))
