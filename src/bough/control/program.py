"""Whole-body programs of one set of contacts: rows, priorities, and constraints that give way.

All priorities have the same rows: those above have ease 0 and keep what they have reached, those below have infinite
ease. The same holds of constraints that give way: first bounds of qdd, then accelerations of contacts, each at a price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bough.compile.executions import CPU, GPU, CompiledFunction, bind_arrays
from bough.compile.run.libraries import asarray, is_on_gpu, library_of
from bough.control.active_sets import ActiveSets, Solution
from bough.control.batch import SideBySide, rows_of
from bough.control.cones import cone_set
from bough.control.contacts import Contact, Loop
from bough.control.limits import AccelerationBounds
from bough.control.references import Priority
from bough.control.rows import (
    BOUND,
    BOUNDS,
    CONSTANT,
    FAR,
    FILL_ROWS,
    FORCE,
    FREE,
    GROUPS,
    KINDS,
    LARGE,
    LIMITS,
    OF_H,
    OF_J,
    PROGRAM_ROWS,
    ZERO,
    Ends,
    Filling,
    Law,
    Row,
    laid_out,
)
from bough.opspace import AimSet, TaskSet
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.complete import WHOLE
from bough.types import FloatArray

SOLVED = 1e-5  # largest residual of a program that counts as solved
FAINT, VIOLATED = 1e-5, 10.0  # weight of variables where conflicts are looked for, and the least violation
POSTURE_WEIGHT, LESS, FORCE_WEIGHT = 1e-4, 1e-3, 1e-8  # beside tasks of weight 1; less while others follow
# weights beside tasks of weight 1: of bounds and contacts that give way, and of all variables then, against cycling
SOFT_BOUND, SOFT_CONTACT, SMALL = 1e1, 1e3, 1e-4
CONFLICT = 1e-5  # relative: what gives way by more is named
WITHIN = 1.0 - 1e-9  # of the torque limits: rounding does not carry torques beyond them
ROUNDING = 1e-11  # relative
PRESSED = 1e-7  # N or N m, by which forces may leave their cones

HUGE = 1e100  # squared size from which a program is not solved
NONE, EXACTLY = np.array([np.inf]), np.array([0.0])  # residuals of one program

Solve = Callable[[tuple[Any, ...]], tuple[Any, Any, Any]]  # a program of one priority -> x, A x, residual


class Setup(NamedTuple):
    """Data that all programs of a controller share."""

    tasks: TaskSet
    aims: AimSet
    contacts: tuple[Contact | Loop, ...]  # that may be active
    levels: list[Priority]
    bounds: AccelerationBounds
    law: Law
    general: bool
    solver: str
    exact: bool  # second-order cones

    def prepared(self) -> Prepared:
        """(q, v, target, posture) -> (H, C, J, J v, Jdot v, error)."""
        constants = (self.tasks.model.mechanism, self.tasks.with_placements, self.tasks.pattern, self.aims.arrays)
        return Prepared(WHOLE, constants, self.tasks.sizes | {"aims": self.aims.size})


class Answers(NamedTuple):
    """Solutions of programs, a row for each robot."""

    tau: FloatArray  # (batch, nv)
    qdd: FloatArray  # (batch, nv)
    forces: FloatArray  # (batch, rows of contacts)
    left: FloatArray  # (batch, rows of tasks and contacts) what they need less what they get; 0 for rows not in use
    gaps: FloatArray  # (batch, bounds of qdd and rows of contacts) by how much these are violated
    residual: FloatArray  # (batch,) of the program
    gave_way: Any  # (batch,) relaxed constraints: 0 none, 1 bounds of qdd, 2 contacts as well


class Program:
    """The programs of a set of contacts, for arrays like `like`: of numpy, or on a GPU.

    Variables are qdd, then the forces of each contact.
    """

    def __init__(self, setup: Setup, contacts: tuple[Contact | Loop, ...], like: Any) -> None:
        self.setup, self.contacts, self.like, self.on_gpu = setup, contacts, like, is_on_gpu(like)
        self.model, bounds, slices = setup.tasks.model, setup.bounds, setup.tasks.slices
        self.nv, self.names = self.model.nv, tuple(contact.name for contact in contacts)
        self.frames = tuple(contact.frame for contact in contacts)
        self.active = np.array([contact.name in self.names for contact in setup.contacts], bool)
        none = np.zeros(0, np.int64)
        self.rows = np.concatenate([none, *(np.r_[slices[name]] for name in self.names)])  # of contacts and loops
        self.levels = setup.levels
        self.task_rows = np.concatenate([none, *(rows for rows, _ in self.levels)])
        ends = np.cumsum([0, *(contact.rows for contact in contacts)])
        self.parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        self.n = self.nv + len(self.rows)
        touching = [isinstance(contact, Contact) for contact in contacts for _ in range(contact.rows)]
        self._touching, self._loops = np.flatnonzero(touching), np.flatnonzero(np.logical_not(touching))
        self.effort = WITHIN * self.model.limits.effort[bounds.limited]
        self.motors = np.setdiff1d(np.arange(self.nv), np.r_[bounds.limited, bounds.loose])  # without a torque limit
        self.scale = bounds.widths()
        self.bounded = np.flatnonzero(np.isfinite(self.scale))
        rows = list(self._rows(*self._patterns()))
        self.blocks, order, numbers = laid_out(rows)
        ordered, place = [rows[k] for k in order], np.argsort(order)
        self.at = {group: place[[k for k, row in enumerate(rows) if row.group == group]] for group in GROUPS}
        self.unit, self.count = np.array([row.unit for row in ordered]), len(rows)
        self.sizes = {"n": self.n, "rows": self.count, "numbers": len(numbers)}
        self.sizes["widest"] = int(np.diff(self.blocks.row).max())
        table = Filling(*(np.array([x[k] for x in numbers], kind) for k, kind in enumerate((*(np.int64,) * 3, float))))
        self._hard = np.concatenate([self.at["contact"], self.at["loose"]])
        self._below = np.concatenate([self.at["cone"][: 0 if setup.exact else None], self.at["most"]])
        self._filling = table, self._ends(ordered, bounds), setup.law
        self._xp = import_module(library_of(like))
        self._costs: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._own = np.split(self.at["task"], np.cumsum([len(level.rows) for level in self.levels])[:-1])
        self._bound = self._index(self.at["bound"])
        needed = self._index(np.r_[self.at["task"], self.at["contact"]])
        self._needed = self._index(np.r_[self.task_rows, self.rows]), needed
        self._held = self._index(self.rows[self._touching])
        driven = np.r_[self.motors, bounds.limited], np.r_[self.at["motor"], self.at["torque"]]
        self._driven, self._torques = (self._index(x) for x in driven)
        effort = np.r_[np.full(len(self.motors), np.inf), self.effort]
        self._effort, self._torque_unit = self._array(effort), self._array(self.unit[driven[1]])
        self._units = self._array(self.unit[self.at["bound"]])
        self.conflict_names = [f"velocity or position limit of {bounds.names[i]!r}" for i in self.bounded]
        held = [f"contact of {contact.frame!r}" for contact in contacts for _ in range(contact.rows)]
        self.conflict_names += [held[k] for k in self._touching]

    # Rows

    def _ends(self, rows: list[Row], bounds: AccelerationBounds) -> Ends:
        of, kind = np.array([row.of for row in rows]), np.array([KINDS.get(row.group, ZERO) for row in rows])
        at, lower, upper = np.full(self.nv, -1), np.zeros(self.nv), np.zeros(self.nv)
        at[bounds.v], lower[bounds.v], upper[bounds.v] = bounds.q, bounds.lower.clip(-FAR), bounds.upper.clip(None, FAR)
        dof = np.where(kind == BOUND, of, 0)
        speed, at = np.minimum(bounds.speed[dof], FAR), np.where(kind == BOUND, at[dof], -1)
        rate = np.array([1.0 / bounds.horizon, 1.0 / bounds.dt, LARGE])
        return Ends(kind, of, self.unit, at, speed, lower[dof], upper[dof], rate)

    def _patterns(self) -> tuple[Any, Any]:
        """Which elements of H and J are not zero in some of three random states."""
        q = self.model.random_configuration(np.random.default_rng(0), 3)
        still = np.zeros((3, self.nv)), np.zeros((3, self.setup.aims.size, 12)), np.tile(self.model.neutral, (3, 1))
        H, _, J, *_ = self.setup.prepared().bind(self.setup.tasks, True).with_status(q, *still)[0]
        return (H != 0.0).any(axis=0), (J != 0.0).any(axis=0)

    def _rows(self, H: Any, J: Any) -> Iterator[Row]:
        """All rows; H and J are the patterns."""
        bounds, nv = self.setup.bounds, self.nv

        def rates(r: int) -> dict[int, Any]:
            return {int(c): (OF_J, r, int(c), 1.0) for c in np.flatnonzero(J[r])}

        def torque(i: int, unit: float) -> dict[int, Any]:  # (H qdd - J' f) / unit
            held = {nv + k: (OF_J, r, i, -FORCE / unit) for k, r in enumerate(self.rows.tolist()) if J[r, i]}
            return {int(c): (OF_H, i, int(c), 1.0 / unit) for c in np.flatnonzero(H[i])} | held

        def constant(column: int, factor: float) -> dict[int, Any]:
            return {column: (CONSTANT, 0, 0, factor)}

        yield from (Row("task", rates(r), r) for r in self.task_rows.tolist())
        yield from (Row("contact", rates(r), r) for r in self.rows.tolist())
        yield from (Row("loose", torque(i, 1.0), i) for i in bounds.loose.tolist())
        yield from (Row("motor", torque(i, 1.0), i) for i in self.motors.tolist())
        limited = zip(bounds.limited.tolist(), self.effort.tolist(), strict=True)
        yield from (Row("torque", torque(i, x), i, x) for i, x in limited)
        for contact, part in zip(self.contacts, self.parts, strict=True):
            for side in contact.cone:
                columns, size = np.flatnonzero(side), np.linalg.norm(side)
                yield Row("cone", {nv + part.start + int(c): (CONSTANT, 0, 0, side[c] / size) for c in columns})
        for i in self.bounded.tolist():
            yield Row("bound", constant(i, 1.0 / self.scale[i]), i, self.scale[i])
        for contact, part in zip(self.contacts, self.parts, strict=True):
            if np.isfinite(contact.most):
                yield Row("most", constant(nv + part.start + 2, FORCE / contact.most), unit=contact.most / FORCE)

    @cached_property
    def fill(self) -> CompiledFunction:
        """(q, v, target, posture, rest, reference) -> (a, low, high, z, scale, need, C, error), one compiled call."""
        tasks, aims = self.setup.tasks, self.setup.aims
        constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays, *self._filling)
        sizes = self._filled_sizes | {"aims": aims.size}
        device = GPU if self.on_gpu else CPU
        return Prepared(FILL_ROWS, constants, sizes).bind(tasks, self.setup.general, device=device)

    @cached_property
    def fill_one(self) -> CompiledFunction:
        """(q, v, rest, reference, *matrices) -> (a, low, high, z, scale, need), compiled once for all robots."""
        return bind_arrays(PROGRAM_ROWS, (self.model.mechanism, *self._filling), self._filled_sizes, general=True)

    @property
    def _filled_sizes(self) -> dict[str, int]:
        own = {name: self.sizes[name] for name in ("n", "numbers")}
        return self.setup.tasks.sizes | own | {"sides": self.count}

    # Solutions

    @cached_property
    def _side_by_side(self) -> SideBySide:
        return SideBySide(self.blocks, {BOUNDS: self.at["bound"], LIMITS: self.at["torque"]}, self.sizes, self.on_gpu)

    @cached_property
    def _active_sets(self) -> ActiveSets:
        cones = cone_set(self.contacts) if self.setup.exact else None
        return ActiveSets(self.blocks, self.at, self.unit, (self.n, self.nv), self.setup.solver, cones)

    def solve(self, filled: Any) -> Answers:
        """Solutions of all robots, priority by priority; `filled` is what `fill` gives, but the errors.

        Where all constraints cannot hold, bounds of qdd give way, and where that is not enough, contacts. On the CPU,
        other rows have a residual.
        """

        found = self._solutions(filled, 0)
        for stage in (1, 2) if self.on_gpu else (1,):
            rows = self._xp.where(~(found.residual <= SOLVED))[0]
            if len(rows) and not self.on_gpu:
                rows = rows[self._conflict(rows_of(filled, rows))]
            if not len(rows):
                break
            for mine, new in zip(found, self._solutions(rows_of(filled, rows), stage), strict=True):
                mine[rows] = new
        return found

    def _solutions(self, filled: Any, stage: int) -> Answers:
        """Solutions side by side, with so much relaxed."""
        x, g, worst = self._stage(filled, stage, self._side_by_side)
        _, low, high, _, scale, need, C = filled
        beyond, g = scale * self._beyond(g, low, high), scale * g
        torque, tau, least = self._torque_unit * g[:, self._torques] + C[:, self._driven], C * 0, -self._effort
        tau[:, self._driven] = -self._xp.maximum(-self._xp.maximum(torque, least), least)
        return self._answers(scale * x, g, need, tau, beyond, worst, stage)

    def solve_one(self, filled: Any, last: dict[Any, FloatArray]) -> Answers:
        """The solution of one robot by active sets, from its `last` ones. There always is one.

        Where the solver finds none, motors are off and contacts are without force.
        """
        a, low, high = filled[0][0], filled[1][0], filled[2][0]
        A, stage, x, is_solved = self._active_sets.dense(a), 0, np.zeros(self.n), False
        g = np.zeros(self.count)
        if np.dot(a, a) + np.dot(low, low) + np.dot(high, high) < HUGE:  # which warns of no overflow
            for stage in range(3):
                steps = list[Solution | None]()
                some = filled if stage else unscaled(filled)  # solvers have absolute tolerances
                found, products, residual = self._stage(some, stage, partial(self._by_active_sets, A, last, steps))
                if residual[0] <= SOLVED:
                    x, g, is_solved = some[4][0] * found[0], some[4][0] * products[0], True
                    break
        return self._exact(filled, A, (x, g), stage if is_solved else 2, is_solved)

    def _by_active_sets(
        self, A: FloatArray, last: dict[Any, FloatArray], steps: list[Solution | None], program: tuple[Any, ...]
    ) -> tuple[Any, Any, Any]:
        """The solution of a priority, which follows those in `steps`; where there is none, that of the one above."""
        _, low, high, ease, d, z = program
        key, above = (self.names, len(steps)), steps[-1] if steps else None
        found = None
        if above is not None or not steps:
            near = None if above is None else above[0]
            found = self._active_sets(A, (low[0], high[0], ease, d, z[0]), last.get(key), near)
        if found is None:
            last.clear()
        else:
            last[key] = found[0]
        steps.append(found or above)
        x, g = steps[-1] or (np.zeros(self.n), np.zeros(self.count))
        return x[None], g[None], EXACTLY if steps[-1] else NONE

    def _exact(self, filled: Any, A: FloatArray, solution: Solution, stage: int, is_solved: bool) -> Answers:
        """x with torques within their limits and forces in their cones, so that the dynamics hold to rounding.

        Motors are off where the program is not solved.
        """
        _, low, high, _, scale, need, C = filled
        low, high, C = scale[0] * low[0], scale[0] * high[0], C[0]
        loose, at, nv, driven, unit = self.setup.bounds.loose, self.at, self.nv, self._driven, self._torque_unit
        x, g = self._pressed(A, *solution)
        tau, gap = np.zeros(nv), np.zeros(nv)  # and its part that x does not give
        torque = unit * g[self._torques] + C[driven]
        if is_solved:
            tau[driven] = torque.clip(-self._effort, self._effort)
        gap[driven], gap[loose] = tau[driven] - torque, low[at["loose"]] - g[at["loose"]]
        if not abs(gap).max(initial=0.0) <= ROUNDING * (1.0 + abs(tau).max(initial=0.0)):
            D = np.zeros((nv, self.n))  # tau = D x + C
            D[loose], D[driven] = A[at["loose"]], A[self._torques] * unit[:, None]
            loops, free = at["contact"][self._loops], np.r_[:nv, nv + self._loops]
            left = np.concatenate([D[:, free], A[np.ix_(loops, free)]])
            right = np.concatenate([gap, (low - g)[loops]])
            x[free] += np.linalg.lstsq(left, right)[0] if len(loops) else np.linalg.solve(left, right)
            g = A @ x
        worst = np.concatenate([abs(g - low)[self._hard], (g - high)[self._below]]).max(initial=0.0, keepdims=True)
        beyond = self._beyond(g[None], low[None], high[None])
        return self._answers(x[None], g[None], need, tau[None], beyond, worst, stage)

    def _pressed(self, A: FloatArray, x: FloatArray, g: FloatArray) -> Solution:
        """x and A x with forces projected into their cones, which they leave by the tolerance of the solver.

        With friction the normal force is raised; without, tangential forces are set to zero.
        """
        if self.setup.exact or not (g[self.at["cone"]] > PRESSED / FORCE).any():
            return x, g
        for contact, part in zip(self.contacts, self.parts, strict=True):
            cone, f = contact.cone, x[self.nv + part.start : self.nv + part.stop]
            outside = (cone @ f).clip(0.0) if len(cone) else np.zeros(0)
            if not outside.any():
                continue
            normal = -cone[:, 2]
            f[2] += (outside / np.where(normal > 0.0, normal, np.inf)).max()
            if (outside[normal <= 0.0] > 0.0).any():  # without friction
                f[:2], f[5:] = 0.0, 0.0
        return x, A @ x

    def _conflict(self, filled: Any) -> Any:
        """Where bounds of qdd conflict with all else: with no other aim, something of them is violated."""
        (a, low, high, z, scale, *_), ease = filled, self._ease(1)
        ease[self.at["task"]] = FREE
        d = np.where(np.arange(self.n) < self.nv, FAINT, FAINT * FORCE**2)
        _, g, residual = self._side_by_side((a, low, high, ease, d, z))
        beyond = (scale * self._beyond(g, low, high)).max(axis=1, initial=0.0)
        return (scale[:, 0] * residual <= SOLVED) & (beyond > VIOLATED)

    def _beyond(self, g: Any, low: Any, high: Any) -> Any:
        """(batch, bounds) by how much accelerations are beyond their bounds."""
        bound = self._bound
        x = g[:, bound]
        return self._xp.maximum(x - high[:, bound], low[:, bound] - x).clip(0.0) * self._units

    def _stage(self, filled: Any, stage: int, solve: Solve) -> tuple[Any, Any, Any]:
        """x and A x of the last priority, in units of the scale, and residuals."""
        a, low, high, z, scale, *_ = filled
        worst, unit = 0 * scale[:, 0], 1.0 if self.on_gpu else scale[:, 0]  # a GPU has no other solver for what is left
        for k, own in enumerate(self._own):
            x, g, residual = solve((a, low, high, *self._cost(stage, k), z))
            worst = self._xp.maximum(worst, unit * residual)
            if k < len(self._own) - 1:
                low, rows = low + 0, self._index(own)
                low[:, rows] = g[:, rows]
        return x, g, worst

    def _cost(self, stage: int, k: int) -> tuple[Any, Any]:
        """Ease of the rows of priority k, and weights of variables."""
        if (stage, k) not in self._costs:
            ease, last = self._ease(stage), len(self.levels) - 1
            for j, (rows, level) in enumerate(zip(self._own, self.levels, strict=True)):
                ease[rows] = 0.0 if j < k else 1.0 / level.weight if j == k else FREE
            joints, forces = POSTURE_WEIGHT * (1.0 if k == last else LESS), FORCE_WEIGHT
            d = np.where(np.arange(self.n) < self.nv, joints, forces * FORCE**2)
            if stage:
                d += np.where(np.arange(self.n) < self.nv, SMALL, SMALL * FORCE**2)
            self._costs[stage, k] = self._array(ease), self._array(d)
        return self._costs[stage, k]

    def _answers(self, x: Any, g: Any, need: Any, tau: Any, beyond: Any, worst: Any, stage: int) -> Answers:
        left, (wanted, place) = need * 0, self._needed
        left[:, wanted] = need[:, wanted] - g[:, place]
        gaps = self._xp.concatenate([beyond, abs(left[:, self._held])], 1)
        gave_way = self._index(np.full(len(x), stage))
        return Answers(tau, x[:, : self.nv], FORCE * x[:, self.nv :], left, gaps, worst, gave_way)

    def conflicts(self, found: Answers, need: FloatArray) -> list[tuple[str, ...]]:
        """Names of relaxed constraints of each row: of those with gaps that are not small beside their sizes."""
        if not found.gave_way.any():
            return [()] * len(need)
        sizes = np.concatenate([found.qdd[:, self.bounded], need[:, self.rows[self._touching]]], axis=1)
        large = (found.gave_way > 0)[:, None] & (found.gaps > CONFLICT * np.maximum(1.0, np.abs(sizes)))
        return [tuple(dict.fromkeys(self.conflict_names[k] for k in np.flatnonzero(row))) for row in large]

    def _ease(self, stage: int) -> FloatArray:
        """(rows,) constraints that a stage relaxes; loops are never among them."""
        ease = np.zeros(self.count)
        if stage > 0:
            ease[self.at["bound"]] = 1.0 / (SOFT_BOUND * self.unit[self.at["bound"]] ** 2)
        if stage > 1:
            ease[self.at["contact"][self._touching]] = 1.0 / SOFT_CONTACT
        return ease

    def _array(self, x: FloatArray) -> Any:
        return asarray(x, self.like)

    def _index(self, x: Any) -> Any:
        return asarray(x, self.like, "int64")


def unscaled(filled: Any) -> Any:
    """The program of one robot in units of 1."""
    a, low, high, z, scale, *others = filled
    if scale[0, 0] == 1.0:
        return filled
    return [a, scale * low, scale * high, scale * z, 0.0 * scale + 1.0, *others]
