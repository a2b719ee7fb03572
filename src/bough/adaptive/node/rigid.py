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

from bough.compile.kernel import kernel
from bough.spatial import (
    add6,
    cross,
    dot6,
    force_in,
    join,
    rigid_add,
    rigid_in,
    rigid_times,
    sub3,
    sub6,
    symmetric_times,
)
from bough.types import Force, Motion, RigidInertia, Rotation, Scalar, Symmetric, Vector


@kernel
def joined_inertia(IA: RigidInertia, IB: RigidInertia, R: Rotation, p: Vector) -> RigidInertia:
    """I_C, where (R, p) places the near frame of B in that of A."""
    return rigid_add(IA, rigid_in(R, p, IB))


@kernel
def joined_force(FA: Force, FB: Force, R: Rotation, p: Vector) -> Force:
    """F_C: all forces on the cluster as one, in its near frame."""
    return add6(FA, force_in(R, p, FB))


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
def gyroscopic_force(I: RigidInertia, v: Motion) -> Force:
    """v x* I v: what keeps a rigid body on its way."""
    h = rigid_times(I, v)
    w, l = (v[0], v[1], v[2]), (v[3], v[4], v[5])
    n, f = (h[0], h[1], h[2]), (h[3], h[4], h[5])
    a, b = cross(w, n), cross(l, f)
    return join((a[0] + b[0], a[1] + b[1], a[2] + b[2]), cross(w, f))


@kernel
def rigid_acceleration(I: RigidInertia, F: Force, v: Motion, f: Force) -> Motion:
    """a_1 of a rigid cluster with velocity v, under its own forces F and those on its handles f (`handle_force`)."""
    return rigid_solve(I, sub6(add6(f, F), gyroscopic_force(I, v)))


@kernel
def locked_square(I: RigidInertia, F: Force) -> Scalar:
    """F' I^-1 F: kappa of a leaf, and what kappa of a rigid cluster is."""
    return dot6(F, rigid_solve(I, F))


@kernel
def joined_kappa(kappa_A: Scalar, kappa_B: Scalar, gamma: Force, beta: Motion) -> Scalar:
    """kappa of a node without its joint's own Q' R."""
    return kappa_A + kappa_B - dot6(gamma, beta)


@kernel
def twice_energy(I: RigidInertia, v: Motion) -> Scalar:
    """v' I v, twice the kinetic energy of a rigid cluster."""
    return dot6(v, rigid_times(I, v))
