"""When to look again whether friction still holds all joints that count as welded: a look costs O(n).

A joint is welded up to three quarters of its friction. At each look the change of what it has to hold since the look
before tells in how many such intervals it might come to that: half as long is waited, at most twice as long as the last
time. Forces and torques that have changed by more than at that rate are looked at at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.passes import Loads
from bough.types import FloatArray

JUMP = 1.5  # times the change of loads that the last look has seen: another one is due
SHARE = 0.5  # of the time in which a joint might give way


class FrictionWatch:
    """Keeps account of looks at friction; times are numbers of steps."""

    def __init__(self, dofs: int, every: int) -> None:
        self.every = every
        self.carried = np.zeros(dofs)  # what welded joints had to hold at the last look
        self.last, self.wait = 0, every  # when that was, and how long to wait for the next
        self.rate = 0.0  # at which loads have changed before it, by step
        self.loads = np.zeros(0)  # all loads as they were then

    def is_due(self, step: int) -> bool:
        """Whether it is time to look."""
        return step - self.last >= self.wait

    def jumps(self, loads: Loads, tau: FloatArray, step: int) -> bool:
        """Whether loads have changed by more than the wait allows for."""
        now = _all(loads, tau)
        return len(now) != len(self.loads) or _change(now, self.loads) > JUMP * self.rate * (step + 1 - self.last)

    def looked(self, loads: Loads, tau: FloatArray, step: int, intervals: float) -> None:
        """A look at this step: in so many intervals like the last one a joint may have to hold too much."""
        now, past = _all(loads, tau), max(step - self.last, 1)
        self.rate = _change(now, self.loads) / past if len(now) == len(self.loads) else 0.0
        self.wait = int(min(max(self.every, SHARE * intervals * past), 2 * max(past, self.every)))
        self.last, self.loads = step, now

    def state(self) -> tuple[dict[str, Any], list[Any]]:
        """Everything, as arrays and plain facts."""
        return {"carried": self.carried, "looked": self.loads}, [self.last, self.wait, self.rate]

    def restore(self, arrays: dict[str, Any], facts: list[Any]) -> None:
        """What `state` gave."""
        self.carried[:], self.loads = arrays["carried"], np.array(arrays["looked"])
        self.last, self.wait, self.rate = facts


def _all(loads: Loads, tau: FloatArray) -> FloatArray:
    return np.concatenate([loads.force.ravel(), loads.moment.ravel(), tau])


def _change(a: FloatArray, b: FloatArray) -> float:
    return float(np.abs(a - b).sum())
