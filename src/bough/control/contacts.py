"""Contacts: feet and hands that push on something fixed, and the cones that their forces stay in.

A rectangle presses with forces at its four corners, each in its friction pyramid; the wrench they add up to obeys the
17 inequalities of Caron, Pham & Nakamura 2015. Pyramids lie inside their cones: |f_x|, |f_y| <= friction f_z / sqrt(2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from bough.compile.run.arrays import is_real
from bough.dynamics.dynamics import Dynamics
from bough.errors import TaskError
from bough.model import Sole
from bough.opspace import Task, pose, position
from bough.types import FloatArray


@dataclass(frozen=True)
class Contact:
    """A contact of a frame with a surface: by its xy plane (z points away from the surface), or at one point.

    `size` (length along x, width along y) is the rectangle of a foot about `point` of the frame; without it the contact
    is a point, and its normal the world's z. `most` limits the normal force, in newtons.
    """

    frame: str
    friction: float = 0.7
    size: tuple[float, float] | None = None
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    most: float = np.inf

    def __post_init__(self) -> None:
        where = f"contact {self.frame!r}"
        if not is_real(self.friction) or not 0.0 <= self.friction < np.inf:
            raise TaskError(f"{where}: friction must be a finite number that is not negative, got {self.friction!r}")
        if not is_real(self.most) or not self.most > 0.0:
            raise TaskError(f"{where}: the largest normal force must be above zero, got {self.most!r}")
        Sole(self.frame, self.size, self.point)  # refuses a size or a point that is none

    @cached_property
    def sole(self) -> Sole:
        """The rectangle or point that touches: `Contacts.from_soles` of simulations takes contacts for it."""
        return Sole(self.frame, self.size, self.point)

    @property
    def name(self) -> str:
        """The name of its task."""
        return f"contact({self.frame})"

    @property
    def rows(self) -> int:
        """Six for a rectangle, in the frame's axes; three for a point, in the world's."""
        return 3 if self.size is None else 6

    def task(self) -> Task:
        """The rows that do not accelerate while the contact holds; its forces are theirs."""
        if self.size is None:
            return position(self.frame, point=self.point, name=self.name)
        return pose(self.frame, "local", point=self.point, name=self.name)

    def placements(self, dynamics: Dynamics, q: FloatArray) -> FloatArray:
        """(batch, 4, 4) of the contact at configurations (batch, nq)."""
        T = np.array(dynamics.placement(q, self.frame))
        T[:, :3, 3] += T[:, :3, :3] @ np.asarray(self.point, float)
        return T

    @cached_property
    def cone(self) -> FloatArray:
        """(k, rows): forces f of the contact obey cone f <= 0."""
        mu = self.friction / np.sqrt(2.0)
        sides = [[s, 0, -mu] for s in (1, -1)] + [[0, s, -mu] for s in (1, -1)] + [[0, 0, -1]]
        if self.size is None:
            return np.array(sides, float)
        X, Y = self.size[0] / 2, self.size[1] / 2
        table = [[*side, 0, 0, 0] for side in sides]
        table += [[0, 0, -Y, s, 0, 0] for s in (1, -1)] + [[0, 0, -X, 0, s, 0] for s in (1, -1)]
        # the moment about the normal: s t_z + |Y f_x + s mu t_x| + |X f_y + s mu t_y| <= mu (X + Y) f_z
        for s, a, b in product((1, -1), repeat=3):
            table.append([a * Y, b * X, -mu * (X + Y), a * s * mu, b * s * mu, s])
        return np.array(table, float)


class ContactDetector:
    """Detector of active contacts from measured normal forces: `detector({frame: newtons})` returns their frames.

    A contact is made above `made` newtons and broken below `broken`. `WholeBody` takes the result as `contacts`.
    """

    def __init__(self, frames: Iterable[str], made: float = 20.0, broken: float = 5.0) -> None:
        if not (is_real(made) and is_real(broken) and made > broken >= 0.0):
            raise TaskError(f"expected made > broken >= 0, in newtons, got {made!r} and {broken!r}")
        if isinstance(frames, str):
            raise TaskError(f"frames are a list, as [{frames!r}]")
        self.frames, self.made, self.broken = tuple(frames), made, broken
        self._held: set[str] = set()

    def __call__(self, forces: Mapping[str, float]) -> tuple[str, ...]:
        numbers = map(np.asarray, forces.values())
        good = all(x.ndim == 0 and x.dtype.kind in "fiu" and np.isfinite(x) for x in numbers)
        if set(forces) != set(self.frames) or not good:
            raise TaskError(
                f"expected a finite normal force for each of {', '.join(map(repr, self.frames))}, got {forces!r}"
            )
        self._held = {f for f in self.frames if forces[f] > (self.broken if f in self._held else self.made)}
        return tuple(frame for frame in self.frames if frame in self._held)


@dataclass(frozen=True)
class Loop:
    """A closure of the model, which always holds: like a contact whose forces may point anywhere."""

    closure: Task
    rows: int
    most: float = np.inf

    @property
    def name(self) -> str:
        return self.closure.name

    frame = name

    def task(self) -> Task:
        return self.closure

    @property
    def cone(self) -> FloatArray:
        return np.zeros((0, self.rows))
