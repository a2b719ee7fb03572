"""Mobilities: the symmetric 6x6 matrices Omega_ii that turn a force on a body into its acceleration.

A mobility is kept as 21 numbers in the layout of an articulated inertia, with linear and angular parts exchanged: in
that layout forces transform as motions do, so that a mobility going outward transforms as an inertia going inward
through the inverse screws.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.joints import LAST_SCREW, PLACED, ZX_SCREWS, freedom
from bough.spatial import (
    articulated_in,
    articulated_times,
    dot6,
    get6,
    get9,
    get_tail,
    rotate_back,
    scale6,
    sub6,
    transpose3,
    x_articulated_in,
    z_articulated_in,
)


@kernel
def exchange(v: Any) -> Any:
    """Linear part first."""
    return (v[3], v[4], v[5], v[0], v[1], v[2])


@kernel
def mobility_to_body(m: Any, X: Any, i: int, Om: Any) -> Any:
    """A mobility from the parent's frame into body i's."""
    fixed = m.fixed_kind[i]
    if fixed == PLACED:
        Om = unplace(get9(m.fixed, i), get_tail(m.fixed, i), Om)
    else:
        if fixed == ZX_SCREWS:
            Om = z_articulated_in(m.fixed[i, 0], -m.fixed[i, 1], -m.fixed[i, 2], Om)
        Om = x_articulated_in(m.fixed[i, 3], -m.fixed[i, 4], -m.fixed[i, 5], Om)
    if m.kind[i] <= LAST_SCREW:
        return z_articulated_in(X[i, 0], -X[i, 1], -X[i, 2], Om)
    return unplace(get9(X, i), get_tail(X, i), Om)


@kernel
def unplace(R: Any, p: Any, Om: Any) -> Any:
    """A mobility into the frame placed at (R, p)."""
    o = rotate_back(R, p)
    return articulated_in(transpose3(R), (-o[0], -o[1], -o[2]), Om)


@kernel
def free_mobility(m: Any, i: int, Om: Any, w: Any) -> Any:
    """P Omega P' + S D^-1 S': what the joint of body i makes of a mobility that reaches it."""
    for k in range(m.dof[i], m.dof[i + 1]):
        S, W = exchange(freedom(m, k, m.one[0])), exchange(get6(w.W, k))
        g = articulated_times(Om, W)
        h = sub6(g, scale6(dot6(W, g) + m.one[0] / w.D[k], S))
        Om = subtract_products(Om, S, g, h)
    return Om


@kernel
def subtract_products(A: Any, S: Any, g: Any, h: Any) -> Any:
    """A - S g' - h S', known to be symmetric."""
    return (
        A[0] - S[0] * g[0] - h[0] * S[0],
        A[1] - S[1] * g[1] - h[1] * S[1],
        A[2] - S[2] * g[2] - h[2] * S[2],
        A[3] - S[0] * g[1] - h[0] * S[1],
        A[4] - S[0] * g[2] - h[0] * S[2],
        A[5] - S[1] * g[2] - h[1] * S[2],
        A[6] - S[0] * g[3] - h[0] * S[3],
        A[7] - S[0] * g[4] - h[0] * S[4],
        A[8] - S[0] * g[5] - h[0] * S[5],
        A[9] - S[1] * g[3] - h[1] * S[3],
        A[10] - S[1] * g[4] - h[1] * S[4],
        A[11] - S[1] * g[5] - h[1] * S[5],
        A[12] - S[2] * g[3] - h[2] * S[3],
        A[13] - S[2] * g[4] - h[2] * S[4],
        A[14] - S[2] * g[5] - h[2] * S[5],
        A[15] - S[3] * g[3] - h[3] * S[3],
        A[16] - S[4] * g[4] - h[4] * S[4],
        A[17] - S[5] * g[5] - h[5] * S[5],
        A[18] - S[3] * g[4] - h[3] * S[4],
        A[19] - S[3] * g[5] - h[3] * S[5],
        A[20] - S[4] * g[5] - h[4] * S[5],
    )


@kernel
def put_full(B: Any, b: int, Om: Any) -> None:
    """A mobility as block b of a (blocks, 6, 6) array, angular part first."""
    put_row(B, b, 3, (Om[6], Om[7], Om[8], Om[0], Om[3], Om[4]))
    put_row(B, b, 4, (Om[9], Om[10], Om[11], Om[3], Om[1], Om[5]))
    put_row(B, b, 5, (Om[12], Om[13], Om[14], Om[4], Om[5], Om[2]))
    put_row(B, b, 0, (Om[15], Om[18], Om[19], Om[6], Om[9], Om[12]))
    put_row(B, b, 1, (Om[18], Om[16], Om[20], Om[7], Om[10], Om[13]))
    put_row(B, b, 2, (Om[19], Om[20], Om[17], Om[8], Om[11], Om[14]))


@kernel
def put_row(B: Any, b: int, r: int, x: Any) -> None:
    B[b, r, 0], B[b, r, 1], B[b, r, 2] = x[0], x[1], x[2]
    B[b, r, 3], B[b, r, 4], B[b, r, 5] = x[3], x[4], x[5]


@kernel
def get_row(B: Any, b: int, r: int) -> Any:
    return (B[b, r, 0], B[b, r, 1], B[b, r, 2], B[b, r, 3], B[b, r, 4], B[b, r, 5])


@kernel
def put_column(B: Any, b: int, c: int, x: Any) -> None:
    B[b, 0, c], B[b, 1, c], B[b, 2, c] = x[0], x[1], x[2]
    B[b, 3, c], B[b, 4, c], B[b, 5, c] = x[3], x[4], x[5]


@kernel
def get_column(B: Any, b: int, c: int) -> Any:
    return (B[b, 0, c], B[b, 1, c], B[b, 2, c], B[b, 3, c], B[b, 4, c], B[b, 5, c])
