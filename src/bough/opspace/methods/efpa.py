"""EFPA, the extended force propagator algorithm (Wensing, Featherstone & Orin 2012): O(n + m d + m^2).

Each row's wrench A travels to the root; then the acceleration W that a unit force along the row causes travels
back over the row's own bodies. Row k meets row l where the paths part: one product A^k . W^l.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import ARTICULATED_WORK, eliminate_all
from bough.joints import Mechanism, along, force_to_parent, freedom, joint_motion, motion_to_body
from bough.opspace.methods.method import TRANSFORM, InverseMethod, Prepared, inertias
from bough.opspace.methods.pv import mirror, start_rows
from bough.opspace.sweeps.jacobian import Slots
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, task_wrench
from bough.opspace.taskset import TaskSet
from bough.spatial import add6, dot6, fill, get6, put6, scale6, sub6
from bough.types import Rows, Workspace

WHOLE, SENT, SEED = range(3)


class Meetings(NamedTuple):
    """Where rows meet: Lambda^-1 (row, column) += A . W at a slot of the column's row; T terms."""

    row: Rows  # (T,)
    column: Rows  # (T,)
    slot: Rows  # (T,) of the column's row
    kind: Rows  # (T,) which A: that of a slot, what a slot sends to its parent, or that of a seed
    index: Rows  # (T,)


# Pseudo-code (P_i = 1 - S D^-1 U'):
#   D, U of all bodies, inward                                                       eliminate_all
#   for each row k, body b to root:   A_b = K_k;  A_parent(i) = A_i P_i X_i          send
#   for each row l, root to body b:   W_i = S D^-1 (A_i S)' + P_i X_i W_parent(i)    respond
#   Lam_inv_kl = A^k_g W^l_g, g the deepest body that both rows reach


@kernel
def efpa(m: Mechanism, t: Seeds, s: Slots, z: Meetings, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q."""
    joint_motion(m, q, w.X)
    eliminate_all(m, w)
    start_rows(m, t, s, w)
    for a in range(len(s.row) - 1, -1, -1):
        send(m, s, a, w)
    for a in range(len(s.row)):
        respond(m, s, a, w)
    fill(Lam_inv, m.zero[0])
    for b in range(len(z.row)):
        A = get6(w.K, z.index[b])
        if z.kind[b] == SENT:
            A = get6(w.sent, z.index[b])
        elif z.kind[b] == SEED:
            A = task_wrench(m, t, z.index[b], w)
        r, c = z.row[b], z.column[b]
        Lam_inv[r, c] = Lam_inv[r, c] + dot6(A, get6(w.a, z.slot[b]))
    mirror(Lam_inv)


@kernel
def send(m: Mechanism, s: Slots, a: int, w: Workspace) -> None:
    """Take from the row's wrench at slot a what the joint feels, and hand the rest to the parent."""
    i, A = s.body[a], get6(w.K, a)
    for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
        F = along(m, k, A)
        w.F[s.entry[a] + k - m.dof[i]] = F
        A = sub6(A, scale6(F, get6(w.W, k)))
    up = s.up[a]
    if up >= 0:
        A = force_to_parent(m, w.X, i, A)
        put6(w.sent, a, A)
        put6(w.K, up, add6(get6(w.K, up), A))


@kernel
def respond(m: Mechanism, s: Slots, a: int, w: Workspace) -> None:
    """The acceleration of slot a's body under a unit force along its row."""
    i, zero = s.body[a], m.zero[0]
    x = (zero, zero, zero, zero, zero, zero)
    if s.up[a] >= 0:
        x = motion_to_body(m, w.X, i, get6(w.a, s.up[a]))
    for k in range(m.dof[i], m.dof[i + 1]):
        rate = w.F[s.entry[a] + k - m.dof[i]] / w.D[k] - dot6(get6(w.W, k), x)
        x = add6(x, freedom(m, k, rate))
    put6(w.a, a, x)


def meetings(tasks: TaskSet) -> Meetings:
    """For every pair of rows, the pieces of one row's wrench that reach the other's bodies from outside."""
    s, terms = tasks.slots, []
    number = {(int(i), int(r)): a for a, (i, r) in enumerate(zip(s.body, s.row, strict=True))}
    seed_at = {int(a): b for b, a in enumerate(s.of_seed)}
    children: dict[int, list[int]] = {}
    for a, up in enumerate(s.up.tolist()):
        children.setdefault(up, []).append(a)
    slots_of_row = [[number[int(i), r] for i in bodies] for r, bodies in enumerate(tasks.bodies_of_row)]
    for k in range(tasks.size):
        for l in range(k + 1):
            for a in slots_of_row[k]:
                there = number.get((int(s.body[a]), l))
                if there is None:
                    continue
                below = children.get(a, [])
                outside = [c for c in below if (int(s.body[c]), l) not in number]
                if len(outside) == len(below):
                    terms.append((k, l, there, WHOLE, a))
                    continue
                terms += [(k, l, there, SENT, c) for c in outside]
                if a in seed_at:
                    terms.append((k, l, there, SEED, seed_at[a]))
    return Meetings(*np.array(terms, np.int64).reshape(-1, 5).T)


EFPA = Routine(
    "efpa",
    efpa,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=PLACEMENT_WORK | ARTICULATED_WORK | {"K": "slots 6", "sent": "slots 6", "a": "slots 6", "F": "entries"},
)


def prepare(tasks: TaskSet) -> Prepared:
    return Prepared(EFPA, (tasks.model.mechanism, tasks.seeds, tasks.slots, meetings(tasks)), tasks.sizes)


def estimate(tasks: TaskSet, prepared: Prepared) -> int:
    program: Meetings = prepared.constants[-1]  # type: ignore[assignment]
    return inertias(tasks) + 2 * (TRANSFORM + 10) * len(tasks.slots.row) + 11 * len(program.row)


METHOD = InverseMethod("efpa", prepare, estimate)
