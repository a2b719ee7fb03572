"""Forward dynamics under constraints: contacts, grasps and loops on the spanning tree (Featherstone 2008, chapter 8).

The constraints are tasks whose acceleration is prescribed: A f = a* - beta with A = Lambda^-1. Redundant rows are
legal: the proximal form (Carpentier, Budhiraja & Mansard 2021) converges to the least force that fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.emit import c
from bough.compile.executions import CompiledFunction
from bough.compile.routine import Routine
from bough.compile.run.arrays import is_count, is_real, real_array
from bough.compile.settings import on_threads
from bough.dynamics.export import write_c
from bough.errors import ModelError, ShapeError, TaskError
from bough.model import Model
from bough.opspace.arrays import PRECISIONS
from bough.opspace.constrained_derivatives import ConstrainedDerivatives, ConstrainedRates, Derived, Implicit
from bough.opspace.functions import by_rows
from bough.opspace.loops import held_constants, held_tasks, with_closures
from bough.opspace.methods import Prepared
from bough.opspace.planner import MethodPlan, choose_constrained, plan_constrained
from bough.opspace.space import OperationalSpace
from bough.opspace.state import apply
from bough.opspace.status import OK, UNMET, row_by_row
from bough.opspace.sweeps.held import CONSTRAINED_BY_FACTOR, CONSTRAINED_DYNAMICS, IMPACT, Proximal
from bough.opspace.taskset import TaskSet
from bough.types import FloatArray, IntArray, RealArray

PROXIMAL = {4: 1e-5, 8: 1e-7}  # relative to the mean diagonal of Lambda^-1, by the bytes of a number
UNMET_SHARE = {4: 1e-2, 8: 1e-6}  # of the largest acceleration: rows that are further off are not met
MANY = 150  # bodies: of more, a traced graph would be too large


class Constrained(NamedTuple):
    """The motion of a constrained mechanism; in a batch with a leading axis."""

    qdd: RealArray  # (nv,)
    force: RealArray  # (m,) constraint forces, in the rows of the tasks
    residual: RealArray  # () norm of the constraint accelerations that were not met


class Impact(NamedTuple):
    """The velocity jump of an impact; in a batch with a leading axis."""

    v: RealArray  # (nv,) afterwards
    impulse: RealArray  # (m,) N s or N m s, in the rows of the tasks
    residual: RealArray  # () norm of the velocities that were not met


@explained
class ConstrainedDynamics:
    """Forward dynamics of a model whose motion along the rows of `space` is prescribed, and whose loops stay closed.

    `space` may be a model whose only constraints are its loops.
    Rows are those of the space's tasks, then those of the model's closures (`tasks.slices` names them), unless the
    space has them already. One compiled call gives accelerations and forces, for one state or a batch, in float64 or
    float32. Rows of full rank are met to rounding after two or three `iterations`, of redundant rows the least forces
    are found, and contradictory rows show in the residual.
    With `stabilise`, a time in seconds, velocities along constrained rows decay (rate 2 / stabilise), and with `gap`
    position errors too (rate squared 1 / stabilise^2), after Baumgarte (1972). Rows are eliminated in one
    sweep with the bodies (PV), or by the sparse factor of H, whichever takes fewer operations here: see `plan`.
    """

    def __init__(self, space: OperationalSpace | Model, *, iterations: int = 3, stabilise: float | None = None) -> None:
        if not is_count(iterations):
            raise TaskError(f"iterations is a whole number from one, got {iterations!r}")
        if stabilise is not None and (not is_real(stabilise) or not 0.0 < stabilise < np.inf):
            raise TaskError(f"stabilise is a time above zero in seconds, got {stabilise!r}")
        self.space = with_closures(space)
        self.tasks, self.dynamics = self.space.tasks, self.space.dynamics
        self.iterations, self.stabilise = iterations, stabilise
        self._routes = Routes(self.space, iterations)
        self._settings = {t: self._constants(t) for t in PRECISIONS}
        self._derived = Derived(self)

    def __call__(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        gap: npt.ArrayLike | None = None, threads: int | None = None, **values: Any,
    ) -> Constrained:  # fmt: skip
        """qdd (nv,) under joint forces tau (nv,), with the rows' acceleration prescribed: zero, or (m,).

        `gap` (m,): position errors of the rows, as `Task.error` gives them with the opposite sign; it
        needs `stabilise`. `values` of the space's inputs are keywords, as in `Dynamics`, here and below.
        """
        q, v, tau = self.space.inputs(q, v, tau)
        rest, damping, proximal = self._settings[q.dtype]
        plain = gap is None and isinstance(acceleration, float) and acceleration == 0.0
        target = rest if plain else self._target(acceleration, gap, q.dtype)
        if values:
            by_rows(self.space.parameters, values)  # refuses unknown ones
        motion = self._compiled[q.itemsize].call
        more = (target, proximal) if self.stabilise is None else (target, damping, proximal)
        qdd, force, residual = motion(q, v, tau, *more, threads=threads, **values)
        return Constrained(qdd, force[..., : self.tasks.size], residual[..., 0])

    def with_status(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        gap: npt.ArrayLike | None = None, threads: int | None = None, **values: Any,
    ) -> tuple[Constrained, RealArray]:  # fmt: skip
        """The same and a status for each row: no row of a batch raises for the others.

        It is 0 where all is well, 2 where an input is not finite (the result is NaN there), 3 where the result is not,
        and 4 where rows are not met, as they contradict each other: see `residual`.
        """
        q, v, tau = self.space.inputs(q, v, tau)
        _, damping, proximal = self._settings[q.dtype]
        target = self._target(acceleration, gap, q.dtype)
        more = (target, proximal) if self.stabilise is None else (target, damping, proximal)
        found, status = self._compiled[q.itemsize].with_status(q, v, tau, *more, threads=threads, **values)
        qdd, force, residual = found
        unmet = residual[..., 0] > UNMET_SHARE[qdd.dtype.itemsize] * np.maximum(1.0, np.abs(qdd).max(axis=-1))
        status = np.where((status == OK) & unmet, UNMET, status)
        return Constrained(qdd, force[..., : self.tasks.size], residual[..., 0]), status

    def derivatives(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        gap: npt.ArrayLike | None = None, threads: int | None = None, **values: Any,
    ) -> ConstrainedDerivatives:  # fmt: skip
        """The derivatives of qdd and of the constraint forces by q (along velocities), v, tau and `acceleration`.

        And by the space's inputs: `.qdd.parameters["inertia"]`. By the implicit function theorem, for motions that meet
        their rows, computed in float64. `.force` is None where rows are redundant. Traced, so refused for models that
        are too large; `gap` is taken as constant, here and below.
        """
        with on_threads(threads):
            return self._derived.jacobians(Implicit(self, (q, v, tau), (acceleration, gap), values), values)

    def jvp(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        along: Mapping[str, npt.ArrayLike], gap: npt.ArrayLike | None = None, threads: int | None = None,
        **values: Any,
    ) -> ConstrainedRates:  # fmt: skip
        """The rates of qdd and of the constraint forces as inputs, named as in `vjp`, move along directions."""
        with on_threads(threads):
            return self._derived.jvp(Implicit(self, (q, v, tau), (acceleration, gap), values), along, values)

    def vjp(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        qdd: npt.ArrayLike | None = None, force: npt.ArrayLike | None = None, gap: npt.ArrayLike | None = None,
        threads: int | None = None, **values: Any,
    ) -> dict[str, RealArray]:  # fmt: skip
        """The gradient of sum(qdd * accelerations) + sum(force * forces) by "q", "v", "tau" and "acceleration".

        And by the space's inputs. `qdd` (nv,) and `force` (m,) are weights. One solve, far cheaper than `derivatives`.
        """
        with on_threads(threads):
            return self._derived.vjp(Implicit(self, (q, v, tau), (acceleration, gap), values), (qdd, force), values)

    def hvp(
        self, q: Any, v: Any, tau: Any, acceleration: npt.ArrayLike = 0.0, *,
        along: Mapping[str, npt.ArrayLike], qdd: npt.ArrayLike | None = None, force: npt.ArrayLike | None = None,
        gap: npt.ArrayLike | None = None, threads: int | None = None, **values: Any,
    ) -> dict[str, RealArray]:  # fmt: skip
        """The rate of what `vjp` gives as inputs move along directions: products with second derivatives.

        Refused where rows are redundant.
        """
        with on_threads(threads):
            at = Implicit(self, (q, v, tau), (acceleration, gap), values)
            return self._derived.hvp(at, (qdd, force), along, values)

    def impact(
        self, q: Any, v: Any, restitution: npt.ArrayLike = 0.0, *, threads: int | None = None, **values: Any
    ) -> Impact:
        """The velocity after the rows are caught: J v' = -restitution J v, by impulses along the rows alone.

        `restitution` is a number between 0 and 1, or one for each row.
        """
        q, v = self.space.inputs(q, v)
        e = real_array("restitution", restitution)
        if e.shape not in ((), (self.tasks.size,)):
            raise TaskError(f"restitution is one number or {self.tasks.size}, got shape {e.shape}")
        if not ((e >= 0.0) & (e <= 1.0)).all():
            raise TaskError(f"restitution is between 0 and 1, got {np.asarray(restitution).tolist()}")
        rest, _, proximal = self._settings[q.dtype]
        every = rest.copy()
        every[: self.tasks.size] = e
        found, impulse, residual = self._impact[q.itemsize].call(q, v, every, proximal, threads=threads, **values)
        return Impact(found, impulse[..., : self.tasks.size], residual[..., 0])

    def free_acceleration(self, q: Any, v: Any, tau: Any, *, threads: int | None = None, **values: Any) -> RealArray:
        """The rows' acceleration without constraint forces, (m,)."""
        q, v, tau = self.space.inputs(q, v, tau)
        with on_threads(threads):
            qdd = self.dynamics.forward_dynamics(q, v, tau, **values)
            return self.space.drift(q, v, **values) + apply(self.space.jacobian(q, **values), qdd)

    def export_c(self, path: str | Path, *, dtype: Any = np.float64, prefix: str | None = None) -> tuple[Path, Path]:
        """Write `constrained_dynamics` and `impact`, with the space's inputs, to a C99 file and a header beside it."""
        if not self.space.uses_factor:
            raise ModelError("exported constrained dynamics needs a tree: build the model with mimic='independent'")
        rows = f"Rows {c.quoted(', '.join(self.tasks.row_names))}."
        summary = {"constrained_dynamics": "qdd and row forces.", "impact": "The velocity after an impact; impulses."}
        routes = (self._routes.chosen(dtype), self._routes.by_factor(IMPACT))
        programs = {r.routine.name: r.program(self.tasks, self.space.parameters) for r in routes}
        return write_c(self.space.model, programs, path, dtype, prefix, {k: [s, rows] for k, s in summary.items()})

    def _constants(self, dtype: np.dtype[Any]) -> tuple[RealArray, RealArray, RealArray]:
        """No acceleration, the damping of velocities and the proximal weight, in one precision."""
        rate = 0.0 if self.stabilise is None else 2.0 / self.stabilise
        proximal = np.array([PROXIMAL[dtype.itemsize]], dtype)
        return np.zeros(self._routes.tasks.size, dtype), np.array([rate], dtype), proximal

    def _target(self, acceleration: Any, gap: Any, dtype: np.dtype[Any]) -> RealArray:
        """Accelerations (m,) or (batch, m) that the rows are to have."""
        rows = real_array("acceleration", acceleration).astype(dtype)
        if gap is not None:
            if self.stabilise is None:
                raise TaskError("a gap is only closed with stabilise=, the time in which it is to vanish")
            rows = rows - np.asarray(gap, dtype) / dtype.type(self.stabilise) ** 2
        found = np.zeros((*rows.shape[:-1], self._routes.tasks.size), dtype)
        try:
            found[..., : self.tasks.size] = rows
        except ValueError:
            raise TaskError(f"accelerations of rows have shape ({self.tasks.size},), got {rows.shape}") from None
        return found

    # Compiled code

    def plan(self) -> MethodPlan:
        """The cost of both routes to accelerations and forces, and the chosen one: print it."""
        if self._routes.only:
            raise TaskError("large, general and mimic models have one route: there is nothing to plan")
        return self._routes.plan(self.space.dtype or np.float64)

    def _bound(self, prepared: Prepared, dtype: npt.DTypeLike) -> CompiledFunction:
        parameters, routes = self.space.parameters, self._routes
        return parameters.given_to(prepared.bind(routes.tasks, routes.general, dtype, parameters=parameters))

    @cached_property
    def _compiled(self) -> dict[int, CompiledFunction]:
        """The function for each precision, by the bytes of a number."""
        found = {t.itemsize: self._routes.chosen(t) for t in PRECISIONS}
        if self.stabilise is None:
            found = {size: p._replace(routine=p.routine.without("damping")) for size, p in found.items()}
        return {t.itemsize: self._bound(found[t.itemsize], t) for t in PRECISIONS}

    @cached_property
    def _impact(self) -> dict[int, CompiledFunction]:
        return {t.itemsize: self._bound(self._routes.by_factor(IMPACT), t) for t in PRECISIONS}


