"""Rigid clusters (after Redon, Galoppo & Lin 2005): a cluster whose joints are locked is one rigid body, in O(1).

Near frame: that of handle 1; X_n takes motions from the near frame of C to that of B, X_21 to its far handle:

    I_C = I_A + X_n' I_B X_n     F_C = F_A + X_n' F_B
    a_1 = I_C^-1 (f_1 + X_21' f_2 + F_C - v x* I_C v)     a_2 = X_21 a_1
    so  Phi_r = H I_C^-1 H'  and  b_r = H I_C^-1 (F_C - v x* I_C v),  H = [1; X_21]

What the same cluster would do beyond that if its joints were released, at handle forces f, is a square E(f) in I_i:
sum_i |a_i(released) - a_i(rigid)|^2. At rest

    E(f) = f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk     dk = kappa - F_C' I_C^-1 F_C
    kappa = kappa^A + kappa^B - gamma' beta + Q' R,  of a leaf F' I^-1 F

With velocities, accelerations are those of origins, as in `dynamics.newton_euler`, so that only angular velocities
matter. A cluster that moves as one with angular velocity w in its near frame answers forces by a = Phi f + b, its
joints released, where b is linear in s = (products of w, 1):

    leaf:   b = I^-1 (F - gyro(ww))
    joint:  beta = X (b_2^A + (0; ww r)) - b_1^B,    ww r = w x (w x r), r the origin of B in the far frame of A
            gamma = W beta + U' Q    R = D Q - U beta      b_1, b_2 as in `algebra`

so b = B s with 7 columns at each handle, constants of its frame while it is rigid. E is a square of s, too, found
without differences of what is large:

    E(f, s) = f' (Phi - Phi_r) f + 2 f' (b - b_r) + s' dk s,    b_r1 = I_C^-1 (F_C - gyro(ww))
    dk^C = dk^A + T' dk^B T - sym(gamma' beta) + sym(Q' R) + sym(gamma_r' beta_r)

with T: s -> s in the near frame of B, and gamma_r = (I_A^-1 + I_B^-1)^-1 beta_r the force through a rigid joint.
Clusters with the ground do not turn: only the last column of theirs is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.tree.blocks import (
    ZERO6,
    free_body,
    full_six,
    joint_terms,
    leaf_bias,
    leaf_inverse,
    put_six,
    six,
    symmetric_six,
)
from bough.adaptive.tree.layout import (
    B1,
    B2,
    FORCE,
    GAMMA,
    IDENTITY,
    INERTIA,
    KAPPA,
    PHI1,
    PHI2,
    PHI12,
    ZERO3,
    Layout,
    State,
    cross_pose,
    far_pose,
    joint_places,
    near_body,
    placement,
)
from bough.compile.kernel import kernel, loop_kernel
from bough.dynamics.newton_euler import centripetal, gyroscopic_force
from bough.joints import Mechanism
from bough.spatial import (
    add6,
    dot3,
    dot6,
    force_in,
    get6,
    get10,
    join,
    motion_out,
    put6,
    rigid_add,
    rigid_in,
    rigid_scale,
    rigid_solve,
    rigid_times,
    rotate_back,
    scale6,
    sub6,
    symmetric_times,
    transpose3,
)
from bough.types import Force, Motion, RigidInertia, Rotation, Rows, Scalar, Symmetric, Vector


@kernel
def handle_force(f1: Force, f2: Force, R: Rotation, p: Vector) -> Force:
    """f_1 + X_21' f_2, where (R, p) places the far handle in the near frame."""
    return add6(f1, force_in(R, p, f2))


# Nodes as rigid bodies: what `rigid` needs of a cluster, kept in its record, and what release of its joints would
# add.
#
# Clusters with the ground do not move when they are rigid: their inertia is left at zero, and kappa, in the frame of
# the ground, which accelerates by a_0 = -g relative to free fall, is all that release adds:
#
#     kappa = kappa^A + kappa^B - 2 F_B' a_0 + a_0' I_B a_0 - gamma' beta + Q' R


ZERO10 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def is_ground(plan: Layout, code: int) -> bool:
    """Whether the ground belongs to a cluster."""
    return near_body(plan, code) == len(plan.parent)


@kernel
def _node_inertia(plan: Layout, st: State, n: int) -> RigidInertia:
    r, o = st.record[plan.offset[n] : plan.offset[n + 1]], INERTIA
    return six(r, o) + (r[o + 6], r[o + 7], r[o + 8], r[o + 9])


@loop_kernel
def cluster_inertia(m: Mechanism, plan: Layout, st: State, code: int) -> RigidInertia:
    """I_C in the near frame; zero where the ground belongs to it."""
    if code >= 0:
        return _node_inertia(plan, st, code)
    i = plan.leaf_body[~code]
    if i == len(plan.parent):
        return ZERO10
    return rigid_scale(1.0 / float(plan.copies[i]), get10(m.inertia, plan.last[i]))


