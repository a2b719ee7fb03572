"""Whole-body programs of many robots at once, by the interior-point method with rows of the batch side by side.

The rows of a program are: tasks, contacts and loops, DoFs without a motor (equations); torque limits, cones, bounds of
qdd and largest forces (inequalities). Their numbers come from H, C and J in one compiled call. All priorities have the
same rows: those above have ease 0 and keep what they have reached, those below have infinite ease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bough.compile.executions import CompiledFunction, bind_arrays
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.control.interior_point import INTERIOR_POINT, Blocks, Tuning
from bough.control.layout import Layout
from bough.control.limits import AccelerationBounds
from bough.control.requirements import Priority
from bough.joints import Mechanism
from bough.opspace import AimSet, TaskSet
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.errors import Aims
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.whole import WHOLE, whole
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import FloatArray, Rows, Workspace

ITERATIONS = 11
SOLVED = 1e-5  # largest residual of a program that counts as solved
FORCE = 100.0  # newtons: in this unit forces are about as large as accelerations
FREE, FAR = 1e30, 1e9  # ease of a row that asks for nothing; a bound that is never met
PROXIMAL, START, FLOOR, SHARE, CENTRE = 1e-4, 1e3, 0.1, 0.999, 1e-9
CONSTANT, OF_H, OF_J = range(3)
EQUATIONS = ("task", "contact", "loose", "motor")  # groups of rows, then those of inequalities
TWO_SIDED = ("torque", "bound")


class Filling(NamedTuple):
    """Where each number of a program comes from: factor times an element of H or J, or the factor alone."""

    matrix: Rows
    row: Rows
    column: Rows
    factor: Rows


@kernel
def fill_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, f: Filling,
    q: Rows, v: Rows, target: Rows, posture: Rows, qdd: Rows,
    a: Rows, C: Rows, rate: Rows, bias: Rows, error: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The numbers a of a program, and C, J v, Jdot v and the errors of all rows of tasks."""
    whole(m, t, p, g, q, v, target, posture, qdd, w.H_dense, C, w.J_dense, rate, bias, error, w)
    for k in range(len(f.matrix)):
        if f.matrix[k] == OF_H:
            a[k] = f.factor[k] * w.H_dense[f.row[k], f.column[k]]
        elif f.matrix[k] == OF_J:
            a[k] = f.factor[k] * w.J_dense[f.row[k], f.column[k]]
        else:
            a[k] = f.factor[k]


FILL_ROWS = Routine(
    "whole_body",
    fill_rows,
    inputs=WHOLE.inputs,
    outputs={"a": "numbers"} | {name: WHOLE.outputs[name] for name in ("C", "rate", "bias", "error")},
    work=dict(WHOLE.work) | {"H_dense": "nv nv", "J_dense": "rows nv"},
).without("qdd")


class Row(NamedTuple):
    """A row of a program: its group, and {column: (matrix, row, column, factor)}."""

    group: str
    entries: dict[int, tuple[int, int, int, float]]


class Answers(NamedTuple):
    """Solutions of programs, a row for each robot."""

    tau: FloatArray  # (batch, nv)
    qdd: FloatArray  # (batch, nv)
    forces: FloatArray  # (batch, rows of contacts)
    rates: FloatArray  # (batch, rows of tasks and contacts) J qdd
    residual: FloatArray  # (batch,)


