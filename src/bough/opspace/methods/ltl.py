"""Lambda^-1 = Y Y' with Y = J L^-1 and H = L' L (Featherstone 2010, eq. 20): O(n d^2 + m d^2 + m^2 d)."""

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
    solve_rows,
)
from bough.opspace.sweeps.wrenches import Seeds
from bough.opspace.taskset import TaskSet
from bough.sparsity.ltl import ltl as factorize
from bough.types import Rows, Workspace


@kernel
def ltl(m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q, by H, its factor and J."""
    crba(m, q, w.H, w)
    packed_jacobian(m, t, p, w.Y, w)
    factorize(f.parent, f.rows, w.H)
    solve_rows(p, f, w.H, w.Y)
    outer_product(p, w.Y, w.Y, Lam_inv, m.zero[0])


LTL = Routine(
    "ltl",
    ltl,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=JACOBIAN_WORK | WORK | {"H": "packed", "Y": "entries"},
)


def prepare(tasks: TaskSet) -> Prepared:
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
    return Prepared(LTL, constants, tasks.sizes)


METHOD = InverseMethod("ltl", prepare, by_factor, by_factor=True)
