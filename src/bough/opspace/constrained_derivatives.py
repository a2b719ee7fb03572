"""Derivatives of constrained dynamics by the implicit function theorem (Featherstone 2008, eq. 8.5, differentiated).

Along a constrained motion r(q, v, qdd, f) = (H qdd + C - J' f - tau, J qdd + Jdot v - a) is zero, so that

    [H  -J'] [dqdd]   [dtau]   dr
    [J   0 ] [df  ] = [da  ] - -- d(q, v)
                               dx

The derivatives of r are taken on its graph; the system is solved through H^-1 and Lambda^-1 = J H^-1 J'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import CompiledFunction
from bough.compile.routine import Routine
from bough.dynamics.gradients import curvatures, gradients, rates
from bough.errors import TaskError
from bough.opspace.functions import by_rows
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.complete import RESIDUALS

if TYPE_CHECKING:
    from bough.opspace.constrained import ConstrainedDynamics

Array = npt.NDArray[Any]
Values = dict[str, Any]
MOTION = ("qdd", "force")
SMALLEST = 1e-10  # eigenvalues of Lambda^-1 below this part of the largest belong to redundant rows
UNMET_SHARE = 1e-6  # of the largest acceleration: rows that are further off are not met


class Slopes(NamedTuple):
    """A result by each input; q varies along velocities. In a batch with a leading axis."""

    q: Array  # (n, nv)
    v: Array  # (n, nv)
    tau: Array  # (n, nv)
    acceleration: Array  # (n, m)
    parameters: dict[str, Array]  # by each of the space's inputs: (n, bodies, 10) for "inertia"


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of accelerations (nv,) and of constraint forces (m,)."""

    qdd: Slopes
    force: Slopes | None  # None where rows are redundant: which force is least then changes with q, too


class ConstrainedRates(NamedTuple):
    """The rates of accelerations (nv,) and of constraint forces (m,) along a direction."""

    qdd: Array
    force: Array | None  # None where rows are redundant


