"""Time stepping with loops and contacts at the level of velocities (Moreau 1988; Stewart & Trinkle 1996; Jean 1999).

A step takes the free velocity u of (H + dt B) u = H v + dt (tau - C - K x), projects it onto the loops, and adds the
impulses of contacts, stops and dry friction together: v = u + M^-1 J' lam. A contact above the ground may close its
distance within the step and no more, so that it lands without going in. Neither can raise the kinetic energy: zero is
always an allowed velocity, and friction works against sliding.

Positions then move by dt v. What curved paths leave behind is put right by moves that touch no velocity: loops by a
Gauss-Newton step; points in the ground by lifting them, only as high as the energy pays for that contacts have just
taken out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.executions import bind_arrays
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import bind
from bough.dynamics.free_flight import BEGIN_FLIGHT, END_FLIGHT
from bough.dynamics.parameters import Parameters
from bough.errors import ModelError
from bough.opspace import Loops, RowProjector
from bough.simulate.compiled import CompiledSteps, Stepped, serves
from bough.simulate.cone import IMPULSES, laws
from bough.simulate.contacts import ContactRows, Contacts, ContactSpace
from bough.simulate.joint_effects import JointEffects
from bough.simulate.kernels import Setting, Situation
from bough.simulate.steps import servo_forces
from bough.types import FloatArray

LARGE, TINY = 1e30, 1e-300
NEAR = 0.02  # metres: contacts further away than this, and than a step leads, are left out
SHALLOW = 1e-12  # metres: no deeper is as good as on the ground


class ContactStepper:
    """Advances states of a model with loops and contacts; (batch, ...) or one state."""

    def __init__(
        self,
        dynamics: Dynamics,
        effects: JointEffects,
        contacts: Contacts | None,
        closures: bool = True,
        *,
        strict: bool = True,
        parameters: Parameters | None = None,
        servo: bool = False,
    ) -> None:
        self.dynamics, self.model, self.effects = dynamics, dynamics.model, effects
        self.loops = Loops(self.model, dynamics=dynamics) if closures and self.model.closures else None
        self.contacts = ContactSpace(dynamics, contacts) if contacts else None
        self.count, self.is_soft = self.contacts.count if self.contacts else 0, bool(contacts and contacts.compliance)
        joints = len(effects.rows)
        self.rows, self.friction = joints + 3 * self.count, contacts.friction if contacts else 0.0
        sizes = {"rows": self.rows, "laws": joints + self.count}
        # its branches on values have no straight line: general code serves it
        self._impulses = bind_arrays(IMPULSES, (laws(joints, self.count),), sizes, general=True)
        self._begin_flight, self._end_flight = (bind(r, self.model, general=True) for r in (BEGIN_FLIGHT, END_FLIGHT))
        self.residual = np.zeros(1)
        # impulses of contacts (batch, contacts, 3), along which axes, within which time
        self._pushed = np.zeros((1, self.count, 3)), np.zeros((self.count, 3, 3)), 1.0
        # impulses from which the next step's are sought, and where contacts slipped
        self._last, self._slid = np.zeros((0, self.rows)), np.ones(0)
        inputs = parameters or Parameters(self.model)
        self._compiled = (
            CompiledSteps(Setting(effects, self.contacts, contacts.sweeps, strict, inputs, servo), self._composed)
            if contacts and self.contacts and serves(effects, contacts)
            else None
        )

    def advance(
        self,
        q: FloatArray,
        v: FloatArray,
        tau: FloatArray,
        dt: float,
        friction: FloatArray | None = None,
        given: tuple[FloatArray, ...] = (),
        servo: tuple[FloatArray, ...] = (),
    ) -> tuple[FloatArray, FloatArray]:
        """The state after dt; `friction` (batch,) and the parameters `given` (batch, ...) differ from row to row.

        `servo` is target, kp and kd, (nv,) or (batch, nv) each.
        """
        one = q.ndim == 1
        Q, V, T = (np.atleast_2d(x) for x in (q, v, tau if tau.shape == v.shape else np.broadcast_to(tau, v.shape)))
        mu = np.empty((len(Q), self.count))
        mu[...] = self.friction if friction is None else friction[:, None]
        if len(self._last) != len(Q):
            width = self._compiled.without_limits.width if self._compiled else self.rows
            self._last, self._slid = np.zeros((len(Q), width)), np.ones(len(Q))
        drawn = tuple(np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in servo)
        found = (self._compiled or self._composed)(Situation(Q, V, T, mu, self._last, self._slid, given, drawn), dt)
        self._last, self.residual = found.lam, found.residual
        if self._compiled and found.slid is not None:
            of_contacts = found.lam[:, found.lam.shape[1] - 3 * self.count :].reshape(len(Q), self.count, 3)
            self._slid, self._pushed = found.slid, (of_contacts, self._compiled.axes, dt)
        return (found.q[0], found.v[0]) if one else (found.q, found.v)

    @property
    def impulses(self) -> FloatArray:
        """(batch, rows) of the last step: of joints with friction or a stop, then three of each contact."""
        return self._last

    @property
    def is_traced(self) -> bool:
        """Whether every step is one kernel, whatever acts in it."""
        return self._compiled is not None and self._compiled.full is not None

    def forget(self, rows: Any = None) -> None:
        """The next step of these rows, or of all, begins without the impulses of the last."""
        if rows is None:
            self._last, self._slid = self._last[:0], self._slid[:0]
        elif len(self._last):
            self._last[rows], self._slid[rows] = 0.0, 1.0

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
            out = np.full((max(alive.size, 1), *value.shape[1:]), np.nan)
            if len(value) == np.count_nonzero(flags):
                out[flags] = value
            found[name] = out.reshape((*alive.shape, *value.shape[1:]))
        return found

    def _composed(self, now: Situation, dt: float) -> Stepped:
        """A step by functions of the model, one after the other."""
        self._now = now
        q, v, lam = self._step(now.q, now.v, now.tau, dt)
        return Stepped(q, v, lam, self.residual)

    def _step(self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float) -> tuple[FloatArray, ...]:
        length = np.array([dt])
        more, gain, flight = self._begin_flight.call(q, v, length)
        M, push = self._momentum(q, v, tau + more, dt)
        touching = self.contacts.rows(q) if self.contacts else None
        J = self._jacobian(q, touching)
        parts = [push[..., None], np.swapaxes(J, -1, -2)]
        Jc = self.loops.space.jacobian(q) if self.loops else None
        if Jc is not None:
            parts.append(np.swapaxes(Jc, -1, -2))
        solved: Any = np.linalg.solve(M, np.concatenate(parts, axis=-1))
        held = None
        u, Y = solved[..., :1], solved[..., 1 : 1 + self.rows]
        if Jc is not None:
            held = RowProjector.of(Jc, solved[..., 1 + self.rows :])
            Y = held.project(Y)
        u = u[..., 0] + gain
        if held is not None:
            u = held.project(u[..., None])[..., 0]
        after, lam = self._stopped(q, u, J, Y, touching, dt)
        moved, turned = self._end_flight.call(q, after, length, flight)
        if touching is not None:
            of_contacts = lam[:, len(self.effects.rows) :].reshape(len(lam), self.count, 3)
            self._pushed = of_contacts, touching.axes, dt
            spent = _energy(M, u) - _energy(M, after)
            moved = moved if self.is_soft else self._lifted(moved, J, Y, spent)
        if held is not None and self.loops is not None:
            moved = self.model.integrate(moved, held.closing(self.loops.gap(moved)))
        return moved, turned, lam

    def settled(self, q: FloatArray, v: FloatArray, dt: float) -> FloatArray:
        """What loops, and stops and dry friction of joints over a time dt, leave of v (batch, nv) at q; no contacts."""
        if self.loops is None or self.count:
            raise ModelError("only loops and joints settle: leave the contacts out")
        Jc, M = self.loops.space.jacobian(q), self.dynamics.mass_matrix(q)
        J = self._jacobian(q, None)
        solved: Any = np.linalg.solve(M, np.swapaxes(np.concatenate([J, Jc], axis=1), -1, -2))
        held = RowProjector.of(Jc, solved[..., self.rows :])
        nothing = np.zeros((len(q), 0)), np.zeros((len(q), self.rows)), np.zeros(len(q))
        self._now = Situation(q, v, v, *nothing)
        u = held.project(v[..., None])[..., 0]
        return self._stopped(q, u, J, held.project(solved[..., : self.rows]), None, dt)[0]

    def _momentum(self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """M = H + dt B and H v + dt (tau - C - K x)."""
        H, C = self.dynamics.mass_matrix(q), self.dynamics.bias_force(q, v)
        push = (H @ v[..., None])[..., 0] + dt * (tau + self.effects.springs(q) - C)
        M: Any = H + np.diag(dt * self.effects.damping) if self.effects.damping.any() else H
        if self._now.servo:
            force, soft = servo_forces(self.model, q, v, self._now.servo, dt)
            M = M + soft[:, :, None] * np.eye(self.model.nv)
            push = push + dt * force + soft * v
        return M, push

    def _jacobian(self, q: FloatArray, touching: ContactRows | None) -> FloatArray:
        unit = np.eye(self.model.nv)[self.effects.rows]
        joints = np.broadcast_to(unit, (len(q), *unit.shape))
        if touching is None or self.contacts is None:
            return joints
        return np.concatenate([joints, self.contacts.jacobian(q, touching)], axis=1)

    def _stopped(
        self, q: FloatArray, u: FloatArray, J: FloatArray, Y: FloatArray, touching: ContactRows | None, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """The velocity after impulses, and these."""
        lam, self.residual = np.zeros((len(q), self.rows)), np.zeros(len(q))
        if not self.rows:
            return u, lam
        b, joints = (J @ u[..., None])[..., 0], len(self.effects.rows)
        lower, upper = self.effects.bounds(q, dt)
        busy = (b[:, :joints] < lower).any(axis=1) | (b[:, :joints] > upper).any(axis=1) | self.effects.friction.any()
        if touching is not None:
            normal = slice(joints, None, 3)
            assert self.contacts is not None
            rate, mobility = self.contacts.contacts.softness(touching.distance, dt)
            b[:, normal] += rate
            busy |= ((b[:, normal] < 0.0) | (touching.distance < NEAR)).any(axis=1)
        some = np.flatnonzero(busy)
        if not len(some):
            return u, lam
        A = J[some] @ Y[some]
        if touching is not None:
            place = np.arange(joints, self.rows, 3)
            A[:, place, place] += mobility[some]
        own = np.broadcast_to(dt * self.effects.friction[self.effects.rows], (len(some), joints))
        friction = np.hstack([own, self._now.friction[some]])
        wide = np.full((len(some), self.count), LARGE)
        bounds = np.hstack([lower[some], -wide]), np.hstack([upper[some], wide])
        lam[some], change = self._solve(A, b[some], friction, bounds, self._now.start[some])
        self.residual[some] = change[:, 0]
        after = u + (Y @ lam[..., None])[..., 0]
        return after, lam

    def _solve(
        self, A: FloatArray, b: FloatArray, friction: FloatArray, bounds: tuple[Any, Any], start: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Impulses, and how far the last sweep moved a velocity."""
        lower, upper = (np.clip(x, -LARGE, LARGE) for x in bounds)
        lam, change = self._impulses.call(A, b, friction, lower, upper, start)
        return lam, change

    def _lifted(self, q: FloatArray, J: FloatArray, Y: FloatArray, spent: FloatArray) -> FloatArray:
        """Points that went into the ground are lifted out of it, as far as `spent` energy (batch,) pays for."""
        assert self.contacts is not None
        depth = self.contacts.rows(q).distance
        some = np.flatnonzero((depth < -SHALLOW).any(axis=1) & (spent > 0.0))
        if not len(some):
            return q
        joints, scale = len(self.effects.rows), -depth[some].min(axis=1, keepdims=True)
        b = np.zeros((len(some), self.rows))
        b[:, joints::3] = depth[some] / scale  # of size one: sweeps end by what is small beside that
        lower, upper = (x / scale for x in self.effects.bounds(q[some], 1.0))
        wide = np.full((len(some), self.count), LARGE)
        bounds = np.hstack([lower, -wide]), np.hstack([upper, wide])
        push = np.arange(self.rows) < joints
        push[joints::3] = True  # nothing rubs: tangents have no part in it
        A = (J[some] @ Y[some]) * push * push[:, None]
        lam, _ = self._solve(A, b, np.zeros(joints + self.count), bounds, 0.0 * b)
        move = scale * (Y[some] @ lam[..., None])[..., 0]
        high = self.dynamics.potential_energy(self.model.integrate(q[some], move))
        rise = np.asarray(high) - np.asarray(self.dynamics.potential_energy(q[some]))
        share = np.where(rise > spent[some], spent[some] / np.maximum(rise, TINY), 1.0)
        out = q.copy()
        out[some] = self.model.integrate(q[some], share[:, None] * move)
        return out


def _energy(M: FloatArray, v: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.einsum("bi,bij,bj->b", v, M, v))
