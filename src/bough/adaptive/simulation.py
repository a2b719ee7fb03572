"""The base of both faces: inputs, poses and forces of bodies, runs, checkpoints."""

from __future__ import annotations

import math
import signal
import threading
import warnings

# those of `signal` itself take longer than a step, as they look for the names of handlers
from _signal import getsignal  # type: ignore[import-not-found]
from _signal import signal as set_signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from numbers import Integral
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from bough.adaptive.checkpoint import assembly_of, checkpoint_of, measure_of, write_checkpoint
from bough.adaptive.closure import Closure, distinct
from bough.adaptive.equilibrium import STEPS, Request, minimize
from bough.adaptive.forces import Load, vector, wrench
from bough.adaptive.inputs import Inputs, model_without
from bough.adaptive.lbfgs import Energy, Result
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.potentials import Function, Potential
from bough.adaptive.restraints import Owner, Restraints, listed
from bough.adaptive.sensitivity import Sensitivity, sensitivity
from bough.adaptive.stats import Forecast, Recorder
from bough.dynamics import Dynamics as Functions
from bough.dynamics.laws import check_effects
from bough.errors import ModelError, SettingError
from bough.model import Model
from bough.record import progress_bar
from bough.types import FloatArray, IntArray

T = TypeVar("T")
S = TypeVar("S", bound="Simulation")
M = TypeVar("M", bound=Callable[..., Any])
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))
NO_HANDLER = (signal.SIG_DFL, signal.SIG_IGN, None)


class Interrupts:
    """Delivers signals between steps: state, counters and recordings move together, whatever interrupts a run.

    While a function of the user's runs, signals are delivered at once.
    """

    waiting: int | None = None
    _at_once = False

    def __enter__(self) -> Interrupts:
        self._handlers: list[tuple[int, Callable[[int, FrameType | None], Any]]] = []
        for number in SIGNALS:
            handler = getsignal(number)
            if handler not in NO_HANDLER:
                try:
                    set_signal(number, self._receive)
                except ValueError:  # another thread than the main one, which no signal reaches
                    break
                self._handlers.append((number, handler))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._handlers:
            set_signal(number, handler)
        if self.waiting is not None:
            self.deliver()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._at_once:
            dict(self._handlers)[number](number, frame)
        else:
            self.waiting = number

    def deliver(self) -> None:
        """Call the handler of a signal that waits."""
        number, self.waiting = self.waiting, None
        if number is not None:
            dict(self._handlers)[number](number, None)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function of the user's."""
        self._at_once = True
        try:
            self.deliver()
            return function()
        finally:
            self._at_once = False


def exclusive(method: M) -> M:
    """Refuse to run in two threads at once: a simulation has one state."""

    @wraps(method)
    def guarded(self: Simulation, *args: Any, **options: Any) -> Any:
        if not self._lock.acquire(False):
            raise SettingError(
                f"{method.__name__.strip('_')}: another thread uses this simulation; give each thread its own"
            )
        try:
            return method(self, *args, **options)
        finally:
            self._lock.release()

    return cast("M", guarded)


