"""Lambda^-1 = J H^-1 J' by dense matrix arithmetic (Khatib 1987): the reference, O(n^3 + m n^2 + m^2 n).

Zeros of H and J are computed with in general code; in traced code they vanish. `dense_count` has them all. The
factorization is LTDL on a chain, whose packed rows are a full triangle. The only method for models with mimic
joints, which tie branches together.
"""

from __future__ import annotations

import numpy as np

from bough.compile.graph.program import OperationCount
from bough.compile.kernel import kernel
from bough.compile.routine import Routine, operations, trace
from bough.dynamics.crba import MASS_MATRIX, mass_matrix
from bough.joints import Mechanism
from bough.opspace.methods.method import InverseMethod, Prepared, by_factor
from bough.opspace.sweeps.jacobian import (
    JACOBIAN_WORK,
    DofTree,
    JacobianPattern,
    outer_product,
    packed_jacobian,
    solve_rows_unit,
    spread_jacobian,
)
from bough.opspace.sweeps.wrenches import Seeds
from bough.opspace.taskset import TaskSet
from bough.sparsity.ltdl import ltdl
from bough.types import Rows, Workspace


@kernel
def dense(
    m: Mechanism, t: Seeds, p: JacobianPattern, full: Rows, f: DofTree, q: Rows, Lam_inv: Rows, w: Workspace
) -> None:
    """Lambda^-1, full and symmetric, from q; `full` and f are the patterns of a chain."""
    matrices(m, t, p, q, w.M, w.JJ, w)
    products(m, full, f, w.M, w.JJ, Lam_inv, w)


@kernel
def matrices(m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, M: Rows, JJ: Rows, w: Workspace) -> None:
    """H (nv, nv) and J (rows, nv)."""
    mass_matrix(m, q, M, w)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, JJ)


@kernel
def products(m: Mechanism, full: Rows, f: DofTree, M: Rows, JJ: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """J H^-1 J' of any H and J."""
    n = M.shape[0]
    for i in range(n):
        for j in range(i + 1):
            w.triangle[f.rows[i] + j] = M[i, j]
    ltdl(f.parent, f.rows, w.triangle)
    for e in range(len(full.dof)):
        w.Y[e] = JJ[e // n, e % n]
    solve_rows_unit(full, f, w.triangle, w.Y, w.YD)
    outer_product(full, w.YD, w.Y, Lam_inv, m.zero[0])


def full_pattern(rows: int, n: int) -> tuple[JacobianPattern, DofTree]:
    """Every row supported by all n degrees of freedom, which form one chain."""
    column = np.tile(np.arange(n), rows)
    up = np.where(column > 0, np.arange(rows * n) - 1, -1)
    none = np.zeros(0, np.int64)
    pattern = JacobianPattern(np.arange(rows + 1) * n, column, up, none, np.zeros(0))
    return pattern, DofTree(np.arange(n) - 1, np.arange(n + 1) * np.arange(1, n + 2) // 2)


FULL = {"M": "nv nv", "JJ": "rows nv"}
OF_MATRICES = dict(MASS_MATRIX.work) | JACOBIAN_WORK | {"J": "entries"}
OF_PRODUCTS = {"triangle": "triangle", "Y": "full", "YD": "full"}
LAMBDA = {"Lam_inv": "rows rows"}
DENSE = Routine("dense", dense, {"q": "nq"}, LAMBDA, OF_MATRICES | OF_PRODUCTS | FULL)
MATRICES = Routine("matrices", matrices, {"q": "nq"}, FULL, OF_MATRICES)
PRODUCTS = Routine("products", products, FULL, LAMBDA, OF_PRODUCTS)


def prepare(tasks: TaskSet) -> Prepared:
    nv = tasks.model.nv
    full, chain = full_pattern(tasks.size, nv)
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, full, chain)
    sizes = tasks.sizes | {"full": len(full.dof), "triangle": nv * (nv + 1) // 2}
    return Prepared(DENSE, constants, sizes)


def dense_count(tasks: TaskSet) -> OperationCount:
    """Operations with every zero of H and J: those of H and J from q, and those of the products of full matrices."""
    _, constants, sizes = prepare(tasks)
    made = operations(Prepared(MATRICES, constants[:3], sizes).program(tasks))
    used = operations(trace(PRODUCTS, (constants[0], *constants[3:]), sizes))
    return made + used


# Never the cheapest: on a graph its zeros vanish and it is LTDL, elsewhere they do not.
METHOD = InverseMethod("dense", prepare, by_factor, by_factor=True, may_be_chosen=False, needs_tree=False)
