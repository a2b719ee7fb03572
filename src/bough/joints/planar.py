"""A body in a plane: q = x, y, angle; v = linear x, y in the body's own frame, and the rate of the angle. SE(2)."""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.scalar import sincos
from bough.joints.mechanism import Mechanism
from bough.joints.primitive import ForeignLayout, Move, Primitive, same
from bough.joints.quaternion import half_turn, put_tangent, screw_between, screw_step, tangent
from bough.spatial import put9, put_tail
from bough.types import FloatArray, Rows, Scalar


@kernel
def motion(m: Mechanism, q: Rows, i: int, X: Rows) -> None:
    zero, one, k = m.zero[0], m.one[0], m.q_index[i]
    s, c = sincos(q[k + 2])
    put9(X, i, (c, -s, zero, s, c, zero, zero, zero, one))
    put_tail(X, i, (q[k], q[k + 1], zero))


@kernel
def integrate(m: Mechanism, i: int, q: Rows, v: Rows, h: Scalar, out: Rows) -> None:
    zero, k = m.zero[0], m.q_index[i]
    x, y, turn = tangent(m, m.dof[i], v, h)
    step = screw_step(m, (x, y, zero), (zero, zero, turn))
    s, c = sincos(q[k + 2])
    out[k] = q[k] + (c * step[0] - s * step[1])
    out[k + 1] = q[k + 1] + (s * step[0] + c * step[1])
    out[k + 2] = q[k + 2] + turn


@kernel
def difference(m: Mechanism, i: int, q0: Rows, q1: Rows, out: Rows) -> None:
    """The angles count as they are, whole turns included."""
    zero, one, k = m.zero[0], m.one[0], m.q_index[i]
    x, y, angle = q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2]
    s, c = sincos(q0[k + 2])
    sinc, cosine, square = half_turn(m, angle * angle)
    turn = (zero, zero, sinc * angle / (one + one)), cosine, sinc * sinc * square, one / sinc
    step = screw_between(m, turn, (c * x + s * y, c * y - s * x, zero))
    put_tangent(m, m.dof[i], (step[0], step[1], angle), out)


@kernel
def rate(m: Mechanism, i: int, q: Rows, N: Rows) -> None:
    k, first = m.q_index[i], m.dof[i]
    s, c = sincos(q[k + 2])
    x, y, turn = m.v_index[first], m.v_index[first + 1], m.v_index[first + 2]
    N[k, x], N[k, y], N[k + 1, x], N[k + 1, y] = c, -s, s, c
    N[k + 2, turn] = m.one[0]


def random(rng: np.random.Generator, count: int) -> FloatArray:
    return rng.uniform([-1, -1, -np.pi], [1, 1, np.pi], (count, 3))


def orientation(q: FloatArray) -> FloatArray:
    half = q[..., 2:] / 2
    return np.concatenate([np.zeros((*q.shape[:-1], 2)), np.sin(half), np.cos(half)], -1)


# two slides and a hinge
APART = ForeignLayout(same, same, 3, (3, 4, 2), rotated=(True, False))
PLANAR = Primitive(
    "planar", (3, 4, 2), (0.0, 0.0, 0.0), motion, integrate, difference, rate, random,
    orientation=orientation, layouts={"mujoco": APART, "drake": APART},
    moves=(Move(3, 0), Move(4, 1), Move(2, 2)), urdf=("planar",), takes_axis=True,
    engines={"Pinocchio": "Planar", "Drake": "planar"},
)  # fmt: skip