class Simulation:
    """A linkage under forces: `inputs` are what is set, a solver and a stepper find what follows."""

    solver: Any  # a `Solver`: finds accelerations
    stepper: Any  # a `Stepper`: moves, and counts steps
    _title: str  # of a progress bar

    def __init__(self, model: Model, without: str | Iterable[str]) -> None:
        self.model, self.without = model, check_effects(without)
        self.inputs = Inputs(model_without(model, self.without))
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        joints, error = len(self.model.joints), self.error
        measure = f"{error.name}({error.eps:g})" if error.eps else "exact"
        name = f"{type(self).__name__} of {self.model.name!r}"
        return f"{name}: {joints} joints, method {self.method!r}, {measure}, {self.steps} steps"

    @property
    def method(self) -> str:
        """As given."""
        return self.solver.method

    @property
    def error(self) -> ErrorMeasure:
        """The error measure; another may be assigned between steps. Active joints are then chosen anew.

        An eps below the noise floor is raised to it when it is first used, with a warning.
        """
        return self.solver.error

    @error.setter
    def error(self, measure: Any) -> None:
        self.solver.take_error(measure)

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,) in m/s^2, a copy, the model's until another is assigned."""
        return self.inputs.gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        before, self.inputs.gravity = self.gravity, np.asarray(value)
        if not np.array_equal(before, self.gravity):
            self.stepper.restart(moved=False)

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy; assigning moves the linkage there, with its velocity as it is."""
        return self.inputs.configuration

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        self.inputs.configuration = np.asarray(q)
        self.stepper.restart()

    @property
    def closures(self) -> tuple[Closure, ...]:
        """Loops that are held, those of the model among them; others may be assigned between steps, to add and cut.

        Those of a motion must be closed where the linkage is, and leave of its velocity what keeps them so.
        """
        return () if self.solver.closures is None else self.solver.closures.closures

    @closures.setter
    def closures(self, given: Iterable[Closure]) -> None:
        self.solver.close(distinct(given))
        if self.solver.moves:  # velocities may open them
            self.stepper.restart()

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures."""
        return self.solver.opening()

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self.stepper.steps

    @property
    def time(self) -> float:
        """Sum of the dt of all steps, s."""
        return self.stepper.time

    def apply_force(
        self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None = None, frame: str = "world"
    ) -> int:
        """Apply a force (3,), or [force, moment] (6,), to a body until it is changed; returns its number.

        `body` is a name (of any frame) or a place in `body_names`. `point` (3,) is fixed to the body, in its frame;
        without it the force acts at the frame's origin. With frame "world" it keeps its direction in space, with
        "body" it turns along.
        """
        at = np.zeros((1, 3)) if point is None else vector(point, 3, "point")[None]
        forces, f = self.inputs.forces, wrench(force)
        return int(forces.add_many(forces.frames([body]), at, frame, f[None])[0])

    def change_force(self, number: int, force: npt.ArrayLike) -> None:
        """Give a force applied before another value; body, point and frame stay."""
        forces = self.inputs.forces
        if not forces.wait(number, force):
            forces.write(np.array([forces.row(number)]), wrench(force)[None])

    def remove_force(self, number: int) -> None:
        """Take a force away."""
        self.inputs.remove([number])

    def clear_forces(self) -> None:
        """Take all forces away."""
        self.inputs.clear_forces()

    def loads(
        self,
        bodies: Iterable[str | int],
        points: npt.ArrayLike | None = None,
        frame: str = "world",
        moments: bool = False,
    ) -> Load:
        """Forces on many bodies, zero until `load.values[...] = f` sets some or all of them; (k, 3), with `moments`
        [force, moment] (k, 6). `points` (k, 3) are fixed to the bodies; frames as in `apply_force`."""
        return self.inputs.loads(bodies, points, frame, moments)

    def remove_load(self, load: Load | Any) -> None:
        """Take a load, or restraints, away."""
        self.inputs.remove_load(load)

    @property
    def all_loads(self) -> tuple[Load, ...]:
        """Loads that act now, in the order in which they were made; after `resume`, too."""
        springs = [id(restraints.load) for restraints in self.inputs.restraints]
        return tuple(load for load in self.inputs.groups if id(load) not in springs)

    def set_torque(self, joint: str | None, value: npt.ArrayLike) -> None:
        """Set the torque of one joint (d,), or with None those of all (nv,)."""
        self.inputs.set_torque(joint, value)

    def set_potential(self, joints: str | int | Iterable[str | int], *potentials: Potential | Function) -> None:
        """Give joints potentials V(x), beside the springs of the model; those set before are replaced, by none perhaps.

        A potential is made by `harmonic`, `dihedral` or `barrier`, or is a function (x, which) -> (V, V', V''),
        (k,) each, of coordinates x (k,) of the joints in these places of those named; it is called for joints that
        moved, only. Joints have one coordinate, and are named or given by place in `joint_names`.
        """
        self.inputs.set_potential(joints, *potentials)
        self.solver.take_potentials()
        self.stepper.restart(moved=False)

    def restraints(
        self,
        bodies: Iterable[str | int],
        targets: npt.ArrayLike | None = None,
        stiffness: npt.ArrayLike = 1.0,
        *,
        points: npt.ArrayLike | None = None,
        others: Iterable[str | int] | None = None,
        other_points: npt.ArrayLike | None = None,
        length: npt.ArrayLike = 0.0,
    ) -> Restraints:
        """Springs (N/m) from `points` (k, 3) of bodies to `targets` (k, 3) in space, or to points of `others`.

        They act where they are the load of `run` or `minimize`, which is quicker than a function that sets forces.
        `length` (m) is theirs at rest. Points are origins unless they are given.
        """
        if (targets is None) == (others is None):
            raise SettingError("restraints: expected targets in space or other bodies, one of them")
        given = {"points": points, "other_points": other_points, "targets": targets}
        first = listed(bodies)
        return Restraints(self._owner(), first or [], listed(others), stiffness=stiffness, length=length, **given)

    @exclusive
    def minimize(
        self,
        load: Callable[[Any], float | None] | None = None,
        tol: float = 1e-9,
        *,
        energy: Energy | None = None,
        steps: int | None = None,
        progress: bool = False,
    ) -> Result:
        """Settle to an equilibrium of gravity, loads, restraints and potentials, loops closed, within joint limits.

        All joints move, and friction is ignored. Newton's method in a trust region with the exact stiffness, O(n) for
        a step. It ends when no body turns (rad), and no joint slides (as a share of the linkage's size), by more than
        `tol` in a step, or after so many `steps`, 200 by default. A result that is not converged comes with a warning;
        at a saddle, `direction` of the result leads down.

        Parameters
        ----------
        load : restraints; or a function that is called with this simulation wherever forces are needed, to set them.
            If it returns a number, that is the energy of all forces but potentials.
        energy : f(q) -> (E, gradient (nv,)), an energy beside all others, with its gradient along the tangent vector
            that `Model.integrate` takes. With it, or with a load that returns a number, L-BFGS in the mass metric takes
            the place of Newton's method, and `steps` are evaluations, 1,000 by default.
        """
        if self.solver.paths is not None:
            raise SettingError("minimize moves all joints: assign motion = None first, no joint follows a motion then")
        ties = load.ties(None) if isinstance(load, Restraints) else None
        call = None if load is None or ties is not None else lambda: load(self)
        with progress_bar("settling", steps or STEPS, progress) as done:
            try:
                found = minimize(self.inputs, self.solver.closures, Request(ties, call, energy, done), tol, steps)
                if ties is not None:
                    load(self)  # type: ignore[misc]
            finally:
                for restraints in self.inputs.restraints:
                    restraints.release()
                self.solver.motion.v[:] = 0.0
                self.stepper.restart()
        if not found.converged:
            warnings.warn(found.reason, stacklevel=3)
        return found

    @exclusive
    def equilibrium_gradient(self, cotangent: npt.ArrayLike, restraints: Restraints | None = None) -> Sensitivity:
        """The gradient of a function of the equilibrium here, of which `cotangent` (nv,) is the gradient along q.

        With respect to torques, the model's springs, and the restraints that hold it: the implicit function theorem,
        with one solve in O(n). Call `minimize` first, with the same restraints.
        """
        c, ties = vector(cotangent, self.model.nv, "cotangent"), None if restraints is None else restraints.ties(None)
        try:
            return sensitivity(self.inputs, self.solver.closures, ties, c)
        finally:
            self.inputs.potentials.refresh()
            self.inputs.changes.all()

    @property
    def all_restraints(self) -> tuple[Restraints, ...]:
        """Restraints in the order in which they were made; after `resume`, too."""
        return tuple(self.inputs.restraints)

    def _owner(self) -> Owner:
        """The simulation as restraints see it: their targets move by its time, at rest by pseudo-time."""
        clock = self.solver.clock
        now = (lambda: self.time) if self.solver.moves else (lambda: float(clock.time[0]))
        return Owner(self.inputs, now, self.solver.poses)

    @exclusive
    def accelerations(self) -> FloatArray:
        """Joint accelerations (nv,) here and now, within the error; zero where a joint is inactive.

        With springs, potentials or open loops they are those of a step like the last one, implicit and closing gaps.
        """
        return self.solver.solve().copy()

    @exclusive
    def positions(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """Origins of bodies or frames in the world (k, 3); all of `body_names` without an argument.

        O(log n) each on a tree that is up to date, else O(n) for all.
        """
        return self._poses(self._frames(bodies))[:, :3, 3]

    @exclusive
    def poses(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """World placements (k, 4, 4) of bodies or frames; costs as `positions`."""
        return self._poses(self._frames(bodies))

    @exclusive
    def generalized_forces(
        self, frames_or_points: Sequence[str | tuple[str, npt.ArrayLike]], F: npt.ArrayLike
    ) -> FloatArray:
        """tau (nv,) = J' F of wrenches at frames, or at points of frames: see `bough.Dynamics.generalized_forces`."""
        return self._functions.generalized_forces(self.configuration, frames_or_points, F)

    @cached_property
    def _functions(self) -> Functions:
        return Functions(self.inputs.model, general=True)

    def _frames(self, bodies: Iterable[str | int] | None) -> IntArray:
        return self.inputs.model.body_frames if bodies is None else self.inputs.forces.frames(bodies)

    def _poses(self, ks: IntArray) -> FloatArray:
        frames = self.inputs.model.frames
        body = frames.body[ks]
        laid = self.solver.poses(np.maximum(body, 0))
        laid[body < 0] = np.eye(4, 3).ravel()
        R = laid[:, :9].reshape(-1, 3, 3)
        out = np.zeros((len(ks), 4, 4))
        out[:, :3, :3] = R @ frames.R[ks]
        out[:, :3, 3] = laid[:, 9:] + np.einsum("nij,nj->ni", R, frames.p[ks])
        out[:, 3, 3] = 1.0
        return out

    def _in_world(self, ks: IntArray, found: FloatArray, arm: FloatArray) -> FloatArray:
        """[linear, angular] (k, 6) at arms (k, 3) from the laid origins of frames, in the world's axes; zero on the
        ground. `found` (k, 6) are motions of laid frames, angular first."""
        body = self.inputs.model.frames.body[ks]
        R = self.solver.poses(np.maximum(body, 0))[:, :9].reshape(-1, 3, 3)
        linear = found[:, 3:] + np.cross(found[:, :3], arm)
        out = np.concatenate([np.einsum("nij,nj->ni", R, x) for x in (linear, found[:, :3])], axis=1)
        out[body < 0] = 0.0
        return out

    @exclusive
    def constraint_forces(self, joints: Iterable[str | int] | None = None) -> FloatArray:
        """[force, moment] (k, 6) on the bodies that joints move, through these joints, at the bodies' origins, in the
        world's axes; what motors and springs exert is part of it. By name or place in `joint_names`; all without one.

        At rest exact, whatever the error allowed, and O(log n) each on the tree. Else O(n) for all; locked joints of a
        motion transmit what holds them.
        """
        model, frames = self.inputs.model, self.inputs.model.frames
        bodies = None if joints is None else [model.joint(j).body if isinstance(j, str) else j for j in joints]
        ks = self._frames(bodies)
        found = self.solver.transmitted(frames.body[ks])
        R = self.solver.poses(frames.body[ks])[:, :9].reshape(-1, 3, 3)
        moment = found[:, :3] - np.cross(frames.p[ks], found[:, 3:])
        return np.concatenate([np.einsum("nij,nj->ni", R, x) for x in (found[:, 3:], moment)], axis=1)

    @exclusive
    def forecast(self, eps: Iterable[float]) -> Forecast:
        """Forecast the number of active joints and the gain of adaptive steps with each of these errors: for the
        present posture, velocity and loads. The simulation stays as it is. O(n) for each.

        An error below the noise floor counts as that, and 0 as no gain.
        """
        wanted = sorted({float(e) for e in eps}, reverse=True)
        if not wanted:
            raise SettingError("forecast: expected at least one eps")
        if self.inputs.potentials.functions:
            raise SettingError("forecast: potentials that are Python functions are unknown to it")
        measures = [replace(self.error, eps=e) for e in wanted]
        joints, found = len(self.model.joints), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for measure in measures:
                try:
                    active, cost = self._expected(measure) if measure.eps else (joints, math.inf)
                except ModelError:  # there is no assembly tree
                    active, cost = joints, math.inf
                found.append((active, max(1.0, joints / max(cost, 1.0))))
        return Forecast(self.error.name, joints, tuple(wanted), *zip(*found, strict=True))

    def _expected(self, measure: ErrorMeasure) -> tuple[int, float]:
        """Active joints with another error, and what a step with them costs, in joints of a full step."""
        options = self.solver.options | {"method": "adaptive"}
        face: Any = type(self)
        other = face(self.inputs.model, measure, closures=self.closures, **options)
        other.inputs.restore(self.inputs.state())
        other.solver.take_potentials()
        other.solver.motion.v[:] = self.solver.motion.v
        other.solver.set_step(self.solver.h)
        other.solver.laws.led[:] = self.solver.laws.led
        other.accelerations()
        return other.solver.forecast()

    @exclusive
    def _run(
        self, n: int, h: float, dt: float, progress: bool, record: Recorder | None, load: Callable[[Any], Any] | None
    ) -> None:
        """n steps of h; under a function that sets forces one by one, else as many at once as may be."""
        if not ((type(n) is int or isinstance(n, Integral)) and n >= 0):
            raise SettingError(f"the number of steps must not be negative, and a whole number, got {n!r}")
        try:
            if progress:
                with progress_bar(self._title, n) as advance:
                    self._steps(n, h, dt, record, load, advance)
            else:
                self._steps(n, h, dt, record, load, None)
        finally:
            for restraints in self.inputs.restraints:  # they act in the call to which they are given
                restraints.release()

    def _steps(
        self,
        n: int,
        h: float,
        dt: float,
        record: Recorder | None,
        load: Callable[[Any], Any] | None,
        advance: Callable[[int], None] | None,
    ) -> None:
        stepper, last = self.stepper, self.stepper.steps + n
        with Interrupts() as interrupts:
            while stepper.steps < last:
                if interrupts.waiting is not None:
                    interrupts.deliver()
                most = last - stepper.steps
                if advance is not None:
                    most = min(most, 64)
                if record is not None:
                    most = min(most, record.every - stepper.steps % record.every)
                if load is None:
                    done = stepper.take(most, h, dt)
                else:
                    done = stepper.take_under(lambda: interrupts.call(lambda: load(self)), h, dt)
                if record is not None and stepper.steps % record.every == 0:
                    record.take(self)
                if advance is not None:
                    advance(done)

    @exclusive
    def checkpoint(self, path: str | Path) -> None:
        """Write all that is needed to go on exactly as if nothing had happened, to the last bit.

        The file is complete or is not there: a kill while it is written leaves the one before.
        """
        state: dict[str, Any] = {"model": self.model.hash, "without": list(self.without), "inputs": self.inputs.state()}
        state["closures"] = [[c.a, c.b, c.joint] for c in self.closures]
        state["restraints"] = {str(k): r.state() for k, r in enumerate(self.inputs.restraints)}
        state |= {"kind": type(self).__name__, "solver": self.solver.state(), "stepper": self.stepper.state()}
        write_checkpoint(path, state)

    @classmethod
    def resume(cls: type[S], model: Model, path: str | Path) -> S:
        """Go on from a checkpoint of the same model; a damaged one, or one of another model, is refused."""
        state = checkpoint_of(model, path, cls.__name__)
        solver, stepper = state["solver"], state["stepper"]
        options = solver["options"] | stepper["options"] | {"without": state["without"]}
        if "assembly" in options:
            options["assembly"] = assembly_of(options["assembly"])
        face: Any = cls
        sim: S = face(model, measure_of(solver["measure"]), **options)
        sim._restore(state)
        sim.stepper.restore(stepper)
        sim.solver.restore(solver)
        return sim

    def _restore(self, state: dict[str, Any]) -> None:
        """Take back the inputs of a checkpoint; restraints are restraints again."""
        self.closures = tuple(Closure(*c) for c in state["closures"])
        self.inputs.restore(state["inputs"])
        self.solver.take_potentials()
        for known in state["restraints"].values():
            Restraints.restored(self._owner(), known)
