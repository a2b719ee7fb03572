"""Steps of many states with contacts, loops and mimic joints: the choice of a kernel for each row of a batch.

Straight-line kernels (`contact_step`) try the likely ways first: all contacts stick or are open, or some of them slip;
no joint is at a stop, or some are. Rows in which the laws do not hold then are stepped by general code, which goes on
until they do; at last with rows for stops. What a row gets depends on itself alone.

Integrators of higher order take accelerations of `ConstrainedDynamics`, an ordinary differential equation whatever the
state; positions and velocities are then projected onto the loops, along the least way in the metric of the masses. As
what a step leaves is of its own order, so is the result (Hairer & Wanner 1996, VII.2). A step in which a stop or dry
friction acts is one of semi-implicit Euler, in which both are exact.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import GPU, CompiledFunction
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import bind
from bough.dynamics.laws import LAW_FORCES, check_effects, joint_laws
from bough.dynamics.parameters import Parameters
from bough.dynamics.prescribed import PrescribedMotion
from bough.dynamics.stepping import Integrator
from bough.errors import NonFiniteError, NumericalError, ShapeError
from bough.model import Model
from bough.opspace import ConstrainedDynamics, Loops
from bough.simulate.contact_step import AGAIN, CHANGE, CONTACT_STEP, DEPTH, EXCESS, LARGEST, ROW_STEP, SLIPS, SPENT
from bough.simulate.contacts import Contacts, ContactSpace
from bough.simulate.integration import step_by_acceleration
from bough.simulate.lift import LIFT
from bough.simulate.step_kernels import SWEEPS, Setting, StepKernels, all_parameters
from bough.simulate.stops import LOCKED as AT_STOPS
from bough.simulate.stops import WATCHED
from bough.types import FloatArray, IntArray

FAILURES = (NumericalError, NonFiniteError)  # of one state by itself: any other error is one of all states
DEEP = 1e-6  # metres: points that are further inside the ground are lifted
OPEN = 1e-3  # metres or radians by which loops may be open at the start
# Ways of a step: straight-line kernels, with LOCKED among their bits where joints may be at stops, or general code,
# the second time with rows for stops
STICKING, SWEPT, LOCKED, GENERAL, WITH_STOPS = 1, 2, 4, 8, 16


class Situation(NamedTuple):
    """States before a step, a row for each: forces of joints, friction of contacts, and impulses to begin with."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    friction: FloatArray  # (batch, contacts)
    start: FloatArray  # (batch, impulses), as the last step found them
    servo: tuple[FloatArray, ...] = ()  # target, kp and kd (batch, nv), if there are servos
    planes: tuple[FloatArray, ...] = ()  # axes (batch, contacts, 9) and heights, where they differ from state to state
    given: tuple[FloatArray, ...] = ()  # quantities of the model that differ from row to row
    lead: tuple[FloatArray, ...] = ()  # velocities (batch, nv) at the end, if there are prescribed joints

    def some(self, rows: IntArray) -> Situation:
        """These rows alone."""
        # `take` is several times faster than an index
        each: Any = (
            np.take(x, rows, axis=0) if isinstance(x, np.ndarray) else tuple(np.take(y, rows, axis=0) for y in x)
            for x in self
        )
        return Situation(*each)


def has_rows(model: Model, contacts: Contacts | None, off: Collection[str]) -> bool:
    """Whether steps have rows beside the laws of joints: contacts, loops, ties of mimic joints."""
    return contacts is not None or bool(model.couplings) or (bool(model.closures) and "closures" not in off)


def check_closed(loops: Loops, q: FloatArray) -> None:
    """Refuse states whose loops are open: closing them would be no motion."""
    gap = np.abs(loops.gap(np.atleast_2d(q))).max(axis=1)
    if len(gap) and not (gap <= OPEN).all():
        row = int(gap.argmax())
        which = f"row {row} of the batch" if q.ndim == 2 else "the state"
        raise ShapeError(
            f"{which} has a loop of {loops.model.name!r} open by {gap[row]:.3g} m or rad: start from "
            f'bough.close_loops(model, q).q, or leave loops out with without=["closures"]'
        )


