"""Sections 2 to 6 and appendix A: sets, expanded trees, the pattern of J and of Y, and the group of factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import zoo
from bough.sparsity import ltdl, ltl
from bough.tree import Tree
from bough.types import FloatArray, RealArray
from papers.featherstone2005.section2 import from_one, pattern
from papers.featherstone2010.asimo import rows_on
from papers.graphs import mechanisms
from papers.result import Figure, Result, exact
from papers.style import show_patterns


def run(full: bool = False) -> Result:
    """Fig. 1 is Tree 1; in Fig. 3 its second joint has three degrees of freedom."""
    tree = zoo.tree1().dof_tree
    expanded = tree.expanded([1, 3, 1, 1, 1, 1, 1])
    J = rows_on(tree, [3, 6])
    H, dense = matrix(tree, 0), np.where(J.pattern, 1.0, 0.0)
    found, unit = J.factorization(H), J.unit_factorization(H)
    expected = dense @ np.linalg.solve(H, dense.T)
    A, B = ltl(matrix(tree, 1), tree).L, ltdl(matrix(tree, 2), tree).L
    inverse = np.linalg.inv(A)
    inverse[np.abs(inverse) < 1e-14] = 0.0
    sets = (from_one(tree.children(0)), from_one(tree.subtree(1)), from_one(tree.path(3)), from_one(tree.children(4)))
    rows = (
        exact("mu(1), nu(2), kappa(4), mu(5)", ((2, 3), (2, 4, 5), (1, 2, 4), ()), sets),
        exact("Fig. 3: expanded parent array", (0, 1, 2, 3, 1, 4, 4, 5, 5), from_one(expanded.parent)),
        exact("section 5: columns of J for b = (4, 7)", ((1, 2, 4), (1, 3, 7)),
              tuple(from_one(np.flatnonzero(row)) for row in J.pattern)),
        exact("section 6: Y has the pattern of J", True, not np.any(found.Y[~J.pattern])),
        exact("eq. 20: Lambda^-1 = Y Y'", True, bool(np.allclose(found.inverse_inertia, expected))),
        exact("eq. 22: is Lambda^-1 = Y_D Y_D'", True, bool(np.allclose(unit.Y_D @ unit.Y_D.T, expected)),
              "Y_D Y_d' is meant", erratum="E2"),
        exact("Lambda^-1 = Y_D Y_d'", True, bool(np.allclose(unit.Y_D @ unit.Y_d.T, expected))),
        exact("section 3 and appendix A: products stay in L(lambda)", True, in_group(A @ B, tree)),
        exact("section 3 and appendix A: inverses stay in L(lambda)", True, in_group(inverse, tree)),
    )  # fmt: skip
    remarks = (
        "Y, Y_d, Y_D, J x and J' x of any H and J: `bough.opspace.SparseRows`.",
        "Figs. 4 to 10 are algorithms: Fig. 4 is `Tree.expanded`, above; Figs. 5, 6 and 8 to 10 are executed in "
        "Table 1, Fig. 7 in Table 2.",
    )
    drawn = mechanisms(
        {"Fig. 1: Tree 1": tree, "Fig. 3: Tree 1 expanded": expanded, "Fig. 11: ASIMO, bodies": zoo.asimo().tree},
        "Figs. 1, 3 and 11: the mechanisms as graphs. ASIMO is reconstructed from the numbers in the text.",
    )
    return Result(rows, (drawn, figure2(tree, expanded)), remarks)


def figure2(tree: Tree, expanded: Tree) -> Figure:
    """Fig. 2, and the same for the tree of Fig. 3."""

    def draw(canvas: Any) -> None:
        H, wide = pattern(tree), pattern(expanded)
        show_patterns(canvas, {"(a) H": H, "(b) L": np.tril(H), "H of Fig. 3": wide}, "joint, or degree of freedom")

    caption = (
        "Fig. 2: branches put zeros into H (a), and the factor L keeps all of them (b). Right: the same tree with "
        "three degrees of freedom in its second joint (Fig. 3)."
    )
    return Figure("figure2", caption, draw, (9.0, 3.4))


def matrix(tree: Tree, seed: int) -> FloatArray:
    """A positive definite matrix with the pattern of the tree."""
    rng = np.random.default_rng(seed)
    lower = np.tril(pattern(tree)) * rng.uniform(-0.4, 0.4, (tree.n, tree.n)) + np.eye(tree.n)
    full: FloatArray = lower.T @ lower
    return full


def in_group(L: RealArray, tree: Tree) -> bool:
    """Whether L is in the group L(lambda) of section 3 and appendix A: L is nonsingular, and L_ij
    is zero unless j is i or an ancestor of i.

    Products and inverses of such matrices are such matrices: that is why Y has the pattern of J.
    """
    full = np.asarray(L)
    allowed = np.zeros(full.shape, bool)
    allowed[np.repeat(tree.order, tree.depth[tree.order]), tree.order[tree.ancestors]] = True
    return not np.any(full[~allowed]) and bool(np.all(np.diagonal(full)))
