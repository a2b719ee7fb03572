"""What a whole-body controller remembers of one robot from one command to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.opspace import AimSet
from bough.types import FloatArray


class Memory:
    """Where contacts were made, targets as kernels read them, and the last solutions, from which solvers start."""

    def __init__(self, aims: AimSet) -> None:
        self.aims = aims
        self.target = np.tile(np.r_[np.eye(3).ravel(), 0.0, 0.0, 0.0], (aims.size, 1))
        self.goal = aims.model.neutral.copy()
        self.held: dict[str, Any] = {}
        self.last: dict[tuple[tuple[str, ...], int], FloatArray] = {}
        self._aimed: set[str] = set()
        self._place = {task.name: a for a, (task, _) in enumerate(aims.placed)}

    def aim(self, name: str, position: Any, again: bool) -> None:
        """Put a target where the kernel reads it; one that does not change only once."""
        if not again and name in self._aimed:
            return
        shape, place = np.shape(position), self._place.get(name)
        if name in self._aimed and place is not None and shape in ((4, 4), (3,)):
            row = self.target[place]  # its kind was checked when it was first given
            if shape == (3,):
                row[9:] = position
            else:
                row[:9], row[9:] = position[:3, :3].ravel(), position[:3, 3]
            return
        self._aimed.add(name)
        target, self.goal = self.aims.target(name, position, self.goal)
        if place is not None:
            self.target[place] = target

    def hold(self, name: str, position: Any) -> None:
        """A contact that is made at this position."""
        self.held[name] = position
        self.target[self._place[name]] = self.aims.target(name, position, self.goal)[0]

    def release(self, names: set[str]) -> None:
        """Contacts that are gone are forgotten."""
        for name in names:
            del self.held[name]
