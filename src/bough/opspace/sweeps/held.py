"""Forward dynamics of a mechanism with constrained rows: one routine from (q, v, tau) to (qdd, f).

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
from bough.dynamics.laws import with_rotors
from bough.joints import Mechanism, by_freedom, integrate_joint, tiny
from bough.opspace.methods.ltdl import LTDL
from bough.opspace.methods.pv import PV, pv
from bough.opspace.sweeps.bias import BIAS_WORK, drift, rows_velocity, task_acceleration
from bough.opspace.sweeps.factored import DYNAMICS, LDL_WORK, factored, joint_bias, ldl, ldl_solve
from bough.opspace.sweeps.jacobian import DofTree, JacobianPattern, Slots, jacobian_times, jacobian_transpose_times
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.types import Rows, Scalar, Workspace


class Proximal(NamedTuple):
    """The method for forces of constrained rows."""

    iterations: Rows  # (1,)
    share: Rows  # (1,) of each row in a mean: 1 / rows
    weight: Rows = np.array([1e-6])  # (1,) the proximal weight in steps; rows that rounding made independent are below


@kernel
def constrained_dynamics(
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
        for r in range(len(f)):
            w.left[r] = gap[r]
            for k in range(len(f)):
                w.left[r] = w.left[r] - A[r, k] * f[k]


@kernel
def push_joints(m: Mechanism, s: Slots, f: Rows, w: Workspace) -> None:
    """w.u, joint forces over D, with those that row forces add: Y_D' f."""
    for a in range(len(s.row)):
        first = m.dof[s.body[a]]
        for k in range(first, m.dof[s.body[a] + 1]):
            w.u[k] = w.u[k] + w.YD[s.entry[a] + k - first] * f[s.row[a]]


CONSTRAINED_DYNAMICS = Routine(
    "constrained_dynamics",
    constrained_dynamics,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "rows", "damping": "1", "proximal": "1",
    },
    outputs={"qdd": "nv", "force": "rows", "residual": "1"},
    work=BIAS_WORK | dict(PV.work) | LDL_WORK
    | {"A": "rows rows"} | {name: "rows" for name in ("gap", "left", "y", "rate_of_rows")},
)  # fmt: skip


# Constrained rows by the sparse factor H = L' D L: forward dynamics, impacts, and moves onto them (Featherstone 2010).
#
# With Y = J L^-1 and z = L^-T (tau - C): the rows' free acceleration is Jdot v + Y D^-1 z, A = Lambda^-1 = Y D^-1 Y',
# and forces f of the rows (by `row_forces`) give qdd = L^-1 D^-1 (z + Y' f). An impact changes v by H^-1 J' f,
# f = Lambda (required change of J v). A gap is closed by -H^-1 J' Lambda gap, a Gauss-Newton step along the least way
# in the metric of the masses.
# Mimic joints are joints of their own here, whose ties are rows: forces act on the joints that lead.


class Fixed(NamedTuple):
    """Degrees of freedom that do not move onto constrained rows: rotors so heavy that nothing moves them."""

    rotor: Rows  # (dofs,)