@loop_kernel
def join_inertia(m: Mechanism, plan: Layout, st: State, n: int) -> None:
    """I_C of node n."""
    I = ZERO10
    if plan.near[n] != len(plan.parent):
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        I = cluster_inertia(m, plan, st, plan.left[n])
        I = rigid_add(I, rigid_in(R, p, cluster_inertia(m, plan, st, plan.right[n])))
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    for k in range(10):
        r[INERTIA + k] = I[k]


@kernel
def cluster_force(plan: Layout, st: State, code: int) -> Force:
    """F_C: all forces on a cluster as one, in its near frame; the first copy of a body carries its force."""
    if code >= 0:
        return six(st.record[plan.offset[code] : plan.offset[code + 1]], FORCE)
    return get6(st.force, plan.last[~code]) if ~code < len(plan.parent) else ZERO6


@loop_kernel
def join_force(plan: Layout, st: State, n: int) -> None:
    """F_C of node n; nothing moves the ground."""
    F = ZERO6
    if plan.near[n] != len(plan.parent):
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        F = add6(cluster_force(plan, st, plan.left[n]), force_in(R, p, cluster_force(plan, st, plan.right[n])))
    put_six(st.record[plan.offset[n] : plan.offset[n + 1]], FORCE, F)


@loop_kernel
def _kappa(m: Mechanism, plan: Layout, st: State, code: int) -> Scalar:
    """kappa of a child."""
    if code >= 0:
        return st.record[plan.offset[code] + KAPPA]
    return dot6(cluster_force(plan, st, code), leaf_bias(plan, st, m.gravity, ~code))


@loop_kernel
def join_forces(m: Mechanism, plan: Layout, st: State, n: int, beta: Motion) -> None:
    """F_C and kappa of node n, once gamma and R are known."""
    r, b, B, at = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.right[n], joint_places(plan, n)
    kappa = _kappa(m, plan, st, plan.left[n]) + _kappa(m, plan, st, B) - dot6(six(r, GAMMA), beta)
    for x in range(at.d):
        kappa += st.tau[plan.dof[b] + x] * r[at.R + x]
    if plan.near[n] == len(plan.parent) and not is_ground(plan, B):
        R, p = placement(plan, st, b)
        a = motion_out(R, p, (0.0, 0.0, 0.0, -m.gravity[0], -m.gravity[1], -m.gravity[2]))
        pull = rigid_times(cluster_inertia(m, plan, st, B), a)
        kappa += dot6(a, sub6(pull, scale6(2.0, cluster_force(plan, st, B))))
    join_force(plan, st, n)
    r[KAPPA] = kappa


