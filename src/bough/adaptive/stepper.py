"""Steps of a linkage, undone and counted: what the steppers of `rest` and `motion` have in common."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import Any

from bough.adaptive.solver import Solver
from bough.errors import SettingError
from bough.types import FloatArray

COUNTERS = ("steps", "time", "cuts")


class Stepper:
    """Takes steps of a solver's linkage."""

    def __init__(self, solver: Solver, max_turn: Any) -> None:
        if max_turn is not None and not (isinstance(max_turn, Real) and float(max_turn) > 0.0):
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver: Any = solver
        self.max_turn: Any = None if max_turn is None else float(max_turn)
        self.steps, self.time, self.cuts = 0, 0.0, 0  # taken so far, and parts beyond the first of all of them

    def take(self, most: int, h: float, dt: float) -> int:
        """Take at least one step and at most so many; returns how many. A step that fails leaves everything alone."""
        began = time.perf_counter()
        done = self._advance(most, h)
        self.solver.cost = replace(self.solver.cost, seconds=(time.perf_counter() - began) / max(done, 1))
        self.steps, self.time = self.steps + done, self.time + done * dt
        return done

    def loops_changed(self) -> None:
        """Other loops are held."""

    def _advance(self, most: int, h: float) -> int:
        """Take steps, and return how many."""
        raise NotImplementedError

    def _moving(self) -> list[FloatArray]:
        """What a part of a step changes."""
        return [self.solver.motion.q, self.solver.motion.v]

    def _snapshot(self) -> list[FloatArray]:
        """What a step changes, for `_put_back`."""
        return [a.copy() for a in self._moving()]

    def _put_back(self, before: list[FloatArray]) -> None:
        """As it was."""
        for array, old in zip(self._moving(), before, strict=False):  # a tree made since has nothing to put back
            array[:] = old

    def state(self) -> dict[str, Any]:
        """What it remembers, for a checkpoint."""
        return {name: getattr(self, name) for name in COUNTERS}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        for name in COUNTERS:
            setattr(self, name, state[name])
