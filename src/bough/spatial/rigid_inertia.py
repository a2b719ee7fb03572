"""Rigid inertias on tuples: momentum, sums, transforms, columns (notation: `bough.spatial`)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial.blocks import (
    adjugate,
    cycle_symmetric,
    full,
    symmetric_times,
    turn_general,
    uncycle_symmetric,
    upper,
    z_turn_symmetric,
)
from bough.spatial.screws import add6, angular, join, linear
from bough.spatial.vectors import add3, cross, rotate, scale3, sub3, z_turn_in
from bough.types import Force, Motion, RigidInertia, Rotation, Scalar, Symmetric, Vector


@kernel
def rigid_times(I: RigidInertia, v: Motion) -> Force:
    """The momentum of a rigid inertia moving with v."""
    w, l, h = angular(v), linear(v), (I[6], I[7], I[8])
    return join(add3(symmetric_times(I, w), cross(h, l)), sub3(scale3(I[9], l), cross(h, w)))


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
def rigid_solve(I: RigidInertia, f: Force) -> Motion:
    """I^-1 f: about the centre of mass force and moment do not meet."""
    J, c = about_centre(I)
    adj, det = adjugate(J)
    push = linear(f)
    x = symmetric_times(adj, sub3(angular(f), cross(c, push)))
    w = (x[0] / det, x[1] / det, x[2] / det)
    l = cross(c, w)
    return join(w, (push[0] / I[9] + l[0], push[1] / I[9] + l[1], push[2] / I[9] + l[2]))


@kernel
def rigid_scale(k: Scalar, I: RigidInertia) -> RigidInertia:
    """k I. 10m."""
    return (k * I[0], k * I[1], k * I[2], k * I[3], k * I[4], k * I[5], k * I[6], k * I[7], k * I[8], k * I[9])


@kernel
def rigid_add(I: RigidInertia, K: RigidInertia) -> RigidInertia:
    """The inertia of two bodies welded together. 10a."""
    return add6(I[0:6], K[0:6]) + add3(I[6:9], K[6:9]) + (I[9] + K[9],)


@kernel
def z_rigid_in(c: Scalar, s: Scalar, d: Scalar, I: RigidInertia) -> RigidInertia:
    """A rigid inertia through a screw about z, child to parent. 15m + 15a."""
    J = z_turn_symmetric(c, s, I)
    h = z_turn_in(c, s, (I[6], I[7], I[8]))
    z = h[2] + I[9] * d
    t = d * (h[2] + z)
    return (J[0] + t, J[1] + t, J[2], J[3], J[4] - d * h[0], J[5] - d * h[1], h[0], h[1], z, I[9])


@kernel
def x_rigid_in(c: Scalar, s: Scalar, d: Scalar, I: RigidInertia) -> RigidInertia:
    """A rigid inertia through a screw about x, child to parent. 15m + 15a."""
    K = z_rigid_in(c, s, d, cycle_symmetric(I) + (I[7], I[8], I[6], I[9]))
    return uncycle_symmetric(K) + (K[8], K[6], K[7], K[9])


@kernel
def rigid_in(R: Rotation, p: Vector, I: RigidInertia) -> RigidInertia:
    """A rigid inertia out of the frame placed at (R, p)."""
    J = upper(turn_general(R, full(I)))
    h = rotate(R, (I[6], I[7], I[8]))
    g = add3(h, scale3(I[9], p))
    # J + (h.p + p.g) 1 - (h p' + p g'), symmetric because g = h + m p
    x, y, z = p[0] * (h[0] + g[0]), p[1] * (h[1] + g[1]), p[2] * (h[2] + g[2])
    mixed = (J[3] - h[0] * p[1] - p[0] * g[1], J[4] - h[0] * p[2] - p[0] * g[2], J[5] - h[1] * p[2] - p[1] * g[2])
    return (J[0] + y + z, J[1] + x + z, J[2] + x + y) + mixed + g + (I[9],)


@kernel
def rigid_column(I: RigidInertia, axis: int, zero: Scalar) -> Force:
    """Column `axis` of a rigid inertia: the force that gives a unit acceleration along that axis."""
    if axis == 0:
        return (I[0], I[3], I[4], zero, -I[8], I[7])
    if axis == 1:
        return (I[3], I[1], I[5], I[8], zero, -I[6])
    if axis == 2:
        return (I[4], I[5], I[2], -I[7], I[6], zero)
    if axis == 3:
        return (zero, I[8], -I[7], I[9], zero, zero)
    if axis == 4:
        return (-I[8], zero, I[6], zero, I[9], zero)
    return (I[7], -I[6], zero, zero, zero, I[9])
