"""References: where a task should be and how stiffly it is held there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Reference(NamedTuple):
    """Where a task should be, its velocity and acceleration (rows of the task, [linear, angular] for a pose)."""

    position: Any = None
    velocity: Any = 0.0
    acceleration: Any = 0.0


class Gains(NamedTuple):
    """Stiffness in 1/s^2 and damping in 1/s, each a number or one for each row; critical damping if none is given."""

    stiffness: Any = 100.0
    damping: Any = None

    @property
    def rate(self) -> Any:
        """The gain on velocities: `damping`, or what damps critically."""
        return 2.0 * np.sqrt(self.stiffness) if self.damping is None else self.damping
