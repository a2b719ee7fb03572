"""What the scripts share: packed rows on paths of a tree, ASIMO's among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bough import zoo
from bough.compile.graph.program import OperationCount
from bough.opspace import SparseRows, TaskSet, pose
from bough.opspace.sweeps.jacobian import (
    DofTree,
    jacobian_times,
    jacobian_transpose_times,
    outer_product,
    solve_rows,
    solve_rows_unit,
)
from bough.sparsity.ltdl import ltdl
from bough.tree import Tree
from papers.counting import executed, on_tree
from papers.featherstone2010.products import generalised_inverse, null_space


def task_set(variant: str = "HF") -> TaskSet:
    """The tasks of a row of Table 3, six rows each, in link coordinates."""
    return TaskSet(zoo.asimo(variant), [pose(frame, "local") for frame in zoo.asimo_tasks(variant)])


def last_dofs(tasks: TaskSet) -> list[int]:
    """b_e: for each row the last degree of freedom (in the order of v) of its body."""
    m = tasks.model.mechanism
    return [int(m.v_index[m.dof[row[0].body + 1] - 1]) for row in tasks.rows]


def jacobian_pattern(tasks: TaskSet) -> Any:
    """(m, nv): where J is not zero by structure."""
    mask = np.zeros((tasks.size, tasks.model.nv), bool)
    for r, dofs in enumerate(tasks.support):
        mask[r, dofs] = True
    return mask


def rows_on(tree: Tree, last: Sequence[int]) -> SparseRows:
    """J with a nonzero everywhere on the path of each row."""
    J = np.zeros((len(last), tree.n))
    for r, i in enumerate(last):
        J[r, tree.path(i)] = 1.0
    return SparseRows(tree, J)


def sparse_costs(tree: Tree, last: Sequence[int]) -> dict[str, OperationCount]:
    """Every operation of Table 1 executed on packed rows."""
    rows = rows_on(tree, last)
    p, f, m, n = rows.packed, DofTree(tree.regular.tolist(), tree.rows.tolist()), len(last), tree.n
    entries, L = (len(p.dof),), (tree.D1 + n,)
    return {
        "LTDL": on_tree(ltdl, tree),
        "J x": executed(jacobian_times, p, entries, (n,), (m,)),
        "J' x": executed(jacobian_transpose_times, p, entries, (m,), (n,), float),
        "J L^-1": executed(solve_rows, p, f, L, entries),
        "J L_d^-1, Y_d D^-1": executed(solve_rows_unit, p, f, L, entries, entries),
        "Y Y'": executed(outer_product, p, entries, entries, (m, m), float),
        "L_d^-1 (Y_D' Lambda)": executed(generalised_inverse, p, f, L, entries, (m, m), (n, m), float),
        "1 - Jbar J": executed(null_space, p, entries, (n, m), (n, n), float, float),
    }


def dense_costs(n: int, m: int) -> dict[str, OperationCount]:
    """The same by standard matrix arithmetic, executed on full matrices: those of a chain, and products of arrays."""
    full = Tree(range(-1, n - 1))
    costs = sparse_costs(full, [n - 1] * m)
    Jbar = executed(np.matmul, (n, m), (m, m)) + executed(_substitute, full, (full.D1 + n,), (n, m))
    null = executed(np.matmul, (n, m), (m, n)) + OperationCount(add=n)
    return costs | {"J' x": executed(np.matmul, (n, m), (m,)), "L_d^-1 (Y_D' Lambda)": Jbar, "1 - Jbar J": null}


def _substitute(tree: Tree, L: Any, x: Any) -> None:
    from bough.sparsity.products import unit_lsolve

    unit_lsolve(tree.regular, tree.rows, L, x)


def zero_testing_product(J: Any) -> tuple[OperationCount, int]:
    """Fig. 7: y = J' x by looking at every element of J and skipping zeros; operations, and elements looked at."""
    done = looked = 0
    for row in np.asarray(J):
        for element in row:
            looked += 1
            if element != 0:
                done += 1
    return OperationCount(mul=done, add=done), looked
