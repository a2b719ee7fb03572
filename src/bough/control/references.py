"""References: where tasks should be at a time and how stiffly they are tracked, and the state of one controller."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Targets as kernels read them, which contacts are made, and last solutions; a row for each robot."""

    def __init__(self, aims: AimSet, contacts: Sequence[str]) -> None:
        self.aims = aims
        self.target = np.tile(np.r_[np.eye(3).ravel(), 0.0, 0.0, 0.0], (1, aims.size, 1))
        self.goal = aims.model.neutral.copy()
        self.made = np.zeros((1, len(contacts)), bool)  # contacts that hold, at their rows of `target`
        self.last: list[dict[tuple[tuple[str, ...], int], FloatArray]] = [{}]  # from which solvers start
        self.place = {task.name: a for a, (task, _) in enumerate(aims.placed)}
        self._aimed: set[str] = set()

    def grow(self, rows: int) -> None:
        """Have so many rows at least; new ones have the targets of the first, and no contact."""
        more = rows - len(self.target)
        if more > 0:
            self.target = np.concatenate([self.target, np.repeat(self.target[:1], more, axis=0)])
            self.made = np.concatenate([self.made, np.zeros((more, self.made.shape[1]), bool)])
            self.last += [{} for _ in range(more)]

    def aim(self, name: str, position: Any, again: bool) -> None:
        """Put the target of a task, the same for all robots, where the kernel reads it; a constant one only once."""
        if not again and name in self._aimed:
            return
        place = self.place.get(name)
        if name in self._aimed and place is not None and np.shape(position) in ((4, 4), (3,)):
            put_target(self.target[:, place], position)  # its kind was checked when it was first given
            return
        self._aimed.add(name)
        target, self.goal = self.aims.target(name, position, self.goal)
        if place is not None:
            self.target[:, place] = target

    def forget(self, rows: Any) -> None:
        """No contact is made in these rows, and nothing is known of them."""
        self.made[rows] = False
        for k in rows:
            self.last[k].clear()


def put_target(target: FloatArray, position: Any) -> None:
    """Write placements (..., 4, 4) or points (..., 3) into targets (..., 12)."""
    x = np.asarray(position, float)
    if x.shape[-2:] == (4, 4):
        target[..., :9], target[..., 9:] = x[..., :3, :3].reshape(*x.shape[:-2], 9), x[..., :3, 3]
    else:
        target[..., 9:] = x


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