@kernel
def constrained_by_factor(
    m: Mechanism, t: Seeds, p: JacobianPattern, d: DofTree, c: Proximal, q: Rows, v: Rows, tau: Rows,
    target: Rows, damping: Rows, proximal: Rows, qdd: Rows, f: Rows, residual: Rows, w: Workspace,
) -> None:  # fmt: skip
    """qdd and row forces f such that H qdd + C = tau + J' f and the rows accelerate by target - damping J v."""
    drift(m, t, q, v, w.y, w)
    rows_velocity(m, t, w.rate_of_rows, w)
    joint_bias(m, w.C, w)
    factored(m, t, p, d, q, w.J, w.H, w.YD, w.A, w)
    for k in range(len(m.v_index)):
        w.C[k, 0] = -w.C[k, 0]
    for a in range(len(tau)):
        w.C[d.leader[a], 0] = tau[a] + w.C[d.leader[a], 0]
    unit_ltsolve(d.parent, d.rows, w.H, w.C)
    for r in range(len(f)):
        y = w.y[r]
        for e in range(p.of_row[r], p.of_row[r + 1]):
            y = y + w.YD[e] * w.C[p.dof[e], 0]
        w.gap[r] = target[r] - damping[0] * w.rate_of_rows[r] - y
    row_forces(m, c, w.A, w.gap, proximal, f, residual, w)
    for r in range(len(f)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            w.C[p.dof[e], 0] = w.C[p.dof[e], 0] + w.Y[e] * f[r]
    divide_diagonal(d.parent, d.rows, w.H, w.C)
    unit_lsolve(d.parent, d.rows, w.H, w.C)
    for a in range(len(qdd)):
        qdd[a] = w.C[d.leader[a], 0]


@kernel
def impact(
    m: Mechanism, t: Seeds, p: JacobianPattern, d: DofTree, c: Proximal, q: Rows, v: Rows, restitution: Rows,
    proximal: Rows, v_after: Rows, f: Rows, residual: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The velocity after an impact that holds the rows, J v_after = -restitution J v, and the impulses f."""
    factored(m, t, p, d, q, w.J, w.H, w.YD, w.A, w)
    by_freedom(m, v, w.z)
    jacobian_times(p, w.J, w.z, w.gap)
    for r in range(len(f)):
        w.gap[r] = -w.gap[r] - restitution[r] * w.gap[r]
    row_forces(m, c, w.A, w.gap, proximal, f, residual, w)
    add_row_impulses(m, p, d, f, v_after, w)
    for a in range(len(v)):
        v_after[a] = v[a] + v_after[a]


@kernel
def close_gap(
    m: Mechanism, t: Seeds, p: JacobianPattern, d: DofTree, c: Proximal, x: Fixed, q: Rows, gap: Rows, q_next: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """q moved by -H^-1 J' Lambda gap."""
    for k in range(len(m.v_index)):
        w.rotor[k] = m.armature[k] + x.rotor[k]
    factored(with_rotors(m, w.rotor), t, p, d, q, w.J, w.H, w.YD, w.A, w)
    factor_held(m, c, w.A, c.weight[0], w)
    fit_held(m, c, w.A, gap, w.force, w)
    add_row_impulses(m, p, d, w.force, w.move, w)
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.move, -m.one[0], q_next)


@kernel
def add_row_impulses(m: Mechanism, p: JacobianPattern, d: DofTree, force: Rows, out: Rows, w: Workspace) -> None:
    """out (nv,) = H^-1 J' force = L^-1 (D^-1 Y' force), from w.YD and the factor in w.H."""
    jacobian_transpose_times(p, w.YD, force, w.z, m.zero[0])
    for j in range(len(m.v_index)):
        w.column[j, 0] = w.z[j]
    unit_lsolve(d.parent, d.rows, w.H, w.column)
    for a in range(len(d.leader)):
        out[a] = w.column[d.leader[a], 0]


_WORK = dict(LTDL.work) | LDL_WORK | {
    "A": "rows rows", "J": "entries", "YD": "entries", "H": "packed", "left": "rows", "force": "rows", "gap": "rows",
    "z": "dofs", "column": "dofs 1", "move": "nv", "rotor": "dofs",
}  # fmt: skip
CONSTRAINED_BY_FACTOR = Routine(
    "constrained_dynamics",
    constrained_by_factor,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "rows", "damping": "1", "proximal": "1",
    },
    outputs=dict(CONSTRAINED_DYNAMICS.outputs),
    work=dict(DYNAMICS.work) | _WORK | {"y": "rows", "rate_of_rows": "rows"},
)  # fmt: skip
IMPACT = Routine(
    "impact",
    impact,
    inputs={"q": "nq", "v": "nv", "restitution": "rows", "proximal": "1"},
    outputs={"v_after": "nv", "impulse": "rows", "residual": "1"},
    work=_WORK,
)
CLOSE_GAP = Routine("close_loops", close_gap, inputs={"q": "nq", "gap": "rows"}, outputs={"q_next": "nq"}, work=_WORK)
