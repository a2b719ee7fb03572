"""Configurations as points of a manifold: neutral and random ones, in batches; moving along it and back.

Floating joints move on SE(3), planar ones on SE(2), spherical ones on SO(3), as in Pinocchio; all others are vectors.
"""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints.mechanism import LAST_SCREW, Mechanism
from bough.joints.primitive import PRIMITIVES, Primitive
from bough.joints.table import difference_joint, integrate_joint, joint_rates
from bough.types import FloatArray, Rows, Workspace

FAR = 1e150  # limits from here on are none: their difference could overflow


def primitives_in(m: Mechanism) -> list[Primitive]:
    """The primitives that a mechanism is made of."""
    present = set(np.unique(m.kind).tolist())
    return [p for p in PRIMITIVES.values() if p.kind in present]


def neutral(m: Mechanism, nq: int) -> FloatArray:
    q = np.zeros(nq)
    for primitive in primitives_in(m):
        for k, value in enumerate(primitive.neutral):
            if value != 0.0:
                q[m.q_index[m.kind == primitive.kind] + k] = value
    return q


def at_rest(m: Mechanism, neutral: FloatArray, rest: FloatArray) -> FloatArray:
    """(nq,) joints of one DoF where their springs rest (nv,), all others as they are; tied ones share a q."""
    q, one = neutral.copy(), m.kind <= LAST_SCREW
    q[m.q_index[one]] = rest[m.v_index[m.dof[:-1][one]]]
    return q


def random(
    m: Mechanism, lower: FloatArray, upper: FloatArray, rng: np.random.Generator, shape: tuple[int, int]
) -> FloatArray:
    """Screws between their limits or, without, within half a turn or a metre; all other joints as they say.

    With one limit they are drawn from what it leaves of that, or from half a turn or a metre behind it.
    """
    q = np.empty(shape)
    q[:] = neutral(m, shape[1])
    one = np.flatnonzero(m.kind <= LAST_SCREW)
    first = m.dof[:-1][one]
    low, high = lower[m.v_index[first]], upper[m.v_index[first]]
    reach = np.where(m.axis[first] == 2, np.pi, 1.0)
    low, high = _window(low, high, reach)
    x = rng.random((shape[0], len(one)))  # what rng.uniform does with low and high, in a third of its time
    x *= high - low
    x += low
    q[:, m.q_index[one]] = x
    draw = {p.kind: p.random for p in primitives_in(m) if p.random is not None}
    for i in np.flatnonzero(m.kind > LAST_SCREW):
        x = draw[int(m.kind[i])](rng, shape[0])
        q[:, m.q_index[i] : m.q_index[i] + x.shape[1]] = x
    return q


def _window(low: FloatArray, high: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From where to where to draw: between two limits, near zero without any."""
    above, below = low > -FAR, high < FAR  # whether there are limits
    near_low, near_high = np.maximum(low, -reach), np.minimum(high, reach)  # where there is one limit only
    start = np.where(above, np.where(below, low, near_low), np.minimum(-reach, np.where(below, high - reach, 0.0)))
    stop = np.where(below, np.where(above, high, near_high), np.maximum(reach, np.where(above, low + reach, 0.0)))
    return start, stop


# All joints at once


@kernel
def integrate(m: Mechanism, q: Rows, v: Rows, out: Rows, w: Workspace) -> None:
    """out = q moved by v, the velocity times the time."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, v, m.one[0], out)


@kernel
def difference(m: Mechanism, q0: Rows, q1: Rows, out: Rows, w: Workspace) -> None:
    """out = the velocity that moves q0 to q1 in unit time."""
    for i in range(len(m.parent)):
        difference_joint(m, i, q0, q1, out)


@kernel
def configuration_rate(m: Mechanism, q: Rows, N: Rows) -> None:
    """N (nq, nv), zero on entry: the rate of q is N v."""
    for i in range(len(m.parent)):
        joint_rates(m, i, q, N)


INTEGRATE = Routine("integrate", integrate, inputs={"q": "nq", "v": "nv"}, outputs={"out": "nq"})
DIFFERENCE = Routine("difference", difference, inputs={"q0": "nq", "q1": "nq"}, outputs={"out": "nv"})