class Routes:
    """Routes to the motion of constrained rows: by sweeps that eliminate them (PV), or by the sparse factor of H.

    Each is one routine from (q, v, tau) to accelerations and forces; the planner counts both and takes the cheaper.
    Where there is `only` one: sweeps, whose cost grows with the number of bodies, in general code; the factor, with
    the ties of mimic joints as further rows.
    """

    def __init__(self, space: OperationalSpace, iterations: int) -> None:
        model, tasks = space.model, space.tasks
        ties = held_tasks(model, closures=False)
        self.tasks = TaskSet(model, (*tasks.tasks, *ties)) if ties else tasks
        self.settings = Proximal(np.array([iterations]), np.array([1.0 / self.tasks.size]))
        self.general = space.general or len(model.mechanism.parent) > MANY
        self.only = "factor" if ties else "pv" if self.general else ""

    def by_factor(self, routine: Routine) -> Prepared:
        """A routine of `sweeps.held` that takes the factor."""
        return Prepared(routine, (*held_constants(self.tasks)[:-1], self.settings), self.tasks.sizes)

    @cached_property
    def by_name(self) -> dict[str, Prepared]:
        tasks = self.tasks
        constants = (tasks.model.mechanism, tasks.seeds, tasks.slots, tasks.pattern, self.settings)
        sweeps = Prepared(CONSTRAINED_DYNAMICS, constants, tasks.sizes)
        return {"pv": sweeps, "factor": self.by_factor(CONSTRAINED_BY_FACTOR)}

    def plan(self, dtype: npt.DTypeLike) -> MethodPlan:
        """The cost of both, and the chosen one."""
        return plan_constrained(self.by_name, self.tasks, dtype)

    def chosen(self, dtype: npt.DTypeLike) -> Prepared:
        """The one that costs less; in single precision always the sweeps, which lose fewer digits."""
        return self.by_name[self.only or choose_constrained(self.by_name, self.tasks, dtype)]


