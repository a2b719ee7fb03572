"""`Task`: what every task knows of itself; `Aim`: what its rows measure, as data for kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Model
from bough.opspace.sweeps.errors import WORLD_AXES
from bough.opspace.tasks.matrix import LINEAR, Matrix
from bough.opspace.tasks.seed import Attachment, Seed
from bough.types import FloatArray

WORLD = Attachment(-1, np.eye(3), np.zeros(3))


class Aim(NamedTuple):
    """What rows measure. FRAME: `matrix` times [linear, angular] from the placement of `frame` in `base` to a target,
    in the axes that `axes` names. CENTER: the same of the centre of mass. JOINTS: coordinates. DISTANCE: of origins.
    """

    kind: int
    matrix: Matrix = LINEAR
    frame: Attachment = WORLD
    base: Attachment = WORLD
    axes: int = WORLD_AXES


@dataclass(frozen=True)
class Task(ABC):
    """Rows, each a linear form on the velocities of bodies: y_r = sum over its seeds of K . v_body."""

    name: str

    @abstractmethod
    def seeds(self, model: Model) -> list[list[Seed]]:
        """For each row its seeds, no two of them on one body."""

    def row_names(self, count: int) -> tuple[str, ...]:
        """One name for each of the task's `count` rows."""
        return tuple(f"{self.name}.{k}" for k in range(count))

    @property
    def has_position(self) -> bool:
        """Whether the rows are velocities of something that has a position."""
        return True

    def position(self, dynamics: Dynamics, q: Any) -> Any:
        """Where the task is in configuration q (nq,)."""
        raise TaskError(f"task {self.name!r}: its rows have no position to reach, give it a velocity instead")

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        """Target less position of the rows, in the rows' own axes: its rate is minus the rows' velocity."""
        here = np.asarray(self.position(dynamics, q), float)
        goal = np.asarray(target, float)
        if goal.shape != here.shape:
            raise TaskError(f"task {self.name!r}: a target has shape {here.shape}, got {goal.shape}")
        return goal - here

    def aim(self, model: Model) -> Aim:
        """What the rows measure, for kernels that compute errors themselves, such as inverse kinematics."""
        raise TaskError(f"task {self.name!r}: its rows have no aim, so that nothing can be solved for their target")
