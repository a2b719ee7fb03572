"""The tangent vector between two configurations: logarithms of SO(3), SE(2) and SE(3) (Murray, Li & Sastry 1994).

Of the two ways to turn from one orientation to another the shorter is taken. If (v, w) is the quaternion of the turn,
half its angle is h = atan(|v| / w), negative where w is: (v, w) and (-v, -w) are the same turn.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import atan, sincos, sqrt
from bough.joints.integrate import hair, half_turn
from bough.joints.mechanism import BALL, PLANAR
from bough.joints.waist import quaternion_rotation
from bough.spatial import add3, cross, dot3, rotate_back, scale3, sub3


@kernel
def difference(m: Any, q0: Any, q1: Any, out: Any, w: Any) -> None:
    """out = the velocity that moves q0 to q1 in unit time: all joints."""
    for i in range(len(m.parent)):
        k, first, kind = m.q_index[i], m.dof[i], m.kind[i]
        if kind < PLANAR:
            out[m.v_index[first]] = q1[k] - q0[k]
        elif kind == PLANAR:
            planar_difference(m, k, first, q0, q1, out)
        elif kind == BALL:
            v, _, _, ratio = turn_between(m, k, q0, q1)
            put_tangent(m, first, scale3(ratio + ratio, v), out)
        else:
            free_difference(m, k, first, q0, q1, out)


@kernel
def put_tangent(m: Any, first: int, x: Any, out: Any) -> None:
    """Three entries of a tangent vector, from degree of freedom `first` on."""
    out[m.v_index[first]], out[m.v_index[first + 1]], out[m.v_index[first + 2]] = x[0], x[1], x[2]


@kernel
def turn_between(m: Any, k: int, q0: Any, q1: Any) -> Any:
    """From the quaternion x y z w at k of q0 to that of q1: v = sin(h) axis and w = cos(h), then |v|^2 and h / |v|."""
    one = m.one[0]
    a, b = (q0[k], q0[k + 1], q0[k + 2]), (q1[k], q1[k + 1], q1[k + 2])
    w = q0[k + 3] * q1[k + 3] + dot3(a, b)
    # conj(q0) (q1 - q0) has the same v as conj(q0) q1, but nothing cancels in it where the two are close
    d = sub3(b, a)
    v = sub3(sub3(scale3(q0[k + 3], d), scale3(q1[k + 3] - q0[k + 3], a)), cross(a, d))
    scale = one / sqrt(dot3(v, v) + w * w)
    v, w = scale3(scale, v), scale * w
    # neither |v| nor w may be zero: a hair more changes no digit of the result
    square = dot3(v, v) + hair(one)
    sine = sqrt(square)
    return v, w, square, atan(sine / (w + hair(one))) / sine


@kernel
def screw_between(m: Any, turn: Any, p: Any) -> Any:
    """The constant velocity, in its own frame, of a body that arrives at p by `turn` (as of `turn_between`)."""
    v, w, square, ratio = turn
    vp = cross(v, p)
    # p - h / |v| v x p + (1 - h cot h) / |v|^2 v x (v x p)
    return add3(sub3(p, scale3(ratio, vp)), scale3((m.one[0] - ratio * w) / square, cross(v, vp)))


@kernel
def free_difference(m: Any, k: int, first: int, q0: Any, q1: Any, out: Any) -> None:
    """Of two placements x y z and quaternion at k: velocities in the frame of the first."""
    turn = turn_between(m, k + 3, q0, q1)
    R = quaternion_rotation(q0[k + 3], q0[k + 4], q0[k + 5], q0[k + 6], m.one[0])
    p = rotate_back(R, (q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2]))
    put_tangent(m, first, screw_between(m, turn, p), out)
    put_tangent(m, first + 3, scale3(turn[3] + turn[3], turn[0]), out)


@kernel
def planar_difference(m: Any, k: int, first: int, q0: Any, q1: Any, out: Any) -> None:
    """Of two placements x, y, angle at k: the angles count as they are, whole turns included."""
    zero, one = m.zero[0], m.one[0]
    x, y, angle = q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2]
    s, c = sincos(q0[k + 2])
    sinc, cosine, square = half_turn(m, angle * angle)
    turn = (zero, zero, sinc * angle / (one + one)), cosine, sinc * sinc * square, one / sinc
    step = screw_between(m, turn, (c * x + s * y, c * y - s * x, zero))
    put_tangent(m, first, (step[0], step[1], angle), out)


DIFFERENCE = Routine("difference", difference, inputs={"q0": "nq", "q1": "nq"}, outputs={"out": "nv"})
