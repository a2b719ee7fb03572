"""Sections 2 and 3: sets, patterns, the elements touched by the factorization, and the envelope of eq. 7."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import zoo
from bough.dynamics import Dynamics
from bough.model import Builder, Model
from bough.sparsity.ltdl import eliminate
from bough.tree import Tree
from bough.types import BoolArray, FloatArray, IntArray
from papers.graphs import mechanisms
from papers.result import Figure, Result, Row, exact
from papers.style import show_pattern
from papers.topologies import balanced, chain, side_branches, span_grid


class Touched(list[float]):
    """Packed rows that remember what was written."""

    def __init__(self, size: int) -> None:
        super().__init__([1.0] * size)
        self.written: set[int] = set()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.written.add(index)
        super().__setitem__(index, value)


def run(full: bool = False) -> Result:
    """Everything that the text says of Tree 1."""
    tree, bordered = zoo.tree1().dof_tree, bordered_matrix(zoo.tree1().dof_tree)
    inside = envelope(bordered)
    step2, step3 = touched(tree, 6)
    dense2, dense3 = touched(chain(7), 6)
    expanded = zoo.tree1_expanded().dof_tree
    printed_envelope = ((3, 1), (3, 2), (6, 4), (6, 5), *((7, j) for j in range(1, 7)))
    rows = (
        exact("nu(1) of Tree 1", (1, 2, 3, 4, 5, 6, 7), from_one(sorted(tree.subtree(0)))),
        exact("nu(2) of Tree 1", (2, 4, 5), from_one(sorted(tree.subtree(1)))),
        exact("eq. 4: nonzeros in each row of H", (7, 4, 4, 3, 3, 3, 3), nonzeros(pattern(tree))),
        exact("nonzeros in each row of L", (1, 2, 2, 3, 3, 3, 3), nonzeros(np.tril(pattern(tree)))),
        exact("Fig. 2: expanded parent array", (0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5), from_one(expanded.parent)),
        exact("k = 7, step 2: elements written", ((7, 1), (7, 3)), step2),
        exact("k = 7, step 3: elements written", ((1, 1), (3, 1), (3, 3)), step3),
        exact("k = 7, dense: elements written at steps 2 and 3", (6, 21), (len(dense2), len(dense3))),
        exact("eq. 7: envelope of the permuted H", printed_envelope, elements(inside)),
        exact("eq. 7: zeros inside the envelope", 0, int(np.count_nonzero(bordered[inside] == 0))),
        exact("Cholesky factor of the H of Tree 1: nonzeros", 28, nonzeros_of_cholesky(tree)),
        exact("nodes without DH parameters in Tree 1", 3, tree.dh_counts().D0b),
        _equation5(),
    )  # fmt: skip
    caption = (
        "Nonzeros (filled) of H for Tree 1 (left), for the 30-DoF humanoid (middle), and for the humanoid in "
        "reversed depth-first order (right): the nested, doubly bordered form, limbs first, the base as the border. "
        "Crosses mark the envelope: it is full, so that an ordinary Cholesky factorization fills nothing in."
    )
    drawn = mechanisms(
        {"Fig. 1: Tree 1": tree, "Fig. 2: Tree 1 expanded": expanded, "Fig. 4: unbranched": chain(7),
         "Fig. 4: short side branches": side_branches(5), "Fig. 4: balanced tree": balanced(4),
         "Fig. 4: spanning tree of a grid": span_grid(4), "Fig. 6: humanoid, bodies": zoo.humanoid().tree},
        "Figs. 1, 2, 4 and 6: the mechanisms of the paper as graphs; the square is the base, numbers are the paper's.",
    )  # fmt: skip
    return Result(rows, (drawn, Figure("bordered", caption, draw, (9.0, 3.6))))


def from_one(numbers: Any) -> tuple[int, ...]:
    return tuple(int(i) + 1 for i in numbers)


def pattern(tree: Tree) -> FloatArray:
    """1 where H may be different from zero, in the tree's own order."""
    below = np.zeros((tree.n, tree.n))
    for i in range(tree.n):
        below[i, tree.path(i)] = 1.0
    return np.maximum(below, below.T)


def nonzeros(matrix: FloatArray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.count_nonzero(matrix, axis=1))


def nonzeros_of_cholesky(tree: Tree) -> int:
    """An ordinary Cholesky factorization in the given order fills zeros in."""
    H = pattern(tree) * 0.1 + np.eye(tree.n)
    return int(np.count_nonzero(np.linalg.cholesky(H)))


def bordered_matrix(tree: Tree) -> FloatArray:
    p = bordered_order(tree)
    return pattern(tree)[p][:, p]


def elements(mask: Any) -> tuple[tuple[int, int], ...]:
    return tuple((i + 1, j + 1) for i, j in np.argwhere(mask).tolist())


def touched(tree: Tree, k: int) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Elements that eliminating node k writes: in its own row (step 2), and in those of its ancestors (step 3)."""
    H = Touched(tree.D1 + tree.n)
    eliminate(tree.regular, tree.rows, H, int(tree.rank[k]))
    row = np.repeat(np.arange(tree.n), np.diff(tree.rows))
    places = sorted((int(tree.order[row[e]]) + 1, int(tree.order[tree.ancestors[e]]) + 1) for e in H.written)
    return tuple(p for p in places if p[0] == k + 1), tuple(p for p in places if p[0] != k + 1)


def _equation5() -> Row:
    """By eq. 5 as printed H_ij has the composite inertia of the ancestor: to grow with its own mass."""
    light, heavy = (Dynamics(two_links(mass)).mass_matrix(np.array([0.3, 0.5])) for mass in (1.0, 5.0))
    assert heavy[0, 0] > light[0, 0]
    return exact(
        "eq. 5: does H_ij, i below j, depend on the inertia of j itself", True, bool(heavy[1, 0] != light[1, 0]),
        "the conditions are interchanged: the composite inertia is that of the descendant", erratum="E9",
    )  # fmt: skip


def two_links(mass: float) -> Model:
    """Two links in series, the first of this mass."""
    builder, at = Builder("two links"), (np.eye(3), np.array([0.4, 0.0, 0.1]))
    for name, up, m in (("upper", "world", mass), ("lower", "upper", 1.0)):
        builder.add_body(name, up, "revolute", at, mass=m, com=(0.2, 0.1, 0.0), inertia=0.02 * np.eye(3))
    return builder.build()


def draw(canvas: Any) -> None:
    tree, humanoid = zoo.tree1().dof_tree, zoo.humanoid().dof_tree
    shown = (("Tree 1", pattern(tree)), ("humanoid, as numbered", pattern(humanoid)),
             ("humanoid, bordered", bordered_matrix(humanoid)))  # fmt: skip
    for axes, (title, matrix) in zip(canvas.subplots(1, 3), shown, strict=True):
        show_pattern(axes, matrix)
        axes.set_title(title)
        axes.set_xlabel("column")
        if title.endswith("bordered"):
            i, j = np.nonzero(envelope(matrix))
            axes.plot(j + 1, i + 1, "x", color="#D55E00", markersize=3)
    canvas.axes[0].set_ylabel("row")


def bordered_order(tree: Tree) -> IntArray:
    """The permutation p (n,) for which H[p][:, p] is nested and doubly bordered: depth-first, reversed."""
    return tree.order[::-1].copy()


def envelope(H: FloatArray) -> BoolArray:
    """(n, n) mask of the elements left of the diagonal that are not zero, or have a nonzero to their left."""
    return np.logical_or.accumulate(np.tril(H != 0, -1), axis=1) & np.tri(len(H), k=-1, dtype=bool)
