"""Forward dynamics of a mechanism whose rows are held: one routine from (q, v, tau) to (qdd, f).

The articulated-body algorithm gives the rows' free acceleration y, PV elimination (Popov & Vereshchagin 1978) gives
A = Lambda^-1 on the same articulated inertias, which a trace computes once. A f = a* - y is solved by proximal steps
(Carpentier, Budhiraja & Mansard 2021): f += (A + mu 1)^-1 (a* - y - A f), which redundant rows do not disturb: f
is the least force that fits. The forces reach the joints through Y_D, and a second outward sweep accelerates them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import sqrt
from bough.dynamics.aba import accelerate
from bough.joints import Mechanism, tiny
from bough.opspace.methods.pv import PV, pv
from bough.opspace.sweeps.bias import BIAS_WORK, rows_velocity, task_acceleration
from bough.opspace.sweeps.inverse import LDL_WORK, ldl, ldl_solve
from bough.opspace.sweeps.patterns import JacobianPattern, Slots
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Scalar, Workspace


class Proximal(NamedTuple):
    """How forces of held rows are found."""

    iterations: Rows  # (1,)
    share: Rows  # (1,) of each row in a mean: 1 / rows
    weight: Rows = np.array([1e-6])  # (1,) the proximal weight in steps; rows that rounding made independent are below


@kernel
def held_dynamics(
    m: Mechanism, t: Seeds, s: Slots, p: JacobianPattern, c: Proximal, q: Rows, v: Rows, tau: Rows,
    target: Rows, damping: Rows, proximal: Rows, qdd: Rows, f: Rows, residual: Rows, w: Workspace,
) -> None:  # fmt: skip
    """qdd and row forces f such that H qdd + C = tau + J' f and the rows accelerate by target - damping J v."""
    task_acceleration(m, t, q, v, tau, w.y, w)
    rows_velocity(m, t, w.rate_of_rows, w)
    pv(m, t, s, p, q, w.A, w)
    for r in range(len(f)):
        w.gap[r] = target[r] - damping[0] * w.rate_of_rows[r] - w.y[r]
    row_forces(m, c, w.A, w.gap, proximal, f, residual, w)
    push_joints(m, s, f, w)
    for i in range(len(m.parent)):
        accelerate(m, i, qdd, w)


@kernel
def row_forces(
    m: Mechanism, c: Proximal, A: Rows, gap: Rows, proximal: Rows, f: Rows, residual: Rows, w: Workspace
) -> None:
    """f with A f = gap, and the norm of what is left of the gap; mu = proximal times the mean of A's diagonal."""
    factor_held(m, c, A, proximal[0], w)
    fit_held(m, c, A, gap, f, w)
    total = m.zero[0]
    for r in range(len(f)):
        total = total + w.left[r] * w.left[r]
    residual[0] = sqrt(total)


@kernel
def factor_held(m: Mechanism, c: Proximal, A: Rows, proximal: Scalar, w: Workspace) -> None:
    """The factor of A + mu 1, for `fit_held`."""
    mu = m.zero[0]
    for r in range(len(A)):
        mu = mu + A[r, r] * c.share[0]
    # rows that nothing moves have A = 0: 2^-64 more keeps their pivots from being none
    ldl(A, mu * proximal + tiny(m.one[0]), w)


@kernel
def fit_held(m: Mechanism, c: Proximal, A: Rows, gap: Rows, f: Rows, w: Workspace) -> None:
    """f with A f = gap by proximal steps from zero; w.left is what they leave of the gap."""
    for r in range(len(f)):
        f[r] = m.zero[0]
        w.left[r] = gap[r]
    for _ in range(c.iterations[0]):
        ldl_solve(w.left, w)
        for r in range(len(f)):
            f[r] = f[r] + w.left[r]
        left_over(A, gap, f, w.left)


@kernel
def left_over(A: Rows, gap: Rows, f: Rows, x: Rows) -> None:
    """x = gap - A f."""
    for r in range(len(f)):
        x[r] = gap[r]
        for k in range(len(f)):
            x[r] = x[r] - A[r, k] * f[k]


@kernel
def push_joints(m: Mechanism, s: Slots, f: Rows, w: Workspace) -> None:
    """w.u, joint forces over D, with those that row forces add: Y_D' f."""
    for a in range(len(s.row)):
        first = m.dof[s.body[a]]
        for k in range(first, m.dof[s.body[a] + 1]):
            w.u[k] = w.u[k] + w.YD[s.entry[a] + k - first] * f[s.row[a]]


HELD_DYNAMICS = Routine(
    "constrained_dynamics",
    held_dynamics,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "rows", "damping": "1", "proximal": "1",
    },
    outputs={"qdd": "nv", "force": "rows", "residual": "1"},
    work=BIAS_WORK | dict(PV.work) | LDL_WORK
    | {"A": "rows rows"} | {name: "rows" for name in ("gap", "left", "y", "rate_of_rows")},
)  # fmt: skip
