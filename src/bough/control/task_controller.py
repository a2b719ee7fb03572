"""Operational-space control (Khatib 1987; Chang & Khatib 2001): task PD on references, posture in the null space.

tau = J' F + N' tau0 with F = Lambda (x** - beta): x** is the reference acceleration of the tasks, beta their
acceleration without torques (gravity included), and tau0 the posture torque. Robots in contact, or with joints without
a motor, use the same law in the motion that remains (see `actuation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.control.actuation import MotorSpace, check_contacts, undriven
from bough.control.limits import LimitMonitor, LimitReport
from bough.control.references import Gains, ReferenceSet, gains_of
from bough.errors import TaskError
from bough.opspace import Hierarchy, OperationalSpace, Tracker
from bough.types import FloatArray


class Command(NamedTuple):
    """One answer of a controller."""

    tau: FloatArray  # (nv,), zero where there is no motor
    force: FloatArray  # (m,) task force F
    acceleration: FloatArray  # (m,) reference acceleration of the tasks
    error: FloatArray  # (m,) target less position
    limits: LimitReport
    contact_force: FloatArray | None = None  # (k,) of the contacts, in the rows of their space


@explained
class TaskController:
    """Track references of the tasks of a space, and a posture in their null space.

    `references` gives for each task a `Reference` (or a position), or a function of time; a task without one is held
    at rest.
    `hierarchy` makes priorities strict. Only degrees of freedom with a motor (`model.actuated`) are commanded.
    `contacts` is a space whose rows do not accelerate: feet that neither slip nor lift. Tasks that the motors cannot
    move are treated as singular ones. `clip` limits torques; the report names those beyond their limits either way.
    """

    def __init__(
        self,
        space: OperationalSpace,
        references: Mapping[str, Any],
        *,
        gains: Gains | Mapping[str, Gains] = Gains(),  # noqa: B008
        posture: npt.ArrayLike | None = None,
        posture_gains: Gains = Gains(25.0),  # noqa: B008
        hierarchy: Hierarchy | None = None,
        contacts: OperationalSpace | None = None,
        clip: bool = False,
    ) -> None:
        unknown = [name for name in references if name not in space.tasks.slices]
        if unknown:
            raise TaskError(f"there is a reference for {unknown[0]!r}; expected tasks {', '.join(space.tasks.names)}")
        if space.dtype == np.float32:
            raise TaskError("a controller works in float64, and the space has dtype float32: make one without dtype")
        check_contacts(space, contacts)
        self.space, self.hierarchy, self.clip = space, hierarchy, clip
        self.references = ReferenceSet(space.tasks, references, space.tasks.names, ())
        self.contacts, self.undriven = contacts, undriven(space.model)
        self.dynamics, self.tracker, self.monitor = space.dynamics, Tracker(space), LimitMonitor(space.model)
        self.posture = None if posture is None else np.asarray(posture, float)
        self.posture_gains = posture_gains
        self.stiffness, self.rate = gains_of(space.tasks, gains)

    def __call__(self, t: float, q: Any, v: Any, feed_forward: FloatArray | float = 0.0) -> Command:
        """The torques (nv,) at time t. `feed_forward` (m,) is added to the task force: a load that the tasks carry."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        by_motors = self.contacts is not None or bool(self.undriven)
        answer = self._by_motors(t, q, v, feed_forward) if by_motors else self._by_all(t, q, v, feed_forward)
        if self.clip and answer.limits.torque:
            effort = self.space.model.limits.effort
            return answer._replace(tau=np.clip(answer.tau, -effort, effort))
        return answer

    def _by_all(self, t: float, q: FloatArray, v: FloatArray, load: FloatArray | float) -> Command:
        """The law where every degree of freedom has a motor and there is no contact."""
        op = self.space(q, v)
        wanted, error = self.wanted_acceleration(t, q, op.velocity)
        if self.hierarchy is None:
            force = (op.inertia @ (wanted - op.bias)) + load
        else:
            force = self.hierarchy.forces(op.inverse_inertia, op.bias, wanted).force + load
        tau = op.joint_forces(force, self.posture_torque(q, v))
        return Command(tau, force, wanted, error, self.monitor(q, v, tau))

    def _by_motors(self, t: float, q: FloatArray, v: FloatArray, load: FloatArray | float) -> Command:
        """The same in the motion that motors and contacts leave."""
        at = MotorSpace(self.space, self.contacts, q, v)
        wanted, error = self.wanted_acceleration(t, q, at.velocity)
        try:
            Lam = at.inertia()
        except TaskError as reason:
            raise TaskError(f"{reason}; joints without motors: {', '.join(self.undriven) or 'none'}") from None
        needed = wanted + at.carried(load)
        if self.hierarchy is None:
            force = Lam @ (needed - at.bias)
        else:
            force = self.hierarchy.forces(at.inverse_inertia, at.bias, needed).force
        tau = at.joint_forces(force, Lam, at.posture(self._pull(q, v)))
        held = None if self.contacts is None else at.contact_force(tau)
        return Command(tau, force, wanted, error, self.monitor(q, v, tau), held)

    def wanted_acceleration(self, t: float, q: Any, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x** = reference acceleration + damping (velocity error) + stiffness (position error), and that error."""
        speed, acceleration, positions = self.references.at(t)
        error = self.tracker.errors(q, positions)
        return acceleration + self.rate * (speed - velocity) + self.stiffness * error, error

    def posture_torque(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """tau0 (nv,): the torque that tracks the posture alone, gravity and Coriolis forces included."""
        return self.dynamics.inverse_dynamics(q, v, self._pull(q, v))

    def _pull(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """The acceleration (nv,) towards the posture."""
        target, g = q if self.posture is None else self.posture, self.posture_gains
        return g.stiffness * self.space.model.difference(q, target) - g.rate * v


@explained
class Stabiliser:
    """Accelerations that bring drifting constraints back to where they were at `q` (Baumgarte 1972)."""

    def __init__(self, space: OperationalSpace, q: Any, rate: float = 50.0) -> None:
        self.space, self.rate, self.tracker = space, rate, Tracker(space)
        self.targets = self.tracker.positions(q)

    def __call__(self, q: Any, v: Any) -> FloatArray:
        """-2 rate J v + rate^2 (target - position), (m,)."""
        error = self.tracker.errors(q, self.targets)
        return self.rate**2 * error - 2 * self.rate * (self.space.jacobian(q) @ v)
