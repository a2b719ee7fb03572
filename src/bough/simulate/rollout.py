"""Rollouts: the motion of one state or many through time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any, Literal, TypeAlias
from warnings import warn

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.run.arrays import is_count, real_array
from bough.compile.settings import on_threads
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import Effect, check_effects
from bough.dynamics.prescribed import Path, PrescribedMotion
from bough.dynamics.stepping import Integrator, integrator_named
from bough.errors import BoughError, NonFiniteError, NumericalError, ShapeError, unknown_option
from bough.model import Model
from bough.opspace import Loops
from bough.record import progress_bar
from bough.simulate.constrained_stepper import FAILURES, ConstrainedStepper, check_closed, has_rows
from bough.simulate.contacts import Contacts
from bough.simulate.drives import Drive, Target, Wrenches, is_finite, servo_gains, start_target
from bough.simulate.integration import step_by_acceleration, step_function
from bough.simulate.recording import Recording
from bough.types import FloatArray

Torque: TypeAlias = Callable[[float, FloatArray, FloatArray], npt.ArrayLike]
Pushes: TypeAlias = Callable[[float, FloatArray, FloatArray], Mapping[str, npt.ArrayLike]]
Forces: TypeAlias = Pushes | Mapping[str, npt.ArrayLike]
Law: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
Advance: TypeAlias = Callable[..., tuple[FloatArray, FloatArray]]  # of q, v, dt, tau and further inputs
# Beyond this speed (rad/s or m/s) a motion that fails is said to have diverged.
RUNAWAY = 1e6
MOST_STEPS = 10**9


@explained
def rollout(
    model: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    duration: float,
    dt: float,
    tau: Torque | npt.ArrayLike | None = None,
    forces: Forces | None = None,
    servo: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    target: Target | None = None,
    motion: Law | Mapping[str, Path] | None = None,
    integrator: Integrator = "semi_implicit_euler",
    without: Iterable[Effect] = (),
    contacts: Contacts | None = None,
    failures: Literal["raise", "record"] = "raise",
    every: int = 1,
    progress: bool = False,
    dynamics: Dynamics | None = None,
    threads: int | None = None,
    torque: Torque | None = None,
) -> Recording:
    """The motion from q (nq,) and v (nv,), or from many states (batch, ...), for exactly `duration` seconds.

    Steps take dt; the last one is shorter if dt does not divide the duration. `tau` are joint forces (nv,) or
    (batch, nv), or a function of (t, q, v) that gives them, called once a step; zero if omitted. q and v are read-only
    there. `torque` is the old name of `tau`. `forces` are external wrenches [force, moment] on frames by name, in world
    axes at their origins (see `Dynamics`), or a function of (t, q, v) that gives them. Joints act by their damping,
    springs, dry friction and limits, less what `without` names (see `dynamics.laws`). In "semi_implicit_euler" damping
    is implicit; the other integrators take it as it is, and are of first order in steps in which a joint meets its
    stop, leaves it, sticks or slips. With `servo` = (kp, kd), numbers or arrays (nv,), revolute and prismatic joints
    are drawn to `target`, (nv,) or a function of (t, q, v), with no more than their effort; the start if omitted.

    `motion` prescribes joints by name: functions of time that give a position, or (position, velocity), in the layout
    of q and v; a floating base is prescribed alike. Beside loops, mimic joints and contacts the integrator is
    "semi_implicit_euler". Or it is a function (q, v, tau) that gives the whole acceleration: then joints act only
    through it.

    Loops of the model stay closed, unless `without` names "closures"; start from `bough.close_loops`. Integrators keep
    their order with them (see `constrained_stepper`). `contacts` are points that may touch the ground (see `contacts`),
    which records "contact_force" (T, contacts, 3), in newtons, and "contact_residual" (T,), by which the last sweep of
    the solver still changed a velocity. With contacts the integrator is "semi_implicit_euler", and impulses of loops,
    contacts and joints are found together.

    A state whose motion cannot be continued raises, named; with failures="record" it stays where it was, the others go
    on, and `Recording.failed_at` says when. Every `every`-th step is recorded, start and end too. Many states are
    advanced on at most so many `threads`.
    """
    if torque is not None:
        if tau is not None:
            raise ShapeError("tau and torque are one argument under two names: give tau alone")
        warn("rollout(torque=...) is now rollout(tau=...)", DeprecationWarning, stacklevel=3)
        tau = torque
    for name, x in {"duration": duration, "dt": dt}.items():
        if not isinstance(x, Real):
            raise ShapeError(f"{name} must be a number, got {x!r}")
    integrator = integrator_named(integrator)
    if failures not in ("raise", "record"):
        raise unknown_option(f"failures is 'raise' or 'record', got {failures!r}", failures, ("raise", "record"))
    if not (dt > 0.0 and duration >= dt and math.isfinite(duration / dt) and is_count(every)):
        raise ShapeError(f"expected 0 < dt <= duration and a whole number every >= 1, got {dt=}, {duration=}, {every=}")
    if duration / dt > MOST_STEPS:
        raise ShapeError(f"duration / dt is {duration / dt:.3g} steps, expected at most {MOST_STEPS:,}")
    q, v = (np.array(real_array(name, x), float) for name, x in (("q", q), ("v", v)))
    if q.ndim not in (1, 2) or q.shape[-1] != model.nq or v.shape != (*q.shape[:-1], model.nv):
        raise ShapeError(f"expected q ({model.nq},) and v ({model.nv},), or batches, got {q.shape} and {v.shape}")
    if forces is not None and callable(motion):
        raise ShapeError("forces act on the motion of the model itself: leave motion= out, or put them into it")
    if target is not None and servo is None:
        raise ShapeError("target is for servos: give servo=(kp, kd)")
    strict = failures == "raise"
    known, off = dynamics or Dynamics(model), check_effects(without)
    extras = _Extras(model, q, servo, target, None if callable(motion) else motion, strict)
    stepper = _stepper(known, off, contacts, integrator, motion if callable(motion) else None, extras)
    if callable(motion):
        advance = _by_acceleration(integrator, model, motion)
    elif stepper is None:
        advance = _by_kernel(known, integrator, off, extras)
    else:
        advance = _by_stepper(stepper, 3 if extras.gains else 0)
    steps = _Steps(advance, q, v, strict, extras, stepper.forget if stepper else None)
    with on_threads(threads):
        steps.check_start(partial(_refuse, model, stepper.loops if stepper else None))
    drive = Drive("tau", tau, v.shape, strict)
    count, taken = max(1, math.ceil(duration / dt - 1e-9)), []
    reports: list[dict[str, FloatArray]] = []
    with on_threads(threads), progress_bar("simulating", count, progress) as advanced:
        for k in range(count):
            t = k * dt
            push = drive(t, steps.q, steps.v)
            if k % every == 0:
                taken.append((t, steps.q, steps.v, push))
            end = duration if k == count - 1 else (k + 1) * dt
            pushes = None if forces is None else _wrenches(known, forces, t, steps)
            # steps of one length, whatever the rounding of times
            steps.take(push, t, dt if k < count - 1 else end - t, pushes)
            if stepper and contacts and (k % every == 0):
                reports.append(stepper.report(np.isinf(steps.failed_at)))
            advanced(1)
    taken.append((float(duration), steps.q, steps.v, push))
    time, q, v, taus = (np.array(column) for column in zip(*taken, strict=True))
    if stepper and contacts:
        reports.append(stepper.report(np.isinf(steps.failed_at)))
    extra = {name: np.array([r[name] for r in reports]) for name in (reports[0] if reports else ())}
    return Recording(model, time, q, v, taus, extra, failed_at=None if strict else steps.failed_at)


def _wrenches(dynamics: Dynamics, forces: Forces, t: float, steps: _Steps) -> Wrenches:
    """At time t."""
    found = Wrenches(dynamics, forces(t, steps.q, steps.v) if callable(forces) else forces, steps.q)
    if steps.strict and not is_finite(found.F):
        wrong = found.names[int(np.argmin(np.isfinite(found.F).reshape(-1, len(found.names), 6).all(axis=(0, 2))))]
        raise NonFiniteError(f"forces[{wrong!r}] is not finite at t = {t:g} s")
    return found


def _refuse(model: Model, loops: Loops | None, q: FloatArray) -> None:
    """Refuse states without a motion: a quaternion of zeros or NaN, or an open loop."""
    model.integrate(q, np.zeros((*q.shape[:-1], model.nv)))
    if loops is not None:
        check_closed(loops, q)


class _Extras:
    """Further inputs of a step: targets and gains of servos, velocities of prescribed joints."""

    def __init__(
        self, model: Model, q: FloatArray, servo: Any, target: Target | None, paths: Mapping[str, Path] | None,
        strict: bool,
    ) -> None:  # fmt: skip
        if paths is not None and not isinstance(paths, Mapping):
            raise ShapeError(f"motion is a dictionary of joints and functions of time, or a function, got {paths!r}")
        self.gains = [] if servo is None else servo_gains(model, servo, len(q) if q.ndim == 2 else None)
        goal: Any = start_target(model, q) if target is None else target
        self.target = Drive("target", goal, (*q.shape[:-1], model.nv), strict)
        self.paths = PrescribedMotion(model, paths) if paths else None
        self.prescribed = self.paths.dofs if self.paths else []

    def __call__(self, t: float, dt: float, q: FloatArray, v: FloatArray) -> list[FloatArray]:
        """Further inputs of a step: of servos; velocities of prescribed joints after it, and where they are then."""
        found = [self.target(t, q, v), *self.gains] if self.gains else []
        return found if self.paths is None else [*found, *self.paths(t, dt, q)]


def _stepper(
    dynamics: Dynamics, off: tuple[str, ...], contacts: Contacts | None, integrator: Integrator, motion: Law | None,
    extras: _Extras,
) -> ConstrainedStepper | None:  # fmt: skip
    """The stepper for loops, contacts and mimic joints, if there are any."""
    if contacts is not None and not isinstance(contacts, Contacts):
        raise ShapeError(f"contacts are bough.simulate.Contacts(points, ground, friction), got {contacts!r}")
    if motion is not None:
        if contacts is not None:
            raise ShapeError("contacts act on the motion of the model itself: leave motion= out, and give tau=")
        return None
    if not has_rows(dynamics.model, contacts, off):
        return None
    how: Any = {"servo": bool(extras.gains), "motion": extras.paths, "integrator": integrator}
    return ConstrainedStepper(dynamics, contacts, off, **how)


class _Steps:
    """States of a rollout; those that failed are not stepped any more."""

    def __init__(
        self, advance: Advance, q: FloatArray, v: FloatArray, strict: bool, extras: _Extras,
        forget: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.advance, self.q, self.v, self.strict, self.forget = advance, q, v, strict, forget
        self.extras = extras
        self.failed_at, self.is_whole = np.full(q.shape[:-1], np.inf), True
        self._seal()

    def check_start(self, refuse: Callable[[FloatArray], None]) -> None:
        """Check all initial states; refused ones raise, or are never stepped."""
        try:
            refuse(self.q)
            return
        except BoughError:
            if self.strict:
                raise
        self.is_whole = False
        if self.q.ndim == 1:
            self.failed_at[()] = 0.0
        for r in range(len(self.q) if self.q.ndim == 2 else 0):
            try:
                refuse(self.q[r])
            except BoughError:
                self.failed_at[r] = 0.0

    def take(self, tau: FloatArray, t: float, dt: float, pushes: Wrenches | None = None) -> None:
        """Step all states that have not failed by dt."""
        given = (tau, *self.extras(t, dt, self.q, self.v))
        try:
            if self.is_whole:
                self.q, self.v = self._finite(..., given, dt, pushes)
            elif (alive := np.isinf(self.failed_at)).any():
                moved = self._finite(alive, given, dt, pushes)
                self.q, self.v = self.q.copy(), self.v.copy()
                self.q[alive], self.v[alive] = moved
        except FAILURES as error:
            self._one_by_one(given, t, dt, error, pushes)
        self._seal()

    def _seal(self) -> None:
        """Make the state read-only: users' functions are called with it."""
        self.q.setflags(write=False)
        self.v.setflags(write=False)

    def _finite(
        self, rows: Any, given: tuple[FloatArray, ...], dt: float, pushes: Wrenches | None
    ) -> tuple[FloatArray, FloatArray]:
        q, v = self.q, self.v
        if rows is not ...:
            given = tuple(x[rows] if x.ndim == self.q.ndim else x for x in given)
            q, v = q[rows], v[rows]
        if pushes is not None:
            given = (given[0] + pushes(q, rows), *given[1:])
        q, v = self.advance(q, v, dt, *given)
        if not (is_finite(q) and is_finite(v)):
            raise NonFiniteError("the state became infinite")
        return q, v

    def _one_by_one(
        self, given: tuple[FloatArray, ...], t: float, dt: float, error: BoughError, pushes: Wrenches | None
    ) -> None:
        """Repeat a failed step for each state alone, to find those that fail."""
        if self.q.ndim == 1:
            self._fail((), t, error)
            return
        q, v = self.q.copy(), self.v.copy()
        for r in np.flatnonzero(np.isinf(self.failed_at)):
            if self.forget:
                self.forget()
            try:
                moved = self._finite(slice(r, r + 1), given, dt, pushes)
                q[r], v[r] = moved[0][0], moved[1][0]
            except FAILURES as own:
                self._fail((int(r),), t, own)
        self.q, self.v = q, v

    def _fail(self, row: tuple[int, ...], t: float, error: BoughError) -> None:
        self.failed_at[row], self.is_whole = t, False
        if self.strict:
            which = f" of row {row[0]} of the batch" if row else ""
            speed = float(np.abs(self.v[row]).max(initial=0.0))
            if speed > RUNAWAY or isinstance(error, NonFiniteError):
                reason = f"became infinite (it has diverged: speeds near {speed:.0e}): take a smaller step"
            else:
                reason = f"cannot go on: {error}"
            raise NumericalError(f"the motion{which} {reason} (at t = {t:g} s)") from None


