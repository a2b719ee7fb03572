"""A body that turns about a point: q = qx qy qz qw, not zero; v = angular velocity in its own frame. SO(3)."""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
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
    tangent,
    turn_between,
    turn_quaternion,
)
from bough.spatial import put9, put_tail, scale3
from bough.types import FloatArray, Rows, Scalar


@kernel
def motion(m: Mechanism, q: Rows, i: int, X: Rows) -> None:
    zero, k = m.zero[0], m.q_index[i]
    put9(X, i, quaternion_rotation(q[k], q[k + 1], q[k + 2], q[k + 3], m.one[0]))
    put_tail(X, i, (zero, zero, zero))


@kernel
def integrate(m: Mechanism, i: int, q: Rows, v: Rows, h: Scalar, out: Rows) -> None:
    turn_quaternion(m, m.q_index[i], tangent(m, m.dof[i], v, h), q, out)


@kernel
def difference(m: Mechanism, i: int, q0: Rows, q1: Rows, out: Rows) -> None:
    v, _, _, ratio = turn_between(m, m.q_index[i], q0, q1)
    put_tangent(m, m.dof[i], scale3(ratio + ratio, v), out)


@kernel
def rate(m: Mechanism, i: int, q: Rows, N: Rows) -> None:
    quaternion_rate(m, q, m.q_index[i], m.dof[i], N)


def random(rng: np.random.Generator, count: int) -> FloatArray:
    """All rotations are equally likely."""
    q = rng.normal(size=(count, 4))
    unit: FloatArray = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return unit


def to_rpy(q: FloatArray) -> FloatArray:
    """Roll, pitch, yaw of R = Rz(yaw) Ry(pitch) Rx(roll): Drake's BallRpyJoint."""
    x, y, z, w = np.moveaxis(unit_quaternion(q), -1, 0)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], -1)


def from_rpy(rpy: FloatArray) -> FloatArray:
    (sr, sp, sy), (cr, cp, cy) = np.moveaxis(np.sin(rpy / 2), -1, 0), np.moveaxis(np.cos(rpy / 2), -1, 0)
    xyz = (sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy)
    return np.stack([*xyz, cr * cp * cy + sr * sp * sy], -1)


BALL = Primitive(
    "ball", (0, 1, 2), (0.0, 0.0, 0.0, 1.0), motion, integrate, difference, rate, random,
    orientation=unit_quaternion,
    layouts={
        "mujoco": ForeignLayout(scalar_first, scalar_last, 4, (0, 1, 2)),
        "drake": ForeignLayout(to_rpy, from_rpy, 3, (0, 1, 2), rotated=(False, True)),
    },
    quaternion=True, moves=(Move(QUATERNION),),
    engines={"Pinocchio": "Spherical", "MuJoCo": "ball", "Drake": "ball_rpy"},
)  # fmt: skip
