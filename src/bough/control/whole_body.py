"""Whole-body control: inverse dynamics as a quadratic program (de Lasa, Mordatch & Hertzmann 2010; Herzog et al. 2016).

The variables are qdd and the forces f of the contacts; torques follow, tau = H qdd + C - J_c' f. Subject to
    tau = 0 where there is no motor,  |tau| <= effort,  J_c qdd + Jdot_c v = a_c,  cones of f,  bounds of qdd
sum of weight |J qdd + Jdot v - a*|^2 over the tasks is minimised, priority by priority. Bounds of qdd keep velocities
within their limits after one step, and approach to a position limit no faster than its distance over `horizon`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.compile.executions import BoundFunction
from bough.control.bounds import AccelerationBounds
from bough.control.cones import cone_solver, minimise_in_cones
from bough.control.contacts import Contact, Loop
from bough.control.layout import Layout
from bough.control.program import Constraints, chosen_solver, minimise, relaxed
from bough.control.references import Gains, Reference
from bough.errors import ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, closure_tasks
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.whole import WHOLE
from bough.opspace.tasks import CenterOfMassTask, MomentumTask
from bough.types import FloatArray

Cone: TypeAlias = Literal["pyramid", "second_order"]
POSTURE_WEIGHT, LESS, FORCE_WEIGHT = 1e-4, 1e-3, 1e-8  # beside tasks of weight 1; less while others follow
BAND = 1e-6  # how far the acceleration of a task may leave what its priority has reached


class WholeBodyCommand(NamedTuple):
    """One answer of a `WholeBody` controller."""

    tau: FloatArray  # (nv,), zero where there is no motor
    qdd: FloatArray  # (nv,) the acceleration that they give while the contacts hold
    forces: dict[str, FloatArray]  # of each contact that is held, by frame, and of loops: in the rows of their tasks
    error: dict[str, FloatArray]  # target less position of each task
    success: bool  # False: constraints conflict, and the command breaks them as little as possible
    conflicts: tuple[str, ...]  # which, in words


class WholeBody:
    """Tasks held by motors and contacts within the limits of both: `controller(t, q, v)` gives a `WholeBodyCommand`.

    `references` gives for each task a `Reference` (or a position), or a function of time; a task without one is held at
    rest. `weights` are numbers above zero, `priorities` 0, 1, ... are strict, `gains` are of tasks or of all. What
    tasks leave open goes to `posture` (nq,), or to rest. Friction is a pyramid inside its cone, or with cone=
    "second_order" the cone itself, for which the solver is Clarabel. `dt` is the time between two commands; with
    `general` nothing is compiled for this robot.
    """

    def __init__(
        self,
        model: Model,
        tasks: Iterable[Task],
        contacts: Iterable[Contact] = (),
        *,
        references: Mapping[str, Any] | None = None,
        gains: Gains | Mapping[str, Gains] = Gains(),  # noqa: B008
        weights: Mapping[str, float] | None = None,
        priorities: Mapping[str, int] | None = None,
        posture: npt.ArrayLike | None = None,
        posture_gains: Gains = Gains(25.0),  # noqa: B008
        dt: float = 1e-3,
        horizon: float = 0.05,
        solver: str | None = None,
        cone: Cone = "pyramid",
        general: bool = False,
    ) -> None:
        self.model, self.contacts = model, tuple(contacts)
        wanted = tuple(tasks)
        self.loops = tuple(Loop(task) for task in closure_tasks(model))
        self.held: tuple[Contact | Loop, ...] = (*self.contacts, *self.loops)
        self.tasks = TaskSet(model, [*wanted, *(held.task() for held in self.held)])
        _check_flight(model, wanted, self.contacts)
        self.aims, self.references = AimSet(self.tasks, all_rows=False), dict(references or {})
        names = [task.name for task in wanted]
        for given in (self.references, weights or {}, priorities or {}, {} if isinstance(gains, Gains) else gains):
            odd = [name for name in given if name not in names]
            if odd:
                raise TaskError(f"{odd[0]!r} is none of the tasks {', '.join(map(repr, names))}")
        self.posture = None if posture is None else _configuration(model, posture)
        self.posture_gains, self.cone, self.general = posture_gains, _checked_cone(cone), general
        self.solver = cone_solver(solver) if cone == "second_order" else chosen_solver(solver)
        self._namer = chosen_solver(None) if cone == "second_order" else self.solver  # of conflicts
        self.bounds = AccelerationBounds(model, dt, horizon)
        self._levels = _levels(self.tasks, names, weights or {}, priorities or {})
        self.stiffness, self.damping = _gains(self.tasks, gains)
        self._target = np.tile(np.r_[np.eye(3).ravel(), 0.0, 0.0, 0.0], (self.aims.size, 1))
        self._goal = model.neutral.copy()
        self._place = {task.name: a for a, (task, _) in enumerate(self.aims.placed)}
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._held: dict[str, Any] = {}
        self._last: dict[tuple[tuple[str, ...], int], FloatArray] = {}

    def __call__(self, t: float, q: Any, v: Any, contacts: Iterable[str] | None = None) -> WholeBodyCommand:
        """The command at time t; `contacts` names the frames that hold now (all if none are named)."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError(f"a controller takes one state, q ({self.model.nq},) and v ({self.model.nv},)")
        layout = self._layout(contacts)
        self._hold(layout, q)
        speed, acceleration, aimed = self._refer(t)
        H, C, J, rate, bias, error = self._function.call(q, v, self._target, self._goal)
        wanted = acceleration + self.damping * (speed - rate) + np.where(aimed, self.stiffness * error, 0.0)
        need, Jc = wanted - bias, J[layout.rows]
        D = np.concatenate([H, -Jc.T], axis=1)  # tau = D x + C
        limits = layout.constraints(D, C, Jc, need[layout.rows], self.bounds(q, v))
        x, conflicts = self._solve(layout, limits, (J, need, self._pull(q, v)), (D, C))
        if x is None:
            raise TaskError(f"the solver {self.solver!r} found no answer, nor which constraints conflict; try another")
        tau = D @ x + C
        tau[layout.loose] = 0.0
        errors = {name: error[rows] for name, rows in self.tasks.slices.items()}
        nv = self.model.nv
        return WholeBodyCommand(tau, x[:nv], layout.shared(x[nv:]), errors, not conflicts, conflicts)

    def _solve(
        self, layout: Layout, s: Constraints, ask: tuple[FloatArray, ...], torque: tuple[FloatArray, ...]
    ) -> Any:
        """x of the last priority, each solved within what those before it have reached; or the least conflict.

        `ask` is J, a* - Jdot v and the pull of the posture, `torque` D and C.
        """
        (J, need, pull), nv, x = ask, self.model.nv, None
        for k, level in enumerate(self._levels):
            last = k == len(self._levels) - 1
            small = POSTURE_WEIGHT * (1.0 if last else LESS)
            own = J[level.rows]
            weighed = (level.weight * own.T) if level.weighs else own.T
            P, c = layout.cost(small, FORCE_WEIGHT), np.zeros(len(s.lower))
            P[:nv, :nv] += weighed @ own
            c[:nv] = -small * pull - weighed @ need[level.rows]
            key = (layout.names, k)
            x = self._minimum(layout, P, c, s, self._last.get(key))
            if x is not None and not layout.within(x, *torque):
                s = layout.with_torques(s, *torque)
                x = self._minimum(layout, P, c, s, x)
            if x is None:
                self._last.clear()
                return relaxed(P, c, layout.with_pyramids(layout.with_torques(s, *torque)), self._namer)
            self._last[key] = x
            if not last:
                s = layout.kept(s, own, x[:nv], BAND)
        return x, ()

    def _minimum(
        self, layout: Layout, P: FloatArray, c: FloatArray, s: Constraints, start: FloatArray | None
    ) -> FloatArray | None:
        if layout.cones is not None:
            return minimise_in_cones(P, c, s, layout.cones, self.model.nv)
        return minimise(P, c, s, self.solver, start)

    def _pull(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """The acceleration (nv,) towards the posture, or to rest."""
        g = self.posture_gains
        pull = -g.rate * v
        if self.posture is not None:
            way = self.model.difference(q, self.posture)
            pull = pull + np.where(self.model.actuated, g.stiffness * way, 0.0)
        return pull

    def _refer(self, t: float) -> tuple[FloatArray, FloatArray, Any]:
        """Velocity and acceleration of the references (rows,), and which rows have a position to go to."""
        speed, acceleration, aimed = np.zeros(self.tasks.size), np.zeros(self.tasks.size), self._aimed.copy()
        for name, given in self.references.items():
            reference: Any = given(t) if callable(given) else given
            if not isinstance(reference, Reference):
                reference = Reference(reference)
            rows = self.tasks.slices[name]
            speed[rows], acceleration[rows] = reference.velocity, reference.acceleration
            if reference.position is not None:
                aimed[rows] = True
                self._aim(name, reference.position, callable(given))
        return speed, acceleration, aimed

    def _aim(self, name: str, position: Any, again: bool) -> None:
        """Put a target where the kernel reads it; one that does not change only once."""
        if not again and name in self._aimed_once:
            return
        shape, place = np.shape(position), self._place.get(name)
        if name in self._aimed_once and place is not None and shape in ((4, 4), (3,)):
            row = self._target[place]  # its kind was checked when it was first given
            if shape == (3,):
                row[9:] = position
            else:
                row[:9], row[9:] = position[:3, :3].ravel(), position[:3, 3]
            return
        self._aimed_once.add(name)
        target, self._goal = self.aims.target(name, position, self._goal)
        if place is not None:
            self._target[place] = target

    @cached_property
    def _aimed_once(self) -> set[str]:
        return set()

    @cached_property
    def _aimed(self) -> Any:
        """(rows,) rows of contacts always go back to where they were made, those of loops are closed."""
        aimed = np.zeros(self.tasks.size, bool)
        for held in self.held:
            aimed[self.tasks.slices[held.name]] = True
        return aimed

    def _hold(self, layout: Layout, q: FloatArray) -> None:
        """Contacts that are new hold where they are now; those that are gone are forgotten."""
        for name in set(self._held) - set(layout.names):
            del self._held[name]
        for task in self.tasks.tasks:
            if task.name in layout.names and task.name not in self._held:
                closed = task.name in self._closed
                self._held[task.name] = np.eye(4) if closed else task.position(self._dynamics, q)
                self._target[self._place[task.name]] = self.aims.target(task.name, self._held[task.name], self._goal)[0]

    @cached_property
    def _closed(self) -> set[str]:
        return {loop.name for loop in self.loops}

    def _layout(self, contacts: Iterable[str] | None) -> Layout:
        chosen = self.contacts if contacts is None else self._named(contacts)
        held: tuple[Contact | Loop, ...] = (*chosen, *self.loops)
        key = tuple(contact.name for contact in held)
        if key not in self._layouts:
            self._layouts[key] = Layout(self.tasks, held, self.bounds, self.cone == "second_order")
        return self._layouts[key]

    def _named(self, frames: Iterable[str]) -> tuple[Contact, ...]:
        chosen = set(frames)
        odd = chosen - {contact.frame for contact in self.contacts}
        if odd:
            known = ", ".join(repr(contact.frame) for contact in self.contacts)
            raise TaskError(f"{sorted(odd)[0]!r} is none of the contacts {known}")
        return tuple(contact for contact in self.contacts if contact.frame in chosen)

    @cached_property
    def _dynamics(self) -> Any:
        from bough.dynamics.dynamics import Dynamics

        return Dynamics(self.model, general=self.general)

    @cached_property
    def _function(self) -> BoundFunction:
        """(q, v, target, posture) -> (H, C, J, J v, Jdot v, error), one compiled call."""
        tasks = self.tasks
        constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, self.aims.arrays)
        return Prepared(WHOLE, constants, tasks.sizes | {"aims": self.aims.size}).bind(tasks, self.general)


