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
from bough.control.active_sets import chosen_solver
from bough.control.batch import outputs
from bough.control.cones import cone_solver
from bough.control.contacts import Contact, Loop
from bough.control.limits import AccelerationBounds
from bough.control.program import SOLVED, Answers, Program, Setup
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
from bough.control.rows import Law
from bough.errors import NonFiniteError, NumericalError, ShapeError, TaskError, unknown_option
from bough.model import Model
from bough.opspace import AimSet, Task, TaskSet, closure_targets, closure_tasks
from bough.opspace.status import BAD_INPUT, BAD_OUTPUT, OK, UNMET, common_rows
from bough.types import FloatArray, IntArray


class WholeBodyCommand(NamedTuple):
    """One answer of a `WholeBody` controller; in a batch with a leading axis."""

    tau: FloatArray  # (nv,), zero where there is no motor
    qdd: FloatArray  # (nv,) the acceleration that they give while the contacts hold
    forces: dict[str, FloatArray]  # of each contact that is held, by frame, and of loops: in the rows of their tasks
    error: dict[str, FloatArray]  # target less position of each task
    success: Any  # () False: some constraints gave way to others, as little as possible
    conflicts: tuple[Any, ...]  # which gave way, in words; in a batch such a tuple for each row
    missed: dict[str, FloatArray]  # acceleration that each task asks for, less what it gets
    residual: Any = 0.0  # () the largest violation of a constraint, also of those that gave way: m/s^2, rad/s^2


