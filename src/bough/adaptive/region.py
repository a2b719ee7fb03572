"""The active region: which joints are active, chosen every few steps, and the contracted linkage that they make.

What all regions have; `rest.region` and `motion.region` say how their joints are chosen.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.adaptive.cost import ReselectionInterval
from bough.adaptive.engines.contracted import ContractedLinkage
from bough.errors import SettingError

if TYPE_CHECKING:
    from bough.adaptive.solver import Solver


class Region:
    """Joints that move while all others are locked; chosen anew after `every` steps, or as the cost model says."""

    def __init__(self, solver: Solver, every: int | None, first: int) -> None:
        self.solver: Any = solver
        self.interval = ReselectionInterval(int(every or first), every is not None)
        self.age = 0  # steps since it was chosen
        self.share = 1.0  # of eps at which clusters were left closed: what they would do is less than what is lost
        self.lost = math.nan  # square of what locking changes in the mass metric, when it was chosen

    @cached_property
    def linkage(self) -> ContractedLinkage:
        """The contracted linkage."""
        solver, closures = self.solver, self.solver.closures
        closing = None if closures is None else closures.closing
        own = solver.mechanism, solver.laws, solver.motion, closing
        return ContractedLinkage(solver.assemble(), *own, moves=solver.moves)

    @property
    def joints(self) -> int:
        """How many joints are active."""
        return self.linkage.joints

    @property
    def left(self) -> int:
        """Steps until it is chosen anew."""
        return self.interval.every - self.age

    def state(self) -> dict[str, Any]:
        """What it remembers, for a checkpoint."""
        return {"age": self.age, "share": self.share, "lost": self.lost, "interval": asdict(self.interval)}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.age, self.share, self.lost = state["age"], state["share"], state["lost"]
        self.interval = ReselectionInterval(**state["interval"])


def check_interval(every: Any) -> None:
    """Refuse what is no number of steps after which active joints are chosen anew."""
    if not (every is None or (isinstance(every, int | np.integer) and every >= 1)):
        raise SettingError(f"every: the active joints are chosen anew after a whole number of steps, got {every!r}")
