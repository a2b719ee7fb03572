"""Moving a configuration along a tangent vector: exponential maps of SO(3), SE(2) and SE(3) (Murray, Li & Sastry 1994).

The angles are kept a hair away from zero, where sin x / x has no value: 2^-64 is added to their squares, far below
what rounding leaves of any result.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import sincos, sqrt
from bough.joints.mechanism import BALL, PLANAR
from bough.joints.waist import quaternion_rotation
from bough.spatial import add3, cross, dot3, rotate, scale3


@kernel
def integrate(m: Any, q: Any, v: Any, out: Any, w: Any) -> None:
    """out = q moved by v, the velocity times the time: all joints."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, v, m.one[0], out)


@kernel
def integrate_joint(m: Any, i: int, q: Any, v: Any, h: Any, out: Any) -> None:
    """The same for joint i, moved by h v; out may be q."""
    k, first, kind = m.q_index[i], m.dof[i], m.kind[i]
    if kind < PLANAR:
        out[k] = q[k] + h * v[m.v_index[first]]
    elif kind == PLANAR:
        move_planar(m, k, tangent(m, first, v, h), q, out)
    elif kind == BALL:
        turn_quaternion(m, k, tangent(m, first, v, h), q, out)
    else:
        move_free(m, k, tangent(m, first, v, h), tangent(m, first + 3, v, h), q, out)


@kernel
def tangent(m: Any, first: int, v: Any, h: Any) -> Any:
    """Three entries of h v, from degree of freedom `first` on."""
    return (h * v[m.v_index[first]], h * v[m.v_index[first + 1]], h * v[m.v_index[first + 2]])


@kernel
def hair(one: Any) -> Any:
    """2^-64, in the working precision."""
    quarter = one / (one + one + one + one)
    tiny = quarter * quarter
    for _ in range(4):
        tiny = tiny * tiny
    return tiny


@kernel
def half_turn(m: Any, square: Any) -> Any:
    """For an angle given by its square: (sin(a) / a, cos(a), a^2) of its half a."""
    one = m.one[0]
    a2 = one / (one + one + one + one) * square + hair(one)
    a = sqrt(a2)
    s, c = sincos(a)
    return s / a, c, a2


@kernel
def turn_quaternion(m: Any, k: int, turn: Any, q: Any, out: Any) -> None:
    """The unit quaternion x y z w at k, times the rotation by the vector `turn`."""
    one = m.one[0]
    half = one / (one + one)
    scale = one / sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
    x, y, z, w = scale * q[k], scale * q[k + 1], scale * q[k + 2], scale * q[k + 3]
    sinc, c, _ = half_turn(m, dot3(turn, turn))
    a, b, d = scale3(half * sinc, turn)
    out[k] = w * a + c * x + (y * d - z * b)
    out[k + 1] = w * b + c * y + (z * a - x * d)
    out[k + 2] = w * d + c * z + (x * b - y * a)
    out[k + 3] = w * c - (x * a + y * b + z * d)


@kernel
def screw_step(m: Any, l: Any, w: Any) -> Any:
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
def move_free(m: Any, k: int, l: Any, w: Any, q: Any, out: Any) -> None:
    """A placement x y z and quaternion at k, moved with the velocities l, w of its own frame."""
    R = quaternion_rotation(q[k + 3], q[k + 4], q[k + 5], q[k + 6], m.one[0])
    step = rotate(R, screw_step(m, l, w))
    out[k], out[k + 1], out[k + 2] = q[k] + step[0], q[k + 1] + step[1], q[k + 2] + step[2]
    turn_quaternion(m, k + 3, w, q, out)


@kernel
def move_planar(m: Any, k: int, move: Any, q: Any, out: Any) -> None:
    """A placement x, y, angle at k, moved with the velocities x, y of its own frame and a rate."""
    zero = m.zero[0]
    x, y, turn = move
    step = screw_step(m, (x, y, zero), (zero, zero, turn))
    s, c = sincos(q[k + 2])
    out[k] = q[k] + (c * step[0] - s * step[1])
    out[k + 1] = q[k + 1] + (s * step[0] + c * step[1])
    out[k + 2] = q[k + 2] + turn


INTEGRATE = Routine("integrate", integrate, inputs={"q": "nq", "v": "nv"}, outputs={"out": "nq"})
