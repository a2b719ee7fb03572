"""What is watched from step to step: whether a linkage swings under its forces, and whether its loops close."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from bough.adaptive.parts import MAX_PARTS
from bough.adaptive.solver import Solver

CALM = 64  # steps without swinging after which they are cut into half as many parts
# Loops that stay open by more than this (m or rad), and have not come closer for so many steps, do not close.
OPEN, PATIENCE, CLOSER = 1e-4, 30, 0.95


class Swings:
    """Into how many parts steps are cut under forces that follow the motion, so that these do not make it swing."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.parts, self.calm = 1, 0  # and for how long in vain
        self.before = np.zeros(0)  # accelerations of the step before

    def judge(self) -> None:
        """Forces that turned round along the last motion, and grew, say that steps are too long: they swing."""
        qdd = self.solver.inputs.shared.qdd
        if len(self.before) != len(qdd):
            self.before = qdd.copy()
            return
        open_ = self._open
        now, old = qdd[open_], self.before[open_]
        turned, size = float((now * old).sum()), float((old * old).sum())  # no BLAS: its threads cost more
        if turned < -size:
            self.parts, self.calm = min(2 * self.parts, MAX_PARTS), 0
        elif self.parts > 1:
            self.calm = self.calm + 1 if turned > 0.0 else 0
            if self.calm >= CALM:
                self.parts, self.calm = self.parts // 2, 0
        self.before[open_] = now

    @property
    def _open(self) -> Any:
        """Where the accelerations of joints are that moved in the last step."""
        region = self.solver.region
        if self.solver.cost.method == "aba" or region is None or region.hybrid is None or self.solver.is_exact:
            return slice(None)
        return region.hybrid.mechanism.v_index


class LoopWatch:
    """Says so, once, when loops stay open."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.least, self.since = math.inf, 0  # smallest opening so far, and steps since

    def look(self, steps: int) -> None:
        """So many steps were taken."""
        closures = self.solver.closures
        if closures is None:
            return
        opening = self.solver.last_gap()
        self.since += steps
        if opening < CLOSER * self.least:
            self.least, self.since = opening, 0
        elif opening > OPEN and self.since >= PATIENCE and math.isfinite(self.least):
            name, gap = closures.widest(self.solver.poses(closures.bodies))
            warnings.warn(
                f"the closure of {name} is open by {gap:.2g} m or rad and has not come closer in {self.since} steps: "
                f"the linkage cannot close it from here, or eps is too large to",
                stacklevel=5,
            )
            self.least = math.nan  # said
