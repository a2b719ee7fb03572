"""Derivatives of forward dynamics through the factor of H: dqdd/dq = -H^-1 dtau/dq, and likewise by v; H^-1 by tau.

Carpentier & Mansard 2018. H, C and the derivatives of inverse dynamics come from the same sweeps (see
`inverse_derivatives`), H^-1 is applied by its LTDL factor, and what is zero by the tree stays zero until then.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.forward_by_factor import DofRows
from bough.dynamics.inverse_derivatives import (
    INVERSE_DERIVATIVES,
    gather_masses,
    move_freedoms,
    move_mass,
    place_from_root,
    slopes,
)
from bough.joints import Mechanism, by_freedom, move_joint
from bough.sparsity.full_inverse import divide_columns, inverse_entry, invert_unit
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.spatial import dot6, get6, get10, rigid_times
from bough.types import Rows, Workspace


@kernel
def forward_dynamics_derivatives(
    m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, by_q: Rows, by_v: Rows, by_tau: Rows, w: Workspace
) -> None:
    """dqdd/dq, dqdd/dv and dqdd/dtau = H^-1, (nv, nv) each; q moves along velocities."""
    force_slopes(m, t, q, v, tau, by_q, by_v, by_tau, w)
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
    m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, by_q: Rows, by_v: Rows, Z: Rows, w: Workspace
) -> None:
    """-dtau/dq and -dtau/dv at the acceleration that tau causes, and Z = H^-1; the factor of H stays in w.L."""
    acceleration(m, t, q, v, tau, w)
    by_freedom(m, w.qdd, w.effort)
    for i in range(len(m.parent)):
        move_freedoms(m, i, w)
        move_mass(m, i, w)
    gather_masses(m, w)
    slopes(m, by_q, by_v, w.H, w)
    for r in range(len(t.parent)):
        for c in range(len(t.parent)):
            by_q[r, c], by_v[r, c] = -by_q[r, c], -by_v[r, c]
    inverse(m, t, Z, w)


@kernel
def acceleration(m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, w: Workspace) -> None:
    """w.qdd under tau, and the LTDL factor of H in w.L."""
    by_freedom(m, v, w.rate)
    for k in range(len(w.effort)):
        w.effort[k] = m.zero[0]
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        place_from_root(m, i, w)
        move_freedoms(m, i, w)
        move_mass(m, i, w)
    gather_masses(m, w)
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
    """Row l of H as far as its ancestors into w.L, and its bias force taken from w.x."""
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


@kernel
def inverse(m: Mechanism, t: DofRows, Z: Rows, w: Workspace) -> None:
    """Z = H^-1 from the factor in w.L, in the order of v."""
    for x in range(len(w.L)):
        w.M[x] = w.L[x]
    invert_unit(t.parent, t.rows, w.M)
    divide_columns(t.parent, t.rows, w.M, w.E, m.one[0])
    for i in range(len(t.parent)):
        a = i
        for j in range(i, -1, -1):
            while a > j:  # the last common ancestor of i and j
                a = t.parent[a]
            x = m.zero[0]
            if a >= 0:
                x = inverse_entry(t.rows, w.M, w.E, i, j, a)
            Z[t.order[i], t.order[j]], Z[t.order[j], t.order[i]] = x, x


WORK = dict(INVERSE_DERIVATIVES.work) | {
    **{"L": "coupled", "M": "coupled", "E": "coupled", "x": "nv 1", "qdd": "nv", "H": "nv nv"},
}
FORCE_SLOPES = Routine(
    "forward_dynamics_derivatives",
    force_slopes,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"by_q": "nv nv", "by_v": "nv nv", "by_tau": "nv nv"},
    work=WORK,
)
FORWARD_DERIVATIVES = Routine(
    "forward_dynamics_derivatives",
    forward_dynamics_derivatives,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"dqdd_dq": "nv nv", "dqdd_dv": "nv nv", "dqdd_dtau": "nv nv"},
    work=WORK | {"columns": "nv nv"},
)
