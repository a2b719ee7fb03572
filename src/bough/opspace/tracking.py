"""Where the tasks of a space are, and how far from where they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bough.opspace.space import OperationalSpace
from bough.types import FloatArray


class Tracker:
    """Positions and position errors of the tasks of a space, for one configuration at a time.

    What a position is, each type of task says itself: a placement (4, 4) of a frame, a point (3,), coordinates.
    """

    def __init__(self, space: OperationalSpace) -> None:
        self.space, self.dynamics = space, space.dynamics

    def positions(self, q: Any) -> dict[str, Any]:
        """The position of every task that has one, by name."""
        return {task.name: task.position(self.dynamics, q) for task in self.space.tasks.tasks if task.has_position}

    def errors(self, q: Any, targets: Mapping[str, Any]) -> FloatArray:
        """Target less position of all rows (m,), in the rows' own axes; zero for tasks without a target."""
        error = np.zeros(self.space.tasks.size)
        for task in self.space.tasks.tasks:
            target = targets.get(task.name)
            if target is not None:
                error[self.space.tasks.slices[task.name]] = task.error(self.dynamics, q, target)
        return error