# Inverse dynamics under constraints: which motors and which rows carry a motion, where many choices would do.
#
# H qdd + C = S' tau + J' f: DoF without a motor need r_u = J_u' f from the constraints, and motors give the rest,
# tau = r_a - J_a' f. Of all f that satisfy the first, the one that makes tau' W tau + f' F f least is chosen
# (Featherstone 2008, section 8.6, for loops; weights as in Righetti et al. 2013 for contacts).


FORCE_WEIGHT = 1e-6  # of constraint forces beside torques: torques are small first
SINGULAR = 1e-12  # directions of the equations that are weaker than this are none


class ConstrainedInverse(NamedTuple):
    """Forces behind a motion; in a batch with a leading axis."""

    tau: FloatArray  # (nv,), zero where there is no motor
    force: FloatArray  # (m,) constraint forces, in the rows of the tasks
    residual: Any  # () norm of the joint forces that neither motors nor constraints can give
    violation: Any  # () norm of the acceleration along constrained rows, which are to have none


@explained
class ConstrainedInverseDynamics:
    """Joint torques and constraint forces of a model whose rows of `space` are constrained, and its loops closed.

    `space` may be a model whose only constraints are its loops.
    `torque_weights` (nv,) and `force_weights` (m,), or numbers, set the relative cost; equal weights give the least
    norm. The default puts all weight but a millionth on torques, which are then as small as they can be. An infeasible
    motion has a nonzero `residual`, and one that breaks constraints a nonzero `violation`.
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
        self, q: npt.ArrayLike, v: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int | None = None, **values: Any
    ) -> ConstrainedInverse:
        """The forces under which (q, v) accelerates by qdd (nv,), or for a batch of all three.

        `values` of the space's inputs are keywords, as in `Dynamics`.
        """
        with on_threads(threads):
            return self._forces(*self.space.inputs(q, v, qdd), **values)

    def with_status(
        self, q: npt.ArrayLike, v: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int | None = None, **values: Any
    ) -> tuple[ConstrainedInverse, IntArray]:
        """The same and a status for each row: no row of a batch raises for the others.

        It is 0 where all is well, 2 where an input is not finite (the result is NaN there), 3 where the result is not,
        and 4 where no forces give the motion, or it breaks constraints: see `residual` and `violation`.
        """
        with on_threads(threads):
            fixed, each = by_rows(self.space.parameters, values)
            found, status = row_by_row(partial(self._forces, **fixed), self.space.inputs(q, v, qdd), each)
        result = ConstrainedInverse(*found)
        need, moved = (np.maximum(1.0, np.abs(x).max(axis=-1)) for x in (result.tau, np.asarray(qdd, float)))
        share = UNMET_SHARE[8]
        unmet = (result.residual > share * need) | (result.violation > share * moved)
        return result, np.where((status == OK) & unmet, UNMET, status)

    def _forces(self, q: RealArray, v: RealArray, qdd: RealArray, **values: Any) -> ConstrainedInverse:
        need = np.asarray(self.dynamics.inverse_dynamics(q, v, qdd, **values))
        J = np.asarray(self.space.jacobian(q, **values))
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
        moved = np.asarray(self.space.drift(q, v, **values)) + apply(J, qdd)
        norm = np.linalg.norm
        return ConstrainedInverse(tau, force, norm(rest[..., self.loose], axis=-1), norm(moved, axis=-1))


def _weights(values: npt.ArrayLike, count: int, name: str) -> FloatArray:
    found = np.asarray(values, float)
    if found.shape not in ((), (count,)) or not (np.isfinite(found) & (found > 0.0)).all():
        raise ShapeError(f"{name} are numbers above zero, one or {count} of them, got {values!r}")
    return np.array(np.broadcast_to(found, (count,)))