class ConstrainedStepper:
    """Advances states of a model with contacts, loops and mimic joints; (batch, ...) or one state.

    A state without a finite successor raises, or is NaN if not `strict`. `planes` says that planes of the ground are
    given in each call.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        contacts: Contacts | None = None,
        without: Any = (),
        *,
        strict: bool = True,
        parameters: Parameters | None = None,
        servo: bool = False,
        motion: PrescribedMotion | None = None,
        planes: bool = False,
        integrator: Integrator = "semi_implicit_euler",
    ) -> None:
        smooth = integrator != "semi_implicit_euler"
        if smooth and (contacts or motion):
            what = "contacts are held by" if contacts else "beside loops and mimic joints, prescribed motion is for"
            raise ShapeError(f"{what} the integrator 'semi_implicit_euler', got {integrator!r}")
        self.dynamics, self.model, self.strict = dynamics, dynamics.model, strict
        self.coordinates, prescribed = (motion.coordinates, motion.dofs) if motion else ([], [])
        off, self.space = check_effects(without), ContactSpace(dynamics, contacts)
        held = bool(self.model.closures) and "closures" not in off
        self.loops = Loops(self.model, dynamics=dynamics, fixed=prescribed) if held else None
        self.count, self.sweeps = self.space.count, contacts.sweeps if contacts else None
        self.is_soft, self.friction = bool(contacts and contacts.compliance), contacts.friction if contacts else 0.0
        self.parameters = parameters or Parameters(self.model)
        has_planes = planes or not self.space.is_flat
        setting = Setting(dynamics, off, self.space, self.parameters, servo, prescribed, has_planes)
        self.is_fixed = setting.is_fixed
        self.kernels = StepKernels(setting)
        self._ways = self._straight(setting)
        self._bound: dict[int, CompiledFunction] = {}
        self.residual = np.zeros(1)
        # of the last step: impulses of contacts (batch, contacts, 3) along normals and tangents, these axes, either for
        # all or (batch, contacts, 3, 3), and its length
        self.contact_impulses, self._dt = np.zeros((1, self.count, 3)), 1.0
        self.axes: FloatArray = np.zeros((self.count, 3, 3))
        # (batch, impulses) of joints with friction, three of each contact, of stops; and where contacts slipped
        self.impulses, self._slid = np.zeros((0, self.kernels.seen)), np.ones(0, bool)
        self._smooth = SmoothStep(dynamics, self.loops, integrator, off, servo) if smooth else None

    @cached_property
    def _with_stops(self) -> StepKernels:
        """Kernels in which stops are rows."""
        return StepKernels(self.kernels.setting, stops_are_rows=True)

    def _straight(self, setting: Setting) -> set[int]:
        """Ways whose straight-line kernels are worth compiling."""
        if self.dynamics.general or not self.count or setting.has_loops:
            return set()
        stops = (0, LOCKED) if self.kernels.stops else (0,)
        found = {SWEPT | bits for bits in stops if self.kernels.is_small(self.sweeps or SWEEPS)}
        if self.sweeps is None and found and self.kernels.is_small(0):
            found |= {STICKING | bits for bits in stops}
        return found

    def advance(
        self,
        q: FloatArray,
        v: FloatArray,
        tau: FloatArray,
        dt: float,
        friction: FloatArray | None = None,
        given: tuple[FloatArray, ...] = (),
        servo: tuple[FloatArray, ...] = (),
        lead: tuple[FloatArray, ...] = (),
        planes: tuple[FloatArray, ...] = (),
    ) -> tuple[FloatArray, FloatArray]:
        """The state after dt; `friction` (batch,) and the parameters `given` (batch, ...) differ from row to row.

        `servo` is target, kp and kd, (nv,) or (batch, nv) each; `lead` velocities and coordinates at the end, from
        which prescribed joints take theirs; `planes` axes (batch, contacts, 9) and heights (batch, contacts).
        """
        Q, V, T = (np.atleast_2d(x) for x in (q, v, tau if tau.shape == v.shape else np.broadcast_to(tau, v.shape)))
        mu = np.empty((len(Q), self.count))
        mu[...] = self.friction if friction is None else friction[:, None]
        if len(self.impulses) != len(Q):
            self.impulses, self._slid = np.zeros((len(Q), self.kernels.seen)), np.ones(len(Q), bool)
        drawn = tuple(np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in servo)
        ground = planes if planes or self.space.is_flat else self.space.planes_at(Q)
        led = tuple(np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in lead[:1])
        now = Situation(Q, V, np.ascontiguousarray(T), mu, self.impulses, drawn, ground, given, led)
        q_after, v_after, self.impulses, report = self._solved(now, dt)
        if lead:
            q_after[:, self.coordinates] = np.atleast_2d(lead[1])[:, self.coordinates]
        self._lift(q_after, report, now)
        if self.loops:
            q_after = self.loops.onto(q_after, 1)
        self.residual, self._slid = report[:, CHANGE], report[:, SLIPS] > 0.0
        self.axes = ground[0].reshape(len(Q), self.count, 3, 3) if ground else self.space.axes
        of_contacts = self.impulses[:, self.kernels.of_contacts]
        self.contact_impulses, self._dt = of_contacts.reshape(len(Q), self.count, 3), dt
        acts: Any = self.impulses.any(axis=1, keepdims=True) if self._smooth else True
        if self._smooth and not acts.all():
            moved = self._smooth(Q, V, dt, (now.tau, *drawn))
            q_after, v_after = np.where(acts, q_after, moved[0]), np.where(acts, v_after, moved[1])
        return (q_after[0], v_after[0]) if q.ndim == 1 else (q_after, v_after)

    # Choice of a kernel

    def _solved(self, now: Situation, dt: float) -> Any:
        """The outputs of a step. Copying rows costs as much as stepping them: all take the majority's way first."""
        ways = self._first_ways(now)
        main = int(np.bincount(ways).argmax()) if len(ways) else GENERAL
        found = self._call(main, now, dt)
        todo = self._next_ways(main, found[3])
        other = ways != main
        np.copyto(todo, ways, where=other)
        if not todo.any():
            return found
        came = np.where(other, 0, main).astype(np.int8)  # the kernel of each row's result
        tries = (came & LOCKED > 0).astype(np.int8)  # with joints locked, after a first step
        while len(rest := np.flatnonzero(todo)):
            way = int(todo[rest].min())
            rows = np.flatnonzero(todo == way)
            some = now.some(rows)
            # impulses by sweeps and general code, and those that only stops contradict, start the next solution
            goes_on = (came[rows] & (SWEPT | GENERAL) > 0) | (
                (came[rows] > 0) & (found[3][rows, CHANGE] <= found[3][rows, LARGEST])
            )
            some = some._replace(start=np.where(goes_on[:, None], found[2][rows], some.start))
            more = self._call(way, some, dt)
            for old, new in zip(found, more, strict=True):
                old[rows] = new
            came[rows] = way
            tries[rows] += way & (LOCKED | GENERAL) > 0
            again = self._next_ways(way, more[3])
            again[(again == way) & (tries[rows] >= AGAIN.times)] = 0 if self.is_fixed else GENERAL
            todo[rows] = again
        return found

    def _first_ways(self, now: Situation) -> Any:
        """(batch,) kernels by the last step: whether contacts slipped, and whether a stop acted."""
        if not self._ways:
            return np.full(len(now.q), GENERAL, np.int8)
        ways = np.full(len(now.q), SWEPT, np.int8) if self.is_fixed else STICKING + self._slid.view(np.int8)
        if self.kernels.stops:
            ways |= LOCKED * now.start[:, self.kernels.of_contacts.stop :].any(axis=1).view(np.int8)
        for way in {STICKING, STICKING | LOCKED, SWEPT, SWEPT | LOCKED} - self._ways:
            ways[ways == way] = self._served(way)
        return ways

    def _next_ways(self, way: int, report: FloatArray) -> Any:
        """(batch,) kernels for rows to repeat, or 0: with other joints at stops, by sweeps, or by general code."""
        again = np.zeros(len(report), np.int8)
        if way < GENERAL or self.is_fixed:
            again[report[:, EXCESS] > 0.0] = self._served(way | LOCKED)
        elif way == GENERAL and self.sweeps is None and self.kernels.stops:
            again[report[:, CHANGE] > report[:, LARGEST]] = WITH_STOPS  # EXCESS is part of CHANGE
        if way < GENERAL and self.sweeps is None:
            again[report[:, CHANGE] > report[:, LARGEST]] = self._served(way + 1) if way & 1 else GENERAL
        return again

    def _served(self, way: int) -> int:
        """This kernel if it is compiled, else the one by sweeps, else general code."""
        if way in self._ways:
            return way
        return self._served(way + 1) if way & 1 else GENERAL

    def _kernel(self, way: int) -> CompiledFunction:
        if way not in self._bound:
            if way >= GENERAL:
                kernels = self._with_stops if way == WITH_STOPS else self.kernels
                step = CONTACT_STEP if self.is_fixed else ROW_STEP
                self._bound[way] = kernels.bind(step, self.sweeps, general=True)
            else:
                sweeps = 0 if way & 1 else self.sweeps or SWEEPS
                self._bound[way] = self.kernels.bind(CONTACT_STEP, sweeps, stops=AT_STOPS if way & LOCKED else WATCHED)
        return self._bound[way]

    def on_gpu(self, dtype: npt.DTypeLike) -> tuple[CompiledFunction, CompiledFunction | None]:
        """The kernel of a step with a number of sweeps, and the kernel that only watches stops, if there are stops.

        Inputs and outputs are those of CONTACT_STEP.
        """
        bound = partial(self.kernels.bind, CONTACT_STEP, self.sweeps, device=GPU, dtype=dtype)
        return bound(), bound(stops=WATCHED) if self.kernels.stops else None

    def _call(self, way: int, now: Situation, dt: float) -> Any:
        kernel, servo, lead, (planes, given) = self._kernel(way), now.servo, now.lead, (now.planes, now.given)
        if way >= GENERAL:
            servo, (planes, given) = servo or (np.zeros(self.model.nv),) * 3, self._whole(planes, given)
            lead = lead or (np.zeros(self.model.nv),)
        # arrays of the right shape and type take the fast call
        arrays = (*now[:3], *servo, now.friction, now.start, *lead, np.full((len(now.q), 1), dt), *planes, *given)
        try:
            return kernel.call(*arrays)
        except FAILURES:
            # a status for each row takes as long again, so only after a failure
            if self.strict:
                raise
            return kernel.with_status(*arrays)[0]

    def _whole(self, planes: tuple[FloatArray, ...], given: tuple[FloatArray, ...]) -> Any:
        """All inputs of general code: zeros where they are not used, and the model's own quantities."""
        known = dict(zip(self.parameters.inputs, given, strict=True))
        own = all_parameters(self.parameters).own
        return planes or (np.zeros((self.count, 9)), np.zeros(self.count)), [known.get(n, x) for n, x in own.items()]

    def _lift(self, q: FloatArray, report: FloatArray, now: Situation) -> None:
        """Move points out of the ground that have entered it."""
        if not self.count or self.is_soft or self.is_fixed:
            return
        depth, planes = report[:, DEPTH], now.planes
        if not self.space.is_flat:
            planes, depth = self.space.planes_at(q), self.space.depth(q)
        deep = np.flatnonzero((depth > DEEP) & (report[:, SPENT] > 0.0))
        if len(deep):
            straight = bool(self._ways)
            more: Any = tuple(x[deep] for x in planes), tuple(x[deep] for x in now.given)
            more = more if straight else self._whole(*more)
            lift = self.kernels.bind(LIFT, SWEEPS, general=not straight)
            q[deep] = lift.call(q[deep], report[deep, SPENT : SPENT + 1], *more[0], *more[1])

    # The last step

    def forget(self, rows: Any = None) -> None:
        """Forget the impulses of the last step, of these rows or of all."""
        if rows is None:
            self.impulses, self._slid = self.impulses[:0], self._slid[:0]
        elif len(self.impulses):
            self.impulses[rows], self._slid[rows] = 0.0, True

    @property
    def force(self) -> FloatArray:
        """Mean forces on the points in the last step (batch, contacts, 3), in newtons, world axes."""
        how = "bci,cij->bcj" if self.axes.ndim == 3 else "bci,bcij->bcj"
        return np.asarray(np.einsum(how, self.contact_impulses, self.axes) / self._dt)

    def report(self, alive: npt.NDArray[np.bool_]) -> dict[str, FloatArray]:
        """Of the last step: "contact_force" (..., contacts, 3), mean forces on the points in newtons, world axes, and
        "contact_residual" (...,), how far the last sweep still moved a velocity, m/s or rad/s.

        NaN for states that are not `alive` (a flag for each, or one), and in the step in which one of them failed.
        """
        flags, found = alive.reshape(-1), {}
        for name, value in (("contact_force", self.force), ("contact_residual", self.residual)):
            out = np.full((alive.size, *value.shape[1:]), np.nan)
            if len(value) == np.count_nonzero(flags):
                out[flags] = value
            found[name] = out.reshape((*alive.shape, *value.shape[1:]))
        return found


