"""Secondary objectives, in the null space of the tasks: towards a posture, and away from singular configurations.

Manipulability is sqrt(det(J J')) (Yoshikawa 1985). With J J' = L D L' its logarithm is half the sum of log D_k; its
slope by a motion v comes from the derivative of D at q moved by v, in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from bough.compile.derived import vjp
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.errors import TaskError
from bough.joints import Mechanism, integrate_joint, joint_motion, tiny
from bough.opspace import TaskSet
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, JacobianPattern, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import FloatArray, Rows, Workspace

Objective: TypeAlias = Callable[[FloatArray], FloatArray]  # (rows, nq) -> (rows, nv)

POSTURE_GAIN = 0.5  # of the way to the posture in a step, as far as the tasks leave it
LEAST_PIVOT = 1e-6  # of J J': below, the slope of its logarithm says no more than a direction
LONGEST = 0.2  # largest motion of a joint in a step


def away_from_singularity(tasks: TaskSet, gain: float) -> Objective:
    """`gain` times the slope of log sqrt(det(J J')) of the rows of tasks."""
    if tasks.size > tasks.model.nv:
        raise TaskError(
            f"manipulability is defined for at most as many rows as the model has DoFs: there are {tasks.size} rows "
            f"and {tasks.model.nv} DoFs"
        )
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern)
    pivots, slope = (Prepared(r, constants, tasks.sizes).bind(tasks) for r in (PIVOTS, vjp(PIVOTS, ["v"])))

    def objective(q: FloatArray) -> FloatArray:
        still = np.zeros((len(q), tasks.model.nv))
        D = pivots.call(q, still)
        x = gain * slope.call(q, still, 0.5 / np.maximum(D, LEAST_PIVOT))
        longest = np.abs(x).max(axis=1, initial=0.0, keepdims=True)
        return x * np.minimum(1.0, LONGEST / np.maximum(longest, LONGEST))

    return objective


@kernel
def pivots(m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, v: Rows, D: Rows, w: Workspace) -> None:
    """D (rows,) of J J' = L D L' at q moved by v; never zero."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, v, m.one[0], w.moved)
    joint_motion(m, w.moved, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.JJ)
    for i in range(len(D)):
        for j in range(i + 1):
            x = m.zero[0]
            for c in range(len(v)):
                x = x + w.JJ[i, c] * w.JJ[j, c]
            for k in range(j):
                x = x - w.U[k] * w.L[j, k]
            w.U[j] = x
            if j < i:
                w.L[i, j] = x / D[j]
        D[i] = w.U[i] + tiny(m.one[0])


PIVOTS = Routine(
    "manipulability",
    pivots,
    inputs={"q": "nq", "v": "nv"},
    outputs={"D": "rows"},
    work=JACOBIAN_WORK | {"moved": "nq", "J": "entries", "JJ": "rows nv", "L": "rows rows", "U": "rows"},
)
