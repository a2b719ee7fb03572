"""Steps: joints move by h qdd, on the tree or plainly as the selector says."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bough.adaptive.cost import LOOK_COST, WARM_COST, SolverSelector
from bough.adaptive.engines.restrained import ALWAYS, CALM, CALMLY, MAX_PARTS, NEVER, NO_NUMBER, SWINGS, make_course
from bough.adaptive.restraints import Restraints
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.adaptive.tree.engine import NO_LIMIT
from bough.adaptive.tree.front import FULL_TIER, LINEAR_TIER, OPENED
from bough.adaptive.tree.passes import FAR
from bough.errors import ModelError, NumericalError, SettingError
from bough.types import FloatArray

# Parts of a step: it is cut where a joint would turn too far or where it would go uphill, and taken back where it
# cannot be finished.
#
# A part moves q by h qdd, and forces that stay lose about h (P + P') / 2 of their energy in it, P = qdd' M qdd at its
# beginning and P' = qdd' M qdd' with the accelerations at its end: one with P' < -0.9 P is taken back and cut in two.
# The accelerations at the end are those of the next step, so that looking at them costs nothing unless forces change
# between steps: then steps are looked at now and then.

SLOWEST = 1e-6  # share of the gap of a loop that a step must close at least
OFTEN, SELDOM = 2, 16  # steps under forces that change before each: the first are looked at, then one of so many
ROUNDING = 1e-12  # of the energy
REST_SHARE = 1e-9  # of the energy: steps that can lose no more are at rest
LOOKS = 32  # steps on the paper's tree of which one is looked at for forces that brake it
STILL = 1e-11  # rad or m by which all joints move in a step: less is rounding
# Loops that stay open by more than this (m or rad), and have not come closer for so many steps, do not close.
OPEN, PATIENCE, CLOSER = 1e-4, 30, 0.95
KEPT = ("steps", "time", "cuts", "parts", "calm", "pushed", "least", "since")  # by checkpoints


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


class Stepper:
    """Takes steps of a solver's linkage."""

    def __init__(self, solver: Solver, selector: SolverSelector, max_turn: float, refresh: int) -> None:
        if refresh < 1:
            raise SettingError(f"refresh must be at least 1 step, got {refresh}")
        if not max_turn > 0.0:
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver, self.selector, self.refresh, self.max_turn = solver, selector, refresh, float(max_turn)
        self.steps, self.time, self.cuts = 0, 0.0, 0  # taken so far, and parts beyond the first of all of them
        self.parts, self.calm = 1, 0  # into which steps are cut so that they do not swing, and for how long in vain
        self.pushed = 0  # steps one after another before which forces were changed
        self._given = 0  # see `Changes`
        self._known: tuple[Any, ...] = ()  # accelerations found last, where and for what, if they hold
        self.before = np.zeros(0)  # accelerations of the step before
        self.least, self.since = math.inf, 0  # smallest opening of loops so far, and steps since
        self.judges, self.largest = True, 0.0  # whether steps of this run are cut by energy, and the largest so far
        self.keeps_region = False  # whether forces that change between steps leave the region of open joints as it is
        self.pull: Restraints | None = None  # springs that are followed in compiled code
        self.is_called = False  # whether forces are set before every step, by a function
        turning, m = np.zeros(solver.inputs.model.nv, bool), solver.inputs.mechanism
        turning[m.v_index] = m.axis <= 2
        self._turning: Any = slice(None) if turning.all() else np.flatnonzero(turning)

    @property
    def _fine(self) -> int:
        """Into how many parts steps are cut here; those under forces that a function sets are cut by `whole`."""
        return 1 if self.is_called else self.parts

    @property
    def _watches(self) -> bool:
        """Whether steps are cut by power: not by the paper, which leaves joints behind, and not under a function."""
        solver = self.solver
        as_printed = solver.region is None and not (solver.clock.catches_up[0] or solver.is_exact or solver.is_plain)
        return not (self.is_called or as_printed)

    def begin(self, springs: Restraints | None, calls: bool, keeps_region: bool) -> None:
        """A run begins: under these springs, or with a function that is called before every step."""
        self.pull, self.is_called, self.keeps_region = springs, calls, keeps_region
        self.judges, self.largest = True, 0.0

    def restart(self, moved: bool = True) -> None:
        """Another configuration was given, or only gravity."""
        if moved:
            self.solver.all_moved = self.steps + 1

    def take(self, most: int, h: float, dt: float) -> int:
        """Take at least one step and at most so many; returns how many. A step that fails leaves everything alone."""
        most = min(most, self.refresh - self.steps % self.refresh)
        began = time.perf_counter()
        self.solver.set_step(h)
        self.solver.clock.step[0] = self.steps
        done = self._some(most, h)
        self.solver.cost = replace(self.solver.cost, seconds=(time.perf_counter() - began) / done)
        self.steps, self.time = self.steps + done, self.time + done * dt
        if self.steps % self.refresh == 0:
            self.solver.changes.all()
        self._look_at_loops(done)
        return done

    def whole(self, h: float, dt: float, load: Callable[[], float | None]) -> int:
        """One step in parts with the same sum of h, forces set before each of them; one that raises energy is cut."""
        first = self._energy(load())
        worst, began = 0.0, self.parts
        before = [] if first is None and began == 1 else self._snapshot()
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
            if first is None or last is None or not self._rises(last - first, h) or 2 * parts > MAX_PARTS:
                break
            worst = max(worst, last - first)
            if parts >= 16 * began and last - first > 0.5 * worst:
                self._distrust(last - first)
                self.parts = began
                break
            self._put_back(before)
            self.time, self.parts, self.calm, self.cuts = passed, 2 * parts, 0, cuts
            load()
        self.steps, self.cuts = steps + 1, self.cuts + parts - 1
        self._judge()
        return 1

    def _rises(self, rise: float, h: float) -> bool:
        """Whether energy has risen by more than rounding; near rest, what a step could lose is rounding, too."""
        if not self.judges or rise <= ROUNDING * self.largest:
            return False
        power = self.solver.plain.product(*2 * (self.solver.inputs.shared.qdd,))
        return rise > REST_SHARE * self.largest or h * power > REST_SHARE * self.largest

    def _distrust(self, rise: float) -> None:
        """Energy that rises as much however short steps are is not that of the forces."""
        self.judges = False
        warnings.warn(
            f"the energy that the load returns rises by {rise:.1e} J in step {self.steps + 1}, however short its parts "
            f"are: return that of all forces but potentials, gravity and other loads included, or nothing; steps of "
            f"this run are no longer judged by it",
            stacklevel=6,
        )

    def _energy(self, given: Any) -> float | None:
        """All of it, where a load says what that of the forces is."""
        if given is None:
            return None
        if not isinstance(given, (int, float)) or not math.isfinite(given):
            raise NumericalError(f"a load returns its energy, a finite number, or nothing: got {given!r}")
        energy = float(given) + self.solver.inputs.potentials.energy()
        self.largest = max(self.largest, abs(energy))
        return energy

    def _some(self, most: int, h: float) -> int:
        solver = self.solver
        if solver.is_plain and not (solver.switches and self._goes_to_tree()):
            return self._plain_step(h, most)
        solver.examine()
        if solver.is_plain:
            return self._plain_step(h, most)
        before = self._snapshot() if solver.held.exist else []
        done = self._tree_steps(most, h)
        if solver.held.are_passed:  # what leads beyond a limit is taken back, and done with it
            self._put_back(before)
            solver.changes.all()
            return self._plain_step(h)
        return done

    def _tree_steps(self, most: int, h: float) -> int:
        """Steps on the tree, of joints that no limit and no friction holds."""
        solver = self.solver
        if solver.is_exact:
            tree = solver.ready_tree()
            self._one(h)
            method = "dca" if solver.method == "dca" else "adaptive"
            solver.cost = Cost(method, self._all_joints, float(len(tree.plan.left)))
            return 1
        return self._adaptive_steps(most, h) if solver.region is None else self._hybrid_steps(most, h)

    @property
    def _all_joints(self) -> float:
        return float(len(self.solver.inputs.model.joints))

    def _plain_step(self, h: float, most: int = 1) -> int:
        done = 1
        if self.pull is not None:
            done = self._march(max(1, min(most, self.selector.wait)) if self.solver.switches else most, h, plainly=True)
        else:
            self._one(h, plainly=True)
        self.selector.wait -= done
        self.solver.cost = Cost("aba", self._all_joints)
        return done

    def _goes_to_tree(self) -> bool:
        """Whether the selector goes over to the tree now."""
        solver, selector = self.solver, self.selector
        if solver.error.eps == 0.0 or selector.wait > 0 or solver.distrusts or solver.held.act:
            return False
        loads = solver.inputs.forces.loads()
        if solver.region is not None and solver.region.is_hopeless(selector.most):
            selector.leave(LOOK_COST)
            return False
        try:
            tree = solver.assemble()
            tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            selector.wait = NO_LIMIT if solver.tree is None else 1
            return False
        region, paths = solver.region, tree.root_paths(loads.body[loads.along > loads.first[:-1]])
        if selector.wants_tree(paths if region is None else paths // region.pace.every):
            selector.enter()
        else:
            selector.leave(LOOK_COST)
        return selector.on_tree

    def _adaptive_steps(self, n: int, h: float) -> int:
        solver, selector, tree = self.solver, self.selector, self.solver.ready_tree()
        n = 1 if solver.closures is not None else min(n, selector.chunk) if solver.switches else n
        counts = tree.front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        budget = selector.budget if solver.switches else NO_LIMIT
        # steps until one is looked at; the paper looks at none
        due = -self.steps % LOOKS if solver.clock.catches_up[0] else n
        if self.solver.asks or due == 0 or self._fine > 1:
            n, left = 1, 0
            self._one(h)
        else:
            n = min(n, due)
            left = tree.march(solver.error, solver.inputs.forces.loads(), n, self.max_turn, budget)
        done, counts = n - left, tree.front.count
        if done:
            solver.changes.step()
            full, linear, opened = (int(counts[k]) for k in (FULL_TIER, LINEAR_TIER, OPENED))
            solver.cost = Cost("adaptive", opened / done, full / done, linear / done)
            if solver.switches and not selector.took(done, full, linear):
                selector.leave(WARM_COST)
        if not left or done:
            return done
        if tree.refused:
            self._one(h)
            solver.cost = Cost("adaptive", float(counts[OPENED]), float(counts[FULL_TIER]), float(counts[LINEAR_TIER]))
            return 1
        selector.leave(WARM_COST)
        solver.inputs.shared.qdd[:] = 0.0
        return self._plain_step(h)

    def _hybrid_steps(self, n: int, h: float) -> int:
        """Steps of the hybrid linkage until its region is chosen anew."""
        solver, selector, region = self.solver, self.selector, self.solver.region
        assert region is not None
        counts = solver.assemble().front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        if not region.ready(selector.most if solver.switches else NO_LIMIT, self.keeps_region):
            selector.leave(WARM_COST)
            solver.inputs.shared.qdd[:] = 0.0
            return self._plain_step(h)
        n = min(n, region.left)
        done = 0 if self.solver.asks else self._march(n, h)
        if not done:
            done = 1
            self._one(h)
            region.age += 1
        solver.changes.step()
        counts = solver.assemble().front.count
        full, linear = int(counts[FULL_TIER]), int(counts[LINEAR_TIER])
        solver.cost = Cost("adaptive", float(region.joints), full / done, linear / done)
        if region.pace.pays(selector.joints):
            selector.patience = 1
        return done

    @property
    def follows(self) -> bool:
        """Whether steps under springs are taken in compiled code, many at once."""
        solver = self.solver
        on_tree = solver.region is not None and not (solver.is_exact and not solver.is_plain)
        many = solver.closures is None and not (solver.asks or solver.held.exist)
        return many and (solver.method == "aba" or on_tree)

    def _march(self, n: int, h: float, plainly: bool = False) -> int:
        """At most n steps in compiled code; returns how many."""
        solver, pull, region = self.solver, self.pull, self.solver.region
        looks = NEVER if self.is_called else ALWAYS if solver.closures is None else CALMLY
        parts, calm = (self.parts, self.calm) if looks == ALWAYS else (1, 0)
        course = make_course(h, self.max_turn, looks, n, parts, calm)
        if plainly:
            assert pull is not None
            loads = solver.ready_plain()
            energy = solver.plain.march(course, loads, solver.inputs.potentials.springs, pull.ties(None))
        else:
            assert region is not None
            energy = region.march(course, () if pull is None else pull.ties(region.hybrid))
        done, code = n - int(course.steps[0]), int(course.code[0])
        if plainly:
            solver.clock.time[0] += done * h
            self._all_moved(self.steps + done)
        if looks == ALWAYS:
            self.parts, self.calm = max(1, round(float(course.parts[0]))), int(course.calm[0])
        self.cuts += int(course.cuts[0])
        if pull is not None:
            pull.note(energy)
            solver.changes.many_forces(pull.bodies)
            if not done:  # without springs parts say why, or do it
                raise solver.no_number() if code == NO_NUMBER else self._too_long(h)
        return done

    # One step in parts

    def _one(self, h: float, plainly: bool = False) -> None:
        """One step, in parts that keep every joint from turning by more than `max_turn` in one of them.

        Loops that would need too many parts to close at once are closed more slowly.
        """
        self.solver.inputs.forces.flush()
        self.pushed = self.pushed + 1 if self.is_given_anew else 0
        self.is_given_anew = False
        if self._is_known(plainly):
            self.solver.inputs.shared.qdd[:] = self._known[0]
        else:
            self._known = ()
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

    @property
    def is_given_anew(self) -> bool:
        """Whether forces or torques were given since the last step."""
        return self._given != self.solver.changes.given

    @is_given_anew.setter
    def is_given_anew(self, value: bool) -> None:
        self._given = self.solver.changes.given - int(value)

    def _too_long(self, h: float) -> NumericalError:
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
        left, taken, looks = h, 0, self._watches and (self.pushed <= OFTEN or self.pushed % SELDOM == 0)
        for part in range(self._most):
            self._find(plainly)
            pieces = max(self._pieces(left), math.ceil(left * self._fine / h - 1e-9))
            if pieces + part > self._most:
                return False
            length = left / pieces
            if plainly and self.solver.held.exist and length != self.solver.part:
                self.solver.part, self._known = length, ()
                self._find(plainly)
            motion = self.solver.inputs.shared.qdd.copy()
            before = self._snapshot() if looks and 4.0 * h <= self._most * length else None
            self._move(length, plainly)
            if before is not None and self._swings(motion, plainly):
                self._put_back(before)
                self.parts, self.calm = 2 * max(self.parts, round(h / length)), 0
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
            if self.calm >= CALM * self.parts and self.parts > 1:
                self.parts, self.calm = self.parts // 2, 0
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
        solver.find(plainly)
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
            clock.time[0] += h
            self._all_moved(self.steps + 1)
        elif solver.region is not None:
            clock.step[0] = self.steps + 1
            solver.region.move(h)
            if solver.asks:
                solver.inputs.potentials.refresh()
                solver.region.reload()
        else:
            whole, clock.h[0], clock.step[0] = clock.h[0], h, self.steps
            solver.assemble().march(solver.error, solver.inputs.forces.loads(), 1, math.inf)
            clock.h[0] = whole
            solver.changes.step()
            if solver.asks:
                solver.inputs.potentials.refresh()
                solver.changes.all()

    def _all_moved(self, step: int) -> None:
        """A plain step took every joint along."""
        solver = self.solver
        solver.all_moved = step
        solver.changes.all()
        if solver.tree is not None:
            solver.tree.state.last_move[:] = solver.clock.time[0]
            solver.tree.state.oldest[:] = solver.clock.time[0]

    def _snapshot(self) -> list[FloatArray]:
        """What a step changes, for `_put_back`."""
        return [a.copy() for a in self._moving()]

    def _moving(self) -> list[FloatArray]:
        """What a part of a step moves."""
        solver, tree = self.solver, self.solver.tree
        ages = [] if tree is None else [tree.state.last_move, tree.state.oldest]
        return [solver.inputs.shared.q, *solver.clock, *ages]

    def _put_back(self, before: list[FloatArray]) -> None:
        """As it was."""
        self._known = ()
        for array, old in zip(self._moving(), before, strict=False):  # a tree made since has nothing to put back
            array[:] = old
        self.solver.inputs.potentials.refresh()
        self.solver.changes.all()

    # What is watched from step to step

    def _judge(self) -> None:
        """Forces that turned round along the last motion, and grew, say that steps are too long: they swing."""
        qdd = self.solver.inputs.shared.qdd
        if len(self.before) != len(qdd):
            self.before = qdd.copy()
            return
        open_ = self._open
        now, old = qdd[open_], self.before[open_]
        turned, size = float((now * old).sum()), float((old * old).sum())  # no BLAS: its threads cost more
        if turned < -size and math.sqrt(size) * self.solver.h > STILL:
            self.parts, self.calm = min(2 * self.parts, MAX_PARTS), 0
        elif self.parts > 1:
            self.calm = self.calm + 1 if turned > 0.0 else 0
            if self.calm >= CALM:
                self.parts, self.calm = self.parts // 2, 0
        self.before[open_] = now

    @property
    def _open(self) -> Any:
        """Where the accelerations of joints are that moved in the last step."""
        region = self.solver.region
        if self.solver.cost.method == "aba" or region is None or region.hybrid is None or self.solver.is_exact:
            return slice(None)
        return region.hybrid.mechanism.v_index

    def _look_at_loops(self, steps: int) -> None:
        """Say so, once, when loops stay open after so many more steps."""
        closures = self.solver.closures
        if closures is None:
            return
        opening = self.solver.last_gap()
        self.since += steps
        if opening < CLOSER * self.least:
            self.least, self.since = opening, 0
        elif opening > OPEN and self.since >= PATIENCE and math.isfinite(self.least):
            name, gap = closures.widest(self.solver.poses(closures.bodies))
            warnings.warn(
                f"the closure of {name} is open by {gap:.2g} m or rad and has not come closer in {self.since} steps: "
                f"the linkage cannot close it from here, or eps is too large to",
                stacklevel=5,
            )
            self.least = math.nan  # said

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """What it remembers, for a checkpoint."""
        state = {name: getattr(self, name) for name in (*KEPT, "before")}
        return state | {"options": {"max_turn": self.max_turn, "refresh": self.refresh}, "given": self.is_given_anew}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        for name in (*KEPT, "before"):
            setattr(self, name, state[name])
        self.is_given_anew = state["given"]