class Implicit:
    """The linear system around one motion, or a batch of them; results are in the precision of its state."""

    def __init__(
        self, constrained: ConstrainedDynamics, state: Sequence[Any], rest: tuple[Any, Any], values: Values
    ) -> None:
        self.dtype = constrained.space.inputs(*state)[0].dtype
        q, v, found = _motion(constrained, state, rest, values)
        self.rows = [q, v, found.qdd, found.force]
        self.Z = constrained.dynamics.inverse_mass_matrix(q, **values)
        J = constrained.space.jacobian(q, **values)
        self.J, self.X = J, self.Z @ np.swapaxes(J, -1, -2)
        # redundant rows share what one of them would do: the pseudo-inverse of Lambda^-1
        eigenvalues, vectors = np.linalg.eigh(self.J @ self.X)
        seen = eigenvalues > SMALLEST * eigenvalues.max(axis=-1, keepdims=True, initial=0.0)
        inverse = np.where(seen, 1.0 / np.where(seen, eigenvalues, 1.0), 0.0)
        self.Lam, self.is_redundant = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2), not seen.all()

    def solve(self, g: Array, h: Array) -> tuple[Array, Array]:
        """dqdd and df from the right-hand sides g (nv, k) and h (m, k)."""
        free = self.Z @ g
        f = self.Lam @ (h - self.J @ free)
        return free + self.X @ f, f

    def solve_transposed(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The weights of the right-hand sides from weights of dqdd (nv, k) and df (m, k)."""
        h = self.Lam @ (y + np.swapaxes(self.X, -1, -2) @ x)
        return self.Z @ x - self.X @ h, h


class Derived:
    """The derivatives of a `ConstrainedDynamics`, compiled on first use."""

    def __init__(self, constrained: ConstrainedDynamics) -> None:
        self.constrained, self.nv, self.m = constrained, constrained.space.model.nv, constrained.tasks.size
        self.parameters = constrained.space.parameters
        self.damping = np.array([0.0 if constrained.stabilise is None else 2.0 / constrained.stabilise])

    def jacobians(self, system: Implicit, values: Values) -> ConstrainedDerivatives:
        """All derivatives: the gradient of each result, side by side."""
        n = self.nv
        one = np.eye(n if system.is_redundant else n + self.m, n + self.m)
        weights = system.solve_transposed(one.T[:n], one.T[n:])
        tau, acceleration = (np.swapaxes(x, -1, -2) for x in weights)  # a row for each result
        lead, k = tau.shape[:-2], len(one)

        def repeated(x: Array) -> Array:
            return np.repeat(x.reshape(-1, *x.shape[len(lead) :]), k, axis=0)

        each = {name: np.repeat(x, k, axis=0) for name, x in by_rows(self.parameters, values)[1].items()}
        rest = (x.reshape(-1, x.shape[-1]) for x in (-tau, -acceleration))
        pulled = self._reverse.call(*map(repeated, system.rows), self.damping, *self._parameters(values | each), *rest)
        by_q, by_v, *more = (y.reshape(*lead, k, *y.shape[1:]) for y in pulled)
        whole = [x.astype(system.dtype, copy=False) for x in (by_q, by_v, tau, acceleration, *more)]

        def part(rows: slice) -> Slopes:
            q, v, tau, acceleration, *rest = (x[(slice(None),) * len(lead) + (rows,)] for x in whole)
            return Slopes(q, v, tau, acceleration, dict(zip(self.parameters.own, rest, strict=True)))

        return ConstrainedDerivatives(part(slice(n)), None if system.is_redundant else part(slice(n, None)))

    def jvp(self, system: Implicit, along: Mapping[str, Any], values: Values) -> ConstrainedRates:
        """The rates of accelerations and forces as the inputs move along directions."""
        _, v, qdd, force = system.rows
        own = {"q": v, "v": v, "tau": qdd, "acceleration": force} | self.parameters.own
        if not along or not {*along} <= {*own}:
            raise TaskError(f"along names some of {', '.join(own)}; got {', '.join(map(repr, along)) or 'nothing'}")
        ways = {name: _weight(f"direction of {name}", along.get(name), x.shape) for name, x in own.items()}
        tau, acceleration = ways.pop("tau"), ways.pop("acceleration")
        moved = self._forward.call(*system.rows, self.damping, *self._parameters(values), *ways.values())
        g, h = (np.subtract(x, y)[..., None] for x, y in zip((tau, acceleration), moved, strict=True))
        qdd, force = (x[..., 0].astype(system.dtype, copy=False) for x in system.solve(g, h))
        return ConstrainedRates(qdd, None if system.is_redundant else force)

    def vjp(self, system: Implicit, weights: tuple[Any, Any], values: Values) -> dict[str, Array]:
        """The gradient of a weighted sum of accelerations and forces by each input."""
        tau, acceleration = self._weighed("vjp", system, weights)
        if system.is_redundant and weights[1] is not None:
            raise TaskError("rows are redundant here: which forces are least changes with q, and has no derivative")
        at = (*system.rows, self.damping, *self._parameters(values))
        by_q, by_v, *rest = self._reverse.call(*at, -tau, -acceleration)
        by = zip(
            ("q", "v", "tau", "acceleration", *self.parameters.own), (by_q, by_v, tau, acceleration, *rest), strict=True
        )
        return {name: x.astype(system.dtype, copy=False) for name, x in by}

    def hvp(
        self, system: Implicit, weights: tuple[Any, Any], along: Mapping[str, Any], values: Values
    ) -> dict[str, Array]:
        """The rate of that gradient along directions. With r weighed by x the gradient is r_x' x, where r_y' x = -w for
        y = (qdd, f): as r_x and r_y change by h, x changes by what solves r_y' dx = -h_y."""
        tau, acceleration = self._weighed("hvp", system, weights)
        moved = self.jvp(system, along, values)
        if moved.force is None:
            raise TaskError("rows are redundant here: only accelerations have derivatives, and only first ones")
        own = {"q": system.rows[1], "v": system.rows[1]} | self.parameters.own
        ways = {name: _weight(f"direction of {name}", along.get(name), x.shape) for name, x in own.items()}
        ways = {"q": ways.pop("q"), "v": ways.pop("v"), "qdd": moved.qdd, "force": moved.force} | ways
        at = (*system.rows, self.damping, *self._parameters(values))
        by_q, by_v, h_qdd, h_force, *rest = self._bent.call(*at, -tau, -acceleration, *ways.values())
        found = system.solve_transposed(h_qdd[..., None], h_force[..., None])
        tau, acceleration = (x[..., 0] for x in found)
        further = self._reverse.call(*at, -tau, -acceleration)
        by = {
            name: a + b
            for name, a, b in zip(("q", "v", *self.parameters.own), (by_q, by_v, *rest), further, strict=True)
        }
        by |= {"tau": tau, "acceleration": acceleration}
        return {name: x.astype(system.dtype, copy=False) for name, x in by.items()}

    def _weighed(self, name: str, system: Implicit, weights: tuple[Any, Any]) -> Iterator[Array]:
        """The weights of tau and of prescribed accelerations, from those of qdd and of forces."""
        if weights[0] is None and weights[1] is None:
            raise TaskError(f"{name} needs weights: qdd=, force= or both")
        shapes = [x.shape for x in system.rows[2:]]
        x, y = (_weight(f"weight {n}", w, s)[..., None] for n, w, s in zip(MOTION, weights, shapes, strict=True))
        return (z[..., 0] for z in system.solve_transposed(x, y))

    def _parameters(self, values: Values) -> list[Any]:
        """The parameters in order, the model's own by default."""
        return [own if values.get(name) is None else values[name] for name, own in self.parameters.own.items()]

    @cached_property
    def _forward(self) -> CompiledFunction:
        return self._bound(lambda routine: rates(routine, ("q", "v", *self.parameters.inputs)))

    @cached_property
    def _reverse(self) -> CompiledFunction:
        return self._bound(lambda routine: gradients(routine, ("q", "v", *self.parameters.inputs)))

    @cached_property
    def _bent(self) -> CompiledFunction:
        names = ("q", "v", "qdd", "force", *self.parameters.inputs)
        return self._bound(lambda routine: curvatures(routine, names, names))

    def _bound(self, derive: Callable[[Routine], Routine]) -> CompiledFunction:
        """The derivatives of the residuals, whose last inputs but for directions or weights are the parameters."""
        tasks = self.constrained.tasks
        constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern)
        prepared = Prepared(RESIDUALS, constants, tasks.sizes)
        return prepared.bind(tasks, name="constrained_dynamics", parameters=self.parameters, derive=derive)


