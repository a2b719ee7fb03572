"""Composite-rigid-body algorithm (Walker & Orin 1982; Featherstone 2005, section 5): the joint-space inertia matrix."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism, along, force_to_parent, joint_motion, rigid_freedom, rigid_to_parent
from bough.spatial import fill, get10, put10, rigid_add
from bough.types import Force, Rows, Scalar, Workspace


@kernel
def crba(m: Mechanism, q: Rows, H: Rows, w: Workspace) -> None:
    """H in packed ancestor rows: row k holds H(k, j) for the degrees of freedom j on the path to k."""
    joint_motion(m, q, w.X)
    composite_inertia(m, H, w)


@kernel
def composite_inertia(m: Mechanism, H: Rows, w: Workspace) -> None:
    """H from the joint motions in w.X."""
    for i in range(len(m.parent)):
        put10(w.Ic, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        I = get10(w.Ic, i)
        for k in range(m.dof[i], m.dof[i + 1]):
            inertia_row(m, i, k, rigid_freedom(m, k, I), H, w)
        p = m.parent[i]
        if p >= 0:
            put10(w.Ic, p, rigid_add(get10(w.Ic, p), rigid_to_parent(m, w.X, i, I)))


@kernel
def inertia_row(m: Mechanism, i: int, k: int, f: Force, H: Rows, w: Workspace) -> None:
    """Row k of H from the force f that accelerates degree of freedom k of body i, carried to the root."""
    row = m.rows[k]
    for j in range(m.dof[i], k + 1):
        H[row + m.depth[j]] = along(m, j, f)
    H[row + m.depth[k]] = H[row + m.depth[k]] + m.armature[k]
    while m.parent[i] >= 0:
        f = force_to_parent(m, w.X, i, f)
        i = m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            H[row + m.depth[j]] = along(m, j, f)


@kernel
def mass_matrix(m: Mechanism, q: Rows, M: Rows, w: Workspace) -> None:
    """H as a full symmetric matrix in the order of v; mimic joints add into the rows of their leaders."""
    crba(m, q, w.H, w)
    fill(M, m.zero[0])
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            spread_row(m, i, k, M, w)


@kernel
def spread_row(m: Mechanism, i: int, k: int, M: Rows, w: Workspace) -> None:
    row, a = m.rows[k], m.v_index[k]
    for j in range(m.dof[i], k):
        add_pair(m, k, j, w.H[row + m.depth[j]], M)
    M[a, a] = M[a, a] + m.ratio[k] * m.ratio[k] * w.H[row + m.depth[k]]
    while m.parent[i] >= 0:
        i = m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            add_pair(m, k, j, w.H[row + m.depth[j]], M)


@kernel
def add_pair(m: Mechanism, k: int, j: int, x: Scalar, M: Rows) -> None:
    """Put H(k, j) and H(j, k) where they belong; both at once even if they fall on the diagonal."""
    a, b = m.v_index[k], m.v_index[j]
    x = m.ratio[k] * m.ratio[j] * x
    M[a, b] = M[a, b] + x
    M[b, a] = M[b, a] + x


WORK = {"X": "bodies 12", "Ic": "bodies 10"}
CRBA = Routine("packed_mass_matrix", crba, inputs={"q": "nq"}, outputs={"H": "packed"}, work=WORK)
MASS_MATRIX = Routine(
    "mass_matrix", mass_matrix, inputs={"q": "nq"}, outputs={"M": "nv nv"}, work=WORK | {"H": "packed"}
)
