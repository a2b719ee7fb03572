"""Steps of many states with contacts, loops and mimic joints: which kernel of `step` takes which row of a batch.

Straight-line kernels try the likely ways first: all contacts stick or are open, or some of them slip; no joint that has
only limits is at one, or some are. Rows in which the laws do not hold then are stepped by general code, which seeks
impulses until they do. What a row gets depends on itself alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import GPU, CompiledFunction
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import check_effects
from bough.dynamics.parameters import Parameters
from bough.errors import NonFiniteError, NumericalError
from bough.model import Model
from bough.opspace import Loops
from bough.simulate.contacts import Contacts, ContactSpace
from bough.simulate.rows import SWEEPS, RowKernels, Setting, all_parameters, put_rows
from bough.simulate.step import AGAIN, CHANGE, CONTACT_STEP, DEPTH, EXCESS, LARGEST, LIFT, ROW_STEP, SLIPS, SPENT
from bough.simulate.steps import PrescribedMotion
from bough.types import FloatArray, IntArray

FAILURES = (NumericalError, NonFiniteError)  # of one state by itself: any other error is one of all states
DEEP = 1e-6  # metres: points that are further inside the ground are lifted
# Ways of a step: straight-line kernels, with LIMITED among their bits where stops are rows, or general code
HELD, SWEPT, LIMITED, GENERAL = 1, 2, 4, 8


class Situation(NamedTuple):
    """States before a step, a row for each: forces of joints, friction of contacts, and impulses to begin with."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    friction: FloatArray  # (batch, contacts)
    start: FloatArray  # (batch, rows), as the last step found them
    servo: tuple[FloatArray, ...] = ()  # target, kp and kd (batch, nv), if there are servos
    ground: tuple[
        FloatArray, ...
    ] = ()  # axes (batch, contacts, 9) and distances, if there are other grounds than planes
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


def fitted(lam: FloatArray, width: int) -> FloatArray:
    """Impulses of so many rows: those of joints that have only limits are last, and zero if they are not there."""
    if lam.shape[1] >= width:
        return lam if lam.shape[1] == width else np.ascontiguousarray(lam[:, :width])
    return np.concatenate([lam, np.zeros((len(lam), width - lam.shape[1]))], axis=1)


