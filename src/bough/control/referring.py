"""Where tasks are asked to be at a time, from numbers or functions of time, and which of them asks too much."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.control.memory import Memory
from bough.control.references import Reference
from bough.errors import NonFiniteError, NumericalError, ShapeError
from bough.opspace import TaskSet
from bough.types import FloatArray

FASTEST = 1e15  # m/s^2 or rad/s^2: programs with larger numbers have no digits left


class Asked:
    """References of tasks by name; rows of what is `held` always go back to where they belong."""

    def __init__(self, tasks: TaskSet, references: dict[str, Any], names: list[str], held: list[str]) -> None:
        self.tasks, self.references, self.names = tasks, references, names
        self._aimed = np.zeros(tasks.size, bool)
        for name in held:
            self._aimed[tasks.slices[name]] = True

    def __call__(self, memory: Memory, t: float) -> tuple[FloatArray, FloatArray, Any]:
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
