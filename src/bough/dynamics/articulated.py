"""Articulated inertias (Featherstone 1983): the step that takes one degree of freedom out of an inertia.

Every recursive method begins with it: forward dynamics, the inverse of the mass matrix, operational space and
quasi-statics.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.joints import Mechanism, along, articulated_freedom, articulated_to_parent, freedom
from bough.spatial import (
    add6,
    articulated,
    articulated_add,
    articulated_downdate,
    dot6,
    get6,
    get10,
    get21,
    put6,
    put21,
)
from bough.types import ArticulatedInertia, Force, Motion, Scalar, Workspace


@kernel
def start_inertias(m: Mechanism, w: Workspace) -> None:
    """w.IA: each body alone."""
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(get10(m.inertia, i), m.zero[0]))


@kernel
def split_freedom(m: Mechanism, k: int, IA: ArticulatedInertia) -> tuple[Scalar, Force, ArticulatedInertia]:
    """(D, W, what is left of IA) when degree of freedom k is eliminated.

    U = IA S_k, D = S_k' U + armature, W = U / D, IA - W U'. W is exactly 1 on the freed axis where there is no
    armature, so that row and column of IA become exact zeros.
    """
    U = articulated_freedom(m, k, IA)
    D = along(m, k, U) + m.armature[k]
    W = (U[0] / D, U[1] / D, U[2] / D, U[3] / D, U[4] / D, U[5] / D)
    return D, W, articulated_downdate(IA, W, U)


@kernel
def inertia_to_parent(m: Mechanism, i: int, IA: ArticulatedInertia, w: Workspace) -> None:
    """Add what is left of body i's inertia to that of the body above."""
    p = m.parent[i]
    if p >= 0:
        put21(w.IA, p, articulated_add(get21(w.IA, p), articulated_to_parent(m, w.X, i, IA)))


@kernel
def eliminate_all(m: Mechanism, w: Workspace) -> None:
    """D and W of every degree of freedom, in w.D and w.W."""
    start_inertias(m, w)
    for i in range(len(m.parent) - 1, -1, -1):
        IA = get21(w.IA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            D, W, IA = split_freedom(m, k, IA)
            w.D[k] = D
            put6(w.W, k, W)
        inertia_to_parent(m, i, IA, w)


@kernel
def propagate(m: Mechanism, i: int, a: Motion, w: Workspace) -> Motion:
    """P a: an acceleration that reaches body i through its joint, which gives way."""
    for k in range(m.dof[i], m.dof[i + 1]):
        a = add6(a, freedom(m, k, -dot6(get6(w.W, k), a)))
    return a


ARTICULATED_WORK = {"X": "bodies 12", "IA": "bodies 21", "D": "dofs", "W": "dofs 6"}
