"""Steps: joints move by h qdd, on the tree or plainly as the switch says, cut where a joint would turn too far."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bough.adaptive.engines import CALMED, CODE, CUTS, NO_LIMIT, NO_NUMBER, OUTGROWN, PARTS, STEPS, Switch
from bough.adaptive.passes import FAR, FULL_TIER, LINEAR_TIER, OPENED
from bough.adaptive.restraints import Restraints
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.errors import ModelError, NumericalError, SettingError
from bough.types import FloatArray

MAX_PARTS = 1000  # of one step
CALM = 64  # steps without swinging after which they are cut into half as many parts
ROUNDING = 1e-12  # of the energy
SLOWEST = 1e-6  # share of the gap of a loop that a step must close at least
# Loops that stay open by more than this (m or rad), and have not come closer for so many steps, do not close.
OPEN, PATIENCE, CLOSER = 1e-4, 30, 0.95


class Stepper:
    """Takes steps of a solver's linkage."""

    def __init__(self, solver: Solver, switch: Switch, max_turn: float, refresh: int) -> None:
        if refresh < 1:
            raise SettingError(f"refresh must be at least 1 step, got {refresh}")
        if not max_turn > 0.0:
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver, self.switch, self.max_turn, self.refresh = solver, switch, float(max_turn), refresh
        self.steps, self.time, self.cuts = 0, 0.0, 0
        self.keeps_region = False  # whether forces that change between steps leave the region of open joints as it is
        self.pull: Restraints | None = None  # springs that are followed in compiled code
        self.parts, self._calm = 1, 0  # into how many parts steps are cut that would swing, and for how long in vain
        self.before = np.zeros(0)  # accelerations of the step before
        self._least_open, self._since = math.inf, 0  # smallest opening of the loops so far, and steps since
        turning = np.zeros(solver.inputs.model.nv, bool)
        m = solver.inputs.mechanism
        turning[m.v_index] = m.axis <= 2
        self._turning: Any = slice(None) if turning.all() else np.flatnonzero(turning)

    def take(self, most: int, h: float, dt: float) -> int:
        """Take at least one step and at most so many; returns how many. A step that fails leaves everything alone."""
        most = min(most, self.refresh - self.steps % self.refresh)
        began = time.perf_counter()
        self.solver.set_step(h)
        self.solver.clock[3] = self.steps
        done = self._some(most, h)
        self.solver.cost = replace(self.solver.cost, seconds=(time.perf_counter() - began) / done)
        self.steps, self.time = self.steps + done, self.time + done * dt
        if self.steps % self.refresh == 0:
            self.solver.changes.all()
        self._watch_loops(done)
        return done

    def whole(self, h: float, dt: float, load: Callable[[], float | None]) -> int:
        """One step in parts with the same sum of h, forces set before each of them; one that raises energy is cut."""
        first = self._energy(load())
        before = [] if first is None and self.parts == 1 else self._snapshot()
        steps, passed, cuts = self.steps, self.time, self.cuts
        while True:
            parts = self.parts
            try:
                for part in range(parts):
                    if part:
                        load()
                    self.take(1, h / parts, dt / parts)
                    self.steps = steps
                last = None if first is None else self._energy(load())
            except BaseException:
                if before:
                    self._put_back(before)
                    self.time, self.cuts = passed, cuts
                raise
            if first is None or last is None or last <= first + ROUNDING * abs(first) or 2 * parts > MAX_PARTS:
                break
            self._put_back(before)
            self.time, self.parts, self._calm, self.cuts = passed, 2 * parts, 0, cuts
            load()
        self.steps, self.cuts = steps + 1, self.cuts + parts - 1
        self._judge()
        return 1

    def _energy(self, given: Any) -> float | None:
        """All of it, where a load says what that of the forces is."""
        if given is None:
            return None
        if not isinstance(given, (int, float)) or not math.isfinite(given):
            raise NumericalError(f"a load returns its energy, a finite number, or nothing: got {given!r}")
        return float(given) + self.solver.inputs.potentials.energy()

    def _judge(self) -> None:
        """Forces that turned round along the last motion, and grew, say that steps are too long: they swing."""
        qdd = self.solver.inputs.shared.qdd
        if len(self.before) != len(qdd):
            self.before = qdd.copy()
            return
        open_ = self._open
        now, old = qdd[open_], self.before[open_]
        turned, size = float((now * old).sum()), float((old * old).sum())  # no BLAS: its threads cost more
        if turned < -size:
            self.parts, self._calm = min(2 * self.parts, MAX_PARTS), 0
        elif self.parts > 1:
            self._calm = self._calm + 1 if turned > 0.0 else 0
            if self._calm >= CALM:
                self.parts, self._calm = self.parts // 2, 0
        self.before[open_] = now

    @property
    def _open(self) -> Any:
        """Where the accelerations of joints are that moved in the last step."""
        region = self.solver.region
        if self.solver.cost.method == "aba" or region is None or region.hybrid is None or self.solver.is_exact:
            return slice(None)
        return region.hybrid.mechanism.v_index

    def _some(self, most: int, h: float) -> int:
        solver = self.solver
        if solver.is_plain and not (solver.switches and self._goes_to_tree()):
            return self._plain_step(h, most)
        solver.examine()
        if solver.is_plain:
            return self._plain_step(h, most)
        if solver.is_exact:
            tree = solver.ready_tree()
            self._in_parts(h)
            method = "dca" if solver.method == "dca" else "adaptive"
            solver.cost = Cost(method, self._all_joints, float(len(tree.plan.left)))
            return 1
        return self._adaptive_steps(most, h) if solver.region is None else self._hybrid_steps(most, h)

    @property
    def _asks(self) -> bool:
        """Whether functions of the user's must be asked after every step."""
        return bool(self.solver.inputs.potentials.functions)

    @property
    def _all_joints(self) -> float:
        return float(len(self.solver.inputs.model.joints))

    def _plain_step(self, h: float, most: int = 1) -> int:
        done = 1
        if self.pull is None:
            self._in_parts(h, plainly=True)
        else:
            done = self._pulled(max(1, min(most, self.switch.wait)) if self.solver.switches else most, h, plainly=True)
        self.switch.wait -= done
        self.solver.cost = Cost("aba", self._all_joints)
        return done

    def _goes_to_tree(self) -> bool:
        """Whether the switch goes over to the tree now."""
        solver, switch = self.solver, self.switch
        if solver.error.eps == 0.0 or switch.wait > 0 or solver.distrusts:
            return False
        loads = solver.inputs.forces.loads()
        try:
            tree = solver.assemble()
            tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            switch.wait = NO_LIMIT if solver.tree is None else 1
            return False
        if switch.wants_tree(tree.root_paths(loads.body[loads.along > loads.first[:-1]])):
            switch.enter()
        else:
            switch.leave(built=False)
        return switch.on_tree

    def _adaptive_steps(self, n: int, h: float) -> int:
        solver, switch, tree = self.solver, self.switch, self.solver.ready_tree()
        n = 1 if solver.closures is not None else min(n, switch.chunk) if solver.switches else n
        counts = tree.front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        budget = switch.budget if solver.switches else NO_LIMIT
        if self._asks:
            n, left = 1, 0
            self._in_parts(h)
        else:
            left = tree.march(solver.error, solver.inputs.forces.loads(), n, self.max_turn, budget)
        done, counts = n - left, tree.front.count
        if done:
            solver.changes.step()
            full, linear, opened = (int(counts[k]) for k in (FULL_TIER, LINEAR_TIER, OPENED))
            solver.cost = Cost("adaptive", opened / done, full / done, linear / done)
            if solver.switches and not switch.took(done, full, linear):
                switch.leave()
        if not left or done:
            return done
        if tree.refused:
            self._in_parts(h)
            solver.cost = Cost("adaptive", float(counts[OPENED]), float(counts[FULL_TIER]), float(counts[LINEAR_TIER]))
            return 1
        switch.leave()
        solver.inputs.shared.qdd[:] = 0.0
        return self._plain_step(h)

    def _hybrid_steps(self, n: int, h: float) -> int:
        """Steps of the hybrid linkage until its region is chosen anew."""
        solver, switch, region = self.solver, self.switch, self.solver.region
        assert region is not None
        counts = solver.assemble().front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        if not region.ready(switch.most if solver.switches else NO_LIMIT, self.keeps_region):
            switch.leave()
            solver.inputs.shared.qdd[:] = 0.0
            return self._plain_step(h)
        n = min(n, region.left, switch.chunk if solver.switches else n)
        if self.pull is not None:
            done = self._pulled(n, h)
        else:
            done = 0 if self._asks else n - region.march(n, h, self.max_turn)
        if not done:
            done = 1
            self._in_parts(h)
            region.age += 1
        solver.changes.step()
        counts = solver.assemble().front.count
        full, linear = int(counts[FULL_TIER]), int(counts[LINEAR_TIER])
        solver.cost = Cost("adaptive", float(region.joints), full / done, linear / done)
        if solver.switches and not switch.took(done, full, linear, region.joints * done):
            switch.leave()
        return done

    # Springs that are followed

    @property
    def follows(self) -> bool:
        """Whether steps under springs are taken in compiled code, many at once."""
        solver = self.solver
        on_tree = solver.region is not None and not (solver.is_exact and not solver.is_plain)
        return solver.closures is None and not self._asks and (solver.method == "aba" or on_tree)

    def _pulled(self, n: int, h: float, plainly: bool = False) -> int:
        """At least one step under springs and at most n; returns how many."""
        solver, pull, region = self.solver, self.pull, self.solver.region
        assert pull is not None
        order = np.array([h, self.max_turn, n, self.parts, self._calm, 0.0, math.inf, 0.0])
        if plainly:
            loads = solver.ready_plain()
            energy = solver.plain.pulled(pull.ties(None), order, solver.inputs.potentials.springs, loads)
        else:
            assert region is not None
            assert region.hybrid is not None
            energy = region.pulled(pull.ties(region.hybrid), order)
        done, code = n - round(float(order[STEPS])), int(order[CODE])
        if plainly:
            solver.clock[0] += done * h
            self._all_moved(self.steps + done)
        self.parts, self._calm = max(1, round(float(order[PARTS]))), round(float(order[CALMED]))
        self.cuts += round(float(order[CUTS]))
        pull.note(energy)
        solver.changes.many_forces(pull.load.bodies)
        if not done:
            raise solver.no_number() if code == NO_NUMBER else self._too_long(h)
        if code == OUTGROWN and region is not None:
            region.age = region.every
        return done

    # Parts of a step

    def _in_parts(self, h: float, plainly: bool = False) -> None:
        """One step, in as many parts as keep every joint from turning by more than `max_turn` in one of them.

        Loops that would need too many parts to close at once are closed more slowly.
        """
        before, closures = self._snapshot(), self.solver.closures
        try:
            while not self._all_parts(h, plainly):
                if closures is None or closures.rate < SLOWEST:
                    raise self._too_long(h)
                self._put_back(before)
                closures.rate /= 4.0
        except BaseException:
            self._put_back(before)
            raise
        if closures is not None:
            closures.rate = min(1.0, 2.0 * closures.rate)

    def _too_long(self, h: float) -> NumericalError:
        return NumericalError(
            f"a step of pseudo-time {h:.3g} s^2 would have to be cut into more than {self._most} parts, so "
            f"that no joint turns by more than {self.max_turn:.3g} rad in one: take a smaller step"
        )

    @property
    def _most(self) -> int:
        return MAX_PARTS if self.solver.closures is None else MAX_PARTS // 10

    def _all_parts(self, h: float, plainly: bool) -> bool:
        """Take a step part by part; False if they are too many."""
        left = h
        for part in range(self._most):
            self._find(plainly)
            pieces = self._pieces(left)
            if pieces + part > self._most:
                return False
            self._move(left / pieces, plainly)
            if pieces == 1:
                self.cuts += part
                return True
            left -= left / pieces
        return False

    def _find(self, plainly: bool) -> None:
        """The accelerations on which the next part is based."""
        solver = self.solver
        if plainly:
            solver.solve_plainly()
        elif solver.is_exact:
            solver.ready_tree().solve_exactly()
        elif solver.region is not None:
            solver.region.solve()
        else:
            solver.ready_tree().refine(solver.error)

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
        if plainly or solver.is_exact:
            solver.plain.move(h)
            solver.inputs.potentials.refresh()
            clock[0] += h
            self._all_moved(self.steps + 1)
        elif solver.region is not None:
            clock[3] = self.steps + 1
            solver.region.move(h)
            if self._asks:
                solver.inputs.potentials.refresh()
                solver.region.reload()
        else:
            whole, clock[1], clock[3] = clock[1], h, self.steps
            solver.assemble().march(solver.error, solver.inputs.forces.loads(), 1, math.inf)
            clock[1] = whole
            solver.changes.step()
            if self._asks:
                solver.inputs.potentials.refresh()
                solver.changes.all()

    def _all_moved(self, step: int) -> None:
        """A plain step took every joint along."""
        solver = self.solver
        solver.all_moved = step
        solver.changes.all()
        if solver.tree is not None:
            solver.tree.state.last_move[:] = solver.clock[0]
            solver.tree.state.oldest[:] = solver.clock[0]

    def _snapshot(self) -> list[FloatArray]:
        return [a.copy() for a in self._moving()]

    def _moving(self) -> list[FloatArray]:
        """What a part of a step moves."""
        solver, tree = self.solver, self.solver.tree
        ages = [] if tree is None else [tree.state.last_move, tree.state.oldest]
        return [solver.inputs.shared.q, solver.clock, *ages]

    def _put_back(self, before: list[FloatArray]) -> None:
        for array, old in zip(self._moving(), before, strict=True):
            array[:] = old
        self.solver.inputs.potentials.refresh()
        self.solver.changes.all()

    # Loops

    def _watch_loops(self, steps: int) -> None:
        """Say so, once, when loops stay open."""
        closures = self.solver.closures
        if closures is None:
            return
        opening = self.solver.last_gap()
        self._since += steps
        if opening < CLOSER * self._least_open:
            self._least_open, self._since = opening, 0
        elif opening > OPEN and self._since >= PATIENCE and math.isfinite(self._least_open):
            name, gap = closures.widest(self.solver.poses(closures.bodies))
            warnings.warn(
                f"the closure of {name} is open by {gap:.2g} m or rad and has not come closer in {self._since} steps: "
                f"the linkage cannot close it from here, or eps is too large to",
                stacklevel=5,
            )
            self._least_open = math.nan  # said

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """What it remembers, as plain facts."""
        own = {"steps": self.steps, "time": self.time, "cuts": self.cuts, "refresh": self.refresh}
        return own | {
            "max_turn": self.max_turn,
            "least_open": self._least_open,
            "since": self._since,
            "parts": self.parts,
            "calm": self._calm,
        }

    def restore(self, facts: dict[str, Any]) -> None:
        """What `state` gave."""
        self.steps, self.time, self.cuts = facts["steps"], facts["time"], facts["cuts"]
        self._least_open, self._since = facts["least_open"], facts["since"]
        self.parts, self._calm = facts["parts"], facts["calm"]


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
