"""Whole-body programs of many robots at once, by the interior-point method with rows of the batch side by side.

The rows of a program are: tasks, contacts and loops, DoFs without a motor (equations); cones and largest forces
(inequalities); bounds of qdd and torque limits, which few robots meet: only these are solved again with them. One
compiled call writes all of a program from (q, v) and targets. All priorities have the same rows: those above have ease
0 and keep what they have reached, those below have infinite ease. The same code serves numpy arrays and tensors on a
GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bough.compile.executions import CPU, GPU, CompiledFunction, Device, bind_arrays
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.run.libraries import asarray, full, is_on_gpu, library_of
from bough.compile.scalar import larger
from bough.control.interior_point import CONTINUED, FIRST_STATE, INTERIOR_POINT, MEASURED, NEXT_STATE, Blocks, Tuning
from bough.control.layout import Layout
from bough.control.limits import AccelerationBounds
from bough.control.program import SMALL, SOFT_BOUND, SOFT_CONTACT, gave_way
from bough.control.references import Priority
from bough.joints import Mechanism, difference_joint
from bough.opspace import AimSet, TaskSet
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.complete import WHOLE, whole
from bough.opspace.sweeps.errors import Aims
from bough.opspace.sweeps.jacobian import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import FloatArray, Rows, Workspace

FIRST, MORE, AGAIN = 9, 4, 5  # iterations of all rows, and then how many, how often, of those that are not `CLOSE`
SOLVED, CLOSE = 1e-5, 3e-11  # largest residual of a program that counts as solved, and that ends its iterations
FAINT, VIOLATED = 1e-5, 10.0  # weight of variables where conflicts are looked for, and the least violation
LARGE = 300.0  # m/s^2 or rad/s^2: programs with more are solved in units of it
FORCE = 100.0  # newtons: in this unit forces are about as large as accelerations
FREE, FAR = 1e30, 1e9  # ease of a row without a requirement; a bound that is never met
PROXIMAL, FLOOR, SHARE, CENTRE = 1e-4, 1.0, 0.999, 1e-11
CONSTANT, OF_H, OF_J = range(3)
TASK, LOOSE, TORQUE, BOUND, MOST, ZERO = range(6)
KINDS = {"task": TASK, "contact": TASK, "loose": LOOSE, "torque": TORQUE, "bound": BOUND, "most": MOST}
GRAM_COST, PRODUCTS_COST = 2.0, 6.0  # of a block, beside one product: to read and write K, and of products with it
# Groups of rows in the order of a program: equations, inequalities, limits, and motors without a limit
PARTS = (("task", "contact", "loose"), ("cone", "most"), ("bound",), ("torque",), ("motor",))
TWO_SIDED = ("torque", "bound")
GROUPS = tuple(group for part in PARTS for group in part)
EQUATIONS, FORCES, BOUNDS, LIMITS = range(4)  # of parts
START = 10.0  # weight of inequalities at the start


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
    rate: Rows  # (2,) 1 / horizon and 1 / dt


class Law(NamedTuple):
    """Gains of tasks (rows,) and of the posture (nv,)."""

    stiffness: Rows
    damping: Rows
    pull: Rows
    brake: Rows


@kernel
def fill_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, f: Filling, e: Ends, u: Law,
    q: Rows, v: Rows, target: Rows, posture: Rows, qdd: Rows, rest: Rows, reference: Rows,
    a: Rows, low: Rows, high: Rows, z: Rows, C: Rows, need: Rows, error: Rows, w: Workspace,
) -> None:  # fmt: skip
    """A program: numbers a and sides of its rows, centre z; and C, the accelerations that tasks need, their errors.

    `reference` is the velocity and acceleration of tasks, and 1 where they have a target, else 0.
    """
    whole(m, t, p, g, q, v, target, posture, qdd, w.H_dense, C, w.J_dense, w.speed, w.bias, error, w)
    for k in range(len(f.matrix)):
        if f.matrix[k] == OF_H:
            a[k] = f.factor[k] * w.H_dense[f.row[k], f.column[k]]
        elif f.matrix[k] == OF_J:
            a[k] = f.factor[k] * w.J_dense[f.row[k], f.column[k]]
        else:
            a[k] = f.factor[k]
    for r in range(len(need)):
        law = u.damping[r] * (reference[0, r] - w.speed[r]) + reference[2, r] * u.stiffness[r] * error[r]
        need[r] = reference[1, r] + law - w.bias[r]
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
                slow = larger(slow, (e.lower[r] - x) * e.rate[0])
                fast = -larger(-fast, (x - e.upper[r]) * e.rate[0])
            low[r], high[r] = (slow - v[k]) * e.rate[1] / e.unit[r], (fast - v[k]) * e.rate[1] / e.unit[r]


FILL_ROWS = Routine(
    "whole_body",
    fill_rows,
    inputs=dict(WHOLE.inputs) | {"rest": "nq", "reference": "3 rows"},
    outputs={"a": "numbers", "low": "sides", "high": "sides", "z": "n", "C": "nv", "need": "rows", "error": "rows"},
    work=dict(WHOLE.work) | {"H_dense": "nv nv", "J_dense": "rows nv", "speed": "rows", "bias": "rows"},
).without("qdd")


class Row(NamedTuple):
    """A row of a program: its group, {column: (matrix, row, column, factor)}, the DoF or row of tasks, and its unit."""

    group: str
    entries: dict[int, tuple[int, int, int, float]]
    of: int = 0
    unit: float = 1.0


class Answers(NamedTuple):
    """Solutions of programs, a row for each robot."""

    tau: FloatArray  # (batch, nv)
    qdd: FloatArray  # (batch, nv)
    forces: FloatArray  # (batch, rows of contacts)
    left: FloatArray  # (batch, rows of tasks and contacts) what they need less what they get; 0 for rows not in use
    gaps: FloatArray  # (batch, bounds of qdd and rows of contacts) by how much these are violated
    residual: FloatArray  # (batch,) of the program
    gave_way: Any  # (batch,) relaxed constraints: 0 none, 1 bounds of qdd, 2 contacts as well


class Method:
    """The interior-point method on blocks of rows: `method(program)` gives x, A x and residuals.

    Rows of parts behind `last` have no say. A program is a, low, high, ease (rows,), d (n,) and z.
    """

    def __init__(self, blocks: Blocks, last: int, sizes: dict[str, int], device: Device) -> None:
        blocks = blocks._replace(ends=blocks.ends[[EQUATIONS, last]])
        sides = blocks.two + 1
        some = slice(*blocks.ends)
        count = (np.diff(blocks.row) * sides)[some].sum()
        touched = blocks.column[blocks.first[some.start] : blocks.first[some.stop]]
        fixed = 0 if device.is_gpu else touched.min(initial=sizes["n"]) // 4 * 4
        blocks, self.last = blocks._replace(fixed=np.array([fixed])), last
        tuning = Tuning(*(np.array([x]) for x in (0.0, 1.0, PROXIMAL, START, FLOOR, SHARE, CENTRE, max(1, count))))
        how: dict[str, Any] = {"device": device} if device.is_gpu else {"execution": "lanes"}

        def bound(routine: Routine, iterations: int = 1) -> CompiledFunction:
            some = blocks._replace(iterations=np.array([iterations]))
            return bind_arrays(routine, (some, tuning), sizes, **how)

        self._on_gpu = device.is_gpu
        if device.is_gpu:
            self._first, self._next, self._report = bound(FIRST_STATE), bound(NEXT_STATE), bound(MEASURED)
        else:
            self._first, self._next = bound(INTERIOR_POINT, FIRST), bound(CONTINUED, MORE)

    def __call__(self, program: tuple[Any, ...], broken: Callable[[Any], Any] | None = None) -> tuple[Any, Any, Any]:
        """Rows need not be solved to the end where `broken`, a function of A x, names a part behind `last`."""
        K0: Any = None  # on a GPU, where an iteration is a kernel
        if self._on_gpu:
            x, state, K0 = self._first.call(*program)
            found = self._iterated(program, FIRST, x, state, K0)
        else:
            found = outputs(self._first, program)
        x, state, g, report = found
        xp = import_module(library_of(x))
        for _ in range(AGAIN):
            rows = xp.where(~((xp.amax(report, 1) <= CLOSE) | (False if broken is None else broken(g) > self.last)))[0]
            if not len(rows):
                break
            some, x0, state0 = rows_of(program, rows), x[rows], state[rows]
            if self._on_gpu:
                more = self._iterated(some, MORE, x0, state0, K0[rows])
            else:
                more = outputs(self._next, (*some, x0, state0))
            for mine, new in zip(found, more, strict=True):
                mine[rows] = new
        return x, g, xp.amax(report, 1)

    def _iterated(self, program: tuple[Any, ...], count: int, x: Any, state: Any, K0: Any) -> list[Any]:
        """x, state, A x and a report after `count` more iterations, on a GPU."""
        for _ in range(count):
            x, state = self._next.call(*program, K0, x, state)
        return [x, state, *self._report.call(*program, x, state)]


def outputs(function: CompiledFunction, inputs: Sequence[FloatArray]) -> list[FloatArray]:
    """Results of a batch, finite or not: residuals say which are. Inputs without a batch are the same for all rows."""
    count = len(inputs[0])
    rows = [np.broadcast_to(x, (count, *s.shape)) for x, s in zip(inputs, function.inputs, strict=True)]
    found, _ = function.with_status(*rows)
    return list(found) if isinstance(found, tuple) else [found]


def rows_of(program: Sequence[Any], rows: Any) -> tuple[Any, ...]:
    """The program of some robots."""
    return tuple(x[rows] if x.ndim == 2 else x for x in program)


class BatchProgram:
    """The programs of a layout, for arrays like `like`: of numpy, or on a GPU."""

    def __init__(
        self, tasks: TaskSet, aims: AimSet, layout: Layout, levels: list[Priority], bounds: AccelerationBounds,
        law: Law, matrices: CompiledFunction, general: bool, like: Any,
    ) -> None:  # fmt: skip
        self.layout, self.model, self.like, self.on_gpu = layout, tasks.model, like, is_on_gpu(like)
        self.levels = [(np.r_[level.rows], level.weight) for level in levels]
        self.task_rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in self.levels)]).astype(int)
        # without a torque limit
        self.motors = np.setdiff1d(np.arange(self.model.nv), np.r_[layout.limited, layout.loose])
        self._touching = layout.touching - len(layout.loose)  # rows of contacts without loops
        self.scale = bounds.widths()
        self.bounded = np.flatnonzero(np.isfinite(self.scale))
        rows = list(self._rows(*self._patterns(matrices, aims)))
        blocks, order, numbers = laid_out(rows)
        ordered, place = [rows[k] for k in order], np.argsort(order)
        self.at = {group: place[[k for k, row in enumerate(rows) if row.group == group]] for group in GROUPS}
        self.unit = np.array([row.unit for row in ordered])
        self.n, self.count = self.model.nv + len(layout.rows), len(rows)
        sizes = {"n": self.n, "rows": self.count, "numbers": len(numbers), "widest": int(np.diff(blocks.row).max())}
        device = GPU if self.on_gpu else CPU
        steps = FORCES, *(k for k, some in ((BOUNDS, self.bounded), (LIMITS, layout.limited)) if len(some))
        self.methods = [Method(blocks, last, sizes, device) for last in ((LIMITS,) if self.on_gpu else steps)]
        table = Filling(*(np.array([x[k] for x in numbers], kind) for k, kind in enumerate((*(np.int64,) * 3, float))))
        constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays, table)
        known = tasks.sizes | {"aims": aims.size, "numbers": len(numbers), "n": self.n, "sides": self.count}
        ends = self._ends(ordered, bounds)
        self.fill = Prepared(FILL_ROWS, (*constants, ends, law), known).bind(tasks, general, device=device)

    def _ends(self, rows: list[Row], bounds: AccelerationBounds) -> Ends:
        places = dict(zip(bounds.v.tolist(), range(len(bounds.v)), strict=True))
        at, lower, upper = np.full(len(rows), -1), np.full(len(rows), -FAR), np.full(len(rows), FAR)
        for r, row in enumerate(rows):
            if row.group == "bound" and row.of in places:
                k = places[row.of]
                at[r] = bounds.q[k]
                lower[r], upper[r] = max(bounds.lower[k], -FAR), min(bounds.upper[k], FAR)
        of, kind = np.array([row.of for row in rows]), np.array([KINDS.get(row.group, ZERO) for row in rows])
        speed = np.minimum(bounds.speed[np.where(kind == BOUND, of, 0)], FAR)
        rate = np.array([1.0 / bounds.horizon, 1.0 / bounds.dt])
        return Ends(kind, of, self.unit, at, speed, lower, upper, rate)

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

        def constant(column: int, factor: float) -> dict[int, Any]:
            return {column: (CONSTANT, 0, 0, factor)}

        yield from (Row("task", rates(r), r) for r in self.task_rows.tolist())
        yield from (Row("contact", rates(r), r) for r in layout.rows.tolist())
        yield from (Row("loose", torque(i, 1.0), i) for i in layout.loose.tolist())
        yield from (Row("motor", torque(i, 1.0), i) for i in self.motors.tolist())
        limited = zip(layout.limited.tolist(), layout.effort.tolist(), strict=True)
        yield from (Row("torque", torque(i, x), i, x) for i, x in limited)
        for side in layout.cone:
            size = np.linalg.norm(side)
            yield Row("cone", {int(c): (CONSTANT, 0, 0, side[c] / size) for c in np.flatnonzero(side)})
        for i in self.bounded.tolist():
            yield Row("bound", constant(i, 1.0 / self.scale[i]), i, self.scale[i])
        for k in np.flatnonzero(np.isfinite(layout.most)).tolist():
            yield Row("most", constant(nv + k, FORCE / layout.most[k]))

    def solve(self, filled: Any, small: Callable[[int], tuple[float, float]]) -> Answers:
        """Solutions of all robots, priority by priority; `filled` is what `fill` gives, but the errors.

        `small` gives the weights of qdd and of forces in each priority. Where all constraints cannot hold, bounds of
        qdd give way, and where that is not enough, contacts. On the CPU, other rows have a residual.
        """
        found = self._stage(filled, small, 0)
        for stage in (1, 2) if self.on_gpu else (1,):
            rows = self._xp.where(found.residual > SOLVED)[0]
            if len(rows) and not self.on_gpu:
                rows = rows[self._conflict(rows_of(filled, rows))]
            if not len(rows):
                break
            for mine, more in zip(found, self._stage(rows_of(filled, rows), small, stage), strict=True):
                mine[rows] = more
        return found

    def _conflict(self, filled: Any) -> Any:
        """Where bounds of qdd conflict with all else: with no other aim, something of them is violated."""
        a, low, high, z, *_ = filled
        ease = self._ease(1)
        ease[self.at["task"]] = FREE
        d = np.where(np.arange(self.n) < self.model.nv, FAINT, FAINT * FORCE**2)
        _, g, residual = self._solved((a, low, high, ease, d, z), self._scale(low, high))
        return (residual <= SOLVED) & (self._beyond(g, low, high).max(axis=1, initial=0.0) > VIOLATED)

    def _beyond(self, g: Any, low: Any, high: Any) -> Any:
        """(batch, bounds) by how much accelerations are beyond their bounds."""
        bound = self._index(self.at["bound"])
        over = self._xp.maximum(g[:, bound] - high[:, bound], low[:, bound] - g[:, bound]).clip(0.0)
        return over * self._array(self.unit[self.at["bound"]])

    def _stage(self, filled: Any, small: Callable[[int], tuple[float, float]], stage: int) -> Answers:
        (a, low, high, z, C, need), nv, at, layout = filled, self.model.nv, self.at, self.layout
        scale = self._scale(low, high)
        ease, first, low, worst = self._ease(stage), 0, low + 0, full((len(a),), 0.0, self.like)
        for k, (rows, weight) in enumerate(self.levels):
            own = at["task"][first : first + len(rows)]
            ease[at["task"][:first]], ease[own], ease[at["task"][first + len(rows) :]] = 0.0, 1.0 / weight, FREE
            joints, forces = (x + SMALL * (stage > 0) for x in small(k))
            d = self._array(np.where(np.arange(self.n) < nv, joints, forces * FORCE**2))
            x, g, residual = self._solved((a, low, high, self._array(ease), d, z), scale)
            worst = self._xp.maximum(worst, residual)
            low[:, self._index(own)], first = g[:, self._index(own)], first + len(rows)
        tau, left = full((len(a), nv), 0.0, self.like), need * 0
        free, limited, effort = self._index(self.motors), self._index(layout.limited), self._array(layout.effort)
        tau[:, free] = g[:, self._index(at["motor"])] + C[:, free]
        tau[:, limited] = effort * (g[:, self._index(at["torque"])] + C[:, limited] / effort).clip(-1.0, 1.0)
        for group, some in (("task", self.task_rows), ("contact", layout.rows)):
            left[:, self._index(some)] = need[:, self._index(some)] - g[:, self._index(at[group])]
        contact = self._index(layout.rows[self._touching])
        gaps = self._xp.concatenate([self._beyond(g, low, high), abs(left[:, contact])], 1)
        worst = self._xp.where(self._xp.isfinite(worst), worst, worst * 0 + np.inf)
        gave_way = full((len(a),), stage, self.like, "int64")
        return Answers(tau, x[:, :nv], FORCE * x[:, nv:], left, gaps, worst, gave_way)

    def conflicts(self, found: Answers, need: FloatArray) -> list[tuple[str, ...]]:
        """Names of the relaxed constraints of each row."""
        layout = self.layout
        names = [layout.variable_names[i] for i in self.bounded]
        names += [layout.equal_names[k] for k in layout.touching]
        sizes = np.concatenate([found.qdd[:, self.bounded], need[:, layout.rows[self._touching]]], axis=1)
        each = zip(found.gave_way, found.gaps, sizes, strict=True)
        return [gave_way(names, gaps, size) if stage else () for stage, gaps, size in each]

    def _scale(self, low: Any, high: Any) -> Any:
        """(batch, 1) the largest acceleration that a row needs, or 1 where it is not `LARGE`."""
        bound, needed = self._index(self.at["bound"]), self._index(np.r_[self.at["task"], self.at["contact"]])
        unit, one = self._array(self.unit[self.at["bound"]]), full((len(low), 1), 1.0, self.like)
        parts = [one, abs(low[:, needed]), low[:, bound] * unit, -high[:, bound] * unit]
        largest = self._xp.amax(self._xp.concatenate(parts, 1), 1)[:, None]
        return self._xp.where(largest > LARGE, largest, one)

    def _ease(self, stage: int) -> FloatArray:
        """(rows,) constraints that a stage relaxes; loops are never among them."""
        ease = np.zeros(self.count)
        if stage > 0:
            ease[self.at["bound"]] = 1.0 / (SOFT_BOUND * self.unit[self.at["bound"]] ** 2)
        if stage > 1:
            ease[self.at["contact"][self._touching]] = 1.0 / SOFT_CONTACT
        return ease

    def _solved(self, program: tuple[Any, ...], scale: Any) -> Any:
        """x, A x and residuals; on the CPU bounds and torque limits are left to rows that would break them without.

        Programs are solved in units of `scale`, in which multipliers are near those at rest.
        """
        a, low, high, ease, d, z = program
        program = a, low / scale, high / scale, ease, d, z / scale
        first, *others = self.methods
        x, g, residual = found = first(program, None if self.on_gpu else partial(self._broken, program))
        for method in others:
            rows = np.flatnonzero(self._broken(program, g) == method.last)
            if len(rows):
                some = rows_of(program, rows)
                for mine, new in zip(found, method(some, partial(self._broken, some)), strict=True):
                    mine[rows] = new
        # a GPU has no other solver for what is left
        return scale * x, scale * g, residual if self.on_gpu else scale[:, 0] * residual

    def _broken(self, program: tuple[Any, ...], g: FloatArray) -> Any:
        """(batch,) the last part of which rows are broken, if bounds or limits are, else 0."""
        found, (_, low, high, *_) = np.zeros(len(g), int), program
        for part, group in ((BOUNDS, "bound"), (LIMITS, "torque")):
            at = self.at[group]
            found[((g[:, at] < low[:, at]) | (g[:, at] > high[:, at])).any(axis=1)] = part
        return found

    @property
    def _xp(self) -> Any:
        return import_module(library_of(self.like))

    def _array(self, x: FloatArray) -> Any:
        return asarray(x, self.like)

    def _index(self, x: Any) -> Any:
        return asarray(x, self.like, "int64")


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