class BatchProgram:
    """The programs of a layout: `rows` are given by group, and lie in blocks that have the same columns."""

    def __init__(
        self, tasks: TaskSet, aims: AimSet, layout: Layout, levels: list[Priority], bounds: AccelerationBounds,
        matrices: CompiledFunction, general: bool,
    ) -> None:  # fmt: skip
        self.layout, self.model, self.size = layout, tasks.model, tasks.size
        self.levels = [(np.r_[level.rows], level.weight) for level in levels]
        self.task_rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in self.levels)]).astype(int)
        nv = self.model.nv
        self.motors = np.setdiff1d(np.flatnonzero(self.model.actuated), layout.limited)  # without a torque limit
        self.scale = bounds.widths()
        self.bounded, self.capped = np.flatnonzero(np.isfinite(self.scale)), np.flatnonzero(np.isfinite(layout.most))
        rows = list(self._rows(*self._patterns(matrices, aims)))
        blocks, self.at, numbers = laid_out(rows)
        n, count = nv + len(layout.rows), len(rows)
        limits = sum(2 if row.group in TWO_SIDED else 1 for row in rows if row.group not in EQUATIONS)
        tuning = Tuning(*(np.array([x]) for x in (0.0, 1.0, PROXIMAL, START, FLOOR, SHARE, CENTRE, max(1, limits))))
        self.shape = n, count
        sizes = {"n": n, "rows": count, "numbers": len(numbers), "widest": int(np.diff(blocks.row).max(initial=1))}
        self.program = bind_arrays(INTERIOR_POINT, (blocks, tuning), sizes, execution="lanes")
        table = Filling(*(np.array([x[k] for x in numbers], kind) for k, kind in enumerate((*(np.int64,) * 3, float))))
        constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays, table)
        known = tasks.sizes | {"aims": aims.size, "numbers": len(numbers)}
        self.fill = Prepared(FILL_ROWS, constants, known).bind(tasks, general)

    def _patterns(self, matrices: CompiledFunction, aims: AimSet) -> tuple[Any, Any]:
        """Which elements of H and J are not zero in some of three random states."""
        q = self.model.random_configuration(np.random.default_rng(0), 3)
        still = np.zeros((3, self.model.nv)), np.zeros((3, aims.size, 12)), np.tile(self.model.neutral, (3, 1))
        H, _, J, *_ = matrices.with_status(q, *still)[0]
        return (H != 0.0).any(axis=0), (J != 0.0).any(axis=0)

    def _rows(self, H: Any, J: Any) -> Iterator[Row]:
        """All rows; H and J are the patterns."""
        layout, nv = self.layout, self.model.nv

        def rates(r: int) -> dict[int, Any]:
            return {int(c): (OF_J, r, int(c), 1.0) for c in np.flatnonzero(J[r])}

        def torque(i: int, unit: float) -> dict[int, Any]:  # (H qdd - J' f) / unit
            held = {nv + k: (OF_J, r, i, -FORCE / unit) for k, r in enumerate(layout.rows.tolist()) if J[r, i]}
            return {int(c): (OF_H, i, int(c), 1.0 / unit) for c in np.flatnonzero(H[i])} | held

        yield from (Row("task", rates(r)) for r in self.task_rows.tolist())
        yield from (Row("contact", rates(r)) for r in layout.rows.tolist())
        yield from (Row("loose", torque(i, 1.0)) for i in layout.loose.tolist())
        yield from (Row("motor", torque(i, 1.0)) for i in self.motors.tolist())
        yield from (Row("torque", torque(i, x)) for i, x in zip(layout.limited.tolist(), layout.effort, strict=True))
        for side in layout.cone:
            size = np.linalg.norm(side)
            yield Row("cone", {int(c): (CONSTANT, 0, 0, side[c] / size) for c in np.flatnonzero(side)})
        yield from (Row("bound", {i: (CONSTANT, 0, 0, 1.0 / self.scale[i])}) for i in self.bounded.tolist())
        yield from (Row("most", {nv + k: (CONSTANT, 0, 0, FORCE / layout.most[k])}) for k in self.capped.tolist())

    def solve(
        self, a: FloatArray, C: FloatArray, need: FloatArray, pull: FloatArray, box: tuple[FloatArray, FloatArray],
        small: Callable[[int], tuple[float, float]], threads: int | None = None,
    ) -> Answers:  # fmt: skip
        """Solutions of all robots, priority by priority; `small` gives the weights of qdd and of forces in each."""
        (n, count), nv, at, layout = self.shape, self.model.nv, self.at, self.layout
        low, high, ease = np.zeros((len(a), count)), np.zeros((len(a), count)), np.zeros(count)
        low[:, at["task"]], low[:, at["contact"]] = need[:, self.task_rows], need[:, layout.rows]
        low[:, at["loose"]], ease[at["motor"]] = -C[:, layout.loose], FREE
        share = C[:, layout.limited] / layout.effort
        low[:, at["torque"]], high[:, at["torque"]] = -1.0 - share, 1.0 - share
        for side, limit in zip((low, high), box, strict=True):
            side[:, at["bound"]] = np.clip(limit[:, self.bounded] / self.scale[self.bounded], -FAR, FAR)
        high[:, at["most"]] = 1.0
        z, first, residual = np.zeros((len(a), n)), 0, np.zeros(len(a))
        z[:, :nv] = pull
        for k, (rows, weight) in enumerate(self.levels):
            own = at["task"][first : first + len(rows)]
            ease[at["task"][:first]], ease[own], ease[at["task"][first + len(rows) :]] = 0.0, 1.0 / weight, FREE
            joints, forces = small(k)
            d = np.where(np.arange(n) < nv, joints, forces * FORCE**2)
            x, g, report = self.program.with_status(a, low, high, ease, d, z, threads=threads)[0]
            residual = np.maximum(residual, report.max(axis=1))
            low[:, own], first = g[:, own], first + len(rows)
        tau, rates = np.zeros((len(a), nv)), np.zeros((len(a), self.size))
        tau[:, self.motors] = g[:, at["motor"]] + C[:, self.motors]
        tau[:, layout.limited] = layout.effort * np.clip(g[:, at["torque"]] + share, -1.0, 1.0)
        rates[:, self.task_rows], rates[:, layout.rows] = g[:, at["task"]], g[:, at["contact"]]
        return Answers(tau, x[:, :nv], FORCE * x[:, nv:], rates, np.where(np.isfinite(residual), residual, np.inf))


def laid_out(rows: list[Row]) -> tuple[Blocks, dict[str, Any], list[tuple[int, int, int, float]]]:
    """Blocks of rows with equal columns, the places of the rows of each group, and all numbers in order."""
    kinds = [(row.group not in EQUATIONS, row.group in TWO_SIDED, tuple(sorted(row.entries))) for row in rows]
    members: dict[Any, list[int]] = {}
    for k, kind in enumerate(kinds):
        members.setdefault(kind, []).append(k)
    ordered = sorted(members.items(), key=lambda item: item[0][0])
    numbers: list[tuple[int, int, int, float]] = []
    value, column, first, row = list[int](), list[int](), [0], [0]
    for (_, _, columns), some in ordered:
        value.append(len(numbers))
        numbers += [rows[k].entries[c] for c in columns for k in some]
        column += columns
        first.append(len(column))
        row.append(row[-1] + len(some))
    order = [k for _, some in ordered for k in some]
    groups = ("task", "contact", "loose", "motor", "torque", "cone", "bound", "most")
    place = {k: at for at, k in enumerate(order)}
    at = {group: np.array([place[k] for k, r in enumerate(rows) if r.group == group], np.int64) for group in groups}
    equations, two = sum(not kind[0] for kind in members), [int(kind[1]) for kind, _ in ordered]
    parts = (row, first, column, value, [equations], two, [ITERATIONS])
    return Blocks(*(np.array(x, np.int64) for x in parts)), at, numbers
