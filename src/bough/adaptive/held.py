"""Dry friction and limits of a linkage at rest: quasi-statics is dynamics whose velocities are zero after every step.

A step of pseudo-time h from rest is a semi-implicit step of dt = sqrt(h), q += dt (dt qdd) = h qdd. So friction and
limits act as they do in a motion (`motion.stops`): a joint stays where it is while friction is strong enough to hold
it, and moves no farther than to its limit. What they exert is a torque like any other.
"""

from __future__ import annotations

import math

import numpy as np

from bough.adaptive.engines.loops import LoopRows
from bough.adaptive.inputs import Inputs, model_without
from bough.adaptive.motion.engine import MotionEngine
from bough.adaptive.motion.layout import make_effort, make_moving
from bough.adaptive.motion.stops import NEAR
from bough.adaptive.tree.contract import Loads
from bough.types import FloatArray


class HeldJoints:
    """Joints of a linkage at rest with friction or limits."""

    def __init__(self, inputs: Inputs, loops: LoopRows | None) -> None:
        m, shared = inputs.mechanism, inputs.shared
        # springs and dampers are potentials here
        effort = make_effort(model_without(inputs.model, ("damping", "springs")), m, shared.tau)
        self._rubs = bool(effort.friction.any())
        limited = np.flatnonzero(np.isfinite(effort.lower) | np.isfinite(effort.upper))
        self._place, self._lower, self._upper = (a[limited] for a in (effort.place, effort.lower, effort.upper))
        self.exist = bool(effort.stops[0])
        self._q, self._own = shared.q, m
        state = make_moving(inputs.model, shared.q, np.zeros(inputs.model.nv))
        self._engine = MotionEngine(m, effort, state, loops) if self.exist else None

    @property
    def act(self) -> bool:
        """Whether friction may hold a joint, or a limit: one that is there, or beyond."""
        return self.exist and (self._rubs or self._are_within(NEAR))

    @property
    def are_passed(self) -> bool:
        """Whether a joint is beyond its limit."""
        return self.exist and self._are_within(-NEAR)

    def _are_within(self, distance: float) -> bool:
        if not len(self._place):
            return False
        x = self._q[self._place]
        return bool(((x < self._lower + distance) | (x > self._upper - distance)).any())

    def solve(self, loads: Loads, h: float, share: float) -> tuple[FloatArray, FloatArray]:
        """Accelerations (nv,) of a step of pseudo-time h, and torques (n,) of friction and limits; O(n)."""
        engine = self._engine
        assert engine is not None
        engine.effort.rotor[:], engine.work.grip[:] = self._own.armature, 0.0  # what is found depends on inputs alone
        engine.forget_step()
        engine.accelerate_from_rest(loads, math.sqrt(h), share)
        return engine.state.qdd, engine.work.grip
