"""Velocities of a temperature in O(n): the square root of H^-1 by the articulated-body sweep.

The sweep factors H^-1 = A' D^-1 A (Rodriguez, Jain & Kreutz-Delgado 1991), so A' D^-1/2 e has the covariance H^-1
where e are independent normal numbers. It is the outward pass of `aba` with e / sqrt(D) in the place of u / D. The
product of all D is the determinant of H.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import sqrt
from bough.dynamics.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.joints import Mechanism, along, freedom, joint_motion, motion_to_body
from bough.spatial import add6, dot6, get6, get21, put6, sub6
from bough.types import Rows, Workspace


@kernel
def thermal_velocities(m: Mechanism, q: Rows, e: Rows, v: Rows, D: Rows, w: Workspace) -> None:
    """v (nv,) = H^-1/2 e, and D (nv,) with det H = product of D."""
    joint_motion(m, q, w.X)
    start_inertias(m, w)
    for i in range(len(m.parent) - 1, -1, -1):
        IA = get21(w.IA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            d, W, IA = split_freedom(m, k, IA)
            put6(w.V, k, sub6(W, freedom(m, k, m.one[0])))
            D[m.v_index[k]] = d
        inertia_to_parent(m, i, IA, w)
    for i in range(len(m.parent)):
        zero, p = m.zero[0], m.parent[i]
        a = (zero, zero, zero, zero, zero, zero)
        if p >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, p))
        for k in range(m.dof[i], m.dof[i + 1]):
            j = m.v_index[k]
            x = e[j] / sqrt(D[j]) - dot6(get6(w.V, k), a) - along(m, k, a)
            v[j] = x
            a = add6(a, freedom(m, k, x))
        put6(w.a, i, a)


THERMAL_VELOCITIES = Routine(
    "thermal_velocities", thermal_velocities, inputs={"q": "nq", "e": "nv"}, outputs={"v": "nv", "D": "nv"},
    work={"X": "bodies 12", "IA": "bodies 21", "V": "dofs 6", "a": "bodies 6"},
)  # fmt: skip
