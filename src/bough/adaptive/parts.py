"""Parts of a step: it is cut where a joint would turn too far or where it would go uphill, and taken back where it
cannot be finished.

A part moves q by h qdd, and forces that stay lose about h (P + P') / 2 of their energy in it, P = qdd' M qdd at its
beginning and P' = qdd' M qdd' with the accelerations at its end: one with P' < -0.9 P is taken back and cut in two. The
accelerations at the end are those of the next step, so that looking at them costs nothing unless forces change between
steps: then steps are looked at now and then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bough.adaptive.passes import FAR
from bough.adaptive.solver import Solver
from bough.errors import NumericalError, SettingError
from bough.types import FloatArray

MAX_PARTS = 1000  # of one step
SLOWEST = 1e-6  # share of the gap of a loop that a step must close at least
SWINGS, CALM = -0.9, 64  # share of the power at which forces brake too hard; parts after which longer ones are tried
OFTEN, SELDOM = 2, 16  # steps under forces that change before each: the first are looked at, then one of so many


class StepParts:
    """Takes one step of a solver's linkage, in as many parts as it needs."""

    def __init__(self, solver: Solver, max_turn: float) -> None:
        if not max_turn > 0.0:
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver, self.max_turn = solver, float(max_turn)
        self.steps, self.cuts = 0, 0  # taken before this one, and parts beyond the first of all steps
        turning = np.zeros(solver.inputs.model.nv, bool)
        m = solver.inputs.mechanism
        turning[m.v_index] = m.axis <= 2
        self._turning: Any = slice(None) if turning.all() else np.flatnonzero(turning)
        self.fine, self.calm = 1, 0  # parts into which steps are cut as power said, and for how many in vain
        self.pushed = 0  # steps one after another before which forces were changed
        self._given = 0  # see `Changes`
        self.watches = True  # whether power is looked at
        self._known: tuple[Any, ...] = ()  # accelerations found last, where and for what, if they hold

    def take(self, steps: int, h: float, plainly: bool = False) -> None:
        """One step after so many, in parts that keep every joint from turning by more than `max_turn` in one of them.

        Loops that would need too many parts to close at once are closed more slowly.
        """
        self.steps = steps
        self.solver.inputs.forces.flush()
        given, self._given = self._given, self.solver.changes.given
        self.pushed = self.pushed + 1 if given != self._given else 0
        if self._is_known(plainly):
            self.solver.inputs.shared.qdd[:] = self._known[0]
        else:
            self._known = ()
        before, closures = self.snapshot(), self.solver.closures
        try:
            while not self._all_parts(h, plainly):
                if closures is None or closures.rate < SLOWEST:
                    raise self.too_long(h)
                self.put_back(before)
                closures.rate /= 4.0
        except BaseException:
            self.put_back(before)
            raise
        if closures is not None:
            closures.rate = min(1.0, 2.0 * closures.rate)

    def too_long(self, h: float) -> NumericalError:
        """Why a step is refused."""
        return NumericalError(
            f"a step of pseudo-time {h:.3g} s^2 would have to be cut into more than {self._most} parts, so "
            f"that no joint turns by more than {self.max_turn:.3g} rad in one: take a smaller step"
        )

    @property
    def _most(self) -> int:
        return MAX_PARTS if self.solver.closures is None else MAX_PARTS // 10

    def _all_parts(self, h: float, plainly: bool) -> bool:
        """Take a step part by part; False if they are too many."""
        left, taken, looks = h, 0, self.watches and (self.pushed <= OFTEN or self.pushed % SELDOM == 0)
        for part in range(self._most):
            self._find(plainly)
            pieces = max(self._pieces(left), math.ceil(left * self.fine / h - 1e-9))
            if pieces + part > self._most:
                return False
            length, motion = left / pieces, self.solver.inputs.shared.qdd.copy()
            before = self.snapshot() if looks and 4.0 * h <= self._most * length else None
            self._move(length, plainly)
            if before is not None and self._swings(motion, plainly):
                self.put_back(before)
                self.fine, self.calm = 2 * max(self.fine, round(h / length)), 0
                continue
            if pieces == 1:
                self.cuts += taken
                return True
            left, taken = left - length, taken + 1
        return False

    def _swings(self, motion: FloatArray, plainly: bool) -> bool:
        """Whether forces at the end of a motion brake it by more than they drove it."""
        solver, qdd = self.solver, self.solver.inputs.shared.qdd
        self._find(plainly)
        braked = float((qdd * motion).sum())  # no BLAS: its threads cost more
        if braked >= 0.0 or not math.isfinite(braked):
            self.calm += 1
            if self.calm >= CALM * self.fine and self.fine > 1:
                self.fine, self.calm = self.fine // 2, 0
            return False
        self.calm = 0
        braked = self._power_along(motion)
        return braked < SWINGS * solver.plain.product(motion, motion)

    def _power_along(self, motion: FloatArray) -> float:
        """What all forces do along a motion from here; what closes gaps of loops is no force."""
        solver, qdd = self.solver, self.solver.inputs.shared.qdd
        if solver.closures is None:
            return solver.plain.product(qdd, motion)
        kept, rate = qdd.copy(), solver.closures.rate
        solver.closures.rate = 0.0
        solver.solve_plainly()
        power = solver.plain.product(qdd, motion)
        qdd[:], solver.closures.rate, solver.changes.closures = kept, rate, True
        return power

    def _find(self, plainly: bool) -> None:
        """The accelerations on which the next part is based."""
        solver = self.solver
        if self._known:
            return
        if plainly:
            solver.solve_plainly()
        elif solver.is_exact:
            solver.ready_tree().solve_exactly()
        elif solver.region is not None:
            solver.region.solve()
        else:
            solver.ready_tree().refine(solver.error)
        if plainly or solver.is_exact:
            self._known = self._question(plainly)

    def _question(self, plainly: bool) -> tuple[Any, ...]:
        """Accelerations, and all on which they depend."""
        solver, i = self.solver, self.solver.inputs
        rate, way = 0.0 if solver.closures is None else solver.closures.rate, (plainly, solver.is_exact)
        facts = [*way, solver.h, rate, i.changes.given, *i.gravity.tolist()]
        return i.shared.qdd.copy(), i.shared.q.copy(), i.potentials.springs, facts

    def _is_known(self, plainly: bool) -> bool:
        """Whether the accelerations found last are those here and now."""
        if not self._known:
            return False
        (_, q, springs, facts), (_, here, same, new) = self._known, self._question(plainly)
        return facts == new and springs is same and np.array_equal(q, here)

    def _pieces(self, h: float) -> int:
        """Into how many parts a step must be cut from here on."""
        qdd = self.solver.inputs.shared.qdd
        farthest = h * float(np.abs(qdd).max(initial=0.0))
        if not math.isfinite(farthest):
            raise self.solver.no_number()
        turn = h * float(np.abs(qdd[self._turning]).max(initial=0.0))
        if farthest > turn and farthest > FAR:
            raise NumericalError(
                f"a step of pseudo-time {h:.3g} s^2 would slide a joint by {farthest:.1e} m, and {FAR:.0e} m is the "
                f"most: take a smaller step"
            )
        return max(1, math.ceil(min(turn / self.max_turn, 2.0 * MAX_PARTS) - 1e-9))

    def _move(self, h: float, plainly: bool) -> None:
        """Move by a part of a step that turns no joint too far."""
        solver, clock = self.solver, self.solver.clock
        self._known = ()
        if plainly or solver.is_exact:
            solver.plain.move(h)
            solver.inputs.potentials.refresh()
            clock[0] += h
            self.all_moved(self.steps + 1)
        elif solver.region is not None:
            clock[3] = self.steps + 1
            solver.region.move(h)
            if solver.asks:
                solver.inputs.potentials.refresh()
                solver.region.reload()
        else:
            whole, clock[1], clock[3] = clock[1], h, self.steps
            solver.assemble().march(solver.error, solver.inputs.forces.loads(), 1, math.inf)
            clock[1] = whole
            solver.changes.step()
            if solver.asks:
                solver.inputs.potentials.refresh()
                solver.changes.all()

    def all_moved(self, step: int) -> None:
        """A plain step took every joint along."""
        solver = self.solver
        solver.all_moved = step
        solver.changes.all()
        if solver.tree is not None:
            solver.tree.state.last_move[:] = solver.clock[0]
            solver.tree.state.oldest[:] = solver.clock[0]

    def snapshot(self) -> list[FloatArray]:
        """What a step changes, for `put_back`."""
        return [a.copy() for a in self._moving()]

    def _moving(self) -> list[FloatArray]:
        """What a part of a step moves."""
        solver, tree = self.solver, self.solver.tree
        ages = [] if tree is None else [tree.state.last_move, tree.state.oldest]
        return [solver.inputs.shared.q, solver.clock, *ages]

    def put_back(self, before: list[FloatArray]) -> None:
        """As it was."""
        self._known = ()
        for array, old in zip(self._moving(), before, strict=True):
            array[:] = old
        self.solver.inputs.potentials.refresh()
        self.solver.changes.all()


def step_size(dt: float | None, h: float | None) -> tuple[float, float]:
    """(dt, h) from one of them."""
    if (dt is None) == (h is None):
        raise SettingError(f"a step is given by dt or by h, one of them, got dt = {dt!r} and h = {h!r}")
    name, value = ("dt", dt) if h is None else ("h", h)
    if value is None or not (math.isfinite(value) and value > 0.0):
        raise SettingError(f"{name} must be a positive number of {'seconds' if h is None else 's^2'}, got {value!r}")
    dt, h = (value, 0.5 * value * value) if h is None else (math.sqrt(2.0 * value), value)
    if h == 0.0 or not math.isfinite(h):
        raise SettingError(f"{name} = {value!r} gives a step of pseudo-time {h}: expected a positive number")
    return dt, h
