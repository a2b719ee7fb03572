"""The motion of a linkage for the present inputs: which engine takes the next steps, and where bodies are and go."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from bough.adaptive.closure import Closure, Closures, with_those_of
from bough.adaptive.engines import PlainEngine
from bough.adaptive.held_loops import HeldLoops
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, body_acceleration
from bough.adaptive.motion import (
    BY_JOINT,
    NO_LIMIT,
    ActiveRegion,
    MotionEngine,
    Turns,
    make_effort,
    make_moving,
    make_rule,
)
from bough.adaptive.options import check_error, check_options
from bough.adaptive.passes import PLACE, Loads
from bough.errors import ModelError, NumericalError
from bough.types import BoolArray, FloatArray, IntArray

# Joints moved by steps, for each joint of the linkage, between two looks at friction everywhere; what a step counts for
CHECK, AT_HAND = 10, 100
MOST_PARTS = 1000  # of one step
LEAST_SHARE = 1e-6  # of eps, to which a rule is tightened until the error is met


class Mover:
    """Moves a linkage; options as in `Dynamics`."""

    def __init__(
        self,
        inputs: Inputs,
        error: ErrorMeasure | None,
        method: str,
        options: tuple[str, tuple[str, ...]],
        every: int,
        most: int | None,
        max_turn: float | None,
        closures: tuple[Closure, ...] = (),
    ) -> None:
        self.integrator, self.without = options
        check_options(inputs.model, error, method, self.integrator, self.without)
        if max_turn is not None and not max_turn > 0.0:
            raise ValueError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        if most is not None and most < 1:
            raise ValueError(f"most: at least 1 joint must be allowed to be active, got {most}")
        if every < 1:
            raise ValueError(f"every: the region must be chosen anew after at least 1 step, got {every}")
        model, shared = inputs.model, inputs.shared
        self.inputs, self.method, self.every, self.most = inputs, method, every, most
        self._error = error if error is not None else body_acceleration(0.0)
        self.state = make_moving(model, shared.q, shared.qdd)
        # springs and dampers are followed here: the torques are those given, the armature is that of rotors
        self.mechanism = model.mechanism._replace(gravity=inputs.mechanism.gravity)
        self.effort = make_effort(model, self.mechanism, inputs.potentials.given, self.without)
        self._full: MotionEngine | None = None
        self.plain = PlainEngine(self.mechanism, shared)
        self.turns = Turns(len(model.joints), every)
        self.region: ActiveRegion | None = None
        self.loops = self._make_loops(with_those_of(model, closures) if "closures" not in self.without else closures)
        self.steps, self.time, self.share = 0, 0.0, 1.0
        self.max_turn, self.cuts = max_turn, 0
        self.last = "full"  # how the last step was taken
        self.age, self.h = every, 0.0  # steps since the region was chosen, and their size
        self.begun = False  # whether there is a region for this configuration
        self.unchecked = 0  # work since friction was looked at everywhere
        self.urgent = False  # whether torques of locked joints have changed
        self.body_mass = model.total_mass / max(1, len(model.body_names))

    def _make_loops(self, closures: tuple[Closure, ...]) -> HeldLoops | None:
        """Loops, whose ends are among the loads from now on."""
        if not closures:
            return None
        if self.effort.stops[0]:
            what = "loops do not go with dry friction and limits: expected without=('friction', 'limits')"
            raise ModelError(f"{self.inputs.model.name!r} has the loop {closures[0].a!r} to {closures[0].b!r}: {what}")
        found = Closures(self.inputs.model, closures)
        self.inputs.forces.always = tuple(found.bodies.tolist())
        return HeldLoops(found)

    @property
    def full(self) -> MotionEngine:
        """The engine of all joints, made when it is first needed."""
        if self._full is None:
            self._full = MotionEngine(self.mechanism, self.effort, self.state)
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

    def restart(self) -> None:
        """Configuration or velocities were set: nothing is known of the region."""
        self.begun = False
        if self.method == "auto":
            self.turns = Turns(self.turns.joints, self.every)

    # Steps

    def take(self, most: int, h: float, keep: bool = False) -> int:
        """Take at least one step and at most so many; returns how many.

        With `keep` forces that have changed are no reason to choose the region before its time.
        """
        if self.is_exact or not self._ready(h, keep):
            engine, loads, n = self.full, self.inputs.forces.loads(), most
            if not self.is_exact:
                n, self.begun = max(1, min(most, self.turns.wait)), False
            n, self.last = min(n, self.every) if self.max_turn is not None else n, "full"
            left = self._march(engine, loads, h, n)
            self.turns.wait -= n - left
        else:
            assert self.region is not None
            n, self.last = min(most, self.every - self.age), "adaptive"
            engine = self.region.engine
            left = self._march(engine, self.region.loads, h, n) if self.region.joints else 0
            self.age += n - left
            self.unchecked += (n - left) * (self.region.joints + AT_HAND)
        self.steps, self.time = self.steps + n - left, self.time + (n - left) * h
        if left:
            raise self._diverged(engine, h)
        return n

    def _march(self, engine: MotionEngine, loads: Loads, h: float, n: int) -> int:
        """n steps, each in as many parts as keep joints from turning by more than `max_turn` in one; returns how many
        are left before one that diverges."""
        parts = 1
        if self.max_turn is not None:
            m = engine.mechanism
            fastest = float(np.abs(self.state.v[m.v_index[m.axis <= 2]]).max(initial=0.0))
            parts = max(1, math.ceil(min(h * fastest / self.max_turn, MOST_PARTS) - 1e-9))
            self.cuts += (parts - 1) * n
        if self.loops is not None:
            return self._march_loops(engine, loads, h / parts, n * parts) // parts
        left = engine.march(loads, self.integrator, h / parts, n * parts)
        return -(-left // parts)

    def _march_loops(self, engine: MotionEngine, loads: Loads, h: float, n: int) -> int:
        """n steps with loops."""
        assert self.loops is not None
        seats, loops = self._seats(), self.loops
        steps = {"semi_implicit": loops.step, "momentum": loops.step_momenta, "rk4": loops.step_rk4}
        while n and steps[self.integrator](engine, loads, seats, h):
            n -= 1
        return n

    def _seats(self) -> tuple[IntArray, FloatArray]:
        """What bears the closing bodies on the tree that is in motion now."""
        assert self.loops is not None
        return self.loops.seats(self.region if self.last == "adaptive" else None, self.inputs.forces.loads())

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures. O(n)."""
        if self.loops is None:
            return 0.0
        closures = self.loops.closures
        return closures.opening(self.plain.poses(closures.bodies))

    def _diverged(self, engine: MotionEngine, h: float) -> NumericalError:
        name = self.inputs.model.dof_names[engine.stuck]
        return NumericalError(
            f"the motion diverges in step {self.steps + 1}, at t = {self.time:.6g} s, first at {name!r}: take steps "
            f"smaller than {h:g} s, or another integrator; the state is that before the step"
        )

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
            if self.loops is not None:  # all joints tell what the loops do
                self.loops.velocities_after(self.full, loads, self.loops.seats(None, loads), h or 1e-3)
            if self.effort.stops[0]:
                self.full.feel_all(loads, h or 1e-3)
            region.begin(loads, lead)
            changes.taken_by_tree()
            self.begun, self.h, self.age, changed = True, lead, self.every, False
        elif changed:
            self.urgent = self.urgent or region.is_asleep(changes.torques)
            region.note(changes.everything or changes.most_forces, changes.forces, changes.torques)
            changes.taken_by_tree()
            region.reload(loads)
        if self.effort.stops[0]:
            self._look_at_friction(changed and not keep)
        if self.age >= (self.every // 5 if self.urgent else self.every) or (changed and not keep):
            self.age, self.urgent = 0, False
            if not self._choose():
                turns.failed()
                return False
            turns.succeeded()
        return True

    def _look_at_friction(self, now: bool) -> None:
        """See that friction holds what is welded: now, or for a small part of the work of the steps since."""
        assert self.region is not None
        due = self.unchecked >= CHECK * len(self.inputs.model.joints)
        if now or (due and self.age >= self.every):
            self.region.loosen(self.full, self.inputs.forces.loads())
            self.unchecked = 0

    def make_region(self) -> ActiveRegion:
        """The assembly tree and all that goes with it."""
        inputs = self.inputs
        self.region = ActiveRegion(inputs.model, self.mechanism, inputs.shared, self.effort, self.state)
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
            self.full.solve(loads, self.h)
            region.sum_joints()
        if self.loops is not None:
            self.loops.let_know(loads, self.plain.poses(self.loops.closures.bodies))
            region.reload(loads)
        try:
            return self._choose_by(region, loads, limit, certified)
        finally:
            if self.loops is not None:
                self.loops.let_know(loads, None)
                region.reload(loads)

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

    # What follows

    @property
    def active(self) -> int:
        """How many joints move by themselves."""
        if (self.last == "full" and self.steps) or self.region is None or not self.begun:
            return len(self.inputs.model.joints)
        return self.region.joints

    def moving(self) -> BoolArray:
        """(bodies,) whether the joint of a body is active."""
        model, region = self.inputs.model, self.region
        if region is None or self.active == len(model.joints):
            return np.ones(len(model.body_names), bool)
        host, frames = region.tree.plan.host, self.inputs.forces.frames(model.body_names)
        awake = np.zeros(len(region.tree.plan.parent), bool)
        awake[region.pieces.body] = True
        return np.asarray(awake[host[model.frames.body[frames]]])

    @property
    def acceleration_error(self) -> float:
        """sqrt(Delta / M) when the region was chosen last; 0 where no joint is locked."""
        if self.region is None or not self.begun:
            return 0.0
        return math.sqrt(max(self.region.delta, 0.0) / self.region.mass)

    @property
    def energy_lost(self) -> float:
        """J, taken by locking joints that moved."""
        return 0.0 if self.region is None else self.region.energy_lost

    def solve(self, h: float = 0.0) -> FloatArray:
        """Joint accelerations (nv,) here and now; not a copy."""
        qdd = self.state.qdd
        if self.is_exact or not self._ready(self.h, keep=False):
            self.full.solve(self.inputs.forces.loads(), h)
            return qdd
        assert self.region is not None
        qdd[:] = 0.0
        self.region.engine.solve(self.region.loads, h)
        return qdd

    def tally(self) -> FloatArray:
        """See `MotionEngine.tally`; O(active joints) where joints are locked, but for the first time."""
        if self.region is not None and self.begun and self.last == "adaptive":
            return self.region.tally(self.full)
        return self.full.tally()

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p of laid frames of primitives in the world: O(log n) each for a few where joints are locked,
        after O(active) for all; else O(n)."""
        region, few = self.region, 32 * len(bodies) < 64 + len(self.mechanism.parent)
        if region is not None and self.begun and self.last == "adaptive" and few and region.tree.has_bodies(bodies):
            region.tree.do(PLACE)
            return region.tree.poses(bodies)
        return self.plain.poses(bodies)

    def velocities(self, bodies: IntArray) -> FloatArray:
        """(k, 6) velocities of primitives in their laid frames, angular first. O(n)."""
        self.full.kinetic_energy()
        return np.asarray(self.full.work.a[bodies])

    def transmitted(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on primitives through their joints, in their laid frames, moment first. O(n)."""
        self.solve()
        return np.array(self.full.transmitted(self.inputs.forces.loads())[bodies])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        own = sum(a.nbytes for a in (*self.state, *self.effort))
        return own + (self._full.nbytes if self._full else 0) + (self.region.nbytes if self.region else 0)
