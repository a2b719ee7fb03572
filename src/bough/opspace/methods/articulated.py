"""Articulated inertias without forces (Featherstone 1983): the inward sweep that every recursive method begins with."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.dynamics.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.joints import Mechanism, freedom
from bough.spatial import add6, dot6, get6, get21, put6
from bough.types import Motion, Workspace


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
