"""Rigid clusters (after Redon, Galoppo & Lin 2005): a cluster whose joints are locked is one rigid body, in O(1).

Near frame: that of handle 1; X_n takes motions from the near frame of C to that of B, X_21 to its far handle:

    I_C = I_A + X_n' I_B X_n     F_C = F_A + X_n' F_B
    a_1 = I_C^-1 (f_1 + X_21' f_2 + F_C - v x* I_C v)     a_2 = X_21 a_1
    so  Phi_r = H I_C^-1 H'  and  b_r = H I_C^-1 (F_C - v x* I_C v),  H = [1; X_21]

What the same cluster would do beyond that if its joints were released, at handle forces f and at rest, is

    E(f) = sum_i |a_i(released) - a_i(rigid)|^2 in I_i = f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk
    dk = kappa - F_C' I_C^-1 F_C       kappa = kappa^A + kappa^B - gamma' beta + Q' R,  of a leaf F' I^-1 F
"""

from __future__ import annotations

from bough.adaptive.tree.blocks import ZERO6, full_six, leaf_bias, put_six, six, symmetric_six
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
    Blueprint,
    State,
    cross_pose,
    far_pose,
    joint_places,
    placement,
)
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    dot6,
    force_in,
    get6,
    get10,
    join,
    linear,
    motion_out,
    rigid_add,
    rigid_in,
    rigid_scale,
    rigid_times,
    scale6,
    sub3,
    sub6,
    symmetric_times,
)
from bough.types import Force, Motion, RigidInertia, Rotation, Scalar, Symmetric, Vector


@kernel
def handle_force(f1: Force, f2: Force, R: Rotation, p: Vector) -> Force:
    """f_1 + X_21' f_2, where (R, p) places the far handle in the near frame."""
    return add6(f1, force_in(R, p, f2))


@kernel
def about_centre(I: RigidInertia) -> tuple[Symmetric, Vector]:
    """(J_c, c): the rotational inertia about the centre of mass, and that centre."""
    x, y, z = I[6] / I[9], I[7] / I[9], I[8] / I[9]
    hx, hy, hz = I[6], I[7], I[8]
    J = (
        I[0] - hy * y - hz * z,
        I[1] - hx * x - hz * z,
        I[2] - hx * x - hy * y,
        I[3] + hx * y,
        I[4] + hx * z,
        I[5] + hy * z,
    )
    return J, (x, y, z)


@kernel
def symmetric_solve(J: Symmetric, a: Vector) -> Vector:
    """J^-1 a by the adjugate."""
    xx, yy, zz, xy, xz, yz = J
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    adjugate = (A, xx * zz - xz * xz, xx * yy - xy * xy, B, C, xy * xz - xx * yz)
    det = xx * A + xy * B + xz * C
    x = symmetric_times(adjugate, a)
    return (x[0] / det, x[1] / det, x[2] / det)


@kernel
def rigid_solve(I: RigidInertia, f: Force) -> Motion:
    """I^-1 f: about the centre of mass force and moment do not meet."""
    J, c = about_centre(I)
    push = (f[3], f[4], f[5])
    w = symmetric_solve(J, sub3((f[0], f[1], f[2]), cross(c, push)))
    l = cross(c, w)
    return join(w, (push[0] / I[9] + l[0], push[1] / I[9] + l[1], push[2] / I[9] + l[2]))


@kernel
def gyroscopic_wrench(I: RigidInertia, v: Motion) -> Force:
    """v x* I v: what keeps a rigid body on its way."""
    h = rigid_times(I, v)
    w, n, f = angular(v), angular(h), linear(h)
    return join(add3(cross(w, n), cross(linear(v), f)), cross(w, f))


# Nodes as rigid bodies: what `rigid` needs of a cluster, kept in its record, and what release of its joints would
# add.
#
# Clusters with the ground do not move when they are rigid: their inertia is left at zero, and kappa, in the frame of
# the ground, which accelerates by a_0 = -g relative to free fall, is all that release adds:
#
#     kappa = kappa^A + kappa^B - 2 F_B' a_0 + a_0' I_B a_0 - gamma' beta + Q' R


ZERO10 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def is_ground(plan: Blueprint, code: int) -> bool:
    """Whether the ground belongs to a cluster."""
    return (plan.near[code] if code >= 0 else plan.leaf_body[~code]) == len(plan.parent)


@kernel
def _node_inertia(plan: Blueprint, st: State, n: int) -> RigidInertia:
    r, o = st.record[plan.offset[n] : plan.offset[n + 1]], INERTIA
    return six(r, o) + (r[o + 6], r[o + 7], r[o + 8], r[o + 9])


@loop_kernel
def cluster_inertia(m: Mechanism, plan: Blueprint, st: State, code: int) -> RigidInertia:
    """I_C in the near frame; zero where the ground belongs to it."""
    if code >= 0:
        return _node_inertia(plan, st, code)
    i = plan.leaf_body[~code]
    if i == len(plan.parent):
        return ZERO10
    return rigid_scale(1.0 / float(plan.copies[i]), get10(m.inertia, plan.last[i]))


@loop_kernel
def join_inertia(m: Mechanism, plan: Blueprint, st: State, n: int) -> None:
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
def cluster_force(plan: Blueprint, st: State, code: int) -> Force:
    """F_C: all forces on a cluster as one, in its near frame; the first copy of a body bears its force."""
    if code >= 0:
        return six(st.record[plan.offset[code] : plan.offset[code + 1]], FORCE)
    return get6(st.force, plan.last[~code]) if ~code < len(plan.parent) else ZERO6


@loop_kernel
def join_force(plan: Blueprint, st: State, n: int) -> None:
    """F_C of node n; nothing moves the ground."""
    F = ZERO6
    if plan.near[n] != len(plan.parent):
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        F = add6(cluster_force(plan, st, plan.left[n]), force_in(R, p, cluster_force(plan, st, plan.right[n])))
    put_six(st.record[plan.offset[n] : plan.offset[n + 1]], FORCE, F)


@loop_kernel
def _kappa(m: Mechanism, plan: Blueprint, st: State, code: int) -> Scalar:
    """kappa of a child."""
    if code >= 0:
        return st.record[plan.offset[code] + KAPPA]
    return dot6(cluster_force(plan, st, code), leaf_bias(plan, st, m.gravity, ~code))


@loop_kernel
def join_forces(m: Mechanism, plan: Blueprint, st: State, n: int, beta: Motion) -> None:
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
def released_energy(plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """E of node n under forces on its handles: f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk; rounding below zero is cut."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    if plan.near[n] == len(plan.parent):
        return max(r[KAPPA], 0.0)
    E = r[KAPPA] + dot6(f1, add6(scale6(2.0, six(r, B1)), symmetric_six(r, PHI1, f1)))
    f = add6(f1, six(r, FORCE))
    if plan.handles[n] == 2:
        R, p = cross_pose(plan, st, n)
        E += dot6(f2, add6(scale6(2.0, six(r, B2)), symmetric_six(r, PHI2, f2))) + 2.0 * dot6(
            f1, full_six(r, PHI12, f2)
        )
        f = handle_force(f, f2, R, p)
    return max(E - dot6(f, rigid_solve(_node_inertia(plan, st, n), f)), 0.0)
