"""Spatial algebra on tuples of scalars (Featherstone, Rigid Body Dynamics Algorithms, 2008; axial screws: 1987).

A motion is (wx wy wz lx ly lz) and a force (nx ny nz fx fy fz), angular part first. A rigid inertia is
(Jxx Jyy Jzz Jxy Jxz Jyz hx hy hz m), taken about the frame's origin, with h = m c. An articulated inertia is
(A: xx yy zz xy xz yz, B: xx xy xz yx yy yz zx zy zz, C: xx yy zz xy xz yz), so that n = A w + B l, f = B' w + C l.
A screw about an axis turns by an angle (c, s: cosine and sine) and moves by d along that axis; "in" functions go from
the child's frame to the parent's, "out" functions from the parent's to the child's.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel

# Three-vectors


@kernel
def cross(a: Any, b: Any) -> Any:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def add3(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub3(a: Any, b: Any) -> Any:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale3(x: Any, a: Any) -> Any:
    return (x * a[0], x * a[1], x * a[2])


@kernel
def dot3(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def rotate(R: Any, a: Any) -> Any:
    """R a, with R row by row."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@kernel
def rotate_back(R: Any, a: Any) -> Any:
    """R' a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@kernel
def matmul3(R: Any, S: Any) -> Any:
    a = rotate(R, (S[0], S[3], S[6]))
    b = rotate(R, (S[1], S[4], S[7]))
    c = rotate(R, (S[2], S[5], S[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@kernel
def transpose3(R: Any) -> Any:
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@kernel
def z_turn_in(c: Any, s: Any, a: Any) -> Any:
    """A vector rotated about z, child to parent. 4m + 2a."""
    return (c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])


@kernel
def z_turn_out(c: Any, s: Any, a: Any) -> Any:
    return (c * a[0] + s * a[1], c * a[1] - s * a[0], a[2])


@kernel
def x_turn_in(c: Any, s: Any, a: Any) -> Any:
    return (a[0], c * a[1] - s * a[2], s * a[1] + c * a[2])


@kernel
def x_turn_out(c: Any, s: Any, a: Any) -> Any:
    return (a[0], c * a[1] + s * a[2], c * a[2] - s * a[1])


# Six-vectors


@kernel
def add6(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@kernel
def sub6(a: Any, b: Any) -> Any:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@kernel
def scale6(x: Any, a: Any) -> Any:
    return (x * a[0], x * a[1], x * a[2], x * a[3], x * a[4], x * a[5])


@kernel
def dot6(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def join(a: Any, b: Any) -> Any:
    """Two three-vectors as one six-vector."""
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@kernel
def angular(v: Any) -> Any:
    return (v[0], v[1], v[2])


@kernel
def linear(v: Any) -> Any:
    return (v[3], v[4], v[5])


@kernel
def cross_motion(v: Any, m: Any) -> Any:
    """v x m: the rate of change of a motion m carried along with v."""
    w, l = angular(v), linear(v)
    return join(cross(w, angular(m)), add3(cross(w, linear(m)), cross(l, angular(m))))


@kernel
def z_motion_out(c: Any, s: Any, d: Any, v: Any) -> Any:
    """A motion through a screw about z, parent to child. 10m + 6a."""
    l = (v[3] + d * v[1], v[4] - d * v[0], v[5])
    return join(z_turn_out(c, s, angular(v)), z_turn_out(c, s, l))


@kernel
def z_motion_in(c: Any, s: Any, d: Any, v: Any) -> Any:
    w, l = z_turn_in(c, s, angular(v)), z_turn_in(c, s, linear(v))
    return (w[0], w[1], w[2], l[0] - d * w[1], l[1] + d * w[0], l[2])


@kernel
def z_force_in(c: Any, s: Any, d: Any, f: Any) -> Any:
    """A force through a screw about z, child to parent. 10m + 6a."""
    n, f = z_turn_in(c, s, angular(f)), z_turn_in(c, s, linear(f))
    return (n[0] - d * f[1], n[1] + d * f[0], n[2], f[0], f[1], f[2])


@kernel
def cycle(v: Any) -> Any:
    """Relabel the axes x y z as z x y, so that a screw about x can be written as one about z."""
    return (v[1], v[2], v[0], v[4], v[5], v[3])


@kernel
def uncycle(v: Any) -> Any:
    return (v[2], v[0], v[1], v[5], v[3], v[4])


@kernel
def x_motion_out(c: Any, s: Any, d: Any, v: Any) -> Any:
    return uncycle(z_motion_out(c, s, d, cycle(v)))


@kernel
def x_motion_in(c: Any, s: Any, d: Any, v: Any) -> Any:
    return uncycle(z_motion_in(c, s, d, cycle(v)))


@kernel
def x_force_in(c: Any, s: Any, d: Any, f: Any) -> Any:
    return uncycle(z_force_in(c, s, d, cycle(f)))


@kernel
def motion_out(R: Any, p: Any, v: Any) -> Any:
    """A motion into the frame placed at (R, p). 24m + 18a."""
    w = angular(v)
    return join(rotate_back(R, w), rotate_back(R, add3(linear(v), cross(w, p))))


@kernel
def motion_in(R: Any, p: Any, v: Any) -> Any:
    w = rotate(R, angular(v))
    return join(w, add3(rotate(R, linear(v)), cross(p, w)))


@kernel
def force_in(R: Any, p: Any, f: Any) -> Any:
    """A force out of the frame placed at (R, p). 24m + 18a."""
    l = rotate(R, linear(f))
    return join(add3(rotate(R, angular(f)), cross(p, l)), l)


@kernel
def force_out(R: Any, p: Any, f: Any) -> Any:
    l = linear(f)
    return join(rotate_back(R, sub3(angular(f), cross(p, l))), rotate_back(R, l))


# Symmetric and general 3x3 blocks, congruence R S R'


@kernel
def z_turn_symmetric(c: Any, s: Any, S: Any) -> Any:
    """R S R' of a symmetric block (xx yy zz xy xz yz) for a rotation about z. 8m + 7a, and c + c once."""
    k = s * (S[1] - S[0]) - (c + c) * S[3]
    return (S[0] + s * k, S[1] - s * k, S[2], -(c * k + S[3]), c * S[4] - s * S[5], s * S[4] + c * S[5])


