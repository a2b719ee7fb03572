"""A free body: q = x y z, qx qy qz qw; v = linear, angular velocity in its own frame. SE(3)."""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.joints import ball
from bough.joints.mechanism import Mechanism
from bough.joints.primitive import (
    QUATERNION,
    ForeignLayout,
    Move,
    Primitive,
    scalar_first,
    scalar_last,
    unit_quaternion,
)
from bough.joints.quaternion import (
    put_tangent,
    quaternion_rate,
    quaternion_rotation,
    screw_between,
    screw_step,
    tangent,
    turn_between,
    turn_quaternion,
)
from bough.spatial import put9, put_tail, rotate, rotate_back, scale3
from bough.types import FloatArray, Rotation, Rows, Scalar


@kernel
def orientation(m: Mechanism, i: int, q: Rows) -> Rotation:
    k = m.q_index[i] + 3
    return quaternion_rotation(q[k], q[k + 1], q[k + 2], q[k + 3], m.one[0])


@kernel
def motion(m: Mechanism, q: Rows, i: int, X: Rows) -> None:
    k = m.q_index[i]
    put9(X, i, orientation(m, i, q))
    put_tail(X, i, (q[k], q[k + 1], q[k + 2]))


@kernel
def integrate(m: Mechanism, i: int, q: Rows, v: Rows, h: Scalar, out: Rows) -> None:
    k, first = m.q_index[i], m.dof[i]
    l, w = tangent(m, first, v, h), tangent(m, first + 3, v, h)
    step = rotate(orientation(m, i, q), screw_step(m, l, w))
    out[k], out[k + 1], out[k + 2] = q[k] + step[0], q[k + 1] + step[1], q[k + 2] + step[2]
    turn_quaternion(m, k + 3, w, q, out)


@kernel
def difference(m: Mechanism, i: int, q0: Rows, q1: Rows, out: Rows) -> None:
    k, first = m.q_index[i], m.dof[i]
    turn = turn_between(m, k + 3, q0, q1)
    p = rotate_back(orientation(m, i, q0), (q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2]))
    put_tangent(m, first, screw_between(m, turn, p), out)
    put_tangent(m, first + 3, scale3(turn[3] + turn[3], turn[0]), out)


@kernel
def rate(m: Mechanism, i: int, q: Rows, N: Rows) -> None:
    k, first, R = m.q_index[i], m.dof[i], orientation(m, i, q)
    for r in range(3):
        for c in range(3):
            N[k + r, m.v_index[first + c]] = R[3 * r + c]
    quaternion_rate(m, q, k + 3, first + 3, N)


def random(rng: np.random.Generator, count: int) -> FloatArray:
    return np.concatenate([rng.uniform(-1, 1, (count, 3)), ball.random(rng, count)], axis=1)


def to_drake(q: FloatArray) -> FloatArray:
    """qw qx qy qz, x y z."""
    return np.concatenate([q[..., 6:], q[..., 3:6], q[..., :3]], -1)


def from_drake(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., 4:], q[..., 1:4], q[..., :1]], -1)


FREE = Primitive(
    "free", (3, 4, 5, 0, 1, 2), (*(0.0,) * 6, 1.0), motion, integrate, difference, rate, random,
    orientation=unit_quaternion,
    layouts={
        "mujoco": ForeignLayout(scalar_first, scalar_last, 7, (3, 4, 5, 0, 1, 2), rotated=(True, False)),
        "drake": ForeignLayout(to_drake, from_drake, 7, (0, 1, 2, 3, 4, 5), rotated=(True, True)),
    },
    quaternion=True, moves=(Move(3, 0), Move(4, 1), Move(5, 2), Move(QUATERNION, 3)),
    urdf=("floating",), engines={"Pinocchio": "FreeFlyer", "MuJoCo": "free", "Drake": "quaternion_floating"},
)  # fmt: skip
