"""Many robots on the ground side by side: states that stay where they are, with contacts, reset row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.settings import check_threads, on_threads
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, ShapeError
from bough.model import Model
from bough.simulate.compiled import serves
from bough.simulate.contacts import Contacts
from bough.simulate.joint_effects import Effect, JointEffects
from bough.simulate.row_parameters import RowParameters
from bough.simulate.stepping import ContactStepper
from bough.types import FloatArray

Which: TypeAlias = Any  # numbers of rows, a mask or a slice


@explained
class GroundedEnsemble:
    """States q (batch, nq) and v (batch, nv) of one model with `contacts` on planes, stepped together by dt.

    The sibling of `Ensemble` for robots that touch the ground: the same names, and `force`, `residual` of contacts as
    `rollout` records them. `friction` (batch,) may differ from row to row, and so may what `inputs` names: `inertia`,
    `armature`, `gravity`, `placement`, given by name. Joints have their damping, springs, dry friction and limits, less
    what `without` names. A row that has no finite state any more is NaN from then on and `failed`; `reset` starts rows
    anew.
    """

    def __init__(
        self,
        model: Model,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        dt: float,
        contacts: Contacts,
        friction: npt.ArrayLike | None = None,
        without: Iterable[Effect] = (),
        inputs: Sequence[str] = (),
        dynamics: Dynamics | None = None,
        threads: int | None = None,
        **parameters: npt.ArrayLike,
    ) -> None:
        self.threads = None if threads is None else check_threads(threads)
        self.model, self.dt, self.time, self.contacts = model, dt, 0.0, contacts
        self.q, self.v = _rows(q, model.nq, "q"), _rows(v, model.nv, "v")
        if len(self.q) != len(self.v):
            raise ShapeError(f"q has {len(self.q)} rows and v has {len(self.v)}")
        if not dt > 0.0:
            raise ShapeError(f"dt must be positive, got {dt}")
        self._start = self.q.copy(), self.v.copy()
        dynamics = dynamics or Dynamics(model)
        effects = JointEffects(dynamics, without)
        if not serves(effects, contacts):
            raise ModelError(
                f"{model.name!r} with these contacts makes no ensemble: grounds must be planes, without loops or mimic "
                f"joints; rollout takes them all"
            )
        self._given = RowParameters(model, inputs, parameters, len(self.q))
        self._stepper = ContactStepper(dynamics, effects, contacts, strict=False, parameters=self._given.quantities)
        if self._given.quantities and not self._stepper.is_traced:
            raise ModelError(
                f"{model.name!r} has too many joints with limits for contacts whose {', '.join(self._given.values)} "
                f"differ from row to row; leave them out with without=['limits']"
            )
        self.friction = self._frictions(contacts.friction if friction is None else friction)

    def __repr__(self) -> str:
        return f"GroundedEnsemble({self.model.name!r}, {len(self.q)} rows, t = {self.time:g} s)"

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """(batch,): true in rows that have lost their state since they were last reset."""
        return np.asarray(~(np.isfinite(self.q).all(axis=1) & np.isfinite(self.v).all(axis=1)))

    @property
    def force(self) -> FloatArray:
        """Mean forces on the points in the last step (batch, contacts, 3), in newtons, world axes."""
        return self._stepper.force

    @property
    def residual(self) -> FloatArray:
        """(batch,) how far the last sweep of the last step still moved a velocity."""
        return self._stepper.residual

    def step(self, count: int = 1, *, tau: npt.ArrayLike = 0.0) -> None:
        """`count` steps under joint forces `tau`, (nv,) or (batch, nv); failed rows stay NaN."""
        given = np.asarray(tau, float)
        if given.shape not in ((), (self.model.nv,), self.v.shape):
            raise ShapeError(f"tau must have shape ({self.model.nv},) or {self.v.shape}, got {given.shape}")
        push = np.ascontiguousarray(np.broadcast_to(given, self.v.shape))
        with on_threads(self.threads):
            for _ in range(count):
                rows = tuple(self._given.values.values())
                self.q, self.v = self._stepper.advance(self.q, self.v, push, self.dt, self.friction, rows)
        self.time += count * self.dt

    def reset(self, rows: Which, q: npt.ArrayLike | None = None, v: npt.ArrayLike | None = None) -> None:
        """Put rows (numbers, a mask or a slice) back to the start, or to q and v."""
        self.q[rows] = self._start[0][rows] if q is None else q
        self.v[rows] = self._start[1][rows] if v is None else v
        self._stepper.forget(rows)

    def assign(self, rows: Which, **parameters: npt.ArrayLike) -> None:
        """Change quantities that are `inputs` in some rows (numbers, a mask or a slice), as for new robots at reset."""
        self._given.assign(rows, parameters)

    def _frictions(self, given: npt.ArrayLike) -> FloatArray:
        found, batch = np.asarray(given, float), len(self.q)
        if found.shape not in ((), (batch,)) or not (np.isfinite(found) & (found >= 0.0)).all():
            raise ShapeError(f"friction is a coefficient from zero, or one for each of {batch} rows, got {given!r}")
        return np.array(np.broadcast_to(found, (batch,)))


def _rows(x: npt.ArrayLike, columns: int, name: str) -> FloatArray:
    found = np.array(x, float)
    if found.ndim != 2 or found.shape[1] != columns:
        raise ShapeError(f"{name} must have shape (batch, {columns}), got {found.shape}")
    return found
