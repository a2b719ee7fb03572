"""Requirements of a whole-body controller, checked: priorities, weights, gains, motors, contacts to push with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import is_count, is_real
from bough.control.contacts import Contact
from bough.control.references import Gains
from bough.errors import ShapeError, TaskError, unknown_option
from bough.model import Model
from bough.opspace import Task, TaskSet
from bough.opspace.tasks import CenterOfMassTask, MomentumTask
from bough.types import FloatArray

Cone: TypeAlias = Literal["pyramid", "second_order"]


def checked_tasks(tasks: Any, contacts: Any) -> tuple[tuple[Task, ...], tuple[Contact, ...]]:
    """Both as tuples of what they should be."""
    if isinstance(tasks, Task | str) or isinstance(contacts, Contact | str):
        raise TaskError("tasks and contacts are lists, as [bough.center_of_mass()] and [bough.control.Contact(foot)]")
    for contact in (held := tuple(contacts)):
        if not isinstance(contact, Contact):
            raise TaskError(f"expected contacts such as bough.control.Contact(frame, friction=0.7), got {contact!r}")
    return tuple(tasks), held


def checked_cone(cone: Cone) -> Cone:
    if cone not in get_args(Cone):
        raise unknown_option(f"cone is 'pyramid' or 'second_order', got {cone!r}", cone, get_args(Cone))
    return cone


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

    rows: Any  # (k,), or a slice
    weight: FloatArray  # (k,)
    weighs: bool  # whether a weight is not 1


def priorities_of(
    tasks: TaskSet, names: list[str], weights: Mapping[str, float], ranks: Mapping[str, int]
) -> list[Priority]:
    for name, weight in weights.items():
        if not is_real(weight) or not 0.0 < weight < np.inf:
            raise TaskError(f"the weight of {name!r} must be a finite number above zero, got {weight!r}")
    for name, rank in ranks.items():
        if not is_count(rank, 0):
            raise TaskError(f"the priority of {name!r} is a number 0, 1, ... (0 comes first), got {rank!r}")
    found = []
    for rank in sorted({ranks.get(name, 0) for name in names}):
        chosen = [(np.r_[tasks.slices[n]], float(weights.get(n, 1.0))) for n in names if ranks.get(n, 0) == rank]
        each = np.concatenate([np.full(len(rows), w) for rows, w in chosen])
        rows = together(np.concatenate([rows for rows, _ in chosen]))
        found.append(Priority(rows, each, bool((each != 1.0).any())))
    return found or [Priority(np.zeros(0, np.int64), np.zeros(0), False)]


def together(rows: Any) -> Any:
    """Rows as a slice where they follow each other: no copy is made of them."""
    first = int(rows[0]) if len(rows) else 0
    return slice(first, first + len(rows)) if np.array_equal(rows, first + np.arange(len(rows))) else rows


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


def configuration(model: Model, given: npt.ArrayLike) -> FloatArray:
    q = np.asarray(given, float)
    if q.shape != (model.nq,) or not np.isfinite(q).all():
        raise ShapeError(f"posture is a finite configuration ({model.nq},), got shape {q.shape}")
    return q
