"""Articulated inertias on tuples: products, rank-one updates, transforms, columns (notation: `bough.spatial`)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial.blocks import (
    cross_columns,
    cycle_general,
    cycle_symmetric,
    full,
    outer_symmetric,
    symmetric_times,
    turn_general,
    uncycle_general,
    uncycle_symmetric,
    upper,
    z_turn_general,
    z_turn_symmetric,
)
from bough.spatial.screws import add6, angular, linear, sub6
from bough.spatial.vectors import add3, rotate, rotate_back, scale3, sub3, transpose3
from bough.types import ArticulatedInertia, Force, Motion, RigidInertia, Rotation, Scalar, Symmetric, Vector


@kernel
def articulated(I: RigidInertia, zero: Scalar) -> ArticulatedInertia:
    """A rigid inertia in the form of an articulated one; `zero` is a zero of the right type."""
    hx, hy, hz, m = I[6], I[7], I[8], I[9]
    return I[0:6] + (zero, -hz, hy, hz, zero, -hx, -hy, hx, zero) + (m, m, m, zero, zero, zero)


@kernel
def articulated_add(x: ArticulatedInertia, y: ArticulatedInertia) -> ArticulatedInertia:
    """The sum of two inertias about the same point. 21a."""
    return add6(x[0:6], y[0:6]) + add6(x[6:12], y[6:12]) + add6(x[12:18], y[12:18]) + add3(x[18:21], y[18:21])


@kernel
def articulated_sub(x: ArticulatedInertia, y: ArticulatedInertia) -> ArticulatedInertia:
    """The difference of two inertias about the same point. 21a."""
    return sub6(x[0:6], y[0:6]) + sub6(x[6:12], y[6:12]) + sub6(x[12:18], y[12:18]) + sub3(x[18:21], y[18:21])


@kernel
def outer(a: Force, b: Force) -> ArticulatedInertia:
    """The entries of a b' that a symmetric matrix keeps. 21m."""
    u, v, x, y = angular(a), linear(a), angular(b), linear(b)
    general = scale3(a[0], y) + scale3(a[1], y) + scale3(a[2], y)
    return outer_symmetric(u, x) + general + outer_symmetric(v, y)


@kernel
def articulated_times(IA: ArticulatedInertia, v: Motion) -> Force:
    """IA v. 36m + 30a at most."""
    w, l, B = angular(v), linear(v), IA[6:15]
    n, f = symmetric_times(IA, w), symmetric_times(IA[15:21], l)
    return add3(n, rotate(B, l)) + add3(f, rotate_back(B, w))


@kernel
def articulated_downdate(IA: ArticulatedInertia, W: Force, U: Force) -> ArticulatedInertia:
    """IA - W U', for W parallel to U."""
    return articulated_sub(IA, outer(W, U))


@kernel
def z_shift_articulated(d: Scalar, A: Symmetric, B: Rotation, C: Symmetric) -> ArticulatedInertia:
    """Move the reference point by -d along z. 10m + 14a."""
    xx, xy, xz = B[0] - d * C[3], B[1] - d * C[1], B[2] - d * C[5]
    yx, yy, yz = B[3] + d * C[0], B[4] + d * C[3], B[5] + d * C[4]
    diagonal = (A[0] - d * (B[1] + xy), A[1] + d * (B[3] + yx), A[2])
    mixed = (A[3] + d * (xx - B[4]), A[4] - d * B[7], A[5] + d * B[6])
    return diagonal + mixed + (xx, xy, xz, yx, yy, yz, B[6], B[7], B[8]) + C


@kernel
def z_articulated_in(c: Scalar, s: Scalar, d: Scalar, IA: ArticulatedInertia) -> ArticulatedInertia:
    """An articulated inertia through a screw about z, child to parent. 38m + 39a."""
    A = z_turn_symmetric(c, s, IA[0:6])
    B = z_turn_general(c, s, IA[6:15])
    C = z_turn_symmetric(c, s, IA[15:21])
    return z_shift_articulated(d, A, B, C)


@kernel
def x_articulated_in(c: Scalar, s: Scalar, d: Scalar, IA: ArticulatedInertia) -> ArticulatedInertia:
    """An articulated inertia through a screw about x, child to parent. 38m + 39a."""
    K = z_articulated_in(c, s, d, cycle_symmetric(IA[0:6]) + cycle_general(IA[6:15]) + cycle_symmetric(IA[15:21]))
    return uncycle_symmetric(K[0:6]) + uncycle_general(K[6:15]) + uncycle_symmetric(K[15:21])


@kernel
def articulated_in(R: Rotation, p: Vector, IA: ArticulatedInertia) -> ArticulatedInertia:
    """An articulated inertia out of the frame placed at (R, p)."""
    A = turn_general(R, full(IA[0:6]))
    B = turn_general(R, IA[6:15])
    C = turn_general(R, full(IA[15:21]))
    # B' = B + [p] C and A' = A + [p] B^T - B' [p], where B' [p] = -([p] B'^T)^T
    pC = cross_columns(p, C)
    D = add6(B[0:6], pC[0:6]) + add3(B[6:9], pC[6:9])
    E, G = cross_columns(p, transpose3(B)), cross_columns(p, transpose3(D))
    return add6(add6(upper(A), upper(E)), upper(transpose3(G))) + D + upper(C)


@kernel
def articulated_column(IA: ArticulatedInertia, axis: int) -> Force:
    """Column `axis` of an articulated inertia."""
    if axis == 0:
        return (IA[0], IA[3], IA[4], IA[6], IA[7], IA[8])
    if axis == 1:
        return (IA[3], IA[1], IA[5], IA[9], IA[10], IA[11])
    if axis == 2:
        return (IA[4], IA[5], IA[2], IA[12], IA[13], IA[14])
    if axis == 3:
        return (IA[6], IA[9], IA[12], IA[15], IA[18], IA[19])
    if axis == 4:
        return (IA[7], IA[10], IA[13], IA[18], IA[16], IA[20])
    return (IA[8], IA[11], IA[14], IA[19], IA[20], IA[17])