def _motion(
    constrained: ConstrainedDynamics, state: Sequence[Any], rest: tuple[Any, Any], values: Values
) -> tuple[Array, Array, Any]:
    """A state in float64, in rows alike, and the motion that it leads to; one that misses its rows is refused."""
    q, v, tau = (np.asarray(x, float) for x in state)
    acceleration, gap = rest
    counts = [len(x) for x in (q, v, tau, *map(np.asarray, rest)) if x.ndim > 1]
    counts += map(len, by_rows(constrained.space.parameters, values)[1].values())
    if counts:
        q, v, tau = (np.ascontiguousarray(np.broadcast_to(x, (max(counts), x.shape[-1]))) for x in (q, v, tau))
    found = constrained(q, v, tau, acceleration, gap=gap, **values)
    size = np.abs(found.qdd).max(initial=1.0)
    if not (found.residual < UNMET_SHARE * size).all():
        worst = f"{np.max(found.residual):.2g}"
        raise TaskError(f"rows are not met (by {worst}), so that the motion has no derivatives: raise iterations")
    return q, v, found


def _weight(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    """A number for each of an array's, in rows or for all of them; zeros for none."""
    found = np.asarray(0.0 if values is None else values, float)
    try:
        return np.broadcast_to(found, np.broadcast_shapes(found.shape, shape))
    except ValueError:
        raise TaskError(f"the {name} must have shape {shape}, got {found.shape}") from None
