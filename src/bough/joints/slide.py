"""A slide along z: prismatic joints. A configuration is a number, and moves by what is added to it."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.joints.mechanism import Mechanism
from bough.joints.primitive import Move, Primitive
from bough.spatial import put3
from bough.types import Rows, Scalar


@kernel
def motion(m: Mechanism, q: Rows, i: int, X: Rows) -> None:
    put3(X, i, (m.offset[i, 3], m.offset[i, 4], m.offset[i, 1] + m.ratio[m.dof[i]] * q[m.q_index[i]]))


@kernel
def integrate(m: Mechanism, i: int, q: Rows, v: Rows, h: Scalar, out: Rows) -> None:
    k = m.q_index[i]
    out[k] = q[k] + h * v[m.v_index[m.dof[i]]]


@kernel
def difference(m: Mechanism, i: int, q0: Rows, q1: Rows, out: Rows) -> None:
    k = m.q_index[i]
    out[m.v_index[m.dof[i]]] = q1[k] - q0[k]


@kernel
def rate(m: Mechanism, i: int, q: Rows, N: Rows) -> None:
    N[m.q_index[i], m.v_index[m.dof[i]]] = m.one[0]


SLIDE = Primitive(
    "slide", (5,), (0.0,), motion, integrate, difference, rate, screw=True,
    moves=(Move(5),), urdf=("prismatic",), engines={"MuJoCo": "slide", "Drake": "prismatic"},
)  # fmt: skip
