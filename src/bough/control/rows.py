"""Rows of whole-body programs: where their numbers come from, and their order in blocks.

The rows of a program are: tasks, contacts and loops, DoFs without a motor (equations); cones and largest forces
(inequalities); bounds of qdd and torque limits, which few robots meet. One compiled call writes all of a program from
(q, v) and targets; for a single robot, from matrices that are the same for all sets of contacts.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, larger, size, step
from bough.control.interior_point import Blocks
from bough.joints import Mechanism, difference_joint
from bough.opspace.sweeps.complete import WHOLE, whole
from bough.opspace.sweeps.errors import Aims
from bough.opspace.sweeps.jacobian import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Workspace

CONSTANT, OF_H, OF_J = range(3)
TASK, LOOSE, TORQUE, BOUND, MOST, ZERO = range(6)
KINDS = {"task": TASK, "contact": TASK, "loose": LOOSE, "torque": TORQUE, "bound": BOUND, "most": MOST}
GRAM_COST, PRODUCTS_COST = 2.0, 6.0  # of a block, beside one product: to read and write K, and of products with it
# Groups of rows in the order of a program: equations, inequalities, limits, and motors without a limit
PARTS = (("task", "contact", "loose"), ("cone", "most"), ("bound",), ("torque",), ("motor",))
TWO_SIDED = ("torque", "bound")
GROUPS = tuple(group for part in PARTS for group in part)
EQUATIONS, FORCES, BOUNDS, LIMITS = range(4)  # of parts
FORCE = 100.0  # newtons: in this unit forces are about as large as accelerations
LARGE = 300.0  # m/s^2 or rad/s^2: programs with more are solved in units of it
FREE, FAR = 1e30, 1e9  # ease of a row without a requirement; a bound that is never met


class Filling(NamedTuple):
    """Where each number of a program comes from: factor times an element of H or J, or the factor alone."""

    matrix: Rows
    row: Rows
    column: Rows
    factor: Rows


class Ends(NamedTuple):
    """Terms of the bounds of each row; `kind` says which of them apply."""

    kind: Rows  # one of TASK to MOST
    of: Rows  # row of tasks, or DoF
    unit: Rows  # that the row is divided by
    at: Rows  # coordinate of a joint with position limits, or -1
    speed: Rows
    lower: Rows
    upper: Rows
    rate: Rows  # (3,) 1 / horizon, 1 / dt, and `LARGE`


class Law(NamedTuple):
    """Gains of tasks (rows,) and of the posture (nv,)."""

    stiffness: Rows
    damping: Rows
    pull: Rows
    brake: Rows


@kernel
def program_rows(
    m: Mechanism, f: Filling, e: Ends, u: Law,
    q: Rows, v: Rows, rest: Rows, reference: Rows, H: Rows, C: Rows, J: Rows, rate: Rows, bias: Rows, error: Rows,
    a: Rows, low: Rows, high: Rows, z: Rows, scale: Rows, need: Rows, w: Workspace,
) -> None:  # fmt: skip
    """A program: numbers a and sides of its rows, centre z; its scale, and the accelerations that tasks need.

    `reference` is the velocity and acceleration of tasks, and 1 where they have a target, else 0. The scale, in whose
    units sides and centre are, is the largest acceleration that a row needs, or 1 where it is not `LARGE`.
    """
    largest = m.one[0]
    for k in range(len(f.matrix)):
        if f.matrix[k] == OF_H:
            a[k] = f.factor[k] * H[f.row[k], f.column[k]]
        elif f.matrix[k] == OF_J:
            a[k] = f.factor[k] * J[f.row[k], f.column[k]]
        else:
            a[k] = f.factor[k]
    for r in range(len(need)):
        law = u.damping[r] * (reference[0, r] - rate[r]) + reference[2, r] * u.stiffness[r] * error[r]
        need[r] = reference[1, r] + law - bias[r]
    for i in range(len(m.parent)):
        difference_joint(m, i, q, rest, w.gap)
    for i in range(len(z)):
        z[i] = m.zero[0]
        if i < len(v):
            z[i] = u.pull[i] * w.gap[i] - u.brake[i] * v[i]
    for r in range(len(e.kind)):
        low[r], high[r], k, one = m.zero[0], m.zero[0], e.of[r], m.one[0]
        if e.kind[r] == TASK:
            low[r] = need[k]
            largest = larger(largest, size(low[r]))
        elif e.kind[r] == LOOSE:
            low[r] = -C[k]
        elif e.kind[r] == TORQUE:
            low[r], high[r] = -one - C[k] / e.unit[r], one - C[k] / e.unit[r]
        elif e.kind[r] == MOST:
            high[r] = one
        elif e.kind[r] == BOUND:
            slow, fast = -e.speed[r], e.speed[r]
            if e.at[r] >= 0:
                x = q[e.at[r]]
                slow = clip((e.lower[r] - x) * e.rate[0], -e.speed[r], e.speed[r])
                fast = clip((e.upper[r] - x) * e.rate[0], -e.speed[r], e.speed[r])
            low[r], high[r] = (slow - v[k]) * e.rate[1] / e.unit[r], (fast - v[k]) * e.rate[1] / e.unit[r]
            largest = larger(larger(largest, low[r] * e.unit[r]), -high[r] * e.unit[r])
    scale[0] = m.one[0] + step(largest - e.rate[2]) * (largest - m.one[0])
    for r in range(len(low)):
        low[r], high[r] = low[r] / scale[0], high[r] / scale[0]
    for i in range(len(z)):
        z[i] = z[i] / scale[0]


@kernel
def fill_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, f: Filling, e: Ends, u: Law,
    q: Rows, v: Rows, target: Rows, posture: Rows, qdd: Rows, rest: Rows, reference: Rows,
    a: Rows, low: Rows, high: Rows, z: Rows, scale: Rows, need: Rows, C: Rows, error: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """The same from (q, v) on; and C, errors of tasks."""
    whole(m, t, p, g, q, v, target, posture, qdd, w.H_dense, C, w.J_dense, w.speed, w.bias, error, w)
    program_rows(
        m,
        f,
        e,
        u,
        q,
        v,
        rest,
        reference,
        w.H_dense,
        C,
        w.J_dense,
        w.speed,
        w.bias,
        error,
        a,
        low,
        high,
        z,
        scale,
        need,
        w,
    )


FURTHER = {"rest": "nq", "reference": "3 rows"}
PROGRAM = {"a": "numbers", "low": "sides", "high": "sides", "z": "n", "scale": "1", "need": "rows"}
FILL_ROWS = Routine(
    "whole_body",
    fill_rows,
    inputs=dict(WHOLE.inputs) | FURTHER,
    outputs=PROGRAM | {"C": "nv", "error": "rows"},
    work=dict(WHOLE.work) | {"H_dense": "nv nv", "J_dense": "rows nv", "speed": "rows", "bias": "rows"},
).without("qdd")
PROGRAM_ROWS = Routine(
    "whole_body_program",
    program_rows,
    inputs={"q": "nq", "v": "nv"} | FURTHER | dict(WHOLE.outputs),
    outputs=PROGRAM,
    work={"gap": "nv"},
)


class Row(NamedTuple):
    """A row of a program: its group, {column: (matrix, row, column, factor)}, the DoF or row of tasks, and its unit."""

    group: str
    entries: dict[int, tuple[int, int, int, float]]
    of: int = 0
    unit: float = 1.0


def laid_out(rows: list[Row]) -> tuple[Blocks, list[int], list[tuple[int, int, int, float]]]:
    """Blocks of rows, which row comes where, and all numbers in order."""
    part = {group: k for k, groups in enumerate(PARTS) for group in groups}
    members: dict[Any, list[int]] = {}
    for k, x in enumerate(rows):
        members.setdefault((part[x.group], x.group in TWO_SIDED, tuple(sorted(x.entries))), []).append(k)
    ordered = sorted(merged(members).items(), key=lambda item: item[0][0])
    numbers: list[tuple[int, int, int, float]] = []
    value, column, first, row = list[int](), list[int](), [0], [0]
    for (_, _, columns), some in ordered:
        value.append(len(numbers))
        numbers += [rows[k].entries.get(c, (CONSTANT, 0, 0, 0.0)) for c in columns for k in some]
        column += columns
        first.append(len(column))
        row.append(row[-1] + len(some))
    order = [k for _, some in ordered for k in some]
    ends = np.cumsum(np.bincount([kind[0] for kind, _ in ordered], minlength=len(PARTS)))
    parts = (row, first, column, value, ends, [int(kind[1]) for kind, _ in ordered], [1], [0])
    return Blocks(*(np.array(x, np.int64) for x in parts)), order, numbers


def merged(blocks: dict[Any, list[int]]) -> dict[Any, list[int]]:
    """Blocks with unions of columns where that takes less work: zeros are multiplied, but K is read fewer times."""

    def work(columns: int, rows: int) -> float:
        return columns * (columns + 1) / 2 * (rows + GRAM_COST) + columns * rows * PRODUCTS_COST

    blocks, found = dict(blocks), True
    while found:
        found = False
        for (a, some), (b, more) in combinations(blocks.items(), 2):
            both = tuple(sorted({*a[2], *b[2]}))
            apart = work(len(a[2]), len(some)) + work(len(b[2]), len(more))
            if a[:2] == b[:2] and work(len(both), len(some) + len(more)) < apart:
                del blocks[a], blocks[b]
                blocks[(*a[:2], both)] = sorted([*some, *more, *blocks.get((*a[:2], both), [])])
                found = True
                break
    return blocks