def _checked_cone(cone: Cone) -> Cone:
    if cone not in get_args(Cone):
        raise TaskError(f"cone is 'pyramid' or 'second_order', got {cone!r}")
    return cone


def _check_flight(model: Model, tasks: tuple[Task, ...], contacts: tuple[Contact, ...]) -> None:
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

    rows: Any  # (k,)
    weight: FloatArray  # (k,)
    weighs: bool  # whether a weight is not 1


def _levels(tasks: TaskSet, names: list[str], weights: Mapping[str, float], ranks: Mapping[str, int]) -> list[Priority]:
    for name, weight in weights.items():
        if not 0.0 < weight < np.inf:
            raise TaskError(f"the weight of {name!r} must be a finite number above zero, got {weight}")
    found = []
    for rank in sorted({ranks.get(name, 0) for name in names}):
        chosen = [(np.r_[tasks.slices[n]], float(weights.get(n, 1.0))) for n in names if ranks.get(n, 0) == rank]
        each = np.concatenate([np.full(len(rows), w) for rows, w in chosen])
        found.append(Priority(np.concatenate([rows for rows, _ in chosen]), each, bool((each != 1.0).any())))
    return found


def _gains(tasks: TaskSet, gains: Gains | Mapping[str, Gains]) -> tuple[FloatArray, FloatArray]:
    stiffness, damping = np.empty(tasks.size), np.empty(tasks.size)
    for name, rows in tasks.slices.items():
        own = gains if isinstance(gains, Gains) else gains.get(name, Gains())
        stiffness[rows], damping[rows] = own.stiffness, own.rate
    return stiffness, damping


def _configuration(model: Model, given: npt.ArrayLike) -> FloatArray:
    q = np.asarray(given, float)
    if q.shape != (model.nq,) or not np.isfinite(q).all():
        raise ShapeError(f"posture is a finite configuration ({model.nq},), got shape {q.shape}")
    return q