@kernel
def z_turn_general(c: Any, s: Any, B: Any) -> Any:
    """R B R' of a general block, row by row, for a rotation about z. 12m + 11a."""
    k = s * (B[4] - B[0]) - c * (B[1] + B[3])
    return (
        B[0] + s * k,
        -(c * k + B[3]),
        c * B[2] - s * B[5],
        -(c * k + B[1]),
        B[4] - s * k,
        s * B[2] + c * B[5],
        c * B[6] - s * B[7],
        s * B[6] + c * B[7],
        B[8],
    )


@kernel
def full(S: Any) -> Any:
    """A symmetric block row by row."""
    return (S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2])


@kernel
def upper(B: Any) -> Any:
    """The symmetric block that a row-by-row block holds."""
    return (B[0], B[4], B[8], B[1], B[2], B[5])


@kernel
def turn_general(R: Any, B: Any) -> Any:
    """R B R' for any rotation."""
    return matmul3(matmul3(R, B), transpose3(R))


@kernel
def cycle_symmetric(S: Any) -> Any:
    return (S[1], S[2], S[0], S[5], S[3], S[4])


@kernel
def uncycle_symmetric(S: Any) -> Any:
    return (S[2], S[0], S[1], S[4], S[5], S[3])


@kernel
def cycle_general(B: Any) -> Any:
    return (B[4], B[5], B[3], B[7], B[8], B[6], B[1], B[2], B[0])


@kernel
def uncycle_general(B: Any) -> Any:
    return (B[8], B[6], B[7], B[2], B[0], B[1], B[5], B[3], B[4])
