"""PV-OSIM (Popov & Vereshchagin 1978; Sathya, Bruyninckx, Decre & Pipeleers 2024): Lambda^-1 in one inward sweep.

O(n + m^2 d). The rows travel from their bodies to the root; each DoF on the way yields to them. What it yields are
the entries of Y_d = J L_d^-1 of the sparse factorization, found without H: Lambda^-1 = Y_D Y_d'.
"""

from __future__ import annotations

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.joints import Mechanism, along, force_to_parent, joint_motion
from bough.opspace.methods.method import TRANSFORM, InverseMethod, Prepared, inertias
from bough.opspace.sweeps.jacobian import JacobianPattern, Slots, outer_product
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, place_bodies, task_wrench
from bough.opspace.taskset import TaskSet
from bough.spatial import add6, get6, get21, put6, scale6, sub6
from bough.types import Force, Rows, Scalar, Workspace

# Pseudo-code (Kbar_k: what is left of row k at body i):
#   for i = N .. 1:
#       D, U of body i;  IA_parent += X_i' (IA_i - U D^-1 U') X_i
#       for rows k with a seed in the subtree of i:
#           F_k = Kbar_k S_i                                                        an entry of Y_d
#           Kbar_k at the parent += (Kbar_k - F_k D^-1 U') X_i
#   Lam_inv_kl = sum over i of F_k D^-1 F_l'


@kernel
def pv(m: Mechanism, t: Seeds, s: Slots, p: JacobianPattern, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q."""
    joint_motion(m, q, w.X)
    start_rows(m, t, s, w)
    start_inertias(m, w)
    for i in range(len(m.parent) - 1, -1, -1):
        IA = get21(w.IA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            D, W, IA = split_freedom(m, k, IA)
            for a in range(s.of_body[i], s.of_body[i + 1]):
                yield_to_row(m, s, a, k, D, W, w)
        inertia_to_parent(m, i, IA, w)
        for a in range(s.of_body[i], s.of_body[i + 1]):
            up = s.up[a]
            if up >= 0:
                put6(w.K, up, add6(get6(w.K, up), force_to_parent(m, w.X, i, get6(w.K, a))))
    outer_product(p, w.YD, w.Y, Lam_inv, m.zero[0])


@kernel
def start_rows(m: Mechanism, t: Seeds, s: Slots, w: Workspace) -> None:
    """The wrenches of all seeds in their slots."""
    place_bodies(m, t, w)
    zero = m.zero[0]
    for a in range(len(s.row)):
        put6(w.K, a, (zero, zero, zero, zero, zero, zero))
    for b in range(len(t.kind)):
        put6(w.K, s.of_seed[b], task_wrench(m, t, b, w))


@kernel
def yield_to_row(m: Mechanism, s: Slots, a: int, k: int, D: Scalar, W: Force, w: Workspace) -> None:
    """Take from the row at slot a the force along DoF k: an entry of Y_d, as the sparse factorization has it."""
    e, K = s.entry[a] + k - m.dof[s.body[a]], get6(w.K, a)
    F = along(m, k, K)
    w.Y[e] = F
    w.YD[e] = F / D
    put6(w.K, a, sub6(K, scale6(F, W)))


@kernel
def mirror(A: Rows) -> None:
    """Fill the upper triangle from the lower."""
    for r in range(len(A)):
        for c in range(r):
            A[c, r] = A[r, c]


PV = Routine(
    "pv",
    pv,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=PLACEMENT_WORK | {"IA": "bodies 21", "K": "slots 6", "Y": "entries", "YD": "entries"},
)


def prepare(tasks: TaskSet) -> Prepared:
    return Prepared(PV, (tasks.model.mechanism, tasks.seeds, tasks.slots, tasks.pattern), tasks.sizes)


def estimate(tasks: TaskSet, prepared: Prepared) -> int:
    at_body, dofs = np.diff(tasks.slots.of_body), np.diff(tasks.model.mechanism.dof)
    return inertias(tasks) + TRANSFORM * len(tasks.slots.row) + int((dofs * at_body * (at_body + 2)).sum())


METHOD = InverseMethod("pv", prepare, estimate)
