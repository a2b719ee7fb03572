"""The momentum and the centre of mass of the whole mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import unknown_option
from bough.model import Model
from bough.model.parameters import body_frames
from bough.opspace.sweeps import errors
from bough.opspace.sweeps.wrenches import CENTER, MOMENTUM
from bough.opspace.tasks.task import ANGULAR, LINEAR, WHOLE, Aim, Matrix, Seed, Task, angular_first, component_names
from bough.types import FloatArray


@dataclass(frozen=True)
class MomentumTask(Task):
    """Rows on the momentum of all bodies about their centre of mass, in world axes; it has no position."""

    matrix: Matrix

    def seeds(self, model: Model) -> list[list[Seed]]:
        return momentum_seeds(model, self.matrix)

    def row_names(self, count: int) -> tuple[str, ...]:
        return component_names(self.name, self.matrix)

    @property
    def has_position(self) -> bool:
        return False


@explained
def momentum(part: Literal["linear", "angular", "both"] = "both", *, name: str | None = None) -> MomentumTask:
    """Momentum of all bodies in world axes: linear, angular about the centre of mass, or both (six rows)."""
    parts = {"linear": LINEAR, "angular": ANGULAR, "both": WHOLE}
    if part not in parts:
        raise unknown_option(f"momentum has no part {part!r}", part, parts)
    return MomentumTask(name or ("momentum" if part == "both" else f"momentum({part})"), parts[part])


def momentum_seeds(model: Model, matrix: Matrix, kind: int = MOMENTUM) -> list[list[Seed]]:
    """A seed on every body that has inertia, or may be given some."""
    bodies = sorted({*body_frames(model)[0].tolist(), *np.flatnonzero(model.mechanism.inertia.any(axis=1)).tolist()})
    return [[Seed(kind, i, c) for i in bodies] for c in angular_first(matrix)]


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
        return Aim(errors.CENTER)


@explained
def center_of_mass(*, name: str = "center_of_mass") -> CenterOfMassTask:
    """Three rows: the velocity of the centre of mass of all bodies, in world axes."""
    return CenterOfMassTask(name)
