"""The motion of a linkage for the present inputs: which engine takes the next steps, and where bodies are and go."""

from __future__ import annotations

import math

import numpy as np

from bough.adaptive.chooser import Chooser, MotionOptions
from bough.adaptive.closure import Closure
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.motion import MotionEngine
from bough.adaptive.passes import PLACE, Loads
from bough.errors import NumericalError, SettingError
from bough.types import BoolArray, FloatArray, IntArray

MOST_PARTS = 1000  # of one step
OPEN = 1e-3  # m or rad by which loops may be open at the start
INSTANT = 1e-6  # s, in which friction and limits stop what they would stop now


class Mover(Chooser):
    """Moves a linkage; options as in `Dynamics`."""

    def __init__(
        self, inputs: Inputs, error: ErrorMeasure | None, options: MotionOptions, closures: tuple[Closure, ...] = ()
    ) -> None:
        super().__init__(inputs, error, options, closures)
        self.time, self.cuts = 0.0, 0

    # Steps

    def take(self, most: int, h: float, keep: bool = False) -> int:
        """Take at least one step and at most so many; returns how many.

        With `keep` forces that have changed are no reason to choose the region before its time.
        """
        if self.jolted:
            self._begin_closed()
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
            if self.state.v.any():
                self.full.close_rates()
                self.begun = False
        self.jolted = False

    def _march(self, engine: MotionEngine, loads: Loads, h: float, n: int) -> int:
        """n steps, each in as many parts as keep joints from turning by more than `max_turn` in one; returns how many
        are left before one that diverges."""
        parts = 1
        if self.max_turn is not None:
            m = engine.mechanism
            fastest = float(np.abs(self.state.v[m.v_index[m.axis <= 2]]).max(initial=0.0))
            parts = max(1, math.ceil(min(h * fastest / self.max_turn, MOST_PARTS) - 1e-9))
            self.cuts += (parts - 1) * n
        left = engine.march(loads, self.integrator, h / parts, n * parts)
        return -(-left // parts)

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
        qdd, engine, loads = self.state.qdd, self.full, self.inputs.forces.loads()
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
        own = sum(a.nbytes for a in (*self.state, *self.effort))
        return own + (self._full.nbytes if self._full else 0) + (self.region.nbytes if self.region else 0)
