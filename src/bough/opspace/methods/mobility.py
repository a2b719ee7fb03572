"""Mobilities: the symmetric 6x6 matrices Omega_ii that turn a force on a body into its acceleration.

A mobility is kept as 21 numbers in the layout of an articulated inertia, with linear and angular parts exchanged: in
that layout forces transform as motions do, so that a mobility going outward transforms as an inertia going inward
through the inverse screws.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.joints import Mechanism, Walk, freedom, outward
from bough.spatial import (
    articulated_in,
    articulated_sub,
    articulated_times,
    dot6,
    get6,
    outer,
    rotate_back,
    scale6,
    sub6,
    transpose3,
    x_articulated_in,
    z_articulated_in,
)
from bough.types import ArticulatedInertia, Force, Motion, Rotation, Rows, Scalar, Vector, Workspace


@kernel
def exchange(v: Motion) -> Motion:
    """Linear part first."""
    return (v[3], v[4], v[5], v[0], v[1], v[2])


@kernel
def unplace(R: Rotation, p: Vector, Om: ArticulatedInertia) -> ArticulatedInertia:
    """A mobility into the frame placed at (R, p)."""
    o = rotate_back(R, p)
    return articulated_in(transpose3(R), (-o[0], -o[1], -o[2]), Om)


@kernel
def z_unscrew(c: Scalar, s: Scalar, d: Scalar, Om: ArticulatedInertia) -> ArticulatedInertia:
    return z_articulated_in(c, -s, -d, Om)


@kernel
def x_unscrew(c: Scalar, s: Scalar, d: Scalar, Om: ArticulatedInertia) -> ArticulatedInertia:
    return x_articulated_in(c, -s, -d, Om)


mobility_to_body: Walk[ArticulatedInertia] = outward(
    "mobility_to_body", "A mobility from the parent's frame into body i's.", z_unscrew, x_unscrew, unplace
)


@kernel
def free_mobility(m: Mechanism, i: int, Om: ArticulatedInertia, w: Workspace) -> ArticulatedInertia:
    """P Omega P' + S D^-1 S': what the joint of body i makes of a mobility that reaches it."""
    for k in range(m.dof[i], m.dof[i + 1]):
        S, W = exchange(freedom(m, k, m.one[0])), exchange(get6(w.W, k))
        g = articulated_times(Om, W)
        h = sub6(g, scale6(dot6(W, g) + m.one[0] / w.D[k], S))
        Om = subtract_products(Om, S, g, h)
    return Om


@kernel
def subtract_products(A: ArticulatedInertia, S: Motion, g: Force, h: Force) -> ArticulatedInertia:
    """A - S g' - h S', known to be symmetric."""
    return articulated_sub(articulated_sub(A, outer(S, g)), outer(h, S))


@kernel
def put_full(B: Rows, b: int, Om: ArticulatedInertia) -> None:
    """A mobility as block b of a (blocks, 6, 6) array, angular part first."""
    put_row(B, b, 3, (Om[6], Om[7], Om[8], Om[0], Om[3], Om[4]))
    put_row(B, b, 4, (Om[9], Om[10], Om[11], Om[3], Om[1], Om[5]))
    put_row(B, b, 5, (Om[12], Om[13], Om[14], Om[4], Om[5], Om[2]))
    put_row(B, b, 0, (Om[15], Om[18], Om[19], Om[6], Om[9], Om[12]))
    put_row(B, b, 1, (Om[18], Om[16], Om[20], Om[7], Om[10], Om[13]))
    put_row(B, b, 2, (Om[19], Om[20], Om[17], Om[8], Om[11], Om[14]))


@kernel
def put_row(B: Rows, b: int, r: int, x: Motion) -> None:
    B[b, r, 0], B[b, r, 1], B[b, r, 2] = x[0], x[1], x[2]
    B[b, r, 3], B[b, r, 4], B[b, r, 5] = x[3], x[4], x[5]


@kernel
def line(B: Rows, b: int, k: int, is_column: int) -> Motion:
    """Row k of block b, or its column k."""
    if is_column:
        return (B[b, 0, k], B[b, 1, k], B[b, 2, k], B[b, 3, k], B[b, 4, k], B[b, 5, k])
    return (B[b, k, 0], B[b, k, 1], B[b, k, 2], B[b, k, 3], B[b, k, 4], B[b, k, 5])


@kernel
def put_column(B: Rows, b: int, c: int, x: Motion) -> None:
    B[b, 0, c], B[b, 1, c], B[b, 2, c] = x[0], x[1], x[2]
    B[b, 3, c], B[b, 4, c], B[b, 5, c] = x[3], x[4], x[5]