@loop_kernel
def released_energy(plan: Layout, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """E of node n under forces on its handles: f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk; rounding below zero is cut."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    if plan.near[n] == len(plan.parent):
        return max(r[KAPPA], 0.0)
    E = r[KAPPA] + dot6(f1, add6(scale6(2.0, six(r, B1)), symmetric_six(r, PHI1, f1)))
    f = add6(f1, six(r, FORCE))
    if plan.handles[n] == 2:
        R, p = cross_pose(plan, st, n)
        E += dot6(f2, add6(scale6(2.0, six(r, B2)), symmetric_six(r, PHI2, f2)))
        E += 2.0 * dot6(f1, full_six(r, PHI12, f2))
        f = handle_force(f, f2, R, p)
    return max(E - dot6(f, rigid_solve(_node_inertia(plan, st, n), f)), 0.0)


# Clusters that turn: 7 columns, of the products of w and of one, and the square dk.


DK, DK_REST, DK_SPLIT = 6, 70, 25  # dk, packed: the first 25 numbers and the last 3


class Columns(NamedTuple):
    """Scratch for the columns of a node."""

    beta: Rows  # (7, 6)
    gamma: Rows  # (7, 6)
    rate: Rows  # (7, 6) R
    beta_r: Rows  # (7, 6)
    gamma_r: Rows  # (7, 6)
    s: Rows  # (7, 7) T
    y: Rows  # (7, 7)


def make_columns() -> Columns:
    """Scratch."""
    return Columns._make([*(np.zeros((7, 6)) for _ in range(5)), np.zeros((7, 7)), np.zeros((7, 7))])


@kernel
def dk_at(i: int, j: int) -> int:
    """Where a record has entry (i, j) of dk, i <= j."""
    k = 7 * i - i * (i + 1) // 2 + j
    return DK + k if k < DK_SPLIT else DK_REST + k - DK_SPLIT


@loop_kernel
def join_squares(plan: Layout, st: State, n: int, Q: Rows, d: int, x: Columns) -> None:
    """dk of node n."""
    r, A, B = st.record[plan.offset[n] : plan.offset[n + 1]], plan.left[n], plan.right[n]
    for i in range(7):
        for j in range(7):
            x.y[i, j] = 0.0
            if B >= 0:
                other = st.record[plan.offset[B] : plan.offset[B + 1]]
                for k in range(7):
                    x.y[i, j] += other[dk_at(min(j, k), max(j, k))] * x.s[i, k]
    for i in range(7):
        for j in range(i, 7):
            dk = 0.0
            if A >= 0:
                dk += st.record[plan.offset[A] + dk_at(i, j)]
            for k in range(7):
                dk += x.s[j, k] * x.y[i, k]
            dk -= 0.5 * (dot6(get6(x.gamma, i), get6(x.beta, j)) + dot6(get6(x.gamma, j), get6(x.beta, i)))
            dk += 0.5 * (dot6(get6(x.gamma_r, i), get6(x.beta_r, j)) + dot6(get6(x.gamma_r, j), get6(x.beta_r, i)))
            if j == 6:
                for k in range(d):
                    dk += (1.0 if i == 6 else 0.5) * Q[k] * x.rate[i, k]
            r[dk_at(i, j)] = dk


@loop_kernel
def own_square(r: Rows, S: Symmetric) -> Scalar:
    """s' dk s of a record at s = (S, 1)."""
    s = (S[0], S[1], S[2], S[3], S[4], S[5], 1.0)
    E = 0.0
    for i in range(7):
        E += r[dk_at(i, i)] * s[i] * s[i]
        for j in range(i + 1, 7):
            E += 2.0 * r[dk_at(i, j)] * s[i] * s[j]
    return E


# Where a record has them: the places of what joint metrics need, which a moving linkage does not keep
COLUMNS1 = (52, 58, 64, 94, 100, 106, 0)
COLUMNS2 = (189, 195, 201, 246, 252, 258, 264)
STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
UNITS = (
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    STILL,
)


@kernel
def turned(R: Rotation, S: Symmetric) -> Symmetric:
    """R' S R: the products of a vector in the axes turned by R."""
    x, y, z = (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])
    a, b = symmetric_times(S, x), symmetric_times(S, y)
    return (dot3(x, a), dot3(y, b), dot3(z, symmetric_times(S, z)), dot3(y, a), dot3(z, a), dot3(z, b))


@kernel
def _mixed(r: Rows, at: tuple[int, ...], S: Symmetric, c: float) -> Motion:
    """The columns of a record at s = (S, c)."""
    b = scale6(c, six(r, at[6]))
    for j in range(6):
        b = add6(b, scale6(S[j], six(r, at[j])))
    return b


@loop_kernel
def _leaf_bias(m: Mechanism, plan: Layout, st: State, leaf: int, S: Symmetric, c: float) -> Motion:
    i = plan.leaf_body[leaf]
    if i == len(plan.parent):
        return (0.0, 0.0, 0.0, -c * m.gravity[0], -c * m.gravity[1], -c * m.gravity[2])
    inverse, k = leaf_inverse(plan, i), float(plan.copies[i])
    gyro = scale6(1.0 / k, gyroscopic_force(get10(m.inertia, plan.last[i]), S))
    return scale6(k, free_body(inverse, sub6(scale6(c, cluster_force(plan, st, ~leaf)), gyro)))


@loop_kernel
def bias_of(m: Mechanism, plan: Layout, st: State, code: int, far: bool, S: Symmetric, c: float) -> Motion:
    """b of an inactive cluster at a handle, turning with products S; c = 1 with its forces."""
    if code < 0:
        return _leaf_bias(m, plan, st, ~code, S, c)
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    return _mixed(r, COLUMNS2 if far and plan.handles[code] == 2 else COLUMNS1, S, c)


@kernel
def pull_of(I: RigidInertia, F: Force, S: Symmetric) -> Force:
    """F - gyro: what a rigid cluster's own forces and its turning leave to accelerate it."""
    return sub6(F, gyroscopic_force(I, S))


@loop_kernel
def gap_of(m: Mechanism, plan: Layout, st: State, n: int, S: Symmetric, c: float) -> Motion:
    """beta of node n, whose joint is locked, turning with products S."""
    A, B = plan.left[n], plan.right[n]
    RA, _ = cross_pose(plan, st, A)
    R, p = placement(plan, st, plan.body[n])
    SA = turned(RA, S)
    lifted = add6(bias_of(m, plan, st, A, True, S, c), join(ZERO3, centripetal(SA, p)))
    return sub6(motion_out(R, p, lifted), bias_of(m, plan, st, B, False, turned(R, SA), c))