Cone: TypeAlias = Literal["pyramid", "second_order"]
Held: TypeAlias = Iterable[str] | Iterable[Iterable[str]] | None
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
        exact = cone == "second_order"
        namer = chosen_solver(None if exact else solver)
        self.solver = cone_solver(solver) if exact else namer
        self.references = ReferenceSet(self.tasks, references or {}, names, [held.name for held in self.held])
        held_to, rate = 0.0 if posture is None else posture_gains.stiffness, np.asarray(posture_gains.rate, float)
        law = Law(
            self.stiffness, self.damping, np.where(model.actuated, held_to, 0.0), np.broadcast_to(rate, model.nv).copy()
        )
        levels = priorities_of(self.tasks, names, weights or {}, priorities or {})
        bounds = AccelerationBounds(model, dt, horizon)
        self._setup = Setup(self.tasks, self.aims, self.held, levels, bounds, law, general, namer, exact)
        self._rest = model.neutral.copy() if self.posture is None else self.posture
        self._programs: dict[Any, Program] = {}
        self._targets: Any = None  # on a GPU, and the contacts that are made there
        self._made: tuple[str, ...] | None = None
        self._together = solver is None and not exact
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
            return _first(self._one(0, t, q, v, self._program(contacts, q)))
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
        programs = self._programs_of(contacts, q_rows)
        self._state.grow(len(programs))
        command, status = self._commands(t, q_rows, v_rows, programs)
        if q.ndim > 1 or v.ndim > 1:
            return command, status
        held = {frame: f for frame, f in command.forces.items() if frame in programs[0].frames}
        return _first(command._replace(forces=held)), status[0]

    def forget(self, rows: Iterable[int] | None = None) -> None:
        """Forget contacts of rows whose robots were reset, by default of all; the next call sets them anew."""
        count = len(self._state.target)
        self._state.forget([k for k in (range(count) if rows is None else rows) if 0 <= k < count])
        self._made = None

    def _commands(
        self, t: float, q: FloatArray, v: FloatArray, programs: list[Program]
    ) -> tuple[WholeBodyCommand, IntArray]:
        """Commands of all rows: many with the same contacts side by side, others and those not solved so alone."""
        whole, status = self._no_commands(programs), np.full(len(q), BAD_OUTPUT, np.int64)
        good = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        status[~good] = BAD_INPUT
        conflicts: list[tuple[str, ...]] = [()] * len(q)

        def put(rows: IntArray, command: WholeBodyCommand, chosen: Any) -> None:
            for mine, own in zip(whole, command, strict=True):
                if isinstance(mine, dict):
                    for name, x in own.items():
                        mine[name][rows] = x[chosen]
                elif own is not command.conflicts:
                    mine[rows] = own[chosen]
            for row, k in zip(rows.tolist(), np.flatnonzero(chosen).tolist(), strict=True):
                conflicts[row] = command.conflicts[k]
                status[row] = UNMET if conflicts[row] else OK

        for program in dict.fromkeys(programs):
            rows = np.array([k for k in np.flatnonzero(good).tolist() if programs[k] is program], np.int64)
            if self._together and len(rows) >= SIDE_BY_SIDE:
                many, solved = self._many(rows, t, q[rows], v[rows], program)
                put(rows[solved], many, solved)
                rows = rows[~solved]
            for k in rows.tolist():
                with suppress(NumericalError, NonFiniteError):
                    put(np.array([k]), self._one(k, t, q[k], v[k], program), np.array([True]))
        return whole._replace(conflicts=tuple(conflicts)), status

    def _no_commands(self, programs: list[Program]) -> WholeBodyCommand:
        """NaN in all rows; zero force where a contact is inactive, no entry for contacts that never are active."""
        count, slices = len(programs), self.tasks.slices
        nan = {name: np.full((count, rows.stop - rows.start), np.nan) for name, rows in slices.items()}
        held = {held.frame: held.rows for held in self.held if any(held.frame in x.frames for x in set(programs))}
        forces = {frame: np.zeros((count, rows)) for frame, rows in held.items()}
        for frame, force in forces.items():
            force[[frame in program.frames for program in programs]] = np.nan
        tau, qdd = np.full((2, count, self.model.nv), np.nan)
        missed = {name: nan[name].copy() for name in self.references.names}
        return WholeBodyCommand(tau, qdd, forces, nan, np.zeros(count, bool), (), missed, np.full(count, np.nan))

    def _many(
        self, rows: IntArray, t: float, q: FloatArray, v: FloatArray, program: Program
    ) -> tuple[WholeBodyCommand, Any]:
        """Commands of rows with the same contacts, and which of them are solved."""
        state = self._state
        self._hold(program, rows, q)
        reference = np.stack(self.references(state, t))
        *filled, error = outputs(program.fill, (q, v, state.target[rows], state.goal, self._rest, reference))
        found, need = program.solve(filled), filled[5]
        command = self._command(program, found, need, error)
        solved = (found.gave_way == 0) | ~command.success
        solved &= (found.residual <= SOLVED) & ((need**2).sum(axis=1) < FASTEST * FASTEST)
        return command, solved

    def _one(self, row: int, t: float, q: FloatArray, v: FloatArray, program: Program) -> WholeBodyCommand:
        """The command of one robot, as a batch of one."""
        state = self._state
        self._hold(program, slice(row, row + 1), q[None])
        reference = np.array(self.references(state, t))
        H, C, J, rate, bias, error = self._function.call(q, v, state.target[row], state.goal)
        asked = reference[1] + self.damping * reference[0] + reference[2] * self.stiffness * error
        if not asked @ asked < FASTEST * FASTEST:
            self.references.complain(t, asked)
        *rows, need = program.fill_one.call(q, v, self._rest, reference, H, C, J, rate, bias, error)
        found = program.solve_one([x[None] for x in (*rows, need, C)], state.last[row])
        return self._command(program, found, need[None], error[None])

    def _command(self, program: Program, found: Answers, need: Any, error: Any) -> WholeBodyCommand:
        """The command of a batch."""
        success: Any
        conflicts: tuple[Any, ...]
        if program.on_gpu:
            success = (found.residual <= SOLVED) & (found.gave_way == 0)
            conflicts, residual = (found.gave_way,), found.residual
        else:
            conflicts = tuple(program.conflicts(found, need))
            success = np.array([not names for names in conflicts], bool)
            residual = np.maximum(found.residual, found.gaps.max(axis=1, initial=0.0))
        slices = self.tasks.slices
        forces = {frame: found.forces[:, part] for frame, part in zip(program.frames, program.parts, strict=True)}
        errors = {name: error[:, rows] for name, rows in slices.items()}
        missed = {name: found.left[:, slices[name]] for name in self.references.names}
        return WholeBodyCommand(found.tau, found.qdd, forces, errors, success, conflicts, missed, residual)

    def _on_gpu(self, t: float, q: Any, v: Any, contacts: Held) -> WholeBodyCommand:
        """Commands of tensors (batch, nq) and (batch, nv) on a GPU, as tensors."""
        for name, x, n in (("q", q, self.model.nq), ("v", v, self.model.nv)):
            if x.ndim != 2 or x.shape[1] != n or not str(x.dtype).endswith("float64"):
                raise ShapeError(f"on a GPU {name} is float64 of shape (batch, {n}), got {x.dtype}, {tuple(x.shape)}")
        if self._setup.exact:
            raise TaskError("on a GPU friction is a pyramid: cone='second_order' is for the CPU")
        program = self._program(contacts, q)
        reference = asarray(np.stack(self.references(self._state, t)), q)
        rest, goal = asarray(self._rest, q), asarray(self._state.goal, q)
        *filled, error = program.fill.call(q, v, self._gpu_targets(program, q), goal, rest, reference)
        return self._command(program, program.solve(filled), filled[5], error)

    def _gpu_targets(self, program: Program, q: Any) -> Any:
        """(batch, aims, 12) on the GPU; contacts that are new hold where they are now, which the host computes."""
        state, count = self._state, len(q)
        if self._targets is None or len(self._targets) != count:
            self._targets, self._made = full((count, self.aims.size, 12), 0.0, q) + asarray(state.target[0], q), None
        if self._made != program.names:
            state.grow(count)
            self._hold(program, slice(count), on_host(q))
            for place in (state.place[name] for name in program.names):
                self._targets[:, place] = asarray(state.target[:count, place], q)
            self._made = program.names
        for place in (state.place[name] for name in self.references.references if name in state.place):
            self._targets[:, place] = asarray(state.target[0, place], q)
        return self._targets

    def _hold(self, program: Program, some: IntArray | slice, q: FloatArray) -> None:
        """Contacts that are new hold where they are now, at q (rows, nq); those that are gone are forgotten."""
        state, held = self._state, program.active
        made = state.made[some]
        if (made == held).all():
            return
        rows = np.arange(len(state.made))[some]
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

    def _programs_of(self, contacts: Held, q: FloatArray) -> list[Program]:
        """A program for each row."""
        if contacts is not None and not isinstance(contacts, str):
            contacts = list(contacts)
            if contacts and not isinstance(contacts[0], str):
                if len(contacts) != len(q):
                    raise ShapeError(f"contacts are named for {len(contacts)} rows, but there are {len(q)}")
                return [self._program(each, q) for each in contacts]
        return [self._program(contacts, q)] * len(q)

    def _program(self, frames: Any, like: Any) -> Program:
        known = [contact.frame for contact in self.contacts]
        chosen = set(known) if frames is None else {frames} if isinstance(frames, str) else set(frames)
        if odd := chosen - set(known):
            raise TaskError(f"{sorted(odd)[0]!r} is none of the contacts {', '.join(map(repr, known))}")
        held = tuple(x for x in self.held if isinstance(x, Loop) or x.frame in chosen)
        key = tuple(contact.name for contact in held), library_of(like)
        if key not in self._programs:
            self._programs[key] = Program(self._setup, held, like[:0] + 0)
        return self._programs[key]

    @cached_property
    def _dynamics(self) -> Any:
        from bough.dynamics.dynamics import Dynamics

        return Dynamics(self.model, general=self._setup.general)

    @cached_property
    def _function(self) -> CompiledFunction:
        """(q, v, target, posture) -> (H, C, J, J v, Jdot v, error), one compiled call for all contacts."""
        return self._setup.prepared().bind(self.tasks, self._setup.general)


def _first(command: WholeBodyCommand) -> WholeBodyCommand:
    """The first row of a batch."""
    each: Any = ({k: y[0] for k, y in x.items()} if isinstance(x, dict) else x[0] for x in command)
    return WholeBodyCommand(*each)
