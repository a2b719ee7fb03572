"""Derivatives of forward dynamics through the factor of H: dqdd/dq = -H^-1 dtau/dq, dqdd/dtau = H^-1.

Carpentier & Mansard 2018. H, C and the derivatives of inverse dynamics come from the same sweeps (see
`inverse_derivatives`), H^-1 is applied by its LTDL factor, and zeros of the tree stay zero until then.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.forward_by_factor import DofRows
from bough.dynamics.inverse_by_factor import inverse
from bough.dynamics.inverse_derivatives import (
    INVERSE_DERIVATIVES,
    inverse_dynamics_derivatives,
    move_dofs,
    move_mass,
    place_from_root,
    slopes,
    sum_over_subtrees,
)
from bough.joints import Mechanism, by_freedom, move_joint
from bough.sparsity.full_inverse import divide_columns, invert_unit
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.spatial import dot6, get6, get10, rigid_times
from bough.types import Rows, Workspace


@kernel
def forward_dynamics_derivatives(
    m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, by_q: Rows, by_v: Rows, by_tau: Rows, w: Workspace
) -> None:
    """dqdd/dq, dqdd/dv and dqdd/dtau = H^-1, (nv, nv) each; q moves along velocities."""
    force_slopes(m, t, q, v, tau, by_q, by_v, by_tau, w.M, w.E, w)
    solve_columns(t, by_q, w)
    solve_columns(t, by_v, w)


@kernel
def solve_columns(t: DofRows, B: Rows, w: Workspace) -> None:
    """B = H^-1 B, by the factor in w.L; rows in the order of v."""
    n = len(t.parent)
    for r in range(n):
        for c in range(n):
            w.columns[r, c] = B[t.order[r], c]
    ltdl_solve(t.parent, t.rows, w.L, w.columns)
    for r in range(n):
        for c in range(n):
            B[t.order[r], c] = w.columns[r, c]


@kernel
def force_slopes(
    m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, by_q: Rows, by_v: Rows, Z: Rows, M: Rows, E: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """-dtau/dq and -dtau/dv at the acceleration that tau causes; Z = H^-1 = E M' with M = L^-1 and E = M D^-1.

    The factor of H stays in w.L.
    """
    acceleration(m, t, q, v, tau, w)
    by_freedom(m, w.qdd, w.effort)
    for i in range(len(m.parent)):
        move_dofs(m, i, w)
        move_mass(m, i, w)
    sum_over_subtrees(m, w)
    slopes(m, by_q, by_v, w.H, w)
    for r in range(len(t.parent)):
        for c in range(len(t.parent)):
            by_q[r, c], by_v[r, c] = -by_q[r, c], -by_v[r, c]
    for x in range(len(w.L)):
        M[x] = w.L[x]
    invert_unit(t.parent, t.rows, M)
    divide_columns(t.parent, t.rows, M, E, m.one[0])
    inverse(m, t, Z, M, E)


@kernel
def slopes_at(m: Mechanism, q: Rows, v: Rows, qdd: Rows, by_q: Rows, by_v: Rows, w: Workspace) -> None:
    """-dtau/dq and -dtau/dv at the acceleration qdd."""
    inverse_dynamics_derivatives(m, q, v, qdd, by_q, by_v, w.H, w)
    for r in range(len(by_q)):
        for c in range(len(by_q)):
            by_q[r, c], by_v[r, c] = -by_q[r, c], -by_v[r, c]


@kernel
def acceleration(m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, w: Workspace) -> None:
    """w.qdd under tau, and the LTDL factor of H in w.L."""
    by_freedom(m, v, w.rate)
    for k in range(len(w.effort)):
        w.effort[k] = m.zero[0]
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        place_from_root(m, i, w)
        move_dofs(m, i, w)
        move_mass(m, i, w)
    sum_over_subtrees(m, w)
    for k in range(len(tau)):
        w.x[t.rank[k], 0] = tau[k]
    for x in range(len(w.L)):
        w.L[x] = m.zero[0]
    for i in range(len(m.parent)):
        for l in range(m.dof[i], m.dof[i + 1]):
            joint_inertia(m, t, i, l, w)
    ltdl(t.parent, t.rows, w.L)
    ltdl_solve(t.parent, t.rows, w.L, w.x)
    for k in range(len(tau)):
        w.qdd[k] = w.x[t.rank[k], 0]


@kernel
def joint_inertia(m: Mechanism, t: DofRows, i: int, l: int, w: Workspace) -> None:
    """Row l of H up to its ancestors into w.L; its bias force is subtracted from w.x."""
    f, a = rigid_times(get10(w.I, i), get6(w.S, l)), t.rank[m.v_index[l]]
    w.x[a, 0] = w.x[a, 0] - m.ratio[l] * dot6(get6(w.F, i), get6(w.S, l))
    w.L[t.rows[a + 1] - 1] = w.L[t.rows[a + 1] - 1] + m.ratio[l] * m.ratio[l] * m.armature[l]
    last = l
    while i >= 0:
        for k in range(m.dof[i], last + 1):
            b, x = t.rank[m.v_index[k]], m.ratio[k] * m.ratio[l] * dot6(f, get6(w.S, k))
            place = t.rows[max(a, b)] + t.depth[min(a, b)]
            w.L[place] = w.L[place] + x
            if a == b and k != l:
                w.L[place] = w.L[place] + x
        i = m.parent[i]
        last = m.dof[i + 1] - 1


class Support(NamedTuple):
    """Rows where a column is not zero: with a DoF, those above it."""

    rows: Rows  # depth-first numbers, ascending
    zero: Rows  # (1,) the number 0


@kernel
def gather_column(t: DofRows, s: Support, b: Rows, M: Rows, z: Rows, w: Workspace) -> None:
    """z = D^-1 L^-T b in the rows of s, for a column with the entries b there; M as `spread_column` takes it."""
    for e in range(len(s.rows)):
        w.z[s.rows[e]] = s.zero[0]
    for e in range(len(s.rows)):
        a = s.rows[e]
        w.z[a] = w.z[a] + b[e]
        for p in range(t.rows[a + 1] - 2, t.rows[a] - 1, -1):
            a = t.parent[a]
            w.z[a] = w.z[a] + M[p] * b[e]
    for e in range(len(s.rows)):
        a = s.rows[e]
        z[e] = M[t.rows[a + 1] - 1] * w.z[a]


@kernel
def spread_column(t: DofRows, s: Support, z: Rows, M: Rows, x: Rows, w: Workspace) -> None:
    """x = L^-1 z in the order of v, for a column with the entries z in the rows of s; the diagonal of M is D^-1."""
    for i in range(len(t.parent)):
        w.z[i] = s.zero[0]
    for e in range(len(s.rows)):
        w.z[s.rows[e]] = z[e]
    for i in range(len(t.parent)):
        a, y = i, w.z[i]
        for p in range(t.rows[i + 1] - 2, t.rows[i] - 1, -1):
            a = t.parent[a]
            y = y + M[p] * w.z[a]
        x[t.order[i]] = y


WORK = dict(INVERSE_DERIVATIVES.work) | {**{"L": "coupled", "x": "nv 1", "qdd": "nv", "H": "nv nv"}}
FORCE_SLOPES = Routine(
    "forward_dynamics_derivatives",
    force_slopes,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"by_q": "nv nv", "by_v": "nv nv", "by_tau": "nv nv", "M": "coupled", "E": "coupled"},
    work=WORK,
)
SLOPES_AT = Routine(
    "forward_dynamics_derivatives",
    slopes_at,
    inputs={"q": "nq", "v": "nv", "qdd": "nv"},
    outputs={"by_q": "nv nv", "by_v": "nv nv"},
    work=dict(INVERSE_DERIVATIVES.work) | {"H": "nv nv"},
)
GATHER_COLUMN = Routine(
    "gather_column", gather_column, inputs={"b": "entries", "M": "coupled"}, outputs={"z": "entries"}, work={"z": "nv"}
)
SPREAD_COLUMN = Routine(
    "spread_column", spread_column, inputs={"z": "entries", "M": "coupled"}, outputs={"x": "nv"}, work={"z": "nv"}
)
FORWARD_DERIVATIVES = Routine(
    "forward_dynamics_derivatives",
    forward_dynamics_derivatives,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"dqdd_dq": "nv nv", "dqdd_dv": "nv nv", "dqdd_dtau": "nv nv"},
    work=WORK | {"columns": "nv nv", "M": "coupled", "E": "coupled"},
)
