"""Derivatives of inverse dynamics in closed form (Singh, Russell & Wensing 2022), all in the axes of the root body.

A motion along degree of freedom k of body b moves its whole subtree. Relative to it, the velocity of the subtree
changes by P_k = V_parent x S_k and its acceleration by R_k = A_parent x S_k + V_parent x P_k; with the rate of DoF k
they change by S_k and D_k = P_k + V_b x S_k. A body whose velocity changes by U and whose acceleration
changes by W needs the further force I W + 2 B U, with

    2 B (u, .) = 2 (tr(N) u - N u, u x p),   N = integral of rdot r' dm = [w x] Sigma + l h',   p = m l + w x h

where Sigma = tr(J) / 2 - J; the linear part of U has no effect. I, N, p and the forces F add up over subtrees, so that
for each DoF l and the DoF k of its body and of the bodies above

    dtau_l/dq_k = I S_l . R_k + 2 B' S_l . P_k        dtau_k/dq_l = S_k . (I R_l + 2 B P_l + S_l x* F)
    dtau_l/dv_k = I S_l . D_k + 2 B' S_l . S_k        dtau_k/dv_l = S_k . (I D_l + 2 B S_l)        H_kl = S_k . I S_l

(the second column only for bodies above).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.coriolis import cross_force
from bough.dynamics.jacobian import world_motion
from bough.dynamics.kinematics import place_body
from bough.joints import Mechanism, by_freedom, move_joint, turn_to_body
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    cross_motion,
    dot3,
    dot6,
    get3,
    get6,
    get9,
    get10,
    get_tail,
    join,
    linear,
    put3,
    put6,
    put9,
    put10,
    put_tail,
    rigid_add,
    rigid_in,
    rigid_times,
    rotate,
    rotate_back,
    scale3,
    scale6,
    sub3,
)
from bough.types import Force, Motion, RigidInertia, Rotation, Rows, Vector, Workspace


@kernel
def inverse_dynamics_derivatives(
    m: Mechanism, q: Rows, v: Rows, qdd: Rows, by_q: Rows, by_v: Rows, by_qdd: Rows, w: Workspace
) -> None:
    """dtau/dq, dtau/dv and dtau/dqdd = H, (nv, nv) each; q moves along velocities."""
    by_freedom(m, v, w.rate)
    by_freedom(m, qdd, w.effort)
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        place_from_root(m, i, w)
        move_dofs(m, i, w)
        move_mass(m, i, w)
    sum_over_subtrees(m, w)
    slopes(m, by_q, by_v, by_qdd, w)


@kernel
def place_from_root(m: Mechanism, i: int, w: Workspace) -> None:
    """The placement (R, p) of body i in its root's frame."""
    if m.parent[i] >= 0:
        place_body(m, i, w)
    else:
        zero, one = m.zero[0], m.one[0]
        put9(w.P, i, (one, zero, zero, zero, one, zero, zero, zero, one))
        put_tail(w.P, i, (zero, zero, zero))


@kernel
def move_dofs(m: Mechanism, i: int, w: Workspace) -> None:
    """Velocity V and acceleration A of body i, less gravity, and S, P, R, D of its DoF."""
    zero, up = m.zero[0], m.parent[i]
    at = (zero, zero, zero)
    V0, A0 = join(at, at), join(at, at)
    if up >= 0:
        V0, A0 = get6(w.V, up), get6(w.A, up)
    else:
        A0 = join(at, turn_to_body(m, w.X, i, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))
    vJ, A = join(at, at), A0
    for k in range(m.dof[i], m.dof[i + 1]):
        S = world_motion(m, i, k, at, w)
        P = cross_motion(V0, S)
        put6(w.S, k, S)
        put6(w.P_, k, P)
        put6(w.R, k, add6(cross_motion(A0, S), cross_motion(V0, P)))
        vJ = add6(vJ, scale6(w.rate[k], S))
        A = add6(A, add6(scale6(w.effort[k], S), scale6(w.rate[k], P)))
    V = add6(V0, vJ)
    for k in range(m.dof[i], m.dof[i + 1]):
        P = get6(w.P_, k)
        # V x S = P + vJ x S
        put6(w.D, k, add6(add6(P, P), cross_motion(vJ, get6(w.S, k))))
    put6(w.V, i, V)
    put6(w.A, i, A)


@kernel
def move_mass(m: Mechanism, i: int, w: Workspace) -> None:
    """I, 2 N, 2 p and F of body i alone."""
    I, V = rigid_in(get9(w.P, i), get_tail(w.P, i), get10(m.inertia, i)), get6(w.V, i)
    momentum = rigid_times(I, V)
    put10(w.I, i, I)
    put9(w.N, i, stretching(I, V))
    put3(w.p, i, add3(linear(momentum), linear(momentum)))
    put6(w.F, i, add6(rigid_times(I, get6(w.A, i)), cross_force(V, momentum)))


@kernel
def stretching(I: RigidInertia, V: Motion) -> Rotation:
    """2 N: twice the integral of rdot r' over the mass of a body, row by row."""
    u, l = angular(V), add3(linear(V), linear(V))
    xy, xz, yz = -(I[3] + I[3]), -(I[4] + I[4]), -(I[5] + I[5])
    a = cross(u, (I[1] + I[2] - I[0], xy, xz))
    b = cross(u, (xy, I[0] + I[2] - I[1], yz))
    c = cross(u, (xz, yz, I[0] + I[1] - I[2]))
    return (
        a[0] + l[0] * I[6], b[0] + l[0] * I[7], c[0] + l[0] * I[8],
        a[1] + l[1] * I[6], b[1] + l[1] * I[7], c[1] + l[1] * I[8],
        a[2] + l[2] * I[6], b[2] + l[2] * I[7], c[2] + l[2] * I[8],
    )  # fmt: skip


