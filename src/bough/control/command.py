"""What a whole-body controller answers, for one robot or for rows of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.control.layout import Layout
from bough.errors import TaskError
from bough.opspace import TaskSet
from bough.types import FloatArray


class UnsolvedError(TaskError):
    """A program that a solver gave up."""


class WholeBodyCommand(NamedTuple):
    """One answer of a `WholeBody` controller; in a batch with a leading axis."""

    tau: FloatArray  # (nv,), zero where there is no motor
    qdd: FloatArray  # (nv,) the acceleration that they give while the contacts hold
    forces: dict[str, FloatArray]  # of each contact that is held, by frame, and of loops: in the rows of their tasks
    error: dict[str, FloatArray]  # target less position of each task
    success: Any  # () False: constraints conflict, and the command breaks them as little as possible
    conflicts: tuple[Any, ...]  # which, in words; in a batch such a tuple for each row
    missed: dict[
        str, FloatArray
    ]  # acceleration that each task asked for less what it gets: limits and others forbid it


def no_command(tasks: TaskSet, layout: Layout, asked: list[str]) -> WholeBodyCommand:
    """A row without an answer: NaN everywhere."""
    none = np.full(tasks.model.nv, np.nan)
    errors = {name: np.full(rows.stop - rows.start, np.nan) for name, rows in tasks.slices.items()}
    forces = layout.shared(np.full(len(layout.rows), np.nan))
    return WholeBodyCommand(none, none, forces, errors, False, (), {name: errors[name] for name in asked})


def stacked(tasks: TaskSet, rows: list[WholeBodyCommand], sizes: dict[str, int]) -> WholeBodyCommand:
    """Rows as one command; `sizes` are the rows of all contacts by frame: those that hold nowhere are left out, and
    have no force in rows where they do not.
    """
    held = {frame: n for frame, n in sizes.items() if any(frame in row.forces for row in rows)}
    forces = {frame: np.array([row.forces.get(frame, np.zeros(n)) for row in rows]) for frame, n in held.items()}
    errors = {name: np.array([row.error[name] for row in rows]) for name in tasks.slices}
    missed = {name: np.array([row.missed[name] for row in rows]) for name in (rows[0].missed if rows else ())}
    tau, qdd = (np.array(x).reshape(-1, tasks.model.nv) for x in ([r.tau for r in rows], [r.qdd for r in rows]))
    success = np.array([row.success for row in rows], bool)
    return WholeBodyCommand(tau, qdd, forces, errors, success, tuple(row.conflicts for row in rows), missed)
