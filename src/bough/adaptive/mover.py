"""The motion of a linkage for the present inputs: which engine takes the next steps, and where bodies are and go."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.closure import Closure, Closures, make_plan, with_those_of
from bough.adaptive.cost import BUILD_COST, EVERY, NO_LIMIT, SURVEY_COST, SolverSelector, most_open, spaced
from bough.adaptive.engines.rest import RestEngine
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, body_acceleration, check_measure
from bough.adaptive.motion.active import ActiveRegion
from bough.adaptive.motion.choose import BY_JOINT, Rule, make_rule
from bough.adaptive.motion.engine import INTEGRATORS, HeldLoops, MotionEngine
from bough.adaptive.motion.layout import make_effort, make_moving
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.passes import PLACE
from bough.errors import ModelError, NumericalError, SettingError, unknown_option
from bough.types import BoolArray, FloatArray, IntArray

# What may be asked of a motion: methods, integrators and errors, refused by name where they do not fit.


METHODS = ("auto", "adaptive", "full")


def check_error(error: ErrorMeasure) -> None:
    """Refuse measures of joints: a motion is measured in space."""
    check_measure(error)
    if error.over != "body":
        raise SettingError(f"{error.name} measures joints at rest: use body_acceleration or rms_acceleration (m/s^2)")


LEAST_SHARE = 1e-6  # of eps, to which a rule is tightened until the error is met


class MotionOptions(NamedTuple):
    """As in `Dynamics`."""

    method: str
    integrator: str
    every: int | None
    most: int | None
    max_turn: float | None

    def check(self) -> None:
        """Refuse what cannot be, by name."""
        if self.method not in METHODS:
            raise unknown_option(f"there is no method {self.method!r}", self.method, METHODS)
        if self.integrator not in INTEGRATORS:
            raise unknown_option(f"there is no integrator {self.integrator!r}", self.integrator, INTEGRATORS)
        if self.max_turn is not None and not (isinstance(self.max_turn, Real) and self.max_turn > 0.0):
            raise SettingError(f"max_turn must be a positive angle in rad, got {self.max_turn!r}")
        if self.most is not None and not (isinstance(self.most, Integral) and self.most >= 1):
            raise SettingError(f"most: at least 1 joint must be allowed to be active, got {self.most!r}")
        if self.every is not None and not (isinstance(self.every, Integral) and self.every >= 1):
            raise SettingError(f"every: the region must be chosen anew after at least 1 step, got {self.every!r}")


KEPT = ("every", "steps", "time", "share", "last", "age", "h", "begun", "urgent", "cuts", "jolted")  # by checkpoints
MOST_PARTS = 1000  # of one step
RECHOICES = 4  # after joints that moved were locked: the state is another, and so is what locking changes there
OPEN = 1e-3  # m or rad by which loops may be open at the start
JUMP = 0.1  # share by which loads change before friction is looked at before its time
INSTANT = 1e-6  # s, in which friction and limits stop what they would stop now


class Mover:
    """A linkage in motion, its engines, and the region of its active joints; options as in `Dynamics`."""

    def __init__(
        self, inputs: Inputs, error: ErrorMeasure | None, options: MotionOptions, closures: tuple[Closure, ...] = ()
    ) -> None:
        options.check()
        if error is not None:
            check_error(error)
        self.options = options
        self.method, self.integrator, self.given, self.most, self.max_turn = options
        self.every = EVERY if self.given is None else self.given  # steps until the region is chosen again
        model, shared = inputs.model, inputs.shared
        self.inputs = inputs
        self._error = error if error is not None else body_acceleration(0.0)
        self.motion = make_moving(model, shared.q, shared.qdd)
        # springs and dampers are followed here: the torques are those given, the armature is that of rotors
        self.mechanism = model.mechanism._replace(gravity=inputs.mechanism.gravity)
        self.effort = make_effort(model, self.mechanism, inputs.potentials.given)
        self._full: MotionEngine | None = None
        self.plain = RestEngine(self.mechanism, shared)
        self.selector = SolverSelector(len(model.joints), on_tree=True, wait=0)
        self.region: ActiveRegion | None = None
        self.closures: Closures | None = None
        self.loops = self._make_loops(with_those_of(model, closures))
        self.steps, self.last = 0, "full"  # taken, and how the last one was
        self.share = 1.0  # of eps, by which the rule goes
        self.age, self.h = self.every, 0.0  # steps since the region was chosen, and their size
        self.begun = False  # whether there is a region for this configuration
        self.looked = np.zeros(0)  # loads and torques at the last choice, where there is friction or a limit
        self.jolted = True  # whether loops may be open, or open fast, as it was given, until the next step
        self.urgent = False  # whether torques of locked joints have changed
        self.body_mass = model.total_mass / max(1, len(model.joints))
        self.time, self.cuts = 0.0, 0
        self._warned = False  # of an eps below the noise floor

    def _make_loops(self, closures: tuple[Closure, ...]) -> HeldLoops | None:
        """Loops, whose ends are among the loads from now on."""
        made = Closures(self.inputs.model, closures) if closures else None
        loops = None if made is None else HeldLoops(made.closing, make_plan(self.mechanism, made))
        self.inputs.forces.keep([] if made is None else made.bodies.tolist(), turning=True)
        self.closures = made
        return loops

    def close(self, closures: tuple[Closure, ...]) -> None:
        """Hold these loops from now on, and no others."""
        self.loops, self._full, self.region = self._make_loops(closures), None, None
        self.restart()

    @property
    def _spacing(self) -> int:
        """Steps between choices, as given or to begin with."""
        return self.given or EVERY

    @property
    def full(self) -> MotionEngine:
        """The engine of all joints, made when it is first needed."""
        if self._full is None:
            plan = None if self.loops is None else self.loops.plan
            self._full = MotionEngine(self.mechanism, self.effort, self.motion, plan)
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

    def restart(self, moved: bool = True) -> None:
        """Configuration or velocities were set, or only gravity: nothing is known of the region."""
        was, self.begun, self.jolted = self.begun, False, self.jolted or moved
        if self.method == "auto" and moved:
            self.selector.restart(on_tree=True, wait=0)
        elif was:
            self.selector.upset()

    def _ready(self, h: float, keep: bool) -> bool:
        """Have a region for the next steps; False where plain ones are cheaper."""
        region, changes, selector = self.region, self.inputs.changes, self.selector
        if self.begun and self.age >= self.every:
            selector.upsets = 0
        loads = self.inputs.forces.loads()
        lead = 0.0 if self.integrator == "rk4" else h
        moving = int(np.count_nonzero(self.motion.v))
        if self.method == "auto" and not (self.begun or selector.may_try(moving, self._spacing)):
            return False
        try:
            region = region or self.make_region()
            region.tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            if self.method != "auto":
                raise
            selector.wait = NO_LIMIT
            return False
        changed = bool(changes.any_force or changes.torques or changes.everything)
        if not self.begun or (lead != self.h and self.is_implicit):
            self._feel_all(loads, lead)
            with self.loops_known(loads):
                region.begin(loads, lead)
            changes.taken_by_tree()
            self.begun, self.h, self.age, changed = True, lead, self.every, False
        elif changed:
            self.urgent = self.urgent or region.is_asleep(changes.torques)
            region.note(changes.everything or changes.most_forces, changes.forces, changes.torques)
            changes.taken_by_tree()
            region.reload(loads)
        loose = bool(self.effort.stops[0]) and changed and self._jumps(loads)
        if self.age >= (self.every // 5 if self.urgent else self.every) or (changed and not keep) or loose:
            self.age, self.urgent = 0, False
            if not self._choose():
                selector.leave(BUILD_COST + SURVEY_COST)
                return False
            selector.succeed()
            if self.given is None:
                self.every = spaced(self.every, *region.news)
        return True

    def _feel_all(self, loads: Loads, lead: float) -> None:
        """What loops, friction and stops do now, for all surveys to come. O(n)."""
        if self.loops is not None or self.effort.stops[0]:
            self.full.accelerate(loads, INSTANT, lead)
            if self.effort.stops[0]:
                self.full.feel()
            if self.loops is not None:
                self.loops.notice(self.full, None, loads)
                self.loops.news()

    def loops_known(self, loads: Loads, before: bool = False) -> AbstractContextManager[None]:
        """See `HeldLoops.known`."""
        return nullcontext() if self.loops is None else self.loops.known(loads, before)

    def _jumps(self, loads: Loads) -> bool:
        """Whether loads and torques are far from those of the last choice: friction may not hold what is locked."""
        now, then = _all(loads, self.effort.tau), self.looked
        return len(now) != len(then) or float(np.abs(now - then).sum()) > JUMP * float(np.abs(then).sum())

    def _solve_whole(self, region: ActiveRegion, loads: Loads) -> FloatArray:
        """Accelerations (nv,) of the whole linkage with loops, friction and stops, which surveys then know. O(n)."""
        e = self.effort
        self.full.accelerate(loads, INSTANT, self.h)
        whole = self.motion.qdd.copy()
        if e.stops[0]:
            self.looked, grip, weld = _all(loads, e.tau), e.grip.copy(), e.weld.copy()
            self.full.feel()
            region.know_stops((e.weld != weld) | ((e.weld == 0.0) & (e.grip != grip)))
        if self.loops is not None:
            self.loops.notice(self.full, None, loads)
            region.note(False, self.loops.news(), [])
        return whole

    def _lost(self, region: ActiveRegion, whole: FloatArray) -> float:
        """Delta = |qdd(whole) - qdd(locked)|^2 in the mass metric, with friction and stops of both. O(n)."""
        qdd, engine = self.motion.qdd, region.engine
        qdd[:] = 0.0
        if region.joints:
            grip, held = engine.work.grip.copy(), engine.work.held.copy()
            engine.accelerate(region.loads, INSTANT, self.h)
            engine.work.grip[:], engine.work.held[:] = grip, held
        return self.plain.product(whole - qdd, whole - qdd)

    def make_region(self) -> ActiveRegion:
        """The assembly tree and all that goes with it."""
        inputs = self.inputs
        self.region = ActiveRegion(inputs.model, self.mechanism, inputs.shared, self.effort, self.motion)
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
        limit = most_open(self.selector.joints, self._spacing) if self.method == "auto" else NO_LIMIT
        certified = error.name == "rms_acceleration"
        if error.name == BY_JOINT:
            self.full.accelerate(loads, self.h or 1e-3, self.h)
            region.sum_joints()
        # forces of loops, friction and stops are those of all joints, if what locking changes is to be known
        knows = bool(self.effort.stops[0]) or (certified and self.loops is not None)
        whole = self._solve_whole(region, loads) if knows else None
        if self.loops is not None and region.engine.closes and whole is None:
            region.engine.accelerate(region.loads, self.h or 1e-3, self.h)
            self.loops.notice(region.engine, region.pieces, loads)
            region.note(False, self.loops.news(), [])
        first = True
        while True:
            share = max(self.share, self._least_share)
            rule = make_rule(error, self.body_mass, share, limit)
            if not self._choose_by(region, loads, rule):
                return False
            for _ in range(RECHOICES if certified and whole is None else 0):
                if region.has_closed and not self._choose_by(region, loads, rule):
                    return False
            if share < self._least_share:  # the floor grows with the forces
                continue
            if whole is not None:
                if region.has_closed:  # joints that moved stand still: friction does something else
                    whole = self._solve_whole(region, loads)
                region.delta = self._lost(region, whole)
            found = math.sqrt(max(region.delta, 0.0) / region.mass)
            if share > self.share and (not certified or found > error.eps):
                self._warn_of_noise()
            met = not certified or found <= error.eps or region.is_limited  # as far as it may be
            if not met and found > self.noise_floor and max(share, 2 * LEAST_SHARE) > self.share:
                return self._open_all(region, loads, limit)
            if met or share > self.share or share <= LEAST_SHARE:
                if certified and first and found < 0.5 * error.eps:
                    self.share = min(1.0, 1.5 * self.share)
                return True
            first, self.share = False, 0.5 * self.share

    def _open_all(self, region: ActiveRegion, loads: Loads, limit: int) -> bool:
        """Make all joints active, where rounding keeps a rule from meeting the error."""
        if not self._choose_by(region, loads, Rule(-1.0, -1.0, 1.0, 1.0, limit, 0)):
            return False
        region.delta = 0.0
        return True

    def _choose_by(self, region: ActiveRegion, loads: Loads, rule: Rule) -> bool:
        """Choose the region by a rule, the forces of loops taken for loads."""
        with self.loops_known(loads):
            if self.loops is not None:
                region.reload(loads)
            found = region.choose(rule, loads, self.most)
        if self.loops is not None:
            region.reload(loads)
        return found

    @property
    def _least_share(self) -> float:
        """Of eps, below which rounding would decide what is locked."""
        return 0.0 if self._error.name == BY_JOINT else (1.0 + 1e-9) * self.noise_floor / self._error.eps

    def _warn_of_noise(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._error.name}: eps = {self.share * self._error.eps:g} m/s^2 is below the noise floor of this "
                f"linkage under these forces, {self.noise_floor:.1e}, which is used instead; eps = 0 locks nothing",
                stacklevel=7,
            )

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
            ends = self.region is not None and self.region.is_limited
            ends = ends or self.share < LEAST_SHARE or 0.5 * self.share * self._error.eps < self.noise_floor
            if ends or not self._choose():
                self.share = kept
                break
        return self.acceleration_error

    @property
    def noise_floor(self) -> float:
        """The smallest eps for which rounding does not decide what is locked, m/s^2, as the linkage was last."""
        return 0.0 if self.region is None else math.sqrt(self.region.noise / self.body_mass)

    # Steps

    def take(self, most: int, h: float, keep: bool = False, load: Callable[[], object] | None = None) -> int:
        """Take at least one step and at most so many; returns how many.

        With `keep` forces that have changed are no reason to choose the region before its time. `load` sets forces at
        the later stages of a step of fourth order.
        """
        if self.jolted:
            self._begin_closed()
        if self.is_exact or not self._ready(h, keep):
            engine, loads, n = self.full, self.inputs.forces.loads(), most
            if not self.is_exact:
                n, self.begun = max(1, min(most, self.selector.wait)), False
            n, self.last = min(n, self.every) if self.max_turn is not None else n, "full"
            left = self._march(engine, loads, h, n, load)
            self.selector.wait -= n - left
        else:
            assert self.region is not None
            n, self.last = min(most, self.every - self.age), "adaptive"
            engine = self.region.engine
            left = self._march(engine, self.region.loads, h, n, load) if self.region.joints else 0
            self.age += n - left
        self.steps, self.time = self.steps + n - left, self.time + (n - left) * h
        if left:
            raise self._diverged(engine, h)
        return n

    def _begin_closed(self) -> None:
        """Leave of a velocity that was given what keeps loops closed; refuse a place in which they are open."""
        if self.closures is not None:
            name, gap = self.closures.widest(self.poses(self.closures.bodies))
            if not gap <= OPEN:
                raise SettingError(
                    f"the loop {name} is open by {gap:.3g} m or rad: a motion begins with closed loops, as "
                    f'bough.close_loops(model, q).q has them, or goes without=["closures"]'
                )
            if self.motion.v.any():
                self.full.close_rates()
                self.begun = False
        self.jolted = False

    def _march(self, engine: MotionEngine, loads: Loads, h: float, n: int, load: Callable[[], object] | None) -> int:
        """n steps, each in as many parts as keep joints from turning by more than `max_turn` in one; returns how many
        are left before one that diverges."""
        parts = 1
        if self.max_turn is not None:
            m = engine.mechanism
            fastest = float(np.abs(self.motion.v[m.v_index[m.axis <= 2]]).max(initial=0.0))
            parts = max(1, math.ceil(min(h * fastest / self.max_turn, MOST_PARTS) - 1e-9))
            self.cuts += (parts - 1) * n
        if load is not None and self.integrator == "rk4":
            return 0 if self._stages(h / parts, parts, load) else 1
        left = engine.march(loads, self.integrator, h / parts, n * parts)
        return -(-left // parts)

    def _stages(self, h: float, parts: int, load: Callable[[], object]) -> bool:
        """One step of fourth order in parts, forces set at every stage but the first; False where it diverges."""
        q, v, began = self.motion.q.copy(), self.motion.v.copy(), self.time
        try:
            for part in range(parts):
                for stage, at in enumerate((0.0, 0.5, 0.5, 1.0)):
                    if part or stage:
                        self.time = began + (part + at) * h
                        load()
                    if not self._stage(h, stage):
                        self.motion.q[:], self.motion.v[:] = q, v
                        return False
        except BaseException:
            self.motion.q[:], self.motion.v[:] = q, v
            raise
        finally:
            self.time = began
        return True

    def _stage(self, h: float, stage: int) -> bool:
        """One stage under the forces as they are now."""
        loads = self.inputs.forces.loads()
        if self.last == "full" or self.region is None:
            return self.full.march_stage(loads, h, stage)
        self.region.reload(loads)
        return self.region.engine.march_stage(self.region.loads, h, stage)

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures. O(n)."""
        return 0.0 if self.closures is None else self.closures.opening(self.poses(self.closures.bodies))

    def _diverged(self, engine: MotionEngine, h: float) -> NumericalError:
        name = self.inputs.model.dof_names[engine.stuck]
        return NumericalError(
            f"the motion diverges in step {self.steps + 1}, at t = {self.time:.6g} s, first at {name!r}: take steps "
            f"smaller than {h:g} s, or another integrator; the state is that before the step"
        )

    # What follows

    def moving(self) -> BoolArray:
        """(bodies,) whether the joint of a body is active."""
        model, region = self.inputs.model, self.region
        if region is None or self.active == len(model.joints):
            return np.ones(len(model.joints), bool)
        host, frames = region.tree.plan.host, model.body_frames
        awake = np.zeros(len(region.tree.plan.parent), bool)
        awake[region.pieces.body] = True
        return np.asarray(awake[host[model.frames.body[frames]]])

    @property
    def energy_lost(self) -> float:
        """J, taken by locking joints that moved."""
        return 0.0 if self.region is None else self.region.energy_lost

    def solve(self, h: float = 0.0) -> FloatArray:
        """Joint accelerations (nv,) here and now; not a copy."""
        qdd, engine, loads = self.motion.qdd, self.full, self.inputs.forces.loads()
        if not self.is_exact and self._ready(self.h, keep=False):
            assert self.region is not None
            qdd[:] = 0.0
            engine, loads = self.region.engine, self.region.loads
        grip, held = engine.work.grip.copy(), engine.work.held.copy()
        engine.accelerate(loads, h or INSTANT, h)
        engine.work.grip[:], engine.work.held[:] = grip, held  # questions change nothing
        if self.loops is not None:
            pieces = self.region.pieces if self.region is not None and engine is self.region.engine else None
            self.loops.notice(engine, pieces, self.inputs.forces.loads())
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
        loads = self.inputs.forces.loads()
        with self.loops_known(loads):
            return np.array(self.full.transmitted(loads)[bodies])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        own = sum(a.nbytes for a in (*self.motion, *self.effort))
        region = self.region.nbytes if self.region is not None and self.begun else 0
        return own + region + (self._full.nbytes if self._full else 0)

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """What it remembers beyond its inputs."""
        changes, region = self.inputs.changes, self.region
        state: dict[str, Any] = {
            "options": dict(zip(MotionOptions._fields, self.options, strict=True)),
            "measure": list(astuple(self._error)), "own": {name: getattr(self, name) for name in KEPT},
            "selector": self.selector.state(), "v": self.motion.v, "looked": self.looked,
            "changes": [changes.everything or changes.most_forces, list(changes.forces), list(changes.torques)],
        }  # fmt: skip
        if self.loops is not None:
            state["loops"] = {"force": self.loops.force, "told": self.loops.told}
        if self._full is not None and self.effort.stops[0]:
            state["full"] = self._full.kept()
        if region is not None:
            state["region"] = region.kept()
            if self.begun:
                state["effort"] = {"grip": self.effort.grip, "weld": self.effort.weld}
                state["active"] = {"nodes": region.open_nodes.copy(), "engine": region.engine.kept()}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave; inputs are there already. O(n) where a region was active."""
        self.motion.v[:], self.looked = state["v"], state["looked"]
        if self.loops is not None:
            self.loops.force[:], self.loops.told[:] = state["loops"]["force"], state["loops"]["told"]
        if "full" in state:
            self.full.restore(state["full"])
        for name in KEPT:
            setattr(self, name, state["own"][name])
        self.selector.restore(state["selector"])
        if "region" not in state:
            return
        region, changes = self.make_region(), self.inputs.changes
        if self.begun:
            self.effort.grip[:], self.effort.weld[:] = state["effort"]["grip"], state["effort"]["weld"]
            loads = self.inputs.forces.loads()
            with self.loops_known(loads, before=True):
                region.begin(loads, self.h, state["active"]["nodes"])
            region.reload(loads)
            region.engine.restore(state["active"]["engine"])
        region.restore(state["region"])
        changes.taken_by_tree()
        changes.everything, forces, torques = state["changes"]
        changes.forces, changes.torques = list(forces), list(torques)


def _all(loads: Loads, tau: FloatArray) -> FloatArray:
    """All loads and torques in a row."""
    return np.concatenate([loads.force.ravel(), loads.moment.ravel(), tau])