@kernel
def sum_over_subtrees(m: Mechanism, w: Workspace) -> None:
    """I, N, p and F of whole subtrees."""
    for i in range(len(m.parent) - 1, -1, -1):
        up = m.parent[i]
        if up >= 0:
            put10(w.I, up, rigid_add(get10(w.I, up), get10(w.I, i)))
            put3(w.p, up, add3(get3(w.p, up), get3(w.p, i)))
            put6(w.F, up, add6(get6(w.F, up), get6(w.F, i)))
            for k in range(9):
                w.N[up, k] = w.N[up, k] + w.N[i, k]


@kernel
def added_force(i: int, U: Motion, W: Motion, w: Workspace) -> Force:
    """I W + 2 B U of the subtree of body i."""
    u, N = angular(U), get9(w.N, i)
    moment = sub3(scale3(N[0] + N[4] + N[8], u), rotate(N, u))
    return add6(rigid_times(get10(w.I, i), W), join(moment, cross(u, get3(w.p, i))))


@kernel
def added_moment(i: int, S: Motion, w: Workspace) -> Vector:
    """The angular part of 2 B' S; the linear part is zero."""
    s, N = angular(S), get9(w.N, i)
    return add3(sub3(scale3(N[0] + N[4] + N[8], s), rotate_back(N, s)), cross(get3(w.p, i), linear(S)))


@kernel
def slopes(m: Mechanism, by_q: Rows, by_v: Rows, by_qdd: Rows, w: Workspace) -> None:
    """All derivatives, DoF by DoF along the path of each."""
    for r in range(by_q.shape[0]):
        for c in range(by_q.shape[0]):
            by_q[r, c], by_v[r, c], by_qdd[r, c] = m.zero[0], m.zero[0], m.zero[0]
    for i in range(len(m.parent)):
        for l in range(m.dof[i], m.dof[i + 1]):
            r, S, D = m.v_index[l], get6(w.S, l), get6(w.D, l)
            put6(w.now, 0, rigid_times(get10(w.I, i), S))
            put3(w.turned, 0, added_moment(i, S, w))
            put6(w.now, 1, add6(added_force(i, get6(w.P_, l), get6(w.R, l), w), cross_force(S, get6(w.F, i))))
            put6(w.now, 2, added_force(i, S, D, w))
            by_qdd[r, r] = by_qdd[r, r] + m.ratio[l] * m.ratio[l] * m.armature[l]
            row_slopes(m, i, l, by_q, by_v, by_qdd, w)
            j = m.parent[i]
            while j >= 0:
                row_slopes(m, j, l, by_q, by_v, by_qdd, w)
                column_slopes(m, j, l, by_q, by_v, by_qdd, w)
                j = m.parent[j]


@kernel
def row_slopes(m: Mechanism, j: int, l: int, by_q: Rows, by_v: Rows, by_qdd: Rows, w: Workspace) -> None:
    """Row l, in the columns of body j, an ancestor of degree of freedom l or its own body."""
    r, f, n = m.v_index[l], get6(w.now, 0), get3(w.turned, 0)
    for k in range(m.dof[j], m.dof[j + 1]):
        c, both, S = m.v_index[k], m.ratio[k] * m.ratio[l], get6(w.S, k)
        by_q[r, c] = by_q[r, c] + both * (dot6(f, get6(w.R, k)) + dot3(n, angular(get6(w.P_, k))))
        by_v[r, c] = by_v[r, c] + both * (dot6(f, get6(w.D, k)) + dot3(n, angular(S)))
        by_qdd[r, c] = by_qdd[r, c] + both * dot6(f, S)


@kernel
def column_slopes(m: Mechanism, j: int, l: int, by_q: Rows, by_v: Rows, by_qdd: Rows, w: Workspace) -> None:
    """Column l, in the rows of body j, an ancestor."""
    c = m.v_index[l]
    for k in range(m.dof[j], m.dof[j + 1]):
        r, both, S = m.v_index[k], m.ratio[k] * m.ratio[l], get6(w.S, k)
        by_q[r, c] = by_q[r, c] + both * dot6(get6(w.now, 1), S)
        by_v[r, c] = by_v[r, c] + both * dot6(get6(w.now, 2), S)
        by_qdd[r, c] = by_qdd[r, c] + both * dot6(get6(w.now, 0), S)


WORK = {
    **{"X": "bodies 12", "P": "bodies 12", "rate": "dofs", "effort": "dofs", "V": "bodies 6", "A": "bodies 6"},
    **{"S": "dofs 6", "P_": "dofs 6", "R": "dofs 6", "D": "dofs 6", "I": "bodies 10", "N": "bodies 9", "p": "bodies 3"},
    **{"F": "bodies 6", "now": "3 6", "turned": "1 3"},
}
INVERSE_DERIVATIVES = Routine(
    "inverse_dynamics_derivatives",
    inverse_dynamics_derivatives,
    inputs={"q": "nq", "v": "nv", "qdd": "nv"},
    outputs={"dtau_dq": "nv nv", "dtau_dv": "nv nv", "dtau_dqdd": "nv nv"},
    work=WORK,
)
