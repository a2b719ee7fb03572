"""Which joints of a moving linkage are active: chosen every few steps, unless plain steps are cheaper."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bough.adaptive.closure import Closure, Closures, make_plan, with_those_of
from bough.adaptive.engines import PlainEngine
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, body_acceleration
from bough.adaptive.motion import (
    BY_JOINT,
    EVERY,
    NO_LIMIT,
    ActiveRegion,
    FrictionWatch,
    HeldLoops,
    MotionEngine,
    Turns,
    make_effort,
    make_moving,
    make_rule,
    spaced,
)
from bough.adaptive.options import check_error, check_options
from bough.adaptive.passes import Loads
from bough.errors import ModelError, NumericalError, SettingError

LEAST_SHARE = 1e-6  # of eps, to which a rule is tightened until the error is met


class MotionOptions(NamedTuple):
    """As in `Dynamics`."""

    method: str
    integrator: str
    without: tuple[str, ...]
    every: int | None
    most: int | None
    max_turn: float | None

    def check(self, error: ErrorMeasure | None) -> None:
        """Refuse what cannot be, by name."""
        check_options(error, self.method, self.integrator, self.without)
        if self.max_turn is not None and not (isinstance(self.max_turn, Real) and self.max_turn > 0.0):
            raise SettingError(f"max_turn must be a positive angle in rad, got {self.max_turn!r}")
        if self.most is not None and not (isinstance(self.most, Integral) and self.most >= 1):
            raise SettingError(f"most: at least 1 joint must be allowed to be active, got {self.most!r}")
        if self.every is not None and not (isinstance(self.every, Integral) and self.every >= 1):
            raise SettingError(f"every: the region must be chosen anew after at least 1 step, got {self.every!r}")


class Chooser:
    """A linkage in motion, its engines, and the region of its active joints."""

    def __init__(
        self, inputs: Inputs, error: ErrorMeasure | None, options: MotionOptions, closures: tuple[Closure, ...]
    ) -> None:
        options.check(error)
        self.method, self.integrator, self.without, self.given, self.most, self.max_turn = options
        self.every = EVERY if self.given is None else self.given  # steps until the region is chosen again
        model, shared = inputs.model, inputs.shared
        self.inputs = inputs
        self._error = error if error is not None else body_acceleration(0.0)
        self.state = make_moving(model, shared.q, shared.qdd)
        # springs and dampers are followed here: the torques are those given, the armature is that of rotors
        self.mechanism = model.mechanism._replace(gravity=inputs.mechanism.gravity)
        self.effort = make_effort(model, self.mechanism, inputs.potentials.given, self.without)
        self._full: MotionEngine | None = None
        self.plain = PlainEngine(self.mechanism, shared)
        self.turns = Turns(len(model.joints), self.every)
        self.region: ActiveRegion | None = None
        self.closures: Closures | None = None
        self.loops = self._make_loops(with_those_of(model, closures) if "closures" not in self.without else closures)
        self.steps, self.last = 0, "full"  # taken, and how the last one was
        self.share = 1.0  # of eps, by which the rule goes
        self.age, self.h = self.every, 0.0  # steps since the region was chosen, and their size
        self.begun = False  # whether there is a region for this configuration
        self.watch = FrictionWatch(len(self.mechanism.axis) if self.effort.stops[0] else 0, self.every)
        self.jolted = True  # whether loops may be open, or open fast, as it was given, until the next step
        self.urgent = False  # whether torques of locked joints have changed
        self.body_mass = model.total_mass / max(1, len(model.joints))

    def _make_loops(self, closures: tuple[Closure, ...]) -> HeldLoops | None:
        """Loops, whose ends are among the loads from now on."""
        if not closures:
            return None
        self.closures = Closures(self.inputs.model, closures)
        self.inputs.forces.always, self.inputs.forces.turning = tuple(self.closures.bodies.tolist()), True
        return HeldLoops(self.closures.closing(), make_plan(self.mechanism, self.closures))

    @property
    def is_made(self) -> bool:
        """Whether there is an engine of all joints."""
        return self._full is not None

    @property
    def full(self) -> MotionEngine:
        """The engine of all joints, made when it is first needed."""
        if self._full is None:
            plan = None if self.loops is None else self.loops.plan
            self._full = MotionEngine(self.mechanism, self.effort, self.state, plan)
        return self._full

    @property
    def error(self) -> ErrorMeasure:
        """The error measure in use."""
        return self._error

    @error.setter
    def error(self, measure: ErrorMeasure) -> None:
        check_error(measure)
        self._error, self.age, self.share = measure, self.every, 1.0

    @property
    def is_exact(self) -> bool:
        """Whether no joint is ever locked."""
        return self.method == "full" or self._error.eps == 0.0

    def restart(self, jolted: bool = True) -> None:
        """Configuration or velocities were set, or only gravity: nothing is known of the region."""
        self.begun, self.jolted = False, self.jolted or jolted
        if self.method == "auto":
            self.turns = Turns(self.turns.joints, self.turns.every)

    def _ready(self, h: float, keep: bool) -> bool:
        """Have a region for the next steps; False where plain ones are cheaper."""
        region, changes, turns = self.region, self.inputs.changes, self.turns
        loads = self.inputs.forces.loads()
        lead = 0.0 if self.integrator == "rk4" else h
        if self.method == "auto" and not (self.begun or turns.may_try(int(np.count_nonzero(self.state.v)))):
            return False
        try:
            region = region or self.make_region()
            region.tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            if self.method != "auto":
                raise
            turns.wait = NO_LIMIT
            return False
        changed = bool(changes.any_force or changes.torques or changes.everything)
        if not self.begun or (lead != self.h and self.is_implicit):
            self._feel_all(loads, h or 1e-3, lead)
            with self.loops_known(loads):
                region.begin(loads, lead)
            changes.taken_by_tree()
            self.begun, self.h, self.age, changed = True, lead, self.every, False
        elif changed:
            self.urgent = self.urgent or region.is_asleep(changes.torques)
            region.note(changes.everything or changes.most_forces, changes.forces, changes.torques)
            changes.taken_by_tree()
            region.reload(loads)
        loose = bool(self.effort.stops[0]) and self._look_at_friction(changed, keep)
        if self.age >= (self.every // 5 if self.urgent else self.every) or (changed and not keep) or loose:
            self.age, self.urgent = 0, False
            if not self._choose():
                turns.failed()
                return False
            turns.succeeded()
            if self.given is None:
                self.every = spaced(self.every, *region.news)
        return True

    def _feel_all(self, loads: Loads, h: float, lead: float) -> None:
        """What loops, friction and stops do now, for all surveys to come. O(n)."""
        if self.loops is not None or self.effort.stops[0]:
            self.full.accelerate(loads, h, lead)
            if self.effort.stops[0]:
                self.full.feel(1.0)
            if self.loops is not None:
                self.loops.notice(self.full, None, loads)
                self.loops.news()

    def loops_known(self, loads: Loads, before: bool = False) -> AbstractContextManager[None]:
        """See `HeldLoops.known`."""
        return nullcontext() if self.loops is None else self.loops.known(loads, before)

    def _look_at_friction(self, changed: bool, keep: bool) -> bool:
        """See that friction holds what is welded, if it is time for that; whether some of it does not."""
        assert self.region is not None
        watch, tau, loads = self.watch, self.effort.tau, self.inputs.forces.loads()
        now = changed and (not keep or watch.jumps(loads, tau, self.steps))
        if not (now or (self.age >= self.every and watch.is_due(self.steps))):
            return False
        with self.loops_known(loads):
            loose, intervals = self.region.loosen(self.full, loads, watch.carried)
        watch.looked(loads, tau, self.steps, intervals)
        return loose

    def make_region(self) -> ActiveRegion:
        """The assembly tree and all that goes with it."""
        inputs = self.inputs
        self.region = ActiveRegion(inputs.model, self.mechanism, inputs.shared, self.effort, self.state)
        self.region.loops = self.loops
        return self.region

    @property
    def is_implicit(self) -> bool:
        """Whether steps of another size make other equations."""
        return bool(self.effort.damping.any() or self.effort.stiffness.any())

    def _choose(self) -> bool:
        """Choose the region; an error of all bodies is met by tightening the rule. False if plain steps are cheaper."""
        region, error, loads = self.region, self._error, self.inputs.forces.loads()
        assert region is not None
        limit = self.turns.most if self.method == "auto" else NO_LIMIT
        certified = error.name == "rms_acceleration"
        if error.name == BY_JOINT:
            self.full.accelerate(loads, self.h or 1e-3, self.h)
            region.sum_joints()
        if self.loops is not None and region.engine.closes:
            region.engine.accelerate(region.loads, self.h or 1e-3, self.h)
            self.loops.notice(region.engine, region.pieces, loads)
            region.note(False, self.loops.news(), [])
        with self.loops_known(loads):
            if self.loops is not None:
                region.reload(loads)
            found = self._choose_by(region, loads, limit, certified)
        if self.loops is not None:
            region.reload(loads)
        return found

    def _choose_by(self, region: ActiveRegion, loads: Loads, limit: int, certified: bool) -> bool:
        """`_choose`, once all forces are known."""
        error, first = self._error, True
        while True:
            rule = make_rule(error, self.body_mass, self.share, limit)
            if not region.choose(rule, loads, self.most):
                return False
            self._refuse_noise()
            if not certified:
                return True
            found = math.sqrt(max(region.delta, 0.0) / region.mass)
            if found <= error.eps or self.share <= LEAST_SHARE:
                if first and found < 0.5 * error.eps:
                    self.share = min(1.0, 1.5 * self.share)
                return True
            first, self.share = False, 0.5 * self.share

    @property
    def active(self) -> int:
        """How many joints move by themselves."""
        if (self.last == "full" and self.steps) or self.region is None or not self.begun:
            return len(self.inputs.model.joints)
        return self.region.joints

    @property
    def acceleration_error(self) -> float:
        """sqrt(Delta / M) when the region was chosen last; 0 where no joint is locked."""
        if self.region is None or not self.begun:
            return 0.0
        return math.sqrt(max(self.region.delta, 0.0) / self.region.mass)

    def refine(self, microseconds: float | None, budget: int | None) -> float:
        """See `Dynamics.refine`."""
        if self.is_exact or not self._ready(self.h, keep=False):
            return 0.0
        end = math.inf if microseconds is None else perf_counter() + 1e-6 * microseconds
        most = len(self.inputs.model.joints) if budget is None else budget
        while perf_counter() < end and self.active < most:
            kept, self.share = self.share, 0.5 * self.share
            if 0.5 * self.share * self._error.eps < self.noise_floor or not self._choose():
                self.share = kept
                break
        return self.acceleration_error

    @property
    def noise_floor(self) -> float:
        """The smallest eps for which rounding does not decide what is locked, m/s^2, as the linkage was last."""
        return 0.0 if self.region is None else math.sqrt(self.region.noise / self.body_mass)

    def _refuse_noise(self) -> None:
        if self._error.name != BY_JOINT and self.share * self._error.eps < self.noise_floor:
            raise NumericalError(
                f"{self._error.name}: eps = {self.share * self._error.eps:g} m/s^2 is below the noise floor of this "
                f"linkage under these forces, {self.noise_floor:.1e}: expected more, or eps = 0, which locks nothing"
            )
