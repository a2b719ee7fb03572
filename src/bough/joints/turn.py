"""A turn about z, or a screw along it: revolute, continuous and helical joints."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import sincos
from bough.joints.mechanism import Mechanism
from bough.joints.primitive import Move, Primitive
from bough.joints.slide import difference, integrate, rate
from bough.spatial import put3
from bough.types import Rows


@kernel
def motion(m: Mechanism, q: Rows, i: int, X: Rows) -> None:
    x = m.ratio[m.dof[i]] * q[m.q_index[i]]
    s, c = sincos(x + m.offset[i, 0])
    put3(X, i, (c, s, m.offset[i, 1] + m.offset[i, 2] * x))


TURN = Primitive(
    "turn", (2,), (0.0,), motion, integrate, difference, rate, screw=True,
    moves=(Move(2),), urdf=("revolute", "continuous"), engines={"MuJoCo": "hinge", "Drake": "revolute"},
)  # fmt: skip
