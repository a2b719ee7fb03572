"""Table 1 and sections 1 and 2: UDU' factorization and substitutions, and the tree of Figs. 1 and 2."""

from __future__ import annotations

import numpy as np

from bough import cost, zoo
from bough.sparsity.udut import udut, udut_backward, udut_forward
from papers.featherstone2005.section2 import from_one, nonzeros, pattern, touched
from papers.featherstone2005.table1 import Operation, compare
from papers.result import Result, exact
from papers.topologies import chain, small_trees

OPERATIONS = (
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
    return Result(rows, remarks=("N1 and N2 are the D1 and D2 of Featherstone 2005; U' is the L of LTDL.",))


def _upper(places: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Elements of the lower triangle as those of the upper one, in order."""
    return tuple(sorted((j, i) for i, j in places))
