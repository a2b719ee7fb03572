"""The task Jacobian in packed rows, and its products (Featherstone 2010, sections 5 and 8, Figs. 5 and 6).

Each degree of freedom is written once as a motion in world axes about its tree's root; an entry of J is then one
product with the row's wrench: about 12 operations for each column of a pose, whatever the depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism, freedom, joint_motion
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, place_bodies, wrench_in_world
from bough.spatial import dot6, get6, get9, get_tail, motion_in, put6
from bough.types import Rows, Scalar, Workspace

# Where the entries of J and of the factor of H stand, as kernels see it (Featherstone 2010, sections 4 and 5).


class Slots(NamedTuple):
    """Pairs (body, row) such that the row has a seed in the subtree of the body, sorted by body, then row."""

    of_body: Rows  # (N + 1,) slots of body i are of_body[i] .. of_body[i + 1] - 1
    body: Rows  # (slots,)
    row: Rows  # (slots,)
    up: Rows  # (slots,) slot of the same row at the parent body, -1 at the root
    of_seed: Rows  # (S,) slot of each seed
    entry: Rows  # (slots,) entry in packed J of the body's first degree of freedom


class JacobianPattern(NamedTuple):
    """Packed J: for each row the degrees of freedom of its support, ascending; E entries."""

    of_row: Rows  # (rows + 1,)
    dof: Rows  # (E,)
    up: Rows  # (E,) entry of the parent degree of freedom in the same row, -1 at the root
    of_seed: Rows  # (S,) entry of the last degree of freedom of the seed's body, -1 for a joint's seeds
    constant: Rows  # (E,) what joint rows have in J


class DofTree(NamedTuple):
    """The tree of degrees of freedom behind packed ancestor rows."""

    parent: Rows  # (n,)
    rows: Rows  # (n + 1,)
    leader: Rows = np.zeros(0, np.int64)  # (nv,) behind each entry of v, for kernels in which mimic joints are tied


@kernel
def packed_jacobian(m: Mechanism, t: Seeds, p: JacobianPattern, J: Rows, w: Workspace) -> None:
    """J in packed rows, (E,), from the joint motions in w.X; t must place the bodies of all supports."""
    place_bodies(m, t, w)
    for a in range(len(t.placed)):
        i = t.placed[a]
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.S, k, motion_in(get9(w.place, i), get_tail(w.place, i), freedom(m, k, m.one[0])))
    for e in range(len(p.dof)):
        J[e] = p.constant[e]
    for s in range(len(t.kind)):
        e = p.of_seed[s]
        if e >= 0:
            K = wrench_in_world(m, t, s, w)
            while e >= 0:
                J[e] = J[e] + dot6(K, get6(w.S, p.dof[e]))
                e = p.up[e]


@kernel
def spread_jacobian(m: Mechanism, p: JacobianPattern, packed: Rows, J: Rows) -> None:
    """Packed rows as a full (rows, nv) matrix in the order of v; mimic joints add into the columns of their leaders."""
    for r in range(J.shape[0]):
        for c in range(J.shape[1]):
            J[r, c] = m.zero[0]
        for e in range(p.of_row[r], p.of_row[r + 1]):
            c = m.v_index[p.dof[e]]
            J[r, c] = J[r, c] + m.ratio[p.dof[e]] * packed[e]


@kernel
def jacobian(m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, J: Rows, w: Workspace) -> None:
    """J, (rows, nv), from q."""
    joint_motion(m, q, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, J)


@kernel
def jacobian_times(p: JacobianPattern, J: Rows, x: Rows, y: Rows) -> None:
    """y = J x on packed rows, x in the kernel's order: sum of d_i (m + a), less an addition for each row."""
    for r in range(len(y)):
        e = p.of_row[r + 1] - 1
        y[r] = J[e] * x[p.dof[e]]
        for b in range(e - 1, p.of_row[r] - 1, -1):
            y[r] = y[r] + J[b] * x[p.dof[b]]


@kernel
def jacobian_transpose_times(p: JacobianPattern, J: Rows, x: Rows, y: Rows, zero: Scalar) -> None:
    """y = J' x on packed rows: sum of d_i (m + a)."""
    for k in range(len(y)):
        y[k] = zero
    for r in range(len(x)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            y[p.dof[e]] = y[p.dof[e]] + J[e] * x[r]


JACOBIAN_WORK = PLACEMENT_WORK | {"S": "dofs 6"}
JACOBIAN = Routine(
    "jacobian", jacobian, inputs={"q": "nq"}, outputs={"jacobian": "rows nv"}, work=JACOBIAN_WORK | {"J": "entries"}
)


# Sparse algorithms on packed rows (Featherstone 2010, section 8, Figs. 8 to 10).
#
# Rows have the pattern of J: the degrees of freedom on the path from the tasks' bodies to the root. `parent` and `rows`
# describe the packed factor of H. Supports may be single paths or unions of them (relative tasks, momentum).


@kernel
def solve_rows(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows) -> None:
    """Y = J L^-1 in situ on a copy of J (Fig. 8): d_i divisions and d_i (d_i - 1) / 2 (m + a) for each row."""
    for e in range(len(p.dof) - 1, -1, -1):
        k = p.dof[e]
        Y[e] = Y[e] / L[f.rows[k + 1] - 1]
        subtract_from_ancestors(p, f, L, Y, e)


@kernel
def solve_rows_unit(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows, YD: Rows) -> None:
    """Y = J L^-1 in situ for a unit factor, and YD = Y D^-1 (Fig. 9), at the same cost."""
    for e in range(len(p.dof) - 1, -1, -1):
        subtract_from_ancestors(p, f, L, Y, e)
        YD[e] = Y[e] / L[f.rows[p.dof[e] + 1] - 1]


@kernel
def subtract_from_ancestors(p: JacobianPattern, f: DofTree, L: Rows, Y: Rows, e: int) -> None:
    """Y_j -= Y_k L_kj for the ancestors j of entry e's degree of freedom k."""
    a, b = p.up[e], f.rows[p.dof[e] + 1] - 2
    while a >= 0:
        Y[a] = Y[a] - Y[e] * L[b]
        a = p.up[a]
        b = b - 1


@kernel
def outer_product(p: JacobianPattern, A: Rows, B: Rows, out: Rows, zero: Scalar) -> None:
    """A B' of two matrices with the pattern of J, known to be symmetric (Fig. 10): d_ij m + (d_ij - 1) a."""
    for r in range(len(out)):
        for s in range(r + 1):
            x = row_product(p, A, B, r, s, zero)
            out[r, s] = x
            out[s, r] = x


@kernel
def row_product(p: JacobianPattern, A: Rows, B: Rows, r: int, s: int, zero: Scalar) -> Scalar:
    """Row r of A times row s of B: entries meet where both rows have the same degree of freedom."""
    a, b, terms, x = p.of_row[r], p.of_row[s], 0, zero
    while a < p.of_row[r + 1] and b < p.of_row[s + 1]:
        if p.dof[a] == p.dof[b]:
            if terms == 0:
                x = A[a] * B[b]
            else:
                x = x + A[a] * B[b]
            terms = terms + 1
            a = a + 1
            b = b + 1
        elif p.dof[a] < p.dof[b]:
            a = a + 1
        else:
            b = b + 1
    return x
