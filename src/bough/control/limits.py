"""Limits: which joints are beyond their torque, position or velocity limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.arguments import explained
from bough.model import Model
from bough.types import FloatArray


class LimitReport(NamedTuple):
    """What a command or a state exceeds: names of joints, and the largest torque over its limit."""

    torque: tuple[str, ...]
    position: tuple[str, ...]
    velocity: tuple[str, ...]
    torque_ratio: float


@explained
class LimitMonitor:
    """Says which joints are beyond their torque, position or velocity limits."""

    def __init__(self, model: Model) -> None:
        limits, names = model.limits, [""] * model.nv
        for joint in model.joints:
            names[joint.v] = [joint.name] * (joint.v.stop - joint.v.start)
        self._names, self._effort, self._speed = names, limits.effort, limits.velocity
        self._q, self._v = model.scalar_joints
        self._lower, self._upper = limits.lower[self._v], limits.upper[self._v]

    def __call__(self, q: FloatArray, v: FloatArray, tau: FloatArray) -> LimitReport:
        ratio, x = np.abs(tau) / self._effort, q[self._q]
        outside = self._v[(x < self._lower) | (x > self._upper)]
        torque, speed = (ratio > 1.0).nonzero()[0], (np.abs(v) > self._speed).nonzero()[0]
        torques, positions, speeds = (tuple(dict.fromkeys(self._names[k] for k in d)) for d in (torque, outside, speed))
        return LimitReport(torques, positions, speeds, float(ratio.max(initial=0.0)))
