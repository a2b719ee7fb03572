"""Inverse dynamics under constraints: which motors and which rows carry a motion, where many choices would do.

H qdd + C = S' tau + J' f: freedoms without a motor ask r_u = J_u' f of the constraints, and motors give the rest,
tau = r_a - J_a' f. Of all f that satisfy the first, the one that makes tau' W tau + f' F f least is chosen
(Featherstone 2008, section 8.6, for loops; weights as in Righetti et al. 2013 for contacts).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.settings import on_threads
from bough.errors import ShapeError
from bough.model import Model
from bough.opspace.functions import by_rows
from bough.opspace.loops import with_closures
from bough.opspace.space import OperationalSpace
from bough.opspace.state import apply
from bough.opspace.status import OK, UNMET, row_by_row
from bough.types import FloatArray, IntArray, RealArray

FORCE_WEIGHT = 1e-6  # of constraint forces beside torques: torques are small first
UNMET_SHARE = 1e-6  # of the largest torque, or acceleration: what is further off is not met
SINGULAR = 1e-12  # directions of the equations that are weaker than this are none


class ConstrainedInverse(NamedTuple):
    """Forces behind a motion; in a batch with a leading axis."""

    tau: FloatArray  # (nv,), zero where there is no motor
    force: FloatArray  # (m,) constraint forces, in the rows of the tasks
    residual: Any  # () norm of the joint forces that neither motors nor constraints can give
    violation: Any  # () norm of the acceleration along held rows, which are to have none


@explained
class ConstrainedInverseDynamics:
    """Joint torques and constraint forces of a model whose rows of `space` are held, and its loops closed.

    `space` may be a model whose only constraints are its loops.
    `torque_weights` (nv,) and `force_weights` (m,), or numbers, say what is dear; equal weights give the least norm.
    With all weight on torques (the default, but for a millionth) motors do as little as they can; with all on forces
    constraints do. A motion that no choice can give shows in `residual`, one that breaks constraints in `violation`.
    """

    def __init__(
        self,
        space: OperationalSpace | Model,
        *,
        torque_weights: npt.ArrayLike = 1.0,
        force_weights: npt.ArrayLike = FORCE_WEIGHT,
    ) -> None:
        self.space = with_closures(space)
        self.model, self.tasks, self.dynamics = self.space.model, self.space.tasks, self.space.dynamics
        self.driven = np.flatnonzero(self.model.actuated)
        self.loose = np.flatnonzero(~self.model.actuated)
        self.torque_weights = _weights(torque_weights, self.model.nv, "torque_weights")[self.driven]
        self.force_weights = _weights(force_weights, self.tasks.size, "force_weights")

    def __call__(
        self, q: npt.ArrayLike, v: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int | None = None, **given: Any
    ) -> ConstrainedInverse:
        """The forces under which (q, v) accelerates by qdd (nv,), or for a batch of all three.

        `given` are values of the space's inputs, as in `Dynamics`.
        """
        with on_threads(threads):
            return self._forces(*self.space.inputs(q, v, qdd), **given)

    def with_status(
        self, q: npt.ArrayLike, v: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int | None = None, **given: Any
    ) -> tuple[ConstrainedInverse, IntArray]:
        """The same and a status for each row: no row of a batch raises for the others.

        It is 0 where all is well, 2 where an input is not finite (the result is NaN there), 3 where the result is not,
        and 4 where no forces give the motion, or it breaks constraints: see `residual` and `violation`.
        """
        with on_threads(threads):
            fixed, each = by_rows(self.space.parameters, given)
            found, status = row_by_row(partial(self._forces, **fixed), self.space.inputs(q, v, qdd), each)
        result = ConstrainedInverse(*found)
        need, moved = (np.maximum(1.0, np.abs(x).max(axis=-1)) for x in (result.tau, np.asarray(qdd, float)))
        unmet = (result.residual > UNMET_SHARE * need) | (result.violation > UNMET_SHARE * moved)
        return result, np.where((status == OK) & unmet, UNMET, status)

    def _forces(self, q: RealArray, v: RealArray, qdd: RealArray, **given: Any) -> ConstrainedInverse:
        need = np.asarray(self.dynamics.inverse_dynamics(q, v, qdd, **given))
        J = np.asarray(self.space.jacobian(q, **given))
        a, b = J[..., self.driven], J[..., self.loose]
        m, n = self.tasks.size, len(self.loose)
        K = np.zeros((*J.shape[:-2], m + n, m + n))
        K[..., :m, :m] = (a * self.torque_weights) @ np.swapaxes(a, -1, -2) + np.diag(self.force_weights)
        K[..., :m, m:], K[..., m:, :m] = b, np.swapaxes(b, -1, -2)
        pull = apply(a, self.torque_weights * need[..., self.driven])
        right = np.concatenate([pull, need[..., self.loose]], axis=-1)
        force = apply(np.linalg.pinv(K, rcond=SINGULAR, hermitian=True), right)[..., :m]
        rest = need - apply(np.swapaxes(J, -1, -2), force)
        tau = np.where(self.model.actuated, rest, 0.0)
        moved = np.asarray(self.space.drift(q, v, **given)) + apply(J, qdd)
        norm = np.linalg.norm
        return ConstrainedInverse(tau, force, norm(rest[..., self.loose], axis=-1), norm(moved, axis=-1))


def _weights(given: npt.ArrayLike, count: int, name: str) -> FloatArray:
    found = np.asarray(given, float)
    if found.shape not in ((), (count,)) or not (np.isfinite(found) & (found > 0.0)).all():
        raise ShapeError(f"{name} are numbers above zero, one or {count} of them, got {given!r}")
    return np.array(np.broadcast_to(found, (count,)))
