"""Lambda^-1 = Y_D Y_d' with Y_d = J L_d^-1, H = L_d' D L_d (Featherstone 2010, eq. 22, corrected): no square roots."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.crba import WORK, crba
from bough.joints import Mechanism
from bough.opspace.methods.method import InverseMethod, Prepared, by_factor, dof_tree
from bough.opspace.sweeps.jacobian import (
    JACOBIAN_WORK,
    DofTree,
    JacobianPattern,
    outer_product,
    packed_jacobian,
    solve_rows_unit,
)
from bough.opspace.sweeps.wrenches import Seeds
from bough.opspace.taskset import TaskSet
from bough.sparsity.ltdl import ltdl as factorize
from bough.types import Rows, Workspace


@kernel
def ltdl(m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q, by H, its factor and J."""
    crba(m, q, w.H, w)
    packed_jacobian(m, t, p, w.Y, w)
    factorize(f.parent, f.rows, w.H)
    solve_rows_unit(p, f, w.H, w.Y, w.YD)
    outer_product(p, w.YD, w.Y, Lam_inv, m.zero[0])


LTDL = Routine(
    "ltdl",
    ltdl,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=JACOBIAN_WORK | WORK | {"H": "packed", "Y": "entries", "YD": "entries"},
)


def prepare(tasks: TaskSet) -> Prepared:
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
    return Prepared(LTDL, constants, tasks.sizes)


METHOD = InverseMethod("ltdl", prepare, by_factor, by_factor=True)