class RowStepper:
    """Advances states of a model with contacts, loops and mimic joints; (batch, ...) or one state.

    A state without a finite successor raises, or is NaN if not `strict`.
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
    ) -> None:
        self.dynamics, self.model, self.strict = dynamics, dynamics.model, strict
        self.coordinates, prescribed = (motion.coordinates, motion.dofs) if motion else ([], [])
        off, self.space = check_effects(without), ContactSpace(dynamics, contacts)
        held = bool(self.model.closures) and "closures" not in off
        self.loops = Loops(self.model, dynamics=dynamics, fixed=prescribed) if held else None
        self.count, self.sweeps = self.space.count, contacts.sweeps if contacts else None
        self.is_soft, self.friction = bool(contacts and contacts.compliance), contacts.friction if contacts else 0.0
        self.parameters = parameters or Parameters(self.model)
        setting = Setting(dynamics, off, self.space, self.parameters, servo, prescribed)
        self.is_fixed = setting.is_fixed
        rubbing, limited = (setting.freedoms(x) for x in (setting.laws.rough, setting.laws.stops))
        self.few = RowKernels(setting, rubbing)
        self.full = self.few if setting.is_fixed else RowKernels(setting, rubbing | limited, self.few.joints)
        self._ways = self._straight(dynamics.general)
        self._bound: dict[int, CompiledFunction] = {}
        self.residual = np.zeros(1)
        # impulses of contacts (batch, contacts, 3), along which axes, within which time
        self._pushed = np.zeros((1, self.count, 3)), np.zeros((self.count, 3, 3)), 1.0
        # impulses from which the next step's are sought, and where contacts slipped
        self._last, self._slid = np.zeros((0, self.few.seen)), np.ones(0, bool)

    def _straight(self, general: bool) -> set[int]:
        """Ways whose straight-line kernels are worth compiling."""
        if general or not self.count or not self.space.is_flat or self.loops or self.model.couplings:
            return set()
        kernels = {0: self.few} | ({LIMITED: self.full} if self.full.width > self.few.width else {})
        found = {SWEPT | bits for bits, of in kernels.items() if of.is_small(self.sweeps or SWEEPS)}
        if self.sweeps is None:
            found |= {HELD | bits for bits, of in kernels.items() if SWEPT | bits in found and of.is_small(0)}
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
    ) -> tuple[FloatArray, FloatArray]:
        """The state after dt; `friction` (batch,) and the parameters `given` (batch, ...) differ from row to row.

        `servo` is target, kp and kd, (nv,) or (batch, nv) each; `lead` velocities and coordinates at the end, from
        which prescribed joints take theirs.
        """
        Q, V, T = (np.atleast_2d(x) for x in (q, v, tau if tau.shape == v.shape else np.broadcast_to(tau, v.shape)))
        mu = np.empty((len(Q), self.count))
        mu[...] = self.friction if friction is None else friction[:, None]
        if len(self._last) != len(Q):
            self._last, self._slid = np.zeros((len(Q), self.few.seen)), np.ones(len(Q), bool)
        drawn = tuple(np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in servo)
        ground = () if self.space.is_flat else self.space.at_points(Q)
        led = tuple(np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in lead[:1])
        now = Situation(Q, V, np.ascontiguousarray(T), mu, self._last, drawn, ground, given, led)
        q_after, v_after, self._last, report = self._solved(now, dt)
        if self._ways and not self._last[:, self.few.seen :].any():
            self._last = fitted(self._last, self.few.seen)
        if lead:
            q_after[:, self.coordinates] = np.atleast_2d(lead[1])[:, self.coordinates]
        self._lift(q_after, report, given)
        if self.loops:
            q_after = self.loops.onto(q_after, 1)
        self.residual, self._slid = report[:, CHANGE], report[:, SLIPS] > 0.0
        axes = ground[0].reshape(len(Q), self.count, 3, 3) if ground else self.space.axes
        of_contacts = self._last[:, len(self.few.joints) : self.few.width].reshape(len(Q), self.count, 3)
        self._pushed = of_contacts, axes, dt
        return (q_after[0], v_after[0]) if q.ndim == 1 else (q_after, v_after)

    # Ways

    def _solved(self, now: Situation, dt: float) -> Any:
        """The outputs of a step: as copies of rows cost as much as steps, all rows take the way of the larger part."""
        if self.is_fixed:
            return self._fixed(now, dt)
        ways = self._first_ways(now)
        main = int(np.bincount(ways).argmax()) if len(ways) else GENERAL
        found = self._call(main, now, dt)
        todo = self._next_ways(main, found[3])
        np.copyto(todo, ways, where=ways != main)
        while len(rest := np.flatnonzero(todo)):
            way = int(todo[rest].min())
            rows = np.flatnonzero(todo == way)
            some = now.some(rows)
            if way == GENERAL and main & SWEPT:
                some = some._replace(start=found[2][rows])
            more = self._call(way, some, dt)
            width = max(found[2].shape[1], more[2].shape[1])
            found, more = ((*x[:2], fitted(x[2], width), x[3]) for x in (found, more))
            put_rows(found, rows, more)
            todo[rows] = self._next_ways(way, more[3])
        return found

    def _fixed(self, now: Situation, dt: float) -> Any:
        """The same with a number of sweeps, again where stops push that did not, or have let go."""
        way = self._served(SWEPT)
        found = self._call(way, now, dt)
        for _ in range(AGAIN.times):
            rows = np.flatnonzero(found[3][:, EXCESS] > 0.0)
            if not len(rows):
                break
            put_rows(found, rows, self._call(way, now.some(rows)._replace(start=found[2][rows]), dt))
        return found

    def _first_ways(self, now: Situation) -> Any:
        """(batch,) by what happened in the last step: whether contacts slipped, and whether a stop acted."""
        if not self._ways:
            return np.full(len(now.q), GENERAL, np.int8)
        ways = HELD + self._slid.view(np.int8)
        if now.start.shape[1] > self.few.seen:
            ways |= LIMITED * now.start[:, self.few.seen :].any(axis=1).view(np.int8)
        for way in {HELD, HELD | LIMITED, SWEPT, SWEPT | LIMITED} - self._ways:
            ways[ways == way] = self._served(way)
        return ways

    def _next_ways(self, way: int, report: FloatArray) -> Any:
        """(batch,) how rows are stepped again, or 0: with stops that joints passed, by sweeps, or by general code."""
        again = np.zeros(len(report), np.int8)
        if way != GENERAL:
            if self.sweeps is None:
                again[report[:, CHANGE] > report[:, LARGEST]] = self._served(way + 1) if way & 1 else GENERAL
            again[report[:, EXCESS] > 0.0] = self._served(way | LIMITED)
        return again

    def _served(self, way: int) -> int:
        """The same way, but sweeps where there is no factor, and general code where there is neither."""
        return way if way in self._ways else self._served(way + 1) if way & 1 else GENERAL

    def _kernel(self, way: int) -> CompiledFunction:
        if way not in self._bound:
            if way == GENERAL:
                step = CONTACT_STEP if self.is_fixed else ROW_STEP
                self._bound[way] = self.full.bind(step, self.sweeps, general=True)
            else:
                sweeps = 0 if way & 1 else self.sweeps or SWEEPS
                self._bound[way] = (self.full if way & LIMITED else self.few).bind(CONTACT_STEP, sweeps)
        return self._bound[way]

    def on_gpu(self, dtype: npt.DTypeLike) -> CompiledFunction:
        """All of a step with a number of sweeps, as one kernel there; inputs and outputs are those of CONTACT_STEP."""
        return self.full.bind(CONTACT_STEP, self.sweeps, device=GPU, dtype=dtype)

    def _call(self, way: int, now: Situation, dt: float) -> Any:
        kernel, servo, lead, (ground, given) = self._kernel(way), now.servo, now.lead, (now.ground, now.given)
        if way == GENERAL:
            servo, (ground, given) = servo or (np.zeros(self.model.nv),) * 3, self._whole(ground, given)
            lead = lead or (np.zeros(self.model.nv),)
        # arrays that fit need no second look
        start = fitted(now.start, (self.full if way & (LIMITED | GENERAL) else self.few).seen)
        arrays = (*now[:3], *servo, now.friction, start, *lead, np.full((len(now.q), 1), dt), *ground, *given)
        try:
            return kernel.call(*arrays)
        except FAILURES:
            # looking at each row takes as long again, so only where one is known to fail
            if self.strict:
                raise
            return kernel.with_status(*arrays)[0]

    def _whole(self, ground: tuple[FloatArray, ...], given: tuple[FloatArray, ...]) -> Any:
        """Inputs of general code, which takes all: zeros where they are not used, and the model's own quantities."""
        known = dict(zip(self.parameters.inputs, given, strict=True))
        own = all_parameters(self.parameters).own
        return ground or (np.zeros((self.count, 9)), np.zeros(self.count)), [known.get(n, x) for n, x in own.items()]

    def _lift(self, q: FloatArray, report: FloatArray, given: tuple[FloatArray, ...]) -> None:
        """Points that went into the ground, out of it."""
        if not self.count or self.is_soft or self.is_fixed:
            return
        depth: Any = report[:, DEPTH]
        ground: tuple[FloatArray, ...] = ()
        if not self.space.is_flat:
            ground = self.space.at_points(q)
            depth = -ground[1].min(axis=1)
        deep = np.flatnonzero((depth > DEEP) & (report[:, SPENT] > 0.0))
        if len(deep):
            straight = bool(self._ways)
            kernels = self.full if not straight or LIMITED | SWEPT in self._ways else self.few
            more: Any = tuple(x[deep] for x in ground), tuple(x[deep] for x in given)
            more = more if straight else self._whole(*more)
            lift = kernels.bind(LIFT, SWEEPS, general=not straight)
            q[deep] = lift.call(q[deep], report[deep, SPENT : SPENT + 1], *more[0], *more[1])

    # What is known of the last step

    @property
    def impulses(self) -> FloatArray:
        """(batch, rows) of the last step: of joints with friction, three of each contact, of joints at stops."""
        return self._last

    def forget(self, rows: Any = None) -> None:
        """The next step of these rows, or of all, begins without the impulses of the last."""
        if rows is None:
            self._last, self._slid = self._last[:0], self._slid[:0]
        elif len(self._last):
            self._last[rows], self._slid[rows] = 0.0, True

    @property
    def force(self) -> FloatArray:
        """Mean forces on the points in the last step (batch, contacts, 3), in newtons, world axes."""
        push, axes, dt = self._pushed
        return np.asarray(np.einsum("bci,cij->bcj" if axes.ndim == 3 else "bci,bcij->bcj", push, axes) / dt)

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
