"""Whole-body control: inverse dynamics as a quadratic program (de Lasa, Mordatch & Hertzmann 2010; Herzog et al. 2016).

The variables are qdd and the forces f of the contacts; torques follow, tau = H qdd + C - J_c' f. Subject to
    tau = 0 where there is no motor,  |tau| <= effort,  J_c qdd + Jdot_c v = a_c,  cones of f,  bounds of qdd
sum of weight |J qdd + Jdot v - a*|^2 over the tasks is minimised, priority by priority. Bounds of qdd keep velocities
within their limits after one step, and approach to a position limit no faster than its distance over `horizon`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import CompiledFunction
from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import asarray, full, is_on_gpu, library_of, on_host
from bough.control.batch import SOLVED, BatchProgram, Law, outputs
from bough.control.cones import cone_solver, minimise_in_cones
from bough.control.contacts import Contact, Loop
from bough.control.layout import Layout
from bough.control.limits import AccelerationBounds
from bough.control.program import Constraints, chosen_solver, minimise, softened
from bough.control.references import (
    FASTEST,
    ControllerState,
    Gains,
    ReferenceSet,
    check_flight,
    check_gains,
    checked_tasks,
    gains_of,
    priorities_of,
    put_target,
)  # fmt: skip
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError, unknown_option
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, closure_targets, closure_tasks
from bough.opspace.methods import Prepared
from bough.opspace.status import BAD_INPUT, BAD_OUTPUT, OK, UNMET, common_rows
from bough.opspace.sweeps.complete import WHOLE
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
    missed: dict[str, FloatArray]  # acceleration that each task asks for, less what it gets
    residual: Any = 0.0  # () the largest violation of a constraint, also of those that gave way: N, N m, m/s^2, rad/s^2


Cone: TypeAlias = Literal["pyramid", "second_order"]
Held: TypeAlias = Iterable[str] | Iterable[Iterable[str]] | None
POSTURE_WEIGHT, LESS, FORCE_WEIGHT = 1e-4, 1e-3, 1e-8  # beside tasks of weight 1; less while others follow
STEADY = 1e-5  # price of forces that change, where a solver finds no answer that is there
BAND = 1e-6  # how far the acceleration of a task may leave what its priority has reached
SIDE_BY_SIDE = 8  # robots with the same contacts, from which on they are solved together


@explained
class WholeBody:
    """Torques for tasks, within limits of motors and contacts: `controller(t, q, v)` returns a `WholeBodyCommand`.

    Batches are solved together by an interior-point method, and rows that it does not solve by `solver`.

    Parameters
    ----------
    model : the robot.
    tasks : tasks to track.
    contacts : contacts that may be active.
    references : for each task a `Reference` (or a position), or a function of time; by default the task is at rest.
    gains : stiffness and damping of all tasks, or of each.
    weights : numbers above zero, by task.
    priorities : 0, 1, ... by task, strict.
    posture : (nq,) for motions that no task determines; by default these are damped.
    posture_gains : stiffness and damping of the posture.
    dt : seconds between two commands.
    horizon : seconds; a joint approaches a position limit no faster than its distance over this.
    solver : a solver of `qpsolvers`, for all rows.
    cone : "pyramid" inside the friction cone, or "second_order" for the cone itself, by Clarabel.
    general : compile nothing for this robot.
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
        self.posture = None if posture is None else np.asarray(posture, float)
        if self.posture is not None and (self.posture.shape != (model.nq,) or not np.isfinite(self.posture).all()):
            raise ShapeError(f"posture is a finite configuration ({model.nq},), got shape {self.posture.shape}")
        if cone not in get_args(Cone):
            raise unknown_option(f"cone is 'pyramid' or 'second_order', got {cone!r}", cone, get_args(Cone))
        self.posture_gains, self.cone, self.general = posture_gains, cone, general
        self.solver = cone_solver(solver) if cone == "second_order" else chosen_solver(solver)
        self._namer = chosen_solver(None) if cone == "second_order" else self.solver  # of conflicts
        self.bounds = AccelerationBounds(model, dt, horizon)
        self.references = ReferenceSet(self.tasks, references or {}, names, [held.name for held in self.held])
        self._levels = priorities_of(self.tasks, names, weights or {}, priorities or {})
        held_to = 0.0 if posture is None else posture_gains.stiffness
        self._posture_stiffness = np.where(model.actuated, held_to, 0.0)
        self._posture_rate = np.broadcast_to(np.asarray(posture_gains.rate, float), (model.nv,)).copy()
        self._rest = model.neutral.copy() if self.posture is None else self.posture
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._programs: dict[Any, BatchProgram] = {}
        self._targets: Any = None  # on a GPU, and the contacts that are made there
        self._made: tuple[str, ...] | None = None
        self._together = solver is None and cone == "pyramid"
        self._state = ControllerState(self.aims, [held.name for held in self.held])

    def __call__(self, t: float, q: Any, v: Any, contacts: Held = None) -> WholeBodyCommand:
        """The command at time t; `contacts` names the frames that hold now (all if none are named).

        For one state, or for a batch of robots, of which row k is the same robot in every call. Tensors on a GPU
        (float64, the same contacts for all rows) give tensors; `conflicts` is then one tensor: 0 where nothing gave
        way, 1 where bounds of qdd did, 2 where contacts did as well.
        """
        if is_on_gpu(q):
            return self._on_gpu(t, q, v, contacts)
        q, v = (np.asarray(real_array(name, x), float) for name, x in (("q", q), ("v", v)))
        if q.shape == (self.model.nq,) and v.shape == (self.model.nv,):
            return self._command(0, t, q, v, self._layout(contacts))
        command, status = self.with_status(t, q, v, contacts)
        if (status % UNMET).any():
            row = int(np.flatnonzero(status % UNMET)[0])
            raise NonFiniteError(f"there is no command for row {row}: q, v or the result is not finite")
        return command

    def with_status(self, t: float, q: Any, v: Any, contacts: Held = None) -> tuple[WholeBodyCommand, IntArray]:
        """The command, and a status for each row: no row of a batch raises for the others.

        It is 0 where all is well, 2 where an input is not finite and 3 where there is no answer (both with NaN), and 4
        where constraints conflict: `conflicts` says which gave way, as little as possible.
        `contacts` may be a list of names for each row.
        """
        q, v = (np.asarray(real_array(name, x), float) for name, x in (("q", q), ("v", v)))
        for name, x, n in (("q", q, self.model.nq), ("v", v, self.model.nv)):
            if x.ndim not in (1, 2) or x.shape[-1] != n:
                raise ShapeError(f"{name} has shape ({n},) or (batch, {n}), got {x.shape}")
        q_rows, v_rows = common_rows([q, v])
        layouts = self._layouts_of(contacts, len(q_rows))
        self._state.grow(len(layouts))
        command, status = self._commands(t, q_rows, v_rows, layouts)
        if q.ndim > 1 or v.ndim > 1:
            return command, status
        held = {frame: f for frame, f in command.forces.items() if frame in layouts[0].frames}
        each: Any = (
            {k: y[0] for k, y in x.items()} if isinstance(x, dict) else x[0] for x in command._replace(forces=held)
        )
        return WholeBodyCommand(*each), status[0]

    def forget(self, rows: Iterable[int] | None = None) -> None:
        """Forget contacts of rows whose robots were reset, by default of all; the next call sets them anew."""
        count = len(self._state.target)
        self._state.forget([k for k in (range(count) if rows is None else rows) if 0 <= k < count])
        self._made = None

    def _commands(
        self, t: float, q: FloatArray, v: FloatArray, layouts: list[Layout]
    ) -> tuple[WholeBodyCommand, IntArray]:
        """Commands of all rows: many with the same contacts side by side, others and those not solved so alone."""
        whole, status = self._no_commands(layouts), np.full(len(q), BAD_OUTPUT, np.int64)
        good = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        status[~good] = BAD_INPUT
        conflicts: list[tuple[str, ...]] = [()] * len(q)
        for layout in dict.fromkeys(layouts):
            rows = np.array([k for k in np.flatnonzero(good).tolist() if layouts[k] is layout], np.int64)
            if self._together and len(rows) >= SIDE_BY_SIDE:
                names = self._put_many(whole, layout, rows, t, q[rows], v[rows])
                for k, gave in names.items():
                    conflicts[k], status[k] = gave, UNMET if gave else OK
                rows = np.array([k for k in rows.tolist() if k not in names], np.int64)
            for k in rows.tolist():
                with suppress(NumericalError, NonFiniteError, UnsolvedError):
                    one = self._command(k, t, q[k], v[k], layout)
                    conflicts[k], status[k] = one.conflicts, OK if one.success else UNMET
                    pairs = (whole.forces, one.forces), (whole.error, one.error), (whole.missed, one.missed)
                    for mine, own in pairs:
                        for name, x in own.items():
                            mine[name][k] = x
                    whole.tau[k], whole.qdd[k] = one.tau, one.qdd
                    whole.success[k], whole.residual[k] = one.success, one.residual
        return whole._replace(conflicts=tuple(conflicts)), status

    def _no_commands(self, layouts: list[Layout]) -> WholeBodyCommand:
        """NaN in all rows; zero force where a contact is inactive, no entry for contacts that never are active."""
        count, slices = len(layouts), self.tasks.slices
        nan = {name: np.full((count, rows.stop - rows.start), np.nan) for name, rows in slices.items()}
        held = {held.frame: held.rows for held in self.held if any(held.frame in x.frames for x in set(layouts))}
        forces = {frame: np.zeros((count, rows)) for frame, rows in held.items()}
        for frame, force in forces.items():
            force[[frame in layout.frames for layout in layouts]] = np.nan
        tau, qdd = np.full((2, count, self.model.nv), np.nan)
        missed = {name: nan[name].copy() for name in self.references.names}
        return WholeBodyCommand(tau, qdd, forces, nan, np.zeros(count, bool), (), missed, np.full(count, np.nan))

    def _put_many(
        self, whole: WholeBodyCommand, layout: Layout, rows: IntArray, t: float, q: FloatArray, v: FloatArray
    ) -> dict[int, tuple[str, ...]]:
        """Put the commands of rows with one layout into `whole`; what gave way in each row that was solved."""
        state = self._state
        self._hold(layout, rows, q)
        reference = np.stack(self.references(state, t))
        program = self._program(layout, q)
        *filled, error = outputs(program.fill, (q, v, state.target[rows], state.goal, self._rest, reference))
        found = program.solve(filled, self._small)
        conflicts, need = program.conflicts(found, filled[-1]), filled[-1]
        named = (found.gave_way == 0) | np.array(list(map(bool, conflicts)))
        solved = named & (found.residual <= SOLVED) & ((need**2).sum(axis=1) < FASTEST * FASTEST)
        here, left = rows[solved], found.left[solved]
        whole.tau[here], whole.qdd[here] = found.tau[solved], found.qdd[solved]
        whole.success[here] = found.gave_way[solved] == 0
        whole.residual[here] = np.maximum(found.residual, found.gaps.max(axis=1, initial=0.0))[solved]
        for frame, force in layout.shared(found.forces[solved].T).items():
            whole.forces[frame][here] = force.T
        for name, part in self.tasks.slices.items():
            whole.error[name][here] = error[solved, part]
            if name in whole.missed:
                whole.missed[name][here] = left[:, part]
        return {int(rows[k]): conflicts[k] for k in np.flatnonzero(solved)}

    def _on_gpu(self, t: float, q: Any, v: Any, contacts: Held) -> WholeBodyCommand:
        """Commands of tensors (batch, nq) and (batch, nv) on a GPU, as tensors."""
        for name, x, n in (("q", q, self.model.nq), ("v", v, self.model.nv)):
            if x.ndim != 2 or x.shape[1] != n or not str(x.dtype).endswith("float64"):
                raise ShapeError(f"on a GPU {name} is float64 of shape (batch, {n}), got {x.dtype}, {tuple(x.shape)}")
        if self.cone != "pyramid":
            raise TaskError("on a GPU friction is a pyramid: cone='second_order' is for the CPU")
        layout = self._layout(contacts)
        reference = asarray(np.stack(self.references(self._state, t)), q)
        program = self._program(layout, q)
        rest, goal = asarray(self._rest, q), asarray(self._state.goal, q)
        *filled, error = program.fill.call(q, v, self._gpu_targets(layout, q), goal, rest, reference)
        found = program.solve(filled, self._small)
        solved, slices = found.residual <= SOLVED, self.tasks.slices
        return WholeBodyCommand(
            found.tau,
            found.qdd,
            {frame: found.forces[:, part] for frame, part in zip(layout.frames, layout.parts, strict=True)},
            {name: error[:, rows] for name, rows in slices.items()},
            solved & (found.gave_way == 0),
            (found.gave_way,),
            {name: found.left[:, slices[name]] for name in self.references.names},
            found.residual,
        )

    def _gpu_targets(self, layout: Layout, q: Any) -> Any:
        """(batch, aims, 12) on the GPU; contacts that are new hold where they are now, which the host computes."""
        state, count = self._state, len(q)
        if self._targets is None or len(self._targets) != count:
            self._targets, self._made = full((count, self.aims.size, 12), 0.0, q) + asarray(state.target[0], q), None
        if self._made != layout.names:
            state.grow(count)
            self._hold(layout, np.arange(count), on_host(q))
            for place in (state.place[name] for name in layout.names):
                self._targets[:, place] = asarray(state.target[:count, place], q)
            self._made = layout.names
        for place in (state.place[name] for name in self.references.references if name in state.place):
            self._targets[:, place] = asarray(state.target[0, place], q)
        return self._targets

    def _program(self, layout: Layout, like: Any) -> BatchProgram:
        key = layout.names, library_of(like)
        if key not in self._programs:
            law = Law(self.stiffness, self.damping, self._posture_stiffness, self._posture_rate)
            how = (self.tasks, self.aims, layout, self._levels, self.bounds, law, self._function, self.general)
            self._programs[key] = BatchProgram(*how, like[:0] + 0)
        return self._programs[key]

    def _small(self, level: int) -> tuple[float, float]:
        """Weights of qdd and of forces beside the tasks of a priority: less while others follow."""
        return POSTURE_WEIGHT * (1.0 if level == len(self._levels) - 1 else LESS), FORCE_WEIGHT

    def _command(self, row: int, t: float, q: FloatArray, v: FloatArray, layout: Layout) -> WholeBodyCommand:
        state = self._state
        self._hold(layout, np.array([row]), q[None])
        speed, acceleration, aimed = self.references(state, t)
        H, C, J, rate, bias, error = self._function.call(q, v, state.target[row], state.goal)
        wanted = acceleration + self.damping * (speed - rate) + aimed * self.stiffness * error
        need, Jc = wanted - bias, J[layout.rows]
        if not need @ need < FASTEST * FASTEST:
            self.references.complain(t, need)
        D = np.concatenate([H, -Jc.T], axis=1)  # tau = D x + C
        limits = layout.constraints(D, C, Jc, need[layout.rows], self.bounds(q, v))
        x, tau, conflicts = self._solve(state.last[row], layout, limits, (J, need, self._pull(q, v)), (D, C))
        if x is None:
            raise UnsolvedError(f"the solver {self.solver!r} found neither an answer nor a conflict: try another")
        tau[layout.loose] = 0.0
        if conflicts or len(self._levels) > 1:  # where solvers are less exact
            x = layout.pressed(x)
        x = layout.moved(x, tau, limits, D, C)
        nv, slices = self.model.nv, self.tasks.slices
        errors, left = {name: error[rows] for name, rows in slices.items()}, need - J @ x[:nv]
        missed = {name: left[slices[name]] for name in self.references.names}
        found = (tau, x[:nv], layout.shared(x[nv:]), errors, not conflicts, conflicts, missed)
        return WholeBodyCommand(*found, layout.violation(x, limits))

    def _solve(
        self,
        last: dict[Any, FloatArray],
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
        x, tau = self._by_priority(last, layout, s, ask, torque)
        if x is not None:
            return x, tau, ()
        last.clear()
        s = layout.with_all(s, D, C)
        for equal in (layout.touching[:0], layout.touching):
            x, conflicts = self._giving_way(layout, s, ask, equal)
            if x is not None:
                return x, layout.clipped(D @ x + C), conflicts
        return None, None, ()

    def _by_priority(
        self,
        last: dict[Any, FloatArray],
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
            found = self._within_torques(layout, P, c, s, torque, last.get(key))
            if found is None and x is not None:
                forces = STEADY * (np.arange(len(c)) >= self.model.nv)
                found = self._within_torques(layout, P + np.diag(forces), c - forces * x, s, torque, x)
            if found is None:
                return x, tau
            x, tau, s = found
            last[key] = x
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
        own, (small, forces) = J[level.rows], self._small(k)
        weighed = (level.weight * own.T) if level.weighs else own.T
        P = layout.cost(small, forces)
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
        pull = -self._posture_rate * v
        if self.posture is not None:
            pull += self._posture_stiffness * self.model.difference(q, self.posture)
        return pull

    def _hold(self, layout: Layout, rows: IntArray, q: FloatArray) -> None:
        """Contacts that are new hold where they are now, at q (rows, nq); those that are gone are forgotten."""
        state, held = self._state, np.array([held.name in layout.names for held in self.held], bool)
        made = state.made[rows]
        if (made == held).all():
            return
        for k in np.flatnonzero((held & ~made).any(axis=0)).tolist():
            new, contact = ~made[:, k], self.held[k]
            target = np.empty((np.count_nonzero(new), 12))
            if isinstance(contact, Contact):
                target[:] = state.target[rows[new], state.place[contact.name]]
                put_target(target, contact.placements(self._dynamics, q[new]))
            else:
                target[:] = self.aims.target(contact.name, closure_targets(self.model)[contact.name], state.goal)[0]
            state.target[rows[new], state.place[contact.name]] = target
        state.made[rows] = held

    def _layouts_of(self, contacts: Held, batch: int) -> list[Layout]:
        """A layout for each row."""
        if contacts is not None and not isinstance(contacts, str):
            contacts = list(contacts)
            if contacts and not isinstance(contacts[0], str):
                if len(contacts) != batch:
                    raise ShapeError(f"contacts are named for {len(contacts)} rows, but there are {batch}")
                return [self._layout(each) for each in contacts]
        return [self._layout(contacts)] * batch

    def _layout(self, frames: Any) -> Layout:
        known = [contact.frame for contact in self.contacts]
        chosen = set(known) if frames is None else {frames} if isinstance(frames, str) else set(frames)
        if odd := chosen - set(known):
            raise TaskError(f"{sorted(odd)[0]!r} is none of the contacts {', '.join(map(repr, known))}")
        held = tuple(x for x in self.held if isinstance(x, Loop) or x.frame in chosen)
        key = tuple(contact.name for contact in held)
        if key not in self._layouts:
            self._layouts[key] = Layout(self.tasks, held, self.bounds, self.cone == "second_order")
        return self._layouts[key]

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
