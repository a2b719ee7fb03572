"""The distance between the origins of two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.errors import DISTANCE
from bough.opspace.sweeps.wrenches import ALONG
from bough.opspace.tasks.task import LINEAR, Aim, Seed, Task, attachment, placement_of


@dataclass(frozen=True)
class DistanceTask(Task):
    """One row: how fast the origins of two frames part. They must not coincide."""

    frame: str
    other: str

    def seeds(self, model: Model) -> list[list[Seed]]:
        first, second = attachment(model, self.frame), attachment(model, self.other)
        if first.body == second.body:
            where = "the world" if first.body < 0 else "one body"
            raise TaskError(f"task {self.name!r}: {self.frame!r} and {self.other!r} are both fixed to {where}")
        ends = [(a, b) for a, b in ((first, second), (second, first)) if a.body >= 0]
        return [[Seed(ALONG, a.body, np.pad(b.p, (0, 3)), a.p, b.body) for a, b in ends]]

    def row_names(self, count: int) -> tuple[str, ...]:
        return (self.name,)

    def position(self, dynamics: Dynamics, q: Any) -> Any:
        first, second = (placement_of(dynamics, frame, q)[:3, 3] for frame in (self.frame, self.other))
        return np.linalg.norm(first - second)

    def aim(self, model: Model) -> Aim:
        return Aim(DISTANCE, LINEAR[:1], attachment(model, self.frame), attachment(model, self.other))


@explained
def distance(frame: str, other: str, *, name: str | None = None) -> DistanceTask:
    """One row: the distance between the origins of two frames, in metres; "world" may be one of them."""
    return DistanceTask(name or f"distance({frame}, {other})", frame, other)
