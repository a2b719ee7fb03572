"""The inverse of the joint-space inertia matrix, without H (Carpentier 2018), one degree of freedom at a time.

A unit torque at degree of freedom c leaves a force F_c on each body above it, and accelerates each of these bodies
by a_c. By reciprocity F_k is also the response of k to the acceleration of a body above it, so an element of the
inverse costs one product F_k . a_c, taken at the body where the paths to k and c meet.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.joints import Mechanism, along, force_to_parent, freedom, joint_motion, motion_to_body
from bough.spatial import add6, dot6, fill, get6, get21, put6, scale6
from bough.types import Rows, Workspace

# With M = H^-1, nu(i) the degrees of freedom in the subtree of body i, kappa(c) those on the path to c:
#
#   for body i from the leaves to the roots:                             (eliminate)
#       for DoF k of i, the last first:
#           U = IA_i S_k,  D = S_k' U,  W_k = U / D,  IA_i = IA_i - W_k U'
#           M_kk = 1 / D,  F_k = W_k
#           for c in nu(i), c > k:
#               M_kc = - S_k' F_c / D,  F_c = F_c - W_k S_k' F_c
#       release the earlier DoF of i                                   (free_together)
#       IA_p += X' IA_i X and F_c = X' F_c for c in nu(i), p the parent of i
#   for body i from the roots to the leaves:                             (accelerate)
#       for c in nu(i), k between p and i:
#           M_kc = M_kc - F_k(p)' a_c(p)
#       a_c(i) = X a_c(p) + sum of S_k M_kc over the DoF k of i


@kernel
def inverse_mass_matrix(m: Mechanism, q: Rows, M: Rows, w: Workspace) -> None:
    """M = H^-1 (nv, nv), both triangles, in the order of v; for mechanisms without mimic joints. O(n^2)."""
    n = len(m.axis)
    fill(M, m.zero[0])
    joint_motion(m, q, w.X)
    start_inertias(m, w)
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, subtree_end(m, m.dof[i], n), M, w)
    for i in range(len(m.parent)):
        accelerate(m, i, subtree_end(m, m.dof[i], n), M, w)


@kernel
def subtree_end(m: Mechanism, k: int, n: int) -> int:
    """One past the last degree of freedom that k moves."""
    end = k + 1
    while end < n and m.depth[end] > m.depth[k]:
        end += 1
    return end


@kernel
def place(m: Mechanism, c: int, i: int) -> int:
    """The place of the vector of degree of freedom c at body i, on its path."""
    return int(m.rows[c] + m.depth[m.dof[i + 1] - 1])


@kernel
def eliminate(m: Mechanism, i: int, end: int, M: Rows, w: Workspace) -> None:
    """Rows of M for the DoF of body i while the body above is fixed, and the forces on that body."""
    IA = get21(w.IA, i)
    for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
        D, W, IA = split_freedom(m, k, IA)
        M[m.v_index[k], m.v_index[k]] = m.one[0] / D
        put6(w.W, k, W)
        put6(w.f, k, W)
        for c in range(k + 1, end):
            f = get6(w.f, c)
            x = along(m, k, f)
            M[m.v_index[k], m.v_index[c]] = -(x * M[m.v_index[k], m.v_index[k]])
            put6(w.f, c, add6(f, scale6(-x, W)))
    free_together(m, i, end, M, w)
    inertia_to_parent(m, i, IA, w)
    p = m.parent[i]
    if p >= 0:
        for c in range(m.dof[i], end):
            f = force_to_parent(m, w.X, i, get6(w.f, c))
            put6(w.f, c, f)
            put6(w.F, place(m, c, p), f)


@kernel
def free_together(m: Mechanism, i: int, end: int, M: Rows, w: Workspace) -> None:
    """Rows of a body's DoF were computed with its earlier DoF locked: release these."""
    for k in range(m.dof[i] + 1, m.dof[i + 1]):
        W, row = get6(w.W, k), m.v_index[k]
        for c in range(k, end):
            for j in range(m.dof[i], k):
                M[row, m.v_index[c]] = M[row, m.v_index[c]] - along(m, j, W) * M[m.v_index[j], m.v_index[c]]


@kernel
def accelerate(m: Mechanism, i: int, end: int, M: Rows, w: Workspace) -> None:
    """Columns of M in the subtree of body i, rows of body i and of the branches between it and the body above."""
    zero, p = m.zero[0], m.parent[i]
    first = m.dof[i] if p < 0 else m.dof[p + 1]
    for c in range(m.dof[i], end):
        above = (zero, zero, zero, zero, zero, zero)
        if p >= 0:
            above = get6(w.A, place(m, c, p))
        col = m.v_index[c]
        for k in range(first, min(c + 1, m.dof[i + 1])):
            row = m.v_index[k]
            x = M[row, col]
            if p >= 0:
                x = x - dot6(get6(w.F, place(m, k, p)), above)
            M[row, col], M[col, row] = x, x
        if c >= m.dof[i + 1]:
            a = above
            if p >= 0:
                a = motion_to_body(m, w.X, i, above)
            for k in range(m.dof[i], m.dof[i + 1]):
                a = add6(a, freedom(m, k, M[m.v_index[k], col]))
            put6(w.A, place(m, c, i), a)


INVERSE_MASS_MATRIX = Routine(
    "inverse_mass_matrix",
    inverse_mass_matrix,
    inputs={"q": "nq"},
    outputs={"M": "nv nv"},
    work={"X": "bodies 12", "IA": "bodies 21", "W": "dofs 6", "f": "dofs 6", "F": "packed 6", "A": "packed 6"},
)
