"""What simulations of linkages have in common: forces that are set, places that are asked for, runs, checkpoints."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from numbers import Integral
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar, cast

import numpy.typing as npt

from bough.adaptive.checkpoint import write_checkpoint
from bough.adaptive.closure import Closures
from bough.adaptive.equilibrium import STEPS, Given, minimize
from bough.adaptive.forces import Load, vector
from bough.adaptive.forecast import Forecast
from bough.adaptive.inputs import Inputs, model_without
from bough.adaptive.lbfgs import Energy, Result
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.outputs import Outputs
from bough.adaptive.restraints import Owner, Restraints, listed
from bough.adaptive.sensitivity import Sensitivity, sensitivity
from bough.adaptive.stats import Recorder
from bough.dynamics.laws import check_effects
from bough.errors import ModelError, SettingError
from bough.model import Model
from bough.record import progress_bar
from bough.types import FloatArray

T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))


class Interrupts:
    """Delivers signals between steps: state, counters and recordings move together, whatever interrupts a run.

    While a function of the user's runs, signals are delivered at once.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._waiting: int | None = None
        self._at_once = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self.deliver()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._at_once:
            self._handlers[number](number, frame)
        else:
            self._waiting = number

    def deliver(self) -> None:
        """Call the handler of a signal that waits."""
        number, self._waiting = self._waiting, None
        if number is not None:
            self._handlers[number](number, None)

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
        if not self._lock.acquire(blocking=False):
            raise SettingError(f"{method.__name__}: another thread uses this simulation; give each thread its own")
        try:
            return method(self, *args, **options)
        finally:
            self._lock.release()

    return cast("M", guarded)


class Simulation:
    """A linkage under forces. It has `inputs` (what is set) and `outputs` (what follows for bodies)."""

    outputs: Outputs

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
        raise NotImplementedError

    @property
    def error(self) -> ErrorMeasure:
        """The error measure."""
        raise NotImplementedError

    def apply_force(
        self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None = None, frame: str = "world"
    ) -> int:
        """Apply a force (3,), or [force, moment] (6,), to a body until it is changed; returns its number.

        `body` is a name (of any frame) or a place in `body_names`. `point` (3,) is fixed to the body, in its frame;
        without it the force acts at the frame's origin. With frame "world" it keeps its direction in space, with
        "body" it turns along.
        """
        return self.inputs.apply_force(body, force, point, frame)

    def change_force(self, number: int, force: npt.ArrayLike) -> None:
        """Give a force applied before another value; body, point and frame stay."""
        self.inputs.change_force(number, force)

    def remove_force(self, number: int) -> None:
        """Take a force away."""
        self.inputs.remove_force(number)

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

        All joints move, and friction is left out. Newton's method in a trust region with the exact stiffness, O(n) for
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
        ties = load.ties(None) if isinstance(load, Restraints) else None
        call = None if load is None or ties is not None else lambda: load(self)
        with progress_bar("settling", steps or STEPS, progress) as done:
            try:
                found = minimize(self.inputs, self._loops(), Given(ties, call, energy, done), tol, steps)
                if ties is not None:
                    load(self)  # type: ignore[misc]
            finally:
                self._release()
                self._has_moved()
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
            return sensitivity(self.inputs, self._loops(), ties, c)
        finally:
            self.inputs.potentials.refresh()
            self.inputs.changes.all()

    def _release(self) -> None:
        """Restraints act in the call to which they are given."""
        for restraints in self.inputs.restraints:
            restraints.release()

    @property
    def all_restraints(self) -> tuple[Restraints, ...]:
        """Restraints in the order in which they were made; after `resume`, too."""
        return tuple(self.inputs.restraints)

    def _owner(self) -> Owner:
        """What restraints know of this simulation."""
        raise NotImplementedError

    def _loops(self) -> Closures | None:
        """Loops that are closed."""
        raise NotImplementedError

    def _has_moved(self) -> None:
        """All joints are elsewhere, and at rest."""
        raise NotImplementedError

    @exclusive
    def positions(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """Origins of bodies or frames in the world (k, 3); all of `body_names` without an argument.

        O(log n) each on a tree that is up to date, else O(n) for all.
        """
        return self.outputs.poses(bodies)[:, :3, 3]

    @exclusive
    def poses(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """World placements (k, 4, 4) of bodies or frames; costs as `positions`."""
        return self.outputs.poses(bodies)

    @exclusive
    def forecast(self, eps: Iterable[float]) -> Forecast:
        """How many joints would be active, and what adaptive steps would gain, with each of these errors: for the
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
        raise NotImplementedError

    @property
    def steps(self) -> int:
        """Steps taken."""
        raise NotImplementedError

    @exclusive
    def _run(
        self, what: str, n: int, progress: bool, record: Recorder | None, take: Callable[[int, Interrupts], int]
    ) -> None:
        """n steps, at most so many at once as `take` is told; it says how many it took."""
        if not (isinstance(n, Integral) and n >= 0):
            raise SettingError(f"the number of steps must not be negative, and a whole number, got {n!r}")
        last = self.steps + n
        with progress_bar(what, n, progress) as advance, Interrupts() as interrupts:
            while self.steps < last:
                interrupts.deliver()
                most = min(last - self.steps, 64 if progress else n)
                if record is not None:
                    most = min(most, record.every - self.steps % record.every)
                done = take(most, interrupts)
                if record is not None and self.steps % record.every == 0:
                    record.take(self)
                advance(done)

    @exclusive
    def checkpoint(self, path: str | Path) -> None:
        """Write all that is needed to go on exactly as if nothing had happened, to the last bit.

        The file is complete or is not there: a kill while it is written leaves the one before.
        """
        arrays, facts = self.inputs.state()
        facts["restraints"] = []
        for k, restraints in enumerate(self.inputs.restraints):
            own, known = restraints.state()
            arrays |= {f"restraint_{k}_{name}": array for name, array in own.items()}
            facts["restraints"].append([int(restraints.load.numbers[0]), known])
        more, parts = self._parts()
        write_checkpoint(
            path, arrays | more, {"model": self.model.hash, "without": list(self.without), "inputs": facts, **parts}
        )

    def _restore_inputs(self, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> None:
        """What was set when a checkpoint was written; restraints are restraints again."""
        self.inputs.restore(arrays, facts["inputs"])
        for k, (number, known) in enumerate(facts["inputs"]["restraints"]):
            own = {name: arrays[f"restraint_{k}_{name}"] for name in ("stiffness", "length", "targets", "drift")}
            load = next(load for load in self.inputs.groups if load.numbers[0] == number)
            Restraints.restored(self._owner(), load, own, known)

    def _parts(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What its parts remember beyond its inputs, as arrays and plain facts."""
        raise NotImplementedError
