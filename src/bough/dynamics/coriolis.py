"""The Coriolis matrix that makes Hdot - 2 C skew (Echeandia & Wensing 2021, algorithm 1), in the world's axes.

C = sum over bodies b of J_b' (I_b Jdot_b + B_b J_b), with V the velocity of b, h = I_b V its momentum and
B_b U = (V x* I_b U - I_b (V x U) + U x* h) / 2. I and B add up over subtrees, so that

    for j = n .. 1:  F1 = I Sdot_j + B S_j;  F2 = I S_j;  F3 = B' S_j
        C_ij = S_i . F1 for the ancestors i of j and for j itself;  C_ji = Sdot_i . F2 + S_i . F3

The origin is the root's, not the world's, which may be far away.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.jacobian import world_motion
from bough.dynamics.kinematics import place_body
from bough.joints import Mechanism, along_axis, joint_motion
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    cross_motion,
    dot6,
    fill,
    get6,
    get9,
    get10,
    get_tail,
    join,
    linear,
    put6,
    put10,
    rigid_add,
    rigid_column,
    rigid_in,
    rigid_times,
    scale6,
    sub3,
    sub6,
)
from bough.types import Force, Motion, Rows, Scalar, Vector, Workspace


@kernel
def cross_force(v: Motion, f: Force) -> Force:
    """v x* f: the rate of change of a force f that moves with v."""
    w, l = angular(v), linear(v)
    return join(add3(cross(w, angular(f)), cross(l, linear(f))), cross(w, linear(f)))


@kernel
def root_origin(m: Mechanism, i: int, w: Workspace) -> Vector:
    """The origin of the root below body i, in the world."""
    while m.parent[i] >= 0:
        i = m.parent[i]
    return get_tail(w.P, i)


@kernel
def place_all(m: Mechanism, q: Rows, w: Workspace) -> None:
    """Placements of bodies in w.P, motions of DoF at their roots' origins in w.S, inertias there in w.I."""
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
    for i in range(len(m.parent)):
        at = root_origin(m, i, w)
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.S, k, world_motion(m, i, k, at, w))
        put10(w.I, i, rigid_in(get9(w.P, i), sub3(get_tail(w.P, i), at), get10(m.inertia, i)))


@kernel
def move_all(m: Mechanism, v: Rows, w: Workspace) -> None:
    """Velocities of bodies in w.V, and rates of the motions of their DoF in w.Sdot."""
    zero = m.zero[0]
    for i in range(len(m.parent)):
        V = (zero, zero, zero, zero, zero, zero)
        if m.parent[i] >= 0:
            V = get6(w.V, m.parent[i])
        for k in range(m.dof[i], m.dof[i + 1]):
            V = add6(V, scale6(m.ratio[k] * v[m.v_index[k]], get6(w.S, k)))
        put6(w.V, i, V)
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.Sdot, k, cross_motion(V, get6(w.S, k)))


@kernel
def half_rate(m: Mechanism, i: int, half: Scalar, w: Workspace) -> None:
    """Columns of B of body i alone, into w.B (6, 6)."""
    I, V = get10(w.I, i), get6(w.V, i)
    h = rigid_times(I, V)
    for k in range(6):
        U = along_axis(k, m.one[0], m.zero[0])
        f = sub6(cross_force(V, rigid_column(I, k, m.zero[0])), rigid_times(I, cross_motion(V, U)))
        f = scale6(half, add6(f, cross_force(U, h)))
        for r in range(6):
            w.B[i, 6 * r + k] = f[r]


@kernel
def rate_times(i: int, S: Motion, w: Workspace) -> Force:
    """B S of the subtree of body i."""
    return (
        rate_row(i, 0, S, w), rate_row(i, 1, S, w), rate_row(i, 2, S, w),
        rate_row(i, 3, S, w), rate_row(i, 4, S, w), rate_row(i, 5, S, w),
    )  # fmt: skip


@kernel
def rate_row(i: int, r: int, S: Motion, w: Workspace) -> Scalar:
    b = 6 * r
    B = w.B
    total = B[i, b] * S[0] + B[i, b + 1] * S[1] + B[i, b + 2] * S[2]
    return total + B[i, b + 3] * S[3] + B[i, b + 4] * S[4] + B[i, b + 5] * S[5]


@kernel
def rate_column(i: int, k: int, S: Motion, w: Workspace) -> Scalar:
    """Element k of B' S."""
    B = w.B
    total = B[i, k] * S[0] + B[i, 6 + k] * S[1] + B[i, 12 + k] * S[2]
    return total + B[i, 18 + k] * S[3] + B[i, 24 + k] * S[4] + B[i, 30 + k] * S[5]


@kernel
def coriolis_matrix(m: Mechanism, q: Rows, v: Rows, C: Rows, w: Workspace) -> None:
    """C (nv, nv): C v are the Coriolis and centrifugal terms, without gravity, and Hdot - 2 C is skew."""
    n, half = len(m.parent), m.one[0] / (m.one[0] + m.one[0])
    place_all(m, q, w)
    move_all(m, v, w)
    for i in range(n):
        half_rate(m, i, half, w)
    for i in range(n - 1, -1, -1):
        p = m.parent[i]
        if p >= 0:
            put10(w.I, p, rigid_add(get10(w.I, p), get10(w.I, i)))
            for k in range(36):
                w.B[p, k] = w.B[p, k] + w.B[i, k]
    fill(C, m.zero[0])
    for i in range(n):
        for j in range(m.dof[i], m.dof[i + 1]):
            couple(m, i, j, C, w)


@kernel
def couple(m: Mechanism, b: int, j: int, C: Rows, w: Workspace) -> None:
    """Row and column j of C, of body b, up to its ancestors."""
    I, S = get10(w.I, b), get6(w.S, j)
    F1 = add6(rigid_times(I, get6(w.Sdot, j)), rate_times(b, S, w))
    F2 = rigid_times(I, S)
    F3 = (
        rate_column(b, 0, S, w), rate_column(b, 1, S, w), rate_column(b, 2, S, w),
        rate_column(b, 3, S, w), rate_column(b, 4, S, w), rate_column(b, 5, S, w),
    )  # fmt: skip
    c, i = m.v_index[j], b
    while i >= 0:
        for k in range(m.dof[i], m.dof[i + 1]):
            r, both = m.v_index[k], m.ratio[k] * m.ratio[j]
            C[r, c] = C[r, c] + both * dot6(F1, get6(w.S, k))
            if i != b:
                C[c, r] = C[c, r] + both * (dot6(F2, get6(w.Sdot, k)) + dot6(F3, get6(w.S, k)))
        i = m.parent[i]


WORK = {"X": "bodies 12", "P": "bodies 12", "S": "dofs 6", "I": "bodies 10"}
CORIOLIS_MATRIX = Routine(
    "coriolis_matrix",
    coriolis_matrix,
    inputs={"q": "nq", "v": "nv"},
    outputs={"C": "nv nv"},
    work={**WORK, "V": "bodies 6", "Sdot": "dofs 6", "B": "bodies 36"},
)