class SmoothStep:
    """Steps by an integrator of higher order, in which no stop and no friction acts, projected onto the loops."""

    def __init__(
        self, dynamics: Dynamics, loops: Loops | None, integrator: Integrator, without: Any, servo: bool
    ) -> None:
        self.dynamics, self.model, self.loops, self.integrator = dynamics, dynamics.model, loops, integrator
        self.motion = ConstrainedDynamics(loops.space) if loops else None
        routine = LAW_FORCES if servo else LAW_FORCES.without("target", "kp", "kd")
        self._forces = bind(routine, self.model, *joint_laws(self.model, without), general=dynamics.general)

    def __call__(self, q: FloatArray, v: FloatArray, dt: float, drives: tuple[FloatArray, ...]) -> Any:
        """States (batch, ...) after dt, under tau and what servos take."""
        with np.errstate(over="ignore", invalid="ignore"):
            law = partial(self._acceleration, drives)
            q, v = step_by_acceleration(self.model, self.integrator, law, q, v, dt)
        if self.loops is None or self.motion is None:
            return q, v
        q = self.loops.onto(q)
        return q, self.motion.impact(q, v).v

    def _acceleration(self, drives: tuple[FloatArray, ...], q: FloatArray, v: FloatArray) -> FloatArray:
        tau = self._forces.call(q, v, *drives)
        if self.motion is None:
            return np.asarray(self.dynamics.forward_dynamics(q, v, tau))
        return np.asarray(self.motion(q, v, tau).qdd)
