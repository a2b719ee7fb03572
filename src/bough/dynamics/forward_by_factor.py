"""Forward dynamics by the joint-space inertia matrix (Featherstone 2005, section 6): CRBA, LTDL, back-substitution."""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics import crba, rnea
from bough.dynamics.crba import composite_inertia
from bough.dynamics.rnea import newton_euler
from bough.joints import Mechanism, joint_motion
from bough.sparsity.ltdl import ltdl_solve
from bough.sparsity.stretch import ltdl_in_blocks
from bough.tree import Tree
from bough.types import Rows, Scalar, Workspace


class DofRows(NamedTuple):
    """The packed rows of a tree of degrees of freedom, and where each entry of v sits in them."""

    parent: Rows  # (nv,) depth-first
    rows: Rows  # (nv + 1,)
    depth: Rows  # (nv,) number of ancestors
    rank: Rows  # (nv,) depth-first number of each entry of v
    order: Rows  # (nv,) its inverse


def dof_rows(tree: Tree) -> DofRows:
    """Those of a model's `dof_tree`."""
    return DofRows(tree.regular, tree.rows, tree.depth[tree.order] - 1, tree.rank, tree.order)


@kernel
def couple(m: Mechanism, t: DofRows, H: Rows, Hc: Rows) -> None:
    """Add the rows of H into those of t: mimic joints fall together, all others keep their place."""
    for x in range(len(Hc)):
        Hc[x] = m.zero[0]
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            j, last = i, k
            while j >= 0:
                for other in range(last, m.dof[j] - 1, -1):
                    add_element(m, t, k, other, H[m.rows[k] + m.depth[other]], Hc)
                j = m.parent[j]
                last = m.dof[j + 1] - 1


@kernel
def add_element(m: Mechanism, t: DofRows, k: int, j: int, x: Scalar, Hc: Rows) -> None:
    """Add H(k, j) to the row of whichever of the two is deeper; twice if a mimic joint brings both to the diagonal."""
    a, b = t.rank[m.v_index[k]], t.rank[m.v_index[j]]
    place = t.rows[max(a, b)] + t.depth[min(a, b)]
    x = m.ratio[k] * m.ratio[j] * x
    Hc[place] = Hc[place] + x
    if a == b and k != j:
        Hc[place] = Hc[place] + x


@kernel
def factorize(m: Mechanism, t: DofRows, q: Rows, L: Rows, w: Workspace) -> None:
    """The LTDL factor of H in the packed rows of t."""
    joint_motion(m, q, w.X)
    composite_inertia(m, w.H, w)
    couple(m, t, w.H, L)
    ltdl_in_blocks(t.parent, t.rows, L, w.panel)


@kernel
def forward_crba(m: Mechanism, t: DofRows, q: Rows, v: Rows, tau: Rows, qdd: Rows, w: Workspace) -> None:
    """qdd = H^-1 (tau - C)."""
    factorize(m, t, q, w.L, w)
    for k in range(len(qdd)):
        w.rest[k] = m.zero[0]
    newton_euler(m, v, w.rest, qdd, w)
    solve_bias(t, tau, qdd, w)


@kernel
def solve_bias(t: DofRows, tau: Rows, qdd: Rows, w: Workspace) -> None:
    """qdd = H^-1 (tau - C), with the factor in w.L and C in qdd."""
    for k in range(len(qdd)):
        w.x[t.rank[k], 0] = tau[k] - qdd[k]
    ltdl_solve(t.parent, t.rows, w.L, w.x)
    for k in range(len(qdd)):
        qdd[k] = w.x[t.rank[k], 0]


FACTORIZE = Routine(
    "factorize",
    factorize,
    inputs={"q": "nq"},
    outputs={"L": "coupled"},
    work=crba.WORK | {"H": "packed", "panel": "panel"},
)
FORWARD_CRBA = Routine(
    "forward_dynamics",
    forward_crba,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"qdd": "nv"},
    work=crba.WORK | rnea.WORK | {"H": "packed", "L": "coupled", "x": "nv 1", "rest": "nv", "panel": "panel"},
)
