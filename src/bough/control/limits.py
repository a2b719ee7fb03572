"""Limits of joints: which of them a command exceeds, and the accelerations that keep within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.arguments import explained
from bough.errors import TaskError
from bough.model import Model
from bough.types import FloatArray


def joints_of_freedoms(model: Model) -> list[str]:
    """The name of the joint of each degree of freedom."""
    owner = {v: joint.name for joint in model.joints for v in range(joint.v.start, joint.v.stop)}
    return [owner[v] for v in range(model.nv)]


class LimitReport(NamedTuple):
    """Joints beyond their limits, and the largest ratio of a torque to its limit."""

    torque: tuple[str, ...]
    position: tuple[str, ...]
    velocity: tuple[str, ...]
    torque_ratio: float


@explained
class LimitMonitor:
    """Says which joints are beyond their torque, position or velocity limits."""

    def __init__(self, model: Model) -> None:
        limits = model.limits
        self._names, self._effort, self._speed = joints_of_freedoms(model), limits.effort, limits.velocity
        self._q, self._v = model.scalar_joints
        self._lower, self._upper = limits.lower[self._v], limits.upper[self._v]

    def __call__(self, q: FloatArray, v: FloatArray, tau: FloatArray) -> LimitReport:
        ratio, x = np.abs(tau) / self._effort, q[self._q]
        outside = self._v[(x < self._lower) | (x > self._upper)]
        torque, speed = (ratio > 1.0).nonzero()[0], (np.abs(v) > self._speed).nonzero()[0]
        torques, positions, speeds = (tuple(dict.fromkeys(self._names[k] for k in d)) for d in (torque, outside, speed))
        return LimitReport(torques, positions, speeds, float(ratio.max(initial=0.0)))


class AccelerationBounds:
    """Bounds of qdd: velocities stay within their limits after dt, and motors within theirs.

    Towards a position limit velocities stay below distance / horizon, so that it is approached and never passed.
    """

    def __init__(self, model: Model, dt: float, horizon: float) -> None:
        if not 0.0 < dt <= horizon < np.inf:
            raise TaskError(f"expected 0 < dt <= horizon, got dt {dt} and horizon {horizon}")
        limits = model.limits
        self.dt, self.horizon, self.speed = dt, horizon, limits.velocity
        self.q, self.v = model.scalar_joints
        self.lower, self.upper = limits.lower[self.v], limits.upper[self.v]
        # a motor without any torque drives nothing
        self.loose = np.flatnonzero(~model.actuated | (limits.effort == 0.0))
        self.limited = np.setdiff1d(np.flatnonzero(np.isfinite(limits.effort)), self.loose)
        self.names = joints_of_freedoms(model)

    def widths(self) -> FloatArray:
        """(nv,) half of what lies between both bounds; infinite where there are none."""
        fastest = self.speed.copy()
        fastest[self.v] = np.fmin(fastest[self.v], (self.upper - self.lower) / (2 * self.horizon))
        return fastest / self.dt
