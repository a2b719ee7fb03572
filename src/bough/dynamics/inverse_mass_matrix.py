"""The inverse of the joint-space inertia matrix, without H (Carpentier 2018), one degree of freedom at a time."""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.aba import add21
from bough.inertia import articulated, articulated_downdate
from bough.joints import (
    along,
    articulated_freedom,
    articulated_to_parent,
    force_to_parent,
    freedom,
    joint_motion,
    motion_to_body,
)
from bough.spatial import add6, dot6, get6, get10, get21, put6, put21, scale6


@kernel
def inverse_mass_matrix(m: Any, q: Any, M: Any, w: Any) -> None:
    """M = H^-1 (nv, nv), both triangles, in the order of v; for mechanisms without mimic joints.

    Column c of the unit torques leaves the force F_c on the bodies above it (inward), and accelerates all bodies
    (outward); by symmetry only rows k <= c are computed. O(n^2).
    """
    n = len(m.axis)
    for k in range(n):
        for c in range(n):
            M[k, c] = m.zero[0]
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(get10(m.inertia, i), m.zero[0]))
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, n, M, w)
    root = 0
    for i in range(len(m.parent)):
        if m.parent[i] < 0:
            root = i
        for c in range(m.dof[i], m.dof[i + 1]):
            unit_torque(m, root, c, M, w)


@kernel
def subtree_end(m: Any, k: int, n: int) -> int:
    """One past the last degree of freedom that k moves."""
    end = k + 1
    while end < n and m.depth[end] > m.depth[k]:
        end += 1
    return end


@kernel
def eliminate(m: Any, i: int, n: int, M: Any, w: Any) -> None:
    """Pivots of the freedoms of body i, their rows of M while the body above stands still, the forces they pass on."""
    IA = get21(w.IA, i)
    end = subtree_end(m, m.dof[i], n)
    for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
        U = articulated_freedom(m, k, IA)
        D = along(m, k, U) + m.armature[k]
        W = (U[0] / D, U[1] / D, U[2] / D, U[3] / D, U[4] / D, U[5] / D)
        row = m.v_index[k]
        put6(w.W, k, W)
        put6(w.F, k, W)
        M[row, row] = m.one[0] / D
        for c in range(k + 1, end):
            F = get6(w.F, c)
            x = along(m, k, F)
            M[row, m.v_index[c]] = -(x / D)
            put6(w.F, c, add6(F, scale6(-x, W)))
        IA = articulated_downdate(IA, W, U)
    p = m.parent[i]
    if p >= 0:
        put21(w.IA, p, add21(get21(w.IA, p), articulated_to_parent(m, w.X, i, IA)))
        for c in range(m.dof[i], end):
            put6(w.F, c, force_to_parent(m, w.X, i, get6(w.F, c)))


@kernel
def unit_torque(m: Any, root: int, c: int, M: Any, w: Any) -> None:
    """Accelerations of the degrees of freedom up to c under a unit torque at c, from the root outward."""
    zero = m.zero[0]
    col = m.v_index[c]
    i = root
    while i < len(m.parent) and m.dof[i] <= c:
        a = (zero, zero, zero, zero, zero, zero)
        if m.parent[i] >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, m.parent[i]))
        k = m.dof[i]
        while k < m.dof[i + 1] and k <= c:
            row = m.v_index[k]
            x = M[row, col] - dot6(get6(w.W, k), a)
            M[row, col] = x
            M[col, row] = x
            a = add6(a, freedom(m, k, x))
            k += 1
        put6(w.a, i, a)
        i += 1


INVERSE_MASS_MATRIX = Routine(
    "inverse_mass_matrix",
    inverse_mass_matrix,
    inputs={"q": "nq"},
    outputs={"M": "nv nv"},
    work={
        "X": "bodies 12",
        "IA": "bodies 21",
        "W": "dofs 6",
        "F": "dofs 6",
        "a": "bodies 6",
    },
)
