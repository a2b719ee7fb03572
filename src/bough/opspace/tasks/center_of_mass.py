"""The centre of mass of the whole mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.model import Model
from bough.opspace.tasks import aim
from bough.opspace.tasks.aim import Aim
from bough.opspace.tasks.matrix import LINEAR, component_names
from bough.opspace.tasks.momentum import momentum_seeds
from bough.opspace.tasks.seed import CENTER, Seed
from bough.opspace.tasks.task import Task
from bough.types import FloatArray


@dataclass(frozen=True)
class CenterOfMassTask(Task):
    """The velocity of the centre of mass: linear momentum over mass. Its position is a point (3,)."""

    def seeds(self, model: Model) -> list[list[Seed]]:
        return momentum_seeds(model, LINEAR, CENTER)

    def row_names(self, count: int) -> tuple[str, ...]:
        return component_names(self.name, LINEAR)

    def position(self, dynamics: Dynamics, q: Any) -> FloatArray:
        return dynamics.center_of_mass(q)

    def aim(self, model: Model) -> Aim:
        return Aim(aim.CENTER)


@explained
def center_of_mass(*, name: str = "center_of_mass") -> CenterOfMassTask:
    """Three rows: the velocity of the centre of mass of all bodies, in world axes."""
    return CenterOfMassTask(name)
