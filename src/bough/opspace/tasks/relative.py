"""The motion of one frame as seen from another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import OptionError, TaskError
from bough.model import Model
from bough.model.parameters import inverse
from bough.opspace.sweeps.errors import FRAME, FRAME_AXES, FREE_Z, WORLD_AXES
from bough.opspace.sweeps.wrenches import ALIGNED, FIXED, FOLLOWING, FOLLOWING_ALIGNED, LOCAL
from bough.opspace.tasks.task import (
    WHOLE,
    Aim,
    Matrix,
    Seed,
    Task,
    acting_at,
    angular_first,
    attachment,
    checked_matrix,
    checked_point,
    checked_reference,
    component_names,
    frame_error,
    moved,
    placed,
    placement_of,
)
from bough.spatial import turn_of_z
from bough.types import FloatArray, Reference


@dataclass(frozen=True)
class RelativeTask(Task):
    """Rows on the velocity of `frame` seen from `base`, both taken as rigid bodies, at `point` of `frame`.

    Its position is the placement (4, 4) of `frame` at `point` in `base` at `other_point`.
    """

    frame: str
    base: str
    matrix: Matrix
    reference: Reference
    point: tuple[float, ...] = (0.0, 0.0, 0.0)
    other_point: tuple[float, ...] = (0.0, 0.0, 0.0)

    def seeds(self, model: Model) -> list[list[Seed]]:
        (body, R, p), base = attachment(model, self.frame), attachment(model, self.base).body
        if body == base:
            where = "the world" if body < 0 else "one body"
            raise TaskError(f"task {self.name!r}: {self.frame!r} and {self.base!r} are both fixed to {where}")
        local = self.reference == "local"
        p = p + R @ np.array(self.point)
        rows: list[list[Seed]] = []
        for c in angular_first(self.matrix):
            own = placed(c, R, p) if local else c
            if body < 0:
                rows.append([Seed(FIXED, base, -(own if local else acting_at(c, p)))])
                continue
            row = [Seed(LOCAL, body, own) if local else Seed(ALIGNED, body, own, p)]
            if base >= 0:
                row.append(Seed(FOLLOWING if local else FOLLOWING_ALIGNED, base, -own, p, body))
            rows.append(row)
        return rows

    def row_names(self, count: int) -> tuple[str, ...]:
        return component_names(self.name, self.matrix)

    def position(self, dynamics: Dynamics, q: Any) -> FloatArray:
        base, frame = placement_of(dynamics, self.base, q), placement_of(dynamics, self.frame, q)
        here: FloatArray = inverse(moved(base, self.other_point)) @ moved(frame, self.point)
        return here

    def error(self, dynamics: Dynamics, q: Any, target: npt.ArrayLike) -> FloatArray:
        here = self.position(dynamics, q)
        axes = here[:3, :3].T if self.reference == "local" else placement_of(dynamics, self.base, q)[:3, :3]
        error = frame_error(self.name, here, target, axes, self.matrix)
        if self._axes == FREE_Z and np.shape(target) != (3,):
            error[3:] = turn_of_z(here[:3, :3].T @ np.asarray(target)[:3, 2])
        return error if self.matrix == WHOLE else np.array(self.matrix) @ error

    def aim(self, model: Model) -> Aim:
        frame, base = attachment(model, self.frame).at(self.point), attachment(model, self.base).at(self.other_point)
        return Aim(FRAME, self.matrix, frame, base, self._axes)

    @property
    def _axes(self) -> int:
        """In which axes errors are; where no row minds a turn about z of `frame`, no error does."""
        if self.reference != "local":
            return WORLD_AXES
        x, y, z = (any(row[k] for row in self.matrix) for k in (3, 4, 5))
        return FREE_Z if (x or y) and not z else FRAME_AXES


@explained
def relative(
    frame: str,
    base: str,
    reference: Reference = "local_world_aligned",
    *,
    matrix: npt.ArrayLike | None = None,
    point: npt.ArrayLike = (0, 0, 0),
    other_point: npt.ArrayLike = (0, 0, 0),
    name: str | None = None,
) -> RelativeTask:
    """Six rows [linear, angular]: the velocity of `frame` as seen from `base`, at `point` of `frame`.

    Parameters
    ----------
    frame, base : names of frames
    reference : axes of the rows: those of `frame` ("local") or of the world ("local_world_aligned")
    matrix : (k, 6), picks or mixes rows
    point, other_point : (3,), in the axes of `frame` and of `base`: the task's position is measured from `other_point`
        to `point`, which coincide where a loop is closed
    name : of the task
    """
    ends = {"point": checked_point(point, "relative"), "other_point": checked_point(other_point, "relative")}
    shift = "".join(f", {end}={list(at)}" for end, at in ends.items() if any(at))
    name = name or f"relative({frame}, {base}{shift})"
    if reference == "world":
        raise OptionError(f"task {name!r}: reference is 'local' or 'local_world_aligned' for a relative task")
    table = WHOLE if matrix is None else checked_matrix(matrix, name)
    return RelativeTask(name, frame, base, table, checked_reference(reference, name), *ends.values())
