"""Held rows by the sparse factor H = L' D L: forward dynamics, impacts, and moves onto them (Featherstone 2010).

With Y = J L^-1 and z = L^-T (tau - C): the rows' free acceleration is Jdot v + Y D^-1 z, A = Lambda^-1 = Y D^-1 Y', and
forces f of the rows (by `row_forces`, as in `held`) give qdd = L^-1 D^-1 (z + Y' f). An impact changes v by
H^-1 J' f, f = Lambda (wanted change of J v), and a gap is closed by -H^-1 J' Lambda gap, a Gauss-Newton step along the
least way in the metric of the masses.

Mimic joints are joints of their own here, whose ties are rows: forces act on the joints that lead.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.laws import with_rotors
from bough.joints import Mechanism, by_freedom, integrate_joint
from bough.opspace.methods.ltdl import LTDL
from bough.opspace.sweeps.bias import drift, rows_velocity
from bough.opspace.sweeps.factored import DYNAMICS, factored, joint_bias
from bough.opspace.sweeps.held import HELD_DYNAMICS, Proximal, factor_held, fit_held, row_forces
from bough.opspace.sweeps.inverse import LDL_WORK
from bough.opspace.sweeps.jacobian import jacobian_times, jacobian_transpose_times
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.types import Rows, Workspace


class Fixed(NamedTuple):
    """Degrees of freedom that do not move onto held rows: rotors so heavy that nothing moves them."""

    rotor: Rows  # (dofs,)


@kernel
def held_by_factor(
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
HELD_BY_FACTOR = Routine(
    "constrained_dynamics",
    held_by_factor,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "rows", "damping": "1", "proximal": "1",
    },
    outputs=dict(HELD_DYNAMICS.outputs),
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