@loop_kernel
def columns(m: Mechanism, plan: Layout, st: State, n: int, Q: Rows, x: Columns) -> None:
    """B, dk and F_C of node n, whose inertia and matrices are known; Q (6,) are its torques, x has `Columns`."""
    r, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.handles[n] == 2
    at, A, B = joint_places(plan, n), plan.left[n], plan.right[n]
    RA, _ = cross_pose(plan, st, A)
    R, _ = placement(plan, st, plan.body[n])
    for j in range(7):
        S, c = UNITS[j], 1.0 if j == 6 else 0.0
        SB = turned(R, turned(RA, S))
        for k in range(6):
            x.s[j, k] = SB[k]
        x.s[j, 6] = c
        beta = gap_of(m, plan, st, n, S, c)
        gamma, e1, e2 = joint_terms(plan, st, n, beta, Q, 0, c)
        for k in range(at.d):
            x.rate[j, k] = r[at.R + k]
        put6(x.beta, j, beta)
        put6(x.gamma, j, gamma)
        near = sub6(bias_of(m, plan, st, A, False, S, c), e1)
        if two:
            put_six(r, COLUMNS2[j], add6(bias_of(m, plan, st, B, True, SB, c), e2))
        put_six(r, COLUMNS1[j], near)
    join_force(plan, st, n)
    _rigid_gaps(m, plan, st, n, x)
    join_squares(plan, st, n, Q, at.d, x)


@loop_kernel
def _rigid_gaps(m: Mechanism, plan: Layout, st: State, n: int, x: Columns) -> None:
    """beta_r and gamma_r: the gap between two rigid clusters, and the force that closes it."""
    A, B = plan.left[n], plan.right[n]
    if is_ground(plan, B):  # copies of the ground
        for j in range(7):
            put6(x.beta_r, j, ZERO6)
            put6(x.gamma_r, j, ZERO6)
        return
    R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
    IB, FB, ground = cluster_inertia(m, plan, st, B), cluster_force(plan, st, B), is_ground(plan, A)
    IA, FA, IAB = ZERO10, ZERO6, ZERO10
    if not ground:
        IA, FA = cluster_inertia(m, plan, st, A), cluster_force(plan, st, A)
        back = rotate_back(R, p)
        IAB = rigid_in(transpose3(R), (-back[0], -back[1], -back[2]), IA)
    for j in range(7):
        S, c = UNITS[j], 1.0 if j == 6 else 0.0
        g = m.gravity
        a = (0.0, 0.0, 0.0, -c * g[0], -c * g[1], -c * g[2])
        if not ground:
            a = add6(rigid_solve(IA, pull_of(IA, scale6(c, FA), S)), join(ZERO3, centripetal(S, p)))
        SB = (x.s[j, 0], x.s[j, 1], x.s[j, 2], x.s[j, 3], x.s[j, 4], x.s[j, 5])
        beta = sub6(motion_out(R, p, a), rigid_solve(IB, pull_of(IB, scale6(c, FB), SB)))
        gamma = rigid_times(IB, beta)
        if not ground:
            gamma = rigid_times(IAB, rigid_solve(rigid_add(IAB, IB), gamma))
        put6(x.beta_r, j, beta)
        put6(x.gamma_r, j, gamma)


@loop_kernel
def released_square(
    m: Mechanism, plan: Layout, st: State, n: int, S: Symmetric, f1: Force, f2: Force
) -> tuple[Scalar, Scalar]:
    """E of an inactive node under forces on its handles, and the size of what it is the difference of.

    Rounding below zero is cut.
    """
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    if plan.near[n] == len(plan.parent):
        return max(r[dk_at(6, 6)], 0.0), 0.0
    E = own_square(r, S)
    a1 = symmetric_six(r, PHI1, f1)
    E += dot6(f1, add6(scale6(2.0, _mixed(r, COLUMNS1, S, 1.0)), a1))
    f, size = f1, dot6(f1, a1)
    if plan.handles[n] == 2:
        R, p = cross_pose(plan, st, n)
        a2 = symmetric_six(r, PHI2, f2)
        E += dot6(f2, add6(scale6(2.0, _mixed(r, COLUMNS2, S, 1.0)), a2))
        size += dot6(f2, a2)
        E += 2.0 * dot6(f1, full_six(r, PHI12, f2))
        back = force_in(R, p, f2)
        E -= 2.0 * dot6(back, join(ZERO3, centripetal(S, p)))
        f = handle_force(f1, f2, R, p)
    I = cluster_inertia(m, plan, st, n)
    E -= dot6(f, rigid_solve(I, add6(f, scale6(2.0, pull_of(I, cluster_force(plan, st, n), S)))))
    return max(E, 0.0), size
