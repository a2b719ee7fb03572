"""Stabilisation of constraints that drift (Baumgarte 1972)."""

from __future__ import annotations

from typing import Any

from bough.arguments import explained
from bough.opspace.space import OperationalSpace
from bough.opspace.tracking import Tracker
from bough.types import FloatArray


@explained
class Stabiliser:
    """Accelerations that bring drifting constraints back to where they were at `q` (Baumgarte 1972)."""

    def __init__(self, space: OperationalSpace, q: Any, rate: float = 50.0) -> None:
        self.space, self.rate, self.tracker = space, rate, Tracker(space)
        self.targets = self.tracker.positions(q)

    def __call__(self, q: Any, v: Any) -> FloatArray:
        """-2 rate J v + rate^2 (target - position), (m,)."""
        error = self.tracker.errors(q, self.targets)
        return self.rate**2 * error - 2 * self.rate * (self.space.jacobian(q) @ v)
