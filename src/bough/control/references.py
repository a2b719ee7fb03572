"""References of tasks, gains, weights and priorities; the state of a controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.compile.run.arrays import is_count, is_real
from bough.control.contacts import Contact
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet
from bough.opspace.tasks import CenterOfMassTask, MomentumTask
from bough.types import FloatArray, IntArray


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


def gains_of(tasks: TaskSet, gains: Gains | Mapping[str, Gains]) -> tuple[FloatArray, FloatArray]:
    """Stiffness and damping of each row."""
    if not isinstance(gains, Gains | Mapping):
        raise TaskError(f"gains are Gains(stiffness, damping), or one for each task by name, got {gains!r}")
    stiffness, damping = np.empty(tasks.size), np.empty(tasks.size)
    for name, rows in tasks.slices.items():
        own = gains if isinstance(gains, Gains) else gains.get(name, Gains())
        check_gains(own, name, rows.stop - rows.start)
        stiffness[rows], damping[rows] = own.stiffness, own.rate
    return stiffness, damping


def check_gains(gains: Any, name: str, rows: int) -> None:
    """Refuse gains that are negative, no numbers, or too many."""
    given = gains if isinstance(gains, Gains) else Gains(np.nan)
    for x in (given.stiffness, 0.0 if given.damping is None else given.damping):
        numbers = np.asarray(x)
        fits = numbers.dtype.kind in "iuf" and numbers.shape in ((), (rows,))
        if not fits or not (np.isfinite(numbers) & (numbers >= 0)).all():
            raise TaskError(f"gains of {name!r}: expected Gains of one or {rows} numbers, none negative, got {gains!r}")


def checked_tasks(tasks: Any, contacts: Any) -> tuple[tuple[Task, ...], tuple[Contact, ...]]:
    """Both as tuples of what they should be."""
    if isinstance(tasks, Task | str) or isinstance(contacts, Contact | str):
        raise TaskError("tasks and contacts are lists, as [bough.center_of_mass()] and [bough.control.Contact(foot)]")
    for contact in (held := tuple(contacts)):
        if not isinstance(contact, Contact):
            raise TaskError(f"expected contacts such as bough.control.Contact(frame, friction=0.7), got {contact!r}")
    return tuple(tasks), held


def check_flight(model: Model, tasks: tuple[Task, ...], contacts: tuple[Contact, ...]) -> None:
    if not model.actuated.any():
        raise TaskError(f"no joint of {model.name!r} has a motor: there is nothing to command")
    loose = [j for j in model.joints if j.type == "floating" and not model.actuated[j.v].any()]
    asked = [task.name for task in tasks if isinstance(task, CenterOfMassTask | MomentumTask)]
    if loose and asked and not contacts:
        raise TaskError(
            f"{model.name!r} cannot fly: its joint {loose[0].name!r} has no motor and there is no contact to push "
            f"against, so that no torque changes {asked[0]!r}"
        )


class Priority(NamedTuple):
    """Rows of one priority, and the weight of each."""

    rows: IntArray  # (k,)
    weight: FloatArray  # (k,)


HEAVIEST = 1e8  # weight of a task: with more, those of weight 1 have no digits left


def priorities_of(
    tasks: TaskSet, names: list[str], weights: Mapping[str, float], ranks: Mapping[str, int]
) -> list[Priority]:
    for name, weight in weights.items():
        if not is_real(weight) or not 0.0 < weight <= HEAVIEST:
            raise TaskError(
                f"the weight of {name!r} must be a number above zero, at most {HEAVIEST:g}, got {weight!r}: "
                "a task that comes first has a priority"
            )
    for name, rank in ranks.items():
        if not is_count(rank, 0):
            raise TaskError(f"the priority of {name!r} is a number 0, 1, ... (0 comes first), got {rank!r}")
    found = []
    for rank in sorted({ranks.get(name, 0) for name in names}):
        chosen = [(np.r_[tasks.slices[n]], float(weights.get(n, 1.0))) for n in names if ranks.get(n, 0) == rank]
        each = np.concatenate([np.full(len(rows), w) for rows, w in chosen])
        found.append(Priority(np.concatenate([rows for rows, _ in chosen]), each))
    return found or [Priority(np.zeros(0, np.int64), np.zeros(0))]


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
    """References of tasks by name; rows of `held` tasks always return to their positions."""

    def __init__(
        self, tasks: TaskSet, references: Mapping[str, Any], names: Sequence[str], held: Sequence[str]
    ) -> None:
        self.tasks, self.references, self.names = tasks, dict(references), names
        self._aimed = np.zeros(tasks.size, bool)
        for name in held:
            self._aimed[tasks.slices[name]] = True

    def __call__(self, memory: ControllerState, t: float) -> tuple[FloatArray, FloatArray, Any]:
        """Velocity and acceleration of the references (rows,), and which rows have a position to go to."""
        speed, acceleration, positions = self.at(t)
        aimed = self._aimed.copy()
        for name, position in positions.items():
            aimed[self.tasks.slices[name]] = True
            memory.aim(name, position, callable(self.references[name]))
        return speed, acceleration, aimed

    def at(self, t: float) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
        """Velocity and acceleration of the references (rows,), and their positions by name."""
        speed, acceleration = np.zeros((2, len(self._aimed)))
        positions: dict[str, Any] = {}
        for name, given in self.references.items():
            reference = _reference(given(t) if callable(given) else given)
            rows = self.tasks.slices[name]
            try:
                speed[rows], acceleration[rows] = reference.velocity, reference.acceleration
            except (TypeError, ValueError):
                check_reference(reference, name, rows.stop - rows.start)
                raise
            if reference.position is not None:
                positions[name] = reference.position
        return speed, acceleration, positions

    def complain(self, t: float, need: FloatArray) -> None:
        """Refuse references whose acceleration is not finite, or too large; the error names the task."""
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
