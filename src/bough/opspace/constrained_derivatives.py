"""Derivatives of constrained dynamics by the implicit function theorem (Featherstone 2008, eq. 8.5, differentiated).

Along a constrained motion r(q, v, qdd, f) = (H qdd + C - J' f - tau, J qdd + Jdot v - a) is zero, so that

    [H  -J'] [dqdd]   [dtau]   dr
    [J   0 ] [df  ] = [da  ] - -- d(q, v)
                               dx

The derivatives of r are taken on its graph; the system is solved through H^-1 and Lambda^-1 = J H^-1 J'.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import BoundFunction, bind_arrays
from bough.compile.routine import Routine
from bough.dynamics.gradients import gradients, rates
from bough.errors import TaskError
from bough.model import mark_limbs
from bough.opspace.methods import Prepared
from bough.opspace.parameters import by_rows
from bough.opspace.sweeps.residuals import RESIDUALS

if TYPE_CHECKING:
    from bough.opspace.constrained import ConstrainedDynamics

Array = npt.NDArray[Any]
Given = dict[str, Any]
SMALLEST = 1e-10  # eigenvalues of Lambda^-1 below this part of the largest belong to redundant rows


class Slopes(NamedTuple):
    """A result by each input; q varies along velocities. In a batch with a leading axis."""

    q: Array  # (n, nv)
    v: Array  # (n, nv)
    tau: Array  # (n, nv)
    acceleration: Array  # (n, m)


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of accelerations (nv,) and of constraint forces (m,)."""

    qdd: Slopes
    force: Slopes | None  # None where rows are redundant: which force is least then changes with q, too


class Implicit:
    """The linear system around one motion, or a batch of them."""

    def __init__(self, held: ConstrainedDynamics, q: Array, v: Array, found: Any, given: Given) -> None:
        self.rows = [q, v, found.qdd, found.force]
        self.Z = held.dynamics.inverse_mass_matrix(q, **given)
        self.J = held.space.jacobian(q, **given)
        self.X = self.Z @ np.swapaxes(self.J, -1, -2)
        values, vectors = np.linalg.eigh(self.J @ self.X)
        seen = values > SMALLEST * values.max(axis=-1, keepdims=True)
        self.is_redundant = not seen.all()
        inverse = np.where(seen, 1.0 / np.where(seen, values, 1.0), 0.0)
        self.Lam = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)

    def solve(self, g: Array, h: Array) -> tuple[Array, Array]:
        """dqdd and df from the right-hand sides g (nv, k) and h (m, k)."""
        free = self.Z @ g
        f = self.Lam @ (h - self.J @ free)
        return free + self.X @ f, f

    def solve_transposed(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The weights of the right-hand sides from weights of dqdd (nv,) and df (m,)."""
        x, y = x[..., None], y[..., None]
        h = self.Lam @ (y + np.swapaxes(self.X, -1, -2) @ x)
        return (self.Z @ x - self.X @ h)[..., 0], h[..., 0]


class Derived:
    """The derivatives of a `ConstrainedDynamics`, compiled when they are first asked for."""

    def __init__(self, held: ConstrainedDynamics) -> None:
        self.held, self.nv, self.m = held, held.space.model.nv, held.tasks.size
        self.parameters = held.space.parameters
        self.damping = np.array([0.0 if held.stabilise is None else 2.0 / held.stabilise])

    def jacobians(self, q: Array, v: Array, found: Any, given: Given) -> ConstrainedDerivatives:
        """All derivatives at a motion that was `found`."""
        system = Implicit(self.held, q, v, found, given)
        by_q, by_v = self._slopes(system.rows, q.ndim > 1, given)
        n, one, none = self.nv, np.eye(self.nv), np.zeros((self.nv, self.m))
        leading = by_q[0].shape[:-2]
        g = np.concatenate([-by_q[0], -by_v[0], *(np.broadcast_to(x, (*leading, *x.shape)) for x in (one, none))], -1)
        ends = (np.zeros((self.m, n)), np.eye(self.m))
        h = np.concatenate([-by_q[1], -by_v[1], *(np.broadcast_to(x, (*leading, *x.shape)) for x in ends)], -1)
        qdd, force = (Slopes(*np.split(x, [n, 2 * n, 3 * n], axis=-1)) for x in system.solve(g, h))
        return ConstrainedDerivatives(qdd, None if system.is_redundant else force)

    def vjp(self, q: Array, v: Array, found: Any, weights: tuple[Any, Any], given: Given) -> dict[str, Array]:
        """The gradient of a weighted sum of accelerations and forces by each input."""
        system = Implicit(self.held, q, v, found, given)
        shapes = (found.qdd.shape, found.force.shape)
        x, y = (_weight(name, w, s) for name, w, s in zip(("qdd", "force"), weights, shapes, strict=True))
        if system.is_redundant and weights[1] is not None:
            raise TaskError("rows are redundant here: which forces are least changes with q, and has no derivative")
        tau, acceleration = system.solve_transposed(x, y)
        values = [given.get(name, own) for name, own in self.parameters.own.items()]
        by_q, by_v, *rest = self._pulled.call(*system.rows, self.damping, *values, -tau, -acceleration)
        found = {"q": by_q, "v": by_v, "tau": tau, "acceleration": acceleration}
        return found | dict(zip(self.parameters.own, rest, strict=True))

    def _slopes(self, rows: list[Array], batched: bool, given: Given) -> list[list[Array]]:
        """[d unbalanced, d unmet] by q, and by v: a row of the compiled function for each column."""
        n, count = self.nv, len(rows[0]) if batched else 1
        repeated = [np.repeat(x.reshape(count, -1), 2 * n, axis=0) for x in rows]
        along = np.tile(np.eye(2 * n), (count, 1))
        each = {name: np.repeat(x, 2 * n, axis=0) for name, x in by_rows(self.parameters, given)[1].items()}
        values = [(given | each).get(name, own) for name, own in self.parameters.own.items()]
        found = self._pushed.call(*repeated, self.damping, *values, along[:, :n], along[:, n:])
        lead = (count,) if batched else ()
        whole = [np.swapaxes(y.reshape(*lead, 2 * n, -1), -1, -2) for y in found]
        return [[y[..., :n] for y in whole], [y[..., n:] for y in whole]]

    @cached_property
    def _pushed(self) -> BoundFunction:
        return self._bound(lambda routine: rates(routine, ("q", "v")))

    @cached_property
    def _pulled(self) -> BoundFunction:
        return self._bound(lambda routine: gradients(routine, ("q", "v", *self.parameters.inputs)))

    def _bound(self, derive: Callable[[Routine], Routine]) -> BoundFunction:
        """What is derived of the residuals, whose last inputs but for directions or weights are the parameters."""
        tasks, mechanism = self.held.tasks, self.held.tasks.model.mechanism
        constants = (tasks.with_placements, tasks.pattern)
        routine, constants, _ = self.parameters.prepared(RESIDUALS, constants, mark_limbs)
        name = "constrained_dynamics"
        if not self.parameters:
            return Prepared(derive(routine), (mechanism, *constants), tasks.sizes).bind(tasks, name=name)
        return bind_arrays(derive(routine), (mechanism, *constants), tasks.sizes, name=name)


def _weight(name: str, given: Any, shape: tuple[int, ...]) -> Array:
    """A weight for each number of a result; zeros for none."""
    try:
        return np.broadcast_to(np.asarray(0.0 if given is None else given, float), shape)
    except ValueError:
        raise TaskError(f"the weight {name} must have shape {shape}, got {np.shape(given)}") from None
