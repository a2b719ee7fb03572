"""Rigid and articulated inertias on tuples: products, rank-one updates, transforms (notation: `bough.spatial`)."""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.spatial.algebra import (
    add3,
    angular,
    cross,
    cycle_general,
    cycle_symmetric,
    full,
    join,
    linear,
    rotate,
    scale3,
    sub3,
    turn_general,
    uncycle_general,
    uncycle_symmetric,
    upper,
    z_turn_general,
    z_turn_in,
    z_turn_symmetric,
)


@kernel
def symmetric_times(S: Any, a: Any) -> Any:
    return (
        S[0] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[3] * a[0] + S[1] * a[1] + S[5] * a[2],
        S[4] * a[0] + S[5] * a[1] + S[2] * a[2],
    )


@kernel
def rigid_times(I: Any, v: Any) -> Any:
    """The momentum of a rigid inertia moving with v."""
    w, l, h = angular(v), linear(v), (I[6], I[7], I[8])
    return join(add3(symmetric_times(I, w), cross(h, l)), sub3(scale3(I[9], l), cross(h, w)))


@kernel
def rigid_add(I: Any, K: Any) -> Any:
    """The inertia of two bodies welded together. 10a."""
    return (
        I[0] + K[0],
        I[1] + K[1],
        I[2] + K[2],
        I[3] + K[3],
        I[4] + K[4],
        I[5] + K[5],
        I[6] + K[6],
        I[7] + K[7],
        I[8] + K[8],
        I[9] + K[9],
    )


@kernel
def z_rigid_in(c: Any, s: Any, d: Any, I: Any) -> Any:
    """A rigid inertia through a screw about z, child to parent. 15m + 15a."""
    J = z_turn_symmetric(c, s, I)
    h = z_turn_in(c, s, (I[6], I[7], I[8]))
    z = h[2] + I[9] * d
    t = d * (h[2] + z)
    return (J[0] + t, J[1] + t, J[2], J[3], J[4] - d * h[0], J[5] - d * h[1], h[0], h[1], z, I[9])


@kernel
def x_rigid_in(c: Any, s: Any, d: Any, I: Any) -> Any:
    J = cycle_symmetric(I)
    K = z_rigid_in(c, s, d, (J[0], J[1], J[2], J[3], J[4], J[5], I[7], I[8], I[6], I[9]))
    J = uncycle_symmetric(K)
    return (J[0], J[1], J[2], J[3], J[4], J[5], K[8], K[6], K[7], K[9])


@kernel
def rigid_in(R: Any, p: Any, I: Any) -> Any:
    """A rigid inertia out of the frame placed at (R, p)."""
    J = upper(turn_general(R, full(I)))
    h = rotate(R, (I[6], I[7], I[8]))
    g = add3(h, scale3(I[9], p))
    # J + (h.p + p.g) 1 - (h p' + p g'), symmetric because g = h + m p
    x, y, z = p[0] * (h[0] + g[0]), p[1] * (h[1] + g[1]), p[2] * (h[2] + g[2])
    return (
        J[0] + y + z,
        J[1] + x + z,
        J[2] + x + y,
        J[3] - h[0] * p[1] - p[0] * g[1],
        J[4] - h[0] * p[2] - p[0] * g[2],
        J[5] - h[1] * p[2] - p[1] * g[2],
        g[0],
        g[1],
        g[2],
        I[9],
    )


@kernel
def articulated(I: Any, zero: Any) -> Any:
    """A rigid inertia in the form of an articulated one; `zero` is a zero of the right type."""
    hx, hy, hz, m = I[6], I[7], I[8], I[9]
    return (
        (I[0], I[1], I[2], I[3], I[4], I[5])
        + (zero, -hz, hy, hz, zero, -hx, -hy, hx, zero)
        + (m, m, m, zero, zero, zero)
    )


@kernel
def articulated_times(IA: Any, v: Any) -> Any:
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
def articulated_downdate(IA: Any, W: Any, U: Any) -> Any:
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
def z_shift_articulated(d: Any, A: Any, B: Any, C: Any) -> Any:
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
def z_articulated_in(c: Any, s: Any, d: Any, IA: Any) -> Any:
    """An articulated inertia through a screw about z, child to parent. 38m + 39a."""
    A = z_turn_symmetric(c, s, IA[0:6])
    B = z_turn_general(c, s, IA[6:15])
    C = z_turn_symmetric(c, s, IA[15:21])
    return z_shift_articulated(d, A, B, C)


@kernel
def x_articulated_in(c: Any, s: Any, d: Any, IA: Any) -> Any:
    K = z_articulated_in(c, s, d, cycle_symmetric(IA[0:6]) + cycle_general(IA[6:15]) + cycle_symmetric(IA[15:21]))
    return uncycle_symmetric(K[0:6]) + uncycle_general(K[6:15]) + uncycle_symmetric(K[15:21])


@kernel
def cross_columns(p: Any, B: Any) -> Any:
    """[p x] B for a block given row by row."""
    a, b, c = cross(p, (B[0], B[3], B[6])), cross(p, (B[1], B[4], B[7])), cross(p, (B[2], B[5], B[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@kernel
def articulated_in(R: Any, p: Any, IA: Any) -> Any:
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
def rigid_column(I: Any, axis: int, zero: Any) -> Any:
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


@kernel
def articulated_column(IA: Any, axis: int) -> Any:
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
