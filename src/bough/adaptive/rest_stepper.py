"""Steps from rest: joints move by h qdd, on the tree or by all joints as the cost model says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.adaptive.closure import Closures
from bough.adaptive.cost import CHUNK, LOOK_COST, WARM_COST
from bough.adaptive.engines.modes import NEAR
from bough.adaptive.engines.rest import (
    BRAKED,
    CALM,
    FINE,
    MAX_PARTS,
    NOT_FINITE,
    TOO_FAR,
    StepControl,
    end_part,
    is_moving,
    make_control,
    may_go_back,
    next_part,
    shorten,
)
from bough.adaptive.engines.sweeps import turn_of
from bough.adaptive.rest_solver import RestSolver
from bough.adaptive.restraints import Restraints
from bough.adaptive.stats import Cost
from bough.adaptive.stepper import Stepper
from bough.adaptive.tree.bounded_pass import FULL_TIER, LINEAR_TIER, OPENED
from bough.adaptive.tree.engine import NO_LIMIT
from bough.adaptive.tree.passes import FAR
from bough.compile.run.direct import compiled
from bough.errors import ModelError, NumericalError, SettingError
from bough.types import FloatArray

SLOWEST = 1e-6  # share of the gap of a loop that a step must close at least
OFTEN, SELDOM = 2, 16  # full steps under forces that change before each: the first are checked, then one of so many
ROUNDING = 1e-12  # of the energy
REST_SHARE = 1e-9  # of the energy: steps that can lose no more are at rest
ONE_CALL = 2_000_000  # joints times full steps in one compiled call, about half a second: signals wait for its end
CHECKED = 32  # steps on the paper's tree of which one is checked, where joints catch up
STILL = 1e-11  # rad or m by which all joints move in a step: less is rounding
# Loops that stay open by more than this (m or rad), and have not come closer for so many steps, do not close.
OPEN, PATIENCE, CLOSER = 1e-4, 30, 0.95
ALL: Any = slice(None)
KEPT = ("parts", "calm", "changed_steps", "least", "since", "before")  # by checkpoints


class RestStepper(Stepper):
    """Takes steps from rest."""

    solver: RestSolver
    max_turn: float

    def __init__(self, solver: RestSolver, max_turn: float, refresh: int) -> None:
        if refresh < 1:
            raise SettingError(f"refresh must be at least 1 step, got {refresh}")
        super().__init__(solver, max_turn)
        self.selector, self.refresh, self._full = solver.selector, refresh, Cost("aba", float(solver.selector.joints))
        self.parts, self.calm = 1, 0  # into which steps are cut so that they do not swing, and for how long in vain
        self.changed_steps = 0  # steps one after another before which forces were changed
        self._given = 0  # how often forces or torques had been given before the last step
        self.before = np.zeros(0)  # accelerations of the step before
        self.least, self.since = math.inf, 0  # smallest opening of loops so far, and steps since
        self.checks_energy, self.largest = True, 0.0  # whether energy cuts steps of this run, and the largest so far
        self.keeps_region = False  # whether forces that change between steps leave the region of active joints as it is
        self.control, self._part = make_control(), make_control()  # of steps, and of a part that is solved elsewhere
        self.springs: Restraints | None = None  # restraints that are followed in compiled code
        self.is_called = False  # whether forces are set before every step, by a function

    def begin(self, springs: Restraints | None, calls: bool, keeps_region: bool) -> None:
        """A run begins: under these springs, or with a function that is called before every step."""
        self.springs, self.is_called, self.keeps_region = springs, calls, keeps_region
        self.checks_energy, self.largest = True, 0.0

    def restart(self, moved: bool = True) -> None:
        """Another configuration was given, or only gravity."""
        if moved:
            self.solver.all_moved = self.steps + 1

    @property
    def follows(self) -> bool:
        """Whether steps under springs are taken in compiled code, many at once."""
        solver = self.solver
        on_tree = solver.region is not None and not (solver.is_exact and not solver.uses_all_joints)
        many = solver.closures is None and not (solver.has_functions or solver.engine.has_stops)
        return many and (solver.method == "aba" or on_tree)

    def take_under(self, load: Callable[[], float | None], h: float, dt: float) -> int:
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
                self._ignore_energy(last - first)
                self.parts = began
                break
            self._put_back(before)
            self.time, self.parts, self.calm, self.cuts = passed, 2 * parts, 0, cuts
            load()
        self.steps, self.cuts = steps + 1, self.cuts + parts - 1
        self._detect_oscillation()
        return 1

    def _rises(self, rise: float, h: float) -> bool:
        """Whether energy has risen by more than rounding; near rest, what a step could lose is rounding, too."""
        if not self.checks_energy or rise <= ROUNDING * self.largest:
            return False
        power = self.solver.engine.product(*2 * (self.solver.inputs.shared.qdd,))
        return rise > REST_SHARE * self.largest or h * power > REST_SHARE * self.largest

    def _ignore_energy(self, rise: float) -> None:
        """Energy that rises as much however short steps are is not that of the forces."""
        self.checks_energy = False
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

    # Which joints move

    def _advance(self, most: int, h: float) -> int:
        solver = self.solver
        done = self._advance_by_method(min(most, self.refresh - self.steps % self.refresh), h)
        if (self.steps + done) % self.refresh == 0:
            solver.changes.all()
        if solver.closures is not None:
            self._look_at_loops(solver.closures, done)
        return done

    def _advance_by_method(self, most: int, h: float) -> int:
        solver = self.solver
        solver.set_step(h)
        solver.clock.step[0] = self.steps
        solver.inputs.forces.flush()
        self.changed_steps = self.changed_steps + 1 if self._given != solver.changes.given else 0
        self._given = solver.changes.given
        if solver.uses_all_joints and not (solver.switches and self._chooses_tree()):
            return self._full_steps(most, h)
        if solver.tree is None or not solver.tree.noise.is_known:
            solver.examine()
            if solver.uses_all_joints:
                return self._full_steps(most, h)
        before = self._snapshot() if solver.engine.has_stops else []
        if solver.is_exact:  # of all joints, with their accelerations from the tree
            known = not solver.changes.solution and solver.cost.method == solver._tree_method
            done = self._step_in_parts(h, lambda: solver.ready_tree().solve_exactly(), self._move, known)
            solver.changes.solution = not self.control.known[0]
            nodes = float(len(solver.assemble().plan.left))
            solver.cost = Cost(solver._tree_method, float(self.selector.joints), nodes)
        else:
            done = self._tree_steps(most, h) if solver.region is None else self._region_steps(most, h)
        if before and solver.engine.has_limits_within(-NEAR):  # a step beyond a limit is repeated with the limit
            self._put_back(before)
            return self._full_steps(1, h)
        return done

    def _chooses_tree(self) -> bool:
        """Whether the selector goes over to the tree now."""
        solver, selector = self.solver, self.selector
        if solver.error.eps == 0.0 or selector.wait > 0 or solver.is_tree_inaccurate or solver.stops_act:
            return False
        loads = solver.inputs.forces.loads()
        if solver.region is not None and solver.region.needs_more_than(selector.most):
            selector.leave(LOOK_COST)
            return False
        try:
            tree = solver.assemble()
            tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: full steps are all there is
            selector.wait = NO_LIMIT if solver.tree is None else 1
            return False
        region, paths = solver.region, tree.root_paths(loads.body[loads.along > loads.first[:-1]])
        if selector.wants_tree(paths if region is None else paths // region.interval.every):
            selector.enter()
        else:
            selector.leave(LOOK_COST)
        return selector.on_tree

    @property
    def _is_checked(self) -> bool:
        """Whether this step is checked: not under a function, and of full steps under changing forces a few."""
        return not self.is_called and (self.changed_steps <= OFTEN or self.changed_steps % SELDOM == 0)

    def _full_steps(self, most: int, h: float) -> int:
        """Steps of all joints."""
        solver, n = self.solver, most
        if solver.engine.has_stops and solver.method != "aba":
            n = 1
        elif n > 1 and solver.switches:
            n = max(1, min(most, self.selector.wait))
        if n > 1:
            n = max(1, min(n, ONE_CALL // max(1, self.selector.joints)))
        if solver.closures is not None:  # how far they are open is seen after each call
            n = min(n, PATIENCE // 3)
        known = not solver.changes.solution and solver.cost.method == "aba"
        if solver.has_functions:
            done = self._step_in_parts(h, solver.solve_all_joints, self._move, known)
            solver.changes.solution = not self.control.known[0]
        else:
            done = self._follow(n, h, self._march, known, self._is_checked or self.springs is not None)
        self.selector.wait -= done
        solver.cost = self._full
        return done

    def _tree_steps(self, n: int, h: float) -> int:
        """Steps by bounded passes over the tree, many of them in compiled code."""
        solver, selector, tree = self.solver, self.selector, self.solver.ready_tree()
        switches = solver.switches
        n = 1 if solver.closures is not None else min(n, CHUNK - selector.taken) if switches else n
        counts = tree.queue.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        budget = selector.budget if switches else NO_LIMIT
        # steps until one is checked; the paper checks none
        catches_up, parts = bool(solver.clock.catches_up[0]), 1 if self.is_called else self.parts
        due = -self.steps % CHECKED if catches_up else n
        done, in_parts = 0, solver.has_functions or due == 0 or parts > 1
        if not in_parts:
            n = min(n, due)
            done = n - tree.march(solver.error, solver.inputs.forces.loads(), n, self.max_turn, budget)
        if in_parts or (not done and tree.refused):
            solve = lambda: solver.ready_tree().refine(solver.error)  # noqa: E731
            done = self._step_in_parts(h, solve, self._move_on_tree, checks=catches_up)
        if not done:
            selector.leave(WARM_COST)
            solver.changes.solution = True
            return self._full_steps(1, h)
        solver.changes.step()
        full, linear, opened = counts[[FULL_TIER, LINEAR_TIER, OPENED]].tolist()
        solver.cost = Cost("adaptive", opened / done, full / done, linear / done)
        if switches and not selector.took(done, full, linear):
            selector.leave(WARM_COST)
        return done

    def _region_steps(self, n: int, h: float) -> int:
        """Steps of the contracted linkage until its region is chosen anew."""
        solver, selector, region = self.solver, self.selector, self.solver.region
        assert region is not None
        counts = solver.assemble().queue.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        if not region.ready(selector.most if solver.switches else NO_LIMIT, self.keeps_region):
            selector.leave(WARM_COST)
            solver.changes.solution = True
            return self._full_steps(1, h)
        n = min(n, region.left)
        if solver.has_functions:
            age, solve = region.age, lambda: region.linkage.solve(solver.closing_rate)
            done = self._step_in_parts(h, solve, lambda part: self._move(part, on_region=True))
            region.age, solver.clock.step[0] = age + 1, self.steps + 1
        else:
            done = self._follow(n, h, lambda control: self._march(control, on_region=True))
        if not done:  # its power is another: it is chosen anew
            return self._region_steps(n, h)
        solver.changes.step()
        full, linear = int(counts[FULL_TIER]), int(counts[LINEAR_TIER])
        solver.cost = Cost("adaptive", float(region.linkage.joints), full / done, linear / done)
        if region.interval.pays(selector.joints):
            selector.patience = 1
        return done

    # Steps in parts

    def _follow(
        self, n: int, h: float, go: Callable[[StepControl], object], known: bool = False, checks: bool = True
    ) -> int:
        """At most n steps by `go`, which takes those of a course; returns how many.

        Loops that would need too many parts to close at once are closed more slowly.
        """
        solver, closures, control = self.solver, self.solver.closures, self.control
        if closures is not None and closures.rate < 1.0:
            n = 1
        most = MAX_PARTS if closures is None else MAX_PARTS // 10
        while True:
            parts, calm = (self.parts, self.calm) if not self.is_called else (1, 0)
            control.begin(h, self.max_turn, most, n, parts, calm)
            control.known[0], control.checks[0] = known, checks and not self.is_called
            go(control)
            done, code = n - int(control.steps[0]), int(control.code[0])
            if closures is None or done or code != TOO_FAR or closures.rate < SLOWEST:
                break
            closures.rate, known = closures.rate / 4.0, False
        if code == NOT_FINITE and not done:
            raise solver.no_number()
        if code == TOO_FAR and not done:
            raise self._too_long(h)
        self.cuts += int(control.cuts[0])
        if not self.is_called:
            self.parts, self.calm = max(1, round(float(control.parts[0]))), int(control.calm[0])
        if closures is not None and done and closures.rate < 1.0:
            closures.rate, solver.changes.solution = min(1.0, 2.0 * closures.rate), True
        return done

    def _march(self, control: StepControl, on_region: bool = False) -> None:
        """Take steps in compiled code, and note who has moved."""
        solver, springs, n = self.solver, self.springs, int(control.steps[0])
        region = solver.region if on_region else None
        if region is not None:
            energy = region.march(control, () if springs is None else springs.ties(region.linkage))
        else:
            loads, ties = solver.ready_engine(), () if springs is None else springs.ties(None)
            solver.engine.stop_torques = None
            energy = solver.engine.march_from_rest(control, loads, ties, solver.closing_rate)
            done = n - int(control.steps[0])
            if done:
                solver.clock.time[0] += done * control.h[0]
                self._all_moved(self.steps + done)
                cut_at_stops = solver.engine.has_stops and control.cuts[0] > 0  # they acted as in a part
                solver.changes.solution = not control.checks[0] or bool(cut_at_stops) or control.code[0] != FINE
        if solver.has_functions:
            solver.inputs.potentials.refresh()
            if region is not None:
                region.linkage.reload(solver.inputs.forces.loads())
        if springs is not None:
            springs.note(energy)
            solver.changes.many_forces(springs.bodies)
            self._given = solver.changes.given

    def _too_long(self, h: float) -> NumericalError:
        """Why a step is refused."""
        self.solver.changes.all()
        farthest = h * FAR * compiled(turn_of)(self.solver.mechanism, self.solver.motion.qdd, math.inf)
        if farthest > FAR:
            return NumericalError(
                f"a step of pseudo-time {h:.3g} s^2 would slide a joint by {farthest:.1e} m, and {FAR:.0e} m is the "
                f"most: take a smaller step"
            )
        return NumericalError(
            f"a step of pseudo-time {h:.3g} s^2 would have to be cut into more than {self.control.most[0]} parts, so "
            f"that no joint turns by more than {self.max_turn:.3g} rad in one: take a smaller step"
        )

    def _step_in_parts(
        self,
        h: float,
        solve: Callable[[], object],
        move: Callable[[float], None],
        known: bool = False,
        checks: bool = True,
    ) -> int:
        """One step, solved and moved by these, and cut as `engines.rest` cuts its own; one that fails is taken back."""
        solver, qdd = self.solver, self.solver.motion.qdd

        def go(control: StepControl) -> None:
            first, left, count = self._snapshot(), h, 0
            try:
                while left > 0.0:
                    if not control.known[0]:
                        solve()
                    turn, count = compiled(turn_of)(solver.mechanism, qdd, self.max_turn), count + 1
                    part = next_part(control, left, turn, count)
                    if control.code[0] != FINE:
                        self._put_back(first)
                        return
                    control.known[0] = control.checks[0] and may_go_back(control, part)
                    before, motion, answer = self._snapshot() if control.known[0] else [], qdd.copy(), 0
                    move(part)
                    if control.known[0]:
                        solve()
                        answer = self._brakes(motion) if is_moving(part, turn) else 0
                    if answer == 1:
                        shorten(control, part)
                        self._put_back(before)
                        control.known[0] = 0
                    else:
                        left = end_part(control, left, part, answer)
                control.steps[0] -= 1
            except BaseException:
                self._put_back(first)
                raise

        return self._follow(1, h, go, known, checks and self._is_checked)

    def _move(self, h: float, on_region: bool = False) -> None:
        """Move all joints, or those of the region, by h qdd."""
        self._part.begin(h, math.inf, 1, 1, 1, 0)
        self._part.checks[0], self._part.known[0] = 0, not self.solver.engine.has_stops  # they act as in this part
        self._march(self._part, on_region)

    def _move_on_tree(self, h: float) -> None:
        """Move the joints that a bounded pass opens by h qdd."""
        solver, clock = self.solver, self.solver.clock
        whole, clock.h[0], clock.step[0] = clock.h[0], h, self.steps
        solver.assemble().march(solver.error, solver.inputs.forces.loads(), 1, math.inf)
        clock.h[0] = whole
        solver.changes.step()
        if solver.has_functions:
            solver.inputs.potentials.refresh()
            solver.changes.all()

    def _brakes(self, motion: FloatArray) -> int:
        """1 where forces now brake the motion that led here by more than they drove it; -1 where they do not brake."""
        solver, qdd = self.solver, self.solver.motion.qdd
        along = float((qdd * motion).sum())  # no BLAS: its threads cost more
        if along >= 0.0 or not math.isfinite(along):
            return -1
        kept, closures = qdd.copy(), solver.closures
        if closures is not None:  # what closes gaps of loops is no force
            rate, closures.rate = closures.rate, 0.0
            solver.solve_all_joints()
            closures.rate, solver.changes.closures = rate, True
        power = solver.engine.product(qdd, motion)
        qdd[:] = kept
        return int(power < BRAKED * solver.engine.product(motion, motion))

    def _all_moved(self, step: int) -> None:
        """A full step took every joint along."""
        solver = self.solver
        solver.all_moved = step
        solver.changes.all()
        if solver.tree is not None:
            solver.tree.state.last_move[:] = solver.clock.time[0]
            solver.tree.state.oldest[:] = solver.clock.time[0]

    def _moving(self) -> list[FloatArray]:
        """The arrays that a part of a step moves."""
        solver, tree = self.solver, self.solver.tree
        ages = [] if tree is None else [tree.state.last_move, tree.state.oldest]
        return [solver.motion.q, *solver.clock, *ages]

    def _put_back(self, before: list[FloatArray]) -> None:
        super()._put_back(before)
        self.solver.inputs.potentials.refresh()
        self.solver.changes.all()

    # What is watched from step to step

    def _detect_oscillation(self) -> None:
        """Forces that turned round along the last motion, and grew, say that steps are too long: they swing."""
        qdd = self.solver.inputs.shared.qdd
        if len(self.before) != len(qdd):
            self.before = qdd.copy()
            return
        region, open_ = self.solver.region, ALL  # where those are that moved in the last step
        if not (self.solver.cost.method == "aba" or region is None or self.solver.is_exact):
            open_ = region.linkage.mechanism.v_index
        now, old = qdd[open_], self.before[open_]
        turned, size = float((now * old).sum()), float((old * old).sum())  # no BLAS: its threads cost more
        if turned < -size and math.sqrt(size) * self.solver.h > STILL:
            self.parts, self.calm = min(2 * self.parts, MAX_PARTS), 0
        elif self.parts > 1:
            self.calm = self.calm + 1 if turned > 0.0 else 0
            if self.calm >= CALM:
                self.parts, self.calm = self.parts // 2, 0
        self.before[open_] = now

    def _look_at_loops(self, closures: Closures, steps: int) -> None:
        """Say so, once, when loops stay open after so many more steps."""
        opening = self.solver.last_gap()
        self.since += steps
        if opening < CLOSER * self.least:
            self.least, self.since = opening, 0
        elif opening > OPEN and self.since >= PATIENCE and math.isfinite(self.least):
            name, gap = closures.widest(self.solver.poses(closures.bodies))
            warnings.warn(
                f"the closure of {name} is open by {gap:.2g} m or rad and has not come closer in {self.since} steps: "
                f"the linkage cannot close it from here, or eps is too large to",
                stacklevel=6,
            )
            self.least = math.nan  # said

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        options = {"max_turn": self.max_turn, "refresh": self.refresh}
        state = super().state() | {name: getattr(self, name) for name in KEPT}
        return state | {"options": options, "given": self._given != self.solver.changes.given}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        for name in KEPT:
            setattr(self, name, state[name])
        self._given = self.solver.changes.given - int(state["given"])
