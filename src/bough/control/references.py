"""References: where tasks should be at a time and how stiffly they are tracked, and the state of one controller."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.errors import NonFiniteError, NumericalError, ShapeError
from bough.opspace import AimSet, TaskSet
from bough.types import FloatArray


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


class ControllerState:
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


FASTEST = 1e15  # m/s^2 or rad/s^2: programs with larger numbers have no digits left


class ReferenceSet:
    """References of tasks by name; rows of what is `held` always go back to where they belong."""

    def __init__(self, tasks: TaskSet, references: dict[str, Any], names: list[str], held: list[str]) -> None:
        self.tasks, self.references, self.names = tasks, references, names
        self._aimed = np.zeros(tasks.size, bool)
        for name in held:
            self._aimed[tasks.slices[name]] = True

    def __call__(self, memory: ControllerState, t: float) -> tuple[FloatArray, FloatArray, Any]:
        """Velocity and acceleration of the references (rows,), and which rows have a position to go to."""
        speed, acceleration = np.zeros((2, len(self._aimed)))
        aimed = self._aimed.copy()
        for name, given in self.references.items():
            moving = callable(given)
            reference = _reference(given(t) if moving else given)
            rows = self.tasks.slices[name]
            try:
                speed[rows], acceleration[rows] = reference.velocity, reference.acceleration
            except (TypeError, ValueError):
                check_reference(reference, name, rows.stop - rows.start)
                raise
            if reference.position is not None:
                aimed[rows] = True
                memory.aim(name, reference.position, moving)
        return speed, acceleration, aimed

    def complain(self, t: float, need: FloatArray) -> None:
        """Say which task asks for an acceleration that is no number, or none that could be."""
        for name, rows in self.tasks.slices.items():
            asked = float(np.abs(need[rows]).max())
            if asked < FASTEST:
                continue
            given = self.references.get(name)
            check_reference(_reference(given(t) if callable(given) else given), name, rows.stop - rows.start)
            raise NumericalError(f"task {name!r} asks for an acceleration of {asked:.2g}, more than {FASTEST:g}")


def _reference(given: Any) -> Reference:
    return given if isinstance(given, Reference) else Reference(given)


def check_reference(reference: Any, name: str, rows: int) -> None:
    """Refuse a velocity or acceleration that does not fit the rows of its task, or is no number."""
    for what, x in (("velocity", reference.velocity), ("acceleration", reference.acceleration)):
        numbers = np.asarray(x)
        if numbers.dtype.kind not in "iuf" or numbers.shape not in ((), (rows,)):
            raise ShapeError(f"the {what} of the reference of {name!r} is a number or ({rows},), got {x!r}")
        if not np.isfinite(numbers).all():
            raise NonFiniteError(f"the {what} of the reference of {name!r} is not finite")
