"""A body that turns about a point: q = qx qy qz qw, not zero; v = angular velocity in its own frame. SO(3)."""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.joints.mechanism import Mechanism
from bough.joints.primitive import Primitive
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


BALL = Primitive("ball", (0, 1, 2), (0.0, 0.0, 0.0, 1.0), motion, integrate, difference, rate, random)
