"""Articulated inertias on tuples: products, rank-one updates, transforms, columns (notation: `bough.spatial`)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial.blocks import (
    cross_columns,
    cycle_general,
    cycle_symmetric,
    full,
    symmetric_times,
    turn_general,
    uncycle_general,
    uncycle_symmetric,
    upper,
    z_turn_general,
    z_turn_symmetric,
)
from bough.spatial.screws import add6, angular, linear
from bough.types import ArticulatedInertia, Force, Motion, RigidInertia, Rotation, Scalar, Symmetric, Vector


@kernel
def articulated(I: RigidInertia, zero: Scalar) -> ArticulatedInertia:
    """A rigid inertia in the form of an articulated one; `zero` is a zero of the right type."""
    hx, hy, hz, m = I[6], I[7], I[8], I[9]
    return (
        (I[0], I[1], I[2], I[3], I[4], I[5])
        + (zero, -hz, hy, hz, zero, -hx, -hy, hx, zero)
        + (m, m, m, zero, zero, zero)
    )


@kernel
def articulated_add(x: ArticulatedInertia, y: ArticulatedInertia) -> ArticulatedInertia:
    """The sum of two inertias about the same point. 21a."""
    return (
        add6(x[0:6], y[0:6])
        + add6(x[6:12], y[6:12])
        + add6(x[12:18], y[12:18])
        + (x[18] + y[18], x[19] + y[19], x[20] + y[20])
    )


@kernel
def articulated_times(IA: ArticulatedInertia, v: Motion) -> Force:
    """IA v. 36m + 30a at most."""
    w, l = angular(v), linear(v)
    A, B, C = IA[0:6], IA[6:15], IA[15:21]
    n, f = symmetric_times(A, w), symmetric_times(C, l)
    return (
        n[0] + (B[0] * l[0] + B[1] * l[1] + B[2] * l[2]),
        n[1] + (B[3] * l[0] + B[4] * l[1] + B[5] * l[2]),
        n[2] + (B[6] * l[0] + B[7] * l[1] + B[8] * l[2]),
        f[0] + (B[0] * w[0] + B[3] * w[1] + B[6] * w[2]),
        f[1] + (B[1] * w[0] + B[4] * w[1] + B[7] * w[2]),
        f[2] + (B[2] * w[0] + B[5] * w[1] + B[8] * w[2]),
    )


@kernel
def articulated_downdate(IA: ArticulatedInertia, W: Force, U: Force) -> ArticulatedInertia:
    """IA - W U', for W parallel to U."""
    return (
        IA[0] - W[0] * U[0],
        IA[1] - W[1] * U[1],
        IA[2] - W[2] * U[2],
        IA[3] - W[0] * U[1],
        IA[4] - W[0] * U[2],
        IA[5] - W[1] * U[2],
        IA[6] - W[0] * U[3],
        IA[7] - W[0] * U[4],
        IA[8] - W[0] * U[5],
        IA[9] - W[1] * U[3],
        IA[10] - W[1] * U[4],
        IA[11] - W[1] * U[5],
        IA[12] - W[2] * U[3],
        IA[13] - W[2] * U[4],
        IA[14] - W[2] * U[5],
        IA[15] - W[3] * U[3],
        IA[16] - W[4] * U[4],
        IA[17] - W[5] * U[5],
        IA[18] - W[3] * U[4],
        IA[19] - W[3] * U[5],
        IA[20] - W[4] * U[5],
    )


@kernel
def z_shift_articulated(d: Scalar, A: Symmetric, B: Rotation, C: Symmetric) -> ArticulatedInertia:
    """Move the reference point by -d along z. 10m + 14a."""
    xx, xy, xz = B[0] - d * C[3], B[1] - d * C[1], B[2] - d * C[5]
    yx, yy, yz = B[3] + d * C[0], B[4] + d * C[3], B[5] + d * C[4]
    return (
        (
            A[0] - d * (B[1] + xy),
            A[1] + d * (B[3] + yx),
            A[2],
            A[3] + d * (xx - B[4]),
            A[4] - d * B[7],
            A[5] + d * B[6],
        )
        + (xx, xy, xz, yx, yy, yz, B[6], B[7], B[8])
        + C
    )


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
    D = (
        B[0] + pC[0], B[1] + pC[1], B[2] + pC[2],
        B[3] + pC[3], B[4] + pC[4], B[5] + pC[5],
        B[6] + pC[6], B[7] + pC[7], B[8] + pC[8],
    )  # fmt: skip
    E = cross_columns(p, (B[0], B[3], B[6], B[1], B[4], B[7], B[2], B[5], B[8]))
    G = cross_columns(p, (D[0], D[3], D[6], D[1], D[4], D[7], D[2], D[5], D[8]))
    return (
        (
            A[0] + E[0] + G[0],
            A[4] + E[4] + G[4],
            A[8] + E[8] + G[8],
            A[1] + E[1] + G[3],
            A[2] + E[2] + G[6],
            A[5] + E[5] + G[7],
        )
        + D
        + upper(C)
    )


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
