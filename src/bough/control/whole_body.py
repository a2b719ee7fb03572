"""Whole-body control: inverse dynamics as a quadratic program (de Lasa, Mordatch & Hertzmann 2010; Herzog et al. 2016).

The variables are qdd and the forces f of the contacts; torques follow, tau = H qdd + C - J_c' f. Subject to
    tau = 0 where there is no motor,  |tau| <= effort,  J_c qdd + Jdot_c v = a_c,  cones of f,  bounds of qdd
sum of weight |J qdd + Jdot v - a*|^2 over the tasks is minimised, priority by priority. Bounds of qdd keep velocities
within their limits after one step, and approach to a position limit no faster than its distance over `horizon`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import CompiledFunction
from bough.control.cones import cone_solver, minimise_in_cones
from bough.control.contacts import Contact, Loop
from bough.control.layout import Layout
from bough.control.limits import AccelerationBounds
from bough.control.program import Constraints, chosen_solver, minimise, softened
from bough.control.references import FASTEST, ControllerState, Gains, ReferenceSet
from bough.control.requirements import (
    Cone,
    check_flight,
    check_gains,
    checked_cone,
    checked_tasks,
    configuration,
    gains_of,
    priorities_of,
)
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, closure_targets, closure_tasks
from bough.opspace.methods import Prepared
from bough.opspace.status import BAD_INPUT, BAD_OUTPUT, OK, UNMET, common_rows
from bough.opspace.sweeps.whole import WHOLE
from bough.types import FloatArray, IntArray


class UnsolvedError(TaskError):
    """A program that a solver gave up."""


class WholeBodyCommand(NamedTuple):
    """One answer of a `WholeBody` controller; in a batch with a leading axis."""

    tau: FloatArray  # (nv,), zero where there is no motor
    qdd: FloatArray  # (nv,) the acceleration that they give while the contacts hold
    forces: dict[str, FloatArray]  # of each contact that is held, by frame, and of loops: in the rows of their tasks
    error: dict[str, FloatArray]  # target less position of each task
    success: Any  # () False: some constraints gave way to others, as little as possible
    conflicts: tuple[Any, ...]  # which gave way, in words; in a batch such a tuple for each row
    missed: dict[
        str, FloatArray
    ]  # acceleration that each task asked for less what it gets: limits and others forbid it


def no_command(tasks: TaskSet, layout: Layout, asked: list[str]) -> WholeBodyCommand:
    """A row without an answer: NaN everywhere."""
    none = np.full(tasks.model.nv, np.nan)
    errors = {name: np.full(rows.stop - rows.start, np.nan) for name, rows in tasks.slices.items()}
    forces = layout.shared(np.full(len(layout.rows), np.nan))
    return WholeBodyCommand(none, none, forces, errors, False, (), {name: errors[name] for name in asked})


def stacked(tasks: TaskSet, rows: list[WholeBodyCommand], sizes: dict[str, int], asked: list[str]) -> WholeBodyCommand:
    """Rows as one command; `sizes` are the rows of all contacts by frame: those that hold nowhere are left out, and
    have no force in rows where they do not. `asked` are the tasks of which it is said what they miss.
    """
    lengths = {name: part.stop - part.start for name, part in tasks.slices.items()}
    held = {frame: n for frame, n in sizes.items() if any(frame in row.forces for row in rows)}
    forces = {frame: np.array([row.forces.get(frame, np.zeros(n)) for row in rows]) for frame, n in held.items()}
    errors = {name: np.array([row.error[name] for row in rows]).reshape(-1, n) for name, n in lengths.items()}
    missed = {name: np.array([row.missed[name] for row in rows]).reshape(-1, lengths[name]) for name in asked}
    tau, qdd = (np.array(x).reshape(-1, tasks.model.nv) for x in ([r.tau for r in rows], [r.qdd for r in rows]))
    success = np.array([row.success for row in rows], bool)
    return WholeBodyCommand(tau, qdd, forces, errors, success, tuple(row.conflicts for row in rows), missed)


Held: TypeAlias = Iterable[str] | Iterable[Iterable[str]] | None
POSTURE_WEIGHT, LESS, FORCE_WEIGHT = 1e-4, 1e-3, 1e-8  # beside tasks of weight 1; less while others follow
STEADY = 1e-5  # price of forces that change, where a solver finds no answer that is there
BAND = 1e-6  # how far the acceleration of a task may leave what its priority has reached


@explained
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
        wanted, self.contacts = checked_tasks(tasks, contacts)
        self.model = model
        self.loops = tuple(Loop(task, c.rows) for task, c in zip(closure_tasks(model), model.closures, strict=True))
        self.held: tuple[Contact | Loop, ...] = (*self.contacts, *self.loops)
        self.tasks = TaskSet(model, [*wanted, *(held.task() for held in self.held)])
        check_flight(model, wanted, self.contacts)
        self.aims = AimSet(self.tasks, all_rows=False)
        names = [task.name for task in wanted]
        self.stiffness, self.damping = gains_of(self.tasks, gains)
        check_gains(posture_gains, "posture", model.nv)
        for given in (references or {}, weights or {}, priorities or {}, {} if isinstance(gains, Gains) else gains):
            odd = [name for name in given if name not in names]
            if odd:
                raise TaskError(f"{odd[0]!r} is none of the tasks {', '.join(map(repr, names))}")
        self.posture = None if posture is None else configuration(model, posture)
        self.posture_gains, self.cone, self.general = posture_gains, checked_cone(cone), general
        self.solver = cone_solver(solver) if cone == "second_order" else chosen_solver(solver)
        self._namer = chosen_solver(None) if cone == "second_order" else self.solver  # of conflicts
        self.bounds = AccelerationBounds(model, dt, horizon)
        self.references = ReferenceSet(self.tasks, dict(references or {}), names, [held.name for held in self.held])
        self._levels = priorities_of(self.tasks, names, weights or {}, priorities or {})
        self._posture_stiffness = np.where(model.actuated, posture_gains.stiffness, 0.0)
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._memories = [ControllerState(self.aims)]

    def __call__(self, t: float, q: Any, v: Any, contacts: Held = None) -> WholeBodyCommand:
        """The command at time t; `contacts` names the frames that hold now (all if none are named).

        For one state, or for a batch of robots, of which row k is the same robot in every call.
        """
        q, v = _numbers("q", q), _numbers("v", v)
        if q.shape == (self.model.nq,) and v.shape == (self.model.nv,):
            return self._command(self._memories[0], t, q, v, self._layout(contacts))
        command, status = self.with_status(t, q, v, contacts)
        if (status % UNMET).any():
            row = int(np.flatnonzero(status % UNMET)[0])
            raise NonFiniteError(f"there is no command for row {row}: q, v or the result is not finite")
        return command

    def with_status(self, t: float, q: Any, v: Any, contacts: Held = None) -> tuple[WholeBodyCommand, IntArray]:
        """The same and a status for each row: no row of a batch stops the others.

        It is 0 where all is well, 2 where an input is not finite and 3 where there is no answer (both with NaN), and 4
        where constraints conflict: `conflicts` says which gave way, as little as possible.
        `contacts` may be a list of names for each row.
        """
        q, v = _numbers("q", q), _numbers("v", v)
        for name, x, n in (("q", q, self.model.nq), ("v", v, self.model.nv)):
            if x.ndim not in (1, 2) or x.shape[-1] != n:
                raise ShapeError(f"{name} has shape ({n},) or (batch, {n}), got {x.shape}")
        states = common_rows([q, v])
        layouts = self._layouts_of(contacts, len(states[0]))
        self._memories += [ControllerState(self.aims) for _ in range(len(layouts) - len(self._memories))]
        found = [self._row(*each) for each in zip(self._memories, repeat(t), *states, layouts, strict=False)]
        status = np.array([code for _, code in found], np.int64)
        if q.ndim == v.ndim == 1:
            return found[0][0], status[0]
        sizes = {held.frame: held.rows for held in self.held}
        return stacked(self.tasks, [command for command, _ in found], sizes, self.references.names), status

    def forget(self, rows: Iterable[int] | None = None) -> None:
        """Begin anew with robots that were put elsewhere, all rows by default: contacts hold where they are next."""
        for k in range(len(self._memories)) if rows is None else rows:
            if 0 <= k < len(self._memories):
                self._memories[k] = ControllerState(self.aims)

    def _row(
        self, memory: ControllerState, t: float, q: FloatArray, v: FloatArray, layout: Layout
    ) -> tuple[WholeBodyCommand, int]:
        """One row of a batch with its status."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return no_command(self.tasks, layout, self.references.names), BAD_INPUT
        try:
            command = self._command(memory, t, q, v, layout)
        except (NumericalError, NonFiniteError, UnsolvedError):
            return no_command(self.tasks, layout, self.references.names), BAD_OUTPUT
        return command, OK if command.success else UNMET

    def _command(
        self, memory: ControllerState, t: float, q: FloatArray, v: FloatArray, layout: Layout
    ) -> WholeBodyCommand:
        self._hold(memory, layout, q)
        speed, acceleration, aimed = self.references(memory, t)
        H, C, J, rate, bias, error = self._function.call(q, v, memory.target, memory.goal)
        wanted = acceleration + self.damping * (speed - rate) + aimed * self.stiffness * error
        need, Jc = wanted - bias, J[layout.rows]
        if not need @ need < FASTEST * FASTEST:
            self.references.complain(t, need)
        D = np.concatenate([H, -Jc.T], axis=1)  # tau = D x + C
        limits = layout.constraints(D, C, Jc, need[layout.rows], self.bounds(q, v))
        x, tau, conflicts = self._solve(memory, layout, limits, (J, need, self._pull(q, v)), (D, C))
        if x is None:
            raise UnsolvedError(f"the solver {self.solver!r} found neither an answer nor a conflict: try another")
        tau[layout.loose] = 0.0
        x = layout.moved(x, tau, limits, D, C)
        nv, slices = self.model.nv, self.tasks.slices
        errors, left = {name: error[rows] for name, rows in slices.items()}, need - J @ x[:nv]
        missed = {name: left[slices[name]] for name in self.references.names}
        return WholeBodyCommand(tau, x[:nv], layout.shared(x[nv:]), errors, not conflicts, conflicts, missed)

    def _solve(
        self,
        memory: ControllerState,
        layout: Layout,
        s: Constraints,
        ask: tuple[FloatArray, ...],
        torque: tuple[FloatArray, ...],
    ) -> Any:
        """x and torques of the last priority, each within what those before it have reached, and what gave way.

        `ask` is J, a* - Jdot v and the pull of the posture, `torque` D and C. Where all constraints cannot hold, bounds
        of qdd give way; where that is not enough, the accelerations of contacts do as well.
        """
        tau: FloatArray | None
        D, C = torque
        x, tau = self._by_priority(memory, layout, s, ask, torque)
        if x is not None:
            return x, tau, ()
        memory.last.clear()
        s = layout.with_all(s, D, C)
        for equal in (layout.touching[:0], layout.touching):
            x, conflicts = self._giving_way(layout, s, ask, equal)
            if x is not None:
                return x, layout.clipped(D @ x + C), conflicts
        return None, None, ()

    def _by_priority(
        self,
        memory: ControllerState,
        layout: Layout,
        s: Constraints,
        ask: tuple[FloatArray, ...],
        torque: tuple[FloatArray, ...],
    ) -> Any:
        """x and torques where all constraints hold, or None twice.

        Where a solver finds no answer to a lower priority, there is one all the same: that of the priority above. It is
        asked again with forces that stay near to those, and if that does not help, the rest is left as it is.
        """
        x, tau = None, None
        for k, level in enumerate(self._levels):
            P, c, own = self._cost(layout, k, ask)
            key = (layout.names, k)
            found = self._within_torques(layout, P, c, s, torque, memory.last.get(key))
            if found is None and x is not None:
                forces = STEADY * (np.arange(len(c)) >= self.model.nv)
                found = self._within_torques(layout, P + np.diag(forces), c - forces * x, s, torque, x)
            if found is None:
                return x, tau
            x, tau, s = found
            memory.last[key] = x
            if level is not self._levels[-1]:
                s = layout.kept(s, own, x[: self.model.nv], BAND)
        return x, tau

    def _within_torques(
        self,
        layout: Layout,
        P: FloatArray,
        c: FloatArray,
        s: Constraints,
        torque: tuple[FloatArray, ...],
        start: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray, Constraints] | None:
        """The minimum, its torques, and the constraints: with torque limits if it would break them without."""
        D, C = torque
        x = self._minimum(layout, P, c, s, start)
        if x is not None and not layout.within(D @ x + C):
            s = layout.with_torques(s, D, C)
            x = self._minimum(layout, P, c, s, x)
        return None if x is None else (x, layout.clipped(D @ x + C), s)

    def _giving_way(self, layout: Layout, s: Constraints, ask: tuple[FloatArray, ...], equal: Any) -> Any:
        """x and the names of what gave way, or None where hard constraints still conflict."""
        x, names = None, tuple[str, ...]()
        for k, level in enumerate(self._levels):
            P, c, own = self._cost(layout, k, ask)
            found, gave = softened(P, c, s, self._namer, self.model.nv, equal)
            if found is None:
                break
            x, names = found, gave
            if level is not self._levels[-1]:
                s = layout.kept(s, own, x[: self.model.nv], BAND)
        return x, names

    def _cost(self, layout: Layout, k: int, ask: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """P and c of priority k, and the rows of J that are its own."""
        (J, need, pull), level, nv = ask, self._levels[k], self.model.nv
        small = POSTURE_WEIGHT * (1.0 if k == len(self._levels) - 1 else LESS)
        own = J[level.rows]
        weighed = (level.weight * own.T) if level.weighs else own.T
        P = layout.cost(small, FORCE_WEIGHT)
        P[:nv, :nv] += np.dot(weighed, own)
        c = np.zeros(len(P))
        c[:nv] = -small * pull - weighed @ need[level.rows]
        return P, c, own

    def _minimum(
        self, layout: Layout, P: FloatArray, c: FloatArray, s: Constraints, start: FloatArray | None
    ) -> FloatArray | None:
        if layout.cones is not None:
            return minimise_in_cones(P, c, s, layout.cones, self.model.nv)
        return minimise(P, c, s, self.solver, start)

    def _pull(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """The acceleration (nv,) towards the posture, or to rest."""
        pull = -self.posture_gains.rate * v
        if self.posture is not None:
            pull += self._posture_stiffness * self.model.difference(q, self.posture)
        return pull

    def _hold(self, memory: ControllerState, layout: Layout, q: FloatArray) -> None:
        """Contacts that are new hold where they are now; those that are gone are forgotten."""
        if memory.held.keys() == layout.held:
            return
        memory.release(memory.held.keys() - layout.held)
        for task in self.tasks.tasks:
            if task.name in layout.held and task.name not in memory.held:
                target = self._closed.get(task.name)
                memory.hold(task.name, task.position(self._dynamics, q) if target is None else target)

    @cached_property
    def _closed(self) -> dict[str, Any]:
        return closure_targets(self.model)

    def _layouts_of(self, contacts: Held, batch: int) -> list[Layout]:
        """A layout for each row."""
        if contacts is not None and not isinstance(contacts, str):
            contacts = list(contacts)
            if contacts and not isinstance(contacts[0], str):
                if len(contacts) != batch:
                    raise ShapeError(f"contacts are named for {len(contacts)} rows, but there are {batch}")
                return [self._layout(each) for each in contacts]
        return [self._layout(contacts)] * batch

    @cached_property
    def _all_held(self) -> Layout:
        return self._layout([contact.frame for contact in self.contacts])

    def _layout(self, contacts: Any) -> Layout:
        if contacts is None:
            return self._all_held
        chosen = self._named(contacts)
        held: tuple[Contact | Loop, ...] = (*chosen, *self.loops)
        key = tuple(contact.name for contact in held)
        if key not in self._layouts:
            self._layouts[key] = Layout(self.tasks, held, self.bounds, self.cone == "second_order")
        return self._layouts[key]

    def _named(self, frames: Iterable[str]) -> tuple[Contact, ...]:
        chosen = {frames} if isinstance(frames, str) else set(frames)
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
    def _function(self) -> CompiledFunction:
        """(q, v, target, posture) -> (H, C, J, J v, Jdot v, error), one compiled call."""
        tasks = self.tasks
        constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, self.aims.arrays)
        return Prepared(WHOLE, constants, tasks.sizes | {"aims": self.aims.size}).bind(tasks, self.general)


def _numbers(name: str, given: Any) -> FloatArray:
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is an array of numbers, got {given!r}") from None
