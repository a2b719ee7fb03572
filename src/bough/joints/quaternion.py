"""Turns as kernels: quaternions x y z w, rotation vectors, and the screws of SE(3) (Murray, Li & Sastry 1994).

Angles are kept away from zero, where sin x / x has no value: 2^-64 is added to their squares, far below what rounding
leaves of any result. Of the two ways to turn from one orientation to another the shorter is taken. If (v, w) is the
quaternion of the turn, half its angle is h = atan(|v| / w), negative where w is: (v, w) and (-v, -w) are the same turn.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import atan, sincos, sqrt
from bough.joints.mechanism import Mechanism
from bough.spatial import add3, cross, dot3, scale3, sub3
from bough.types import Rotation, Rows, Scalar, Vector


@kernel
def quaternion_rotation(x: Scalar, y: Scalar, z: Scalar, w: Scalar, one: Scalar) -> Rotation:
    """The rotation of a quaternion of any length but zero, row by row.

    Where squares overflow, 0 times infinity makes NaN of it: it is not taken for the identity.
    """
    x2, y2, z2 = x * x, y * y, z * z
    square = x2 + y2 + z2 + w * w
    k = (one + one) / square
    kx, ky, kz = k * x, k * y, k * z
    xy, xz, yz = kx * y, kx * z, ky * z
    wx, wy, wz = kx * w, ky * w, kz * w
    return (
        one - k * (y2 + z2), xy - wz, xz + wy,
        xy + wz, one - k * (x2 + z2), yz - wx,
        xz - wy, yz + wx, k * (square - (x2 + y2)) - one,
    )  # fmt: skip


@kernel
def tiny(one: Scalar) -> Scalar:
    """2^-64, in the working precision."""
    quarter = one / (one + one + one + one)
    power = quarter * quarter
    for _ in range(4):
        power = power * power
    return power


@kernel
def half_turn(m: Mechanism, square: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """For an angle given by its square: (sin(a) / a, cos(a), a^2) of its half a."""
    one = m.one[0]
    a2 = one / (one + one + one + one) * square + tiny(one)
    a = sqrt(a2)
    s, c = sincos(a)
    return s / a, c, a2


@kernel
def rotation_quaternion(m: Mechanism, turn: Vector) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The unit quaternion x y z w of a rotation vector."""
    one = m.one[0]
    sinc, c, _ = half_turn(m, dot3(turn, turn))
    x, y, z = scale3(one / (one + one) * sinc, turn)
    return x, y, z, c


@kernel
def turn_quaternion(m: Mechanism, k: int, turn: Vector, q: Rows, out: Rows) -> None:
    """The unit quaternion at k, times the rotation by the vector `turn`."""
    square = q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3]
    scale = sqrt(square) / square  # NaN where squares overflow
    x, y, z, w = scale * q[k], scale * q[k + 1], scale * q[k + 2], scale * q[k + 3]
    a, b, d, c = rotation_quaternion(m, turn)
    out[k] = w * a + c * x + (y * d - z * b)
    out[k + 1] = w * b + c * y + (z * a - x * d)
    out[k + 2] = w * d + c * z + (x * b - y * a)
    out[k + 3] = w * c - (x * a + y * b + z * d)


@kernel
def turn_between(m: Mechanism, k: int, q0: Rows, q1: Rows) -> tuple[Vector, Scalar, Scalar, Scalar]:
    """From the quaternion at k of q0 to that of q1: v = sin(h) axis and w = cos(h), then |v|^2 and h / |v|."""
    one = m.one[0]
    a, b = (q0[k], q0[k + 1], q0[k + 2]), (q1[k], q1[k + 1], q1[k + 2])
    w = q0[k + 3] * q1[k + 3] + dot3(a, b)
    # conj(q0) (q1 - q0) has the same v as conj(q0) q1, but nothing cancels in it where the two are close
    d = sub3(b, a)
    v = sub3(sub3(scale3(q0[k + 3], d), scale3(q1[k + 3] - q0[k + 3], a)), cross(a, d))
    length = dot3(v, v) + w * w
    scale = sqrt(length) / length
    v, w = scale3(scale, v), scale * w
    # neither |v| nor w may be zero: 2^-64 more changes no digit of the result
    square = dot3(v, v) + tiny(one)
    sine = sqrt(square)
    return v, w, square, atan(sine / (w + tiny(one))) / sine


@kernel
def quaternion_rate(m: Mechanism, q: Rows, k: int, first: int, N: Rows) -> None:
    """Rows k to k + 3 of N: the rate of a quaternion is half its product with the body's angular velocity."""
    half = m.one[0] / (m.one[0] + m.one[0])
    x, y, z, w = half * q[k], half * q[k + 1], half * q[k + 2], half * q[k + 3]
    a, b, c = m.v_index[first], m.v_index[first + 1], m.v_index[first + 2]
    N[k, a], N[k, b], N[k, c] = w, -z, y
    N[k + 1, a], N[k + 1, b], N[k + 1, c] = z, w, -x
    N[k + 2, a], N[k + 2, b], N[k + 2, c] = -y, x, w
    N[k + 3, a], N[k + 3, b], N[k + 3, c] = -x, -y, -z


# Screws: turns that move on


@kernel
def screw_step(m: Mechanism, l: Vector, w: Vector) -> Vector:
    """Where a body goes in unit time that moves with the constant velocities l, w in its own frame."""
    one = m.one[0]
    half = one / (one + one)
    sinc, c, a2 = half_turn(m, dot3(w, w))
    wl = cross(w, l)
    # l + (1 - cos t) / t^2 w x l + (t - sin t) / t^3 w x (w x l), with t = 2 a
    bend = scale3(half * sinc * sinc, wl)
    curl = scale3((one - sinc * c) / (a2 + a2 + a2 + a2), cross(w, wl))
    return add3(l, add3(bend, curl))


@kernel
def screw_between(m: Mechanism, turn: tuple[Vector, Scalar, Scalar, Scalar], p: Vector) -> Vector:
    """The constant velocity, in its own frame, of a body that arrives at p by `turn` (as of `turn_between`)."""
    v, w, square, ratio = turn
    vp = cross(v, p)
    # p - h / |v| v x p + (1 - h cot h) / |v|^2 v x (v x p)
    return add3(sub3(p, scale3(ratio, vp)), scale3((m.one[0] - ratio * w) / square, cross(v, vp)))


# Three entries of a tangent vector


@kernel
def tangent(m: Mechanism, first: int, v: Rows, h: Scalar) -> Vector:
    """Three entries of h v, from degree of freedom `first` on."""
    return (h * v[m.v_index[first]], h * v[m.v_index[first + 1]], h * v[m.v_index[first + 2]])


@kernel
def put_tangent(m: Mechanism, first: int, x: Vector, out: Rows) -> None:
    """Three entries of a tangent vector, from degree of freedom `first` on."""
    out[m.v_index[first]], out[m.v_index[first + 1]], out[m.v_index[first + 2]] = x[0], x[1], x[2]
