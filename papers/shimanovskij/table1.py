"""Table 1 and sections 1 and 2: UDU' factorization and substitutions, and the tree of Figs. 1 and 2."""

from __future__ import annotations

import numpy as np

from bough import cost, zoo
from bough.compile.graph.program import OperationCount
from bough.sparsity import products
from bough.sparsity.ltl import ltl
from bough.sparsity.udut import udut, udut_backward, udut_forward
from bough.tree import Tree
from papers.featherstone2005.section2 import from_one, nonzeros, pattern, touched
from papers.featherstone2005.table1 import Operation, compare
from papers.graphs import mechanisms
from papers.result import Result, exact
from papers.topologies import balanced, chain, small_trees, span_grid


def _solve(tree: Tree) -> OperationCount:
    return cost.factor_solve(tree, unit=False)


OPERATIONS = (
    Operation("UU' factorization", "n sqrt + N1 d + N2 (m + a)", cost.ltl, ltl, False),
    Operation("UU': forward substitution", "n d + N1 (m + a)", _solve, products.ltsolve, True),
    Operation("UU': back substitution", "n d + N1 (m + a)", _solve, products.lsolve, True),
    Operation("UDU' factorization", "N1 d + N2 (m + a)", cost.ltdl, udut, False),
    Operation("forward substitution", "n d + N1 (m + a)", cost.udut_forward, udut_forward, True),
    Operation("back substitution", "N1 (m + a)", lambda tree: cost.factor_solve(tree, unit=True), udut_backward, True),
)


def run(full: bool = False) -> Result:
    """Kernels executed on nine trees; sets, patterns and touched elements of the example tree."""
    tree, trees = zoo.shimanovskij().dof_tree, small_trees()
    row, others = touched(tree, 8)
    dense_row, dense_others = touched(chain(9), 8)
    upper = np.triu(pattern(tree))
    rows = (
        *(row for operation in OPERATIONS for row in compare(operation, trees)),
        exact("Fig. 2: expanded parent array", (0, 1, 2, 3, 2, 4, 5, 7, 5), from_one(tree.parent)),
        exact("eq. 5: nonzeros in each row of M", (9, 9, 5, 5, 6, 5, 5, 5, 4), nonzeros(pattern(tree))),
        exact("nonzeros in each row of U", (9, 8, 3, 2, 4, 1, 2, 1, 1), nonzeros(upper)),
        exact("eta: nonzeros in each column of U", (1, 2, 3, 4, 3, 5, 4, 5, 4), nonzeros(upper.T)),
        exact("k = 9: ancestors", (5, 2, 1), from_one(tree.path(8)[-2::-1])),
        exact("k = 9: elements computed, the diagonal counted", 4, len(row) + 1),
        exact("k = 9: elements modified", ((1, 1), (1, 2), (1, 5), (2, 2), (2, 5), (5, 5)), _upper(others)),
        exact("k = 9, dense: elements computed and modified", (9, 36), (len(dense_row) + 1, len(dense_others)),
              "E16: the dense UDU' is meant"),
    )  # fmt: skip
    drawn = mechanisms(
        {"Fig. 1: bodies": zoo.shimanovskij().tree, "Fig. 2: degrees of freedom": tree, "Fig. 3: chain": chain(7),
         "Fig. 3: binary tree": balanced(4), "Fig. 3: square grid": span_grid(4)},
        "Figs. 1 to 3: the example of the paper, and the three kinds of trees of Table 2, as graphs.",
    )  # fmt: skip
    remark = "N1 and N2 are the D1 and D2 of Featherstone 2005; U' is the L of LTDL, and of LTL for UU'."
    return Result(rows, (drawn,), (remark,))


def _upper(places: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Elements of the lower triangle as those of the upper one, in order."""
    return tuple(sorted((j, i) for i, j in places))