def _by_kernel(dynamics: Dynamics, integrator: Integrator, off: tuple[str, ...], extras: _Extras) -> Advance:
    """Steps of joints alone."""
    how: Any = {"servo": bool(extras.gains), "prescribed": extras.prescribed, "general": dynamics.general}
    call, lengths = step_function(dynamics.model, integrator, off, **how).call, {}
    places = extras.paths.coordinates if extras.paths else []

    def advance(q: FloatArray, v: FloatArray, dt: float, *given: FloatArray) -> tuple[FloatArray, FloatArray]:
        if dt not in lengths:
            lengths[dt] = np.array([dt])
        if not places:
            found: Any = call(q, v, *given, lengths[dt])
            return found
        q, v = call(q, v, *given[:-1], lengths[dt])
        q[..., places] = given[-1][..., places]
        return q, v

    return advance


def _by_stepper(stepper: ConstrainedStepper, servos: int) -> Advance:
    """Steps with contacts, loops or mimic joints."""
    return lambda q, v, dt, tau, *more: stepper.advance(q, v, tau, dt, servo=more[:servos], lead=more[servos:])


def _by_acceleration(integrator: Integrator, model: Model, law: Law) -> Advance:
    def advance(q: FloatArray, v: FloatArray, dt: float, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            return step_by_acceleration(model, integrator, lambda x, y: law(x, y, tau), q, v, dt)

    return advance
