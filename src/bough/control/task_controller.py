"""Operational-space control (Khatib 1987; Chang & Khatib 2001): task PD on references, posture in the null space.

tau = J' F + N' tau0 with F = Lambda (x** - beta): x** is the wanted task acceleration, beta the one that comes by
itself (gravity included), and tau0 holds the posture without disturbing the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.control.limits import LimitMonitor, Limits
from bough.control.references import Gains, Reference
from bough.errors import TaskError
from bough.opspace.hierarchy import Hierarchy
from bough.opspace.space import OperationalSpace
from bough.opspace.tracking import Tracker

Array = npt.NDArray[np.float64]


class Command(NamedTuple):
    """One answer of a controller."""

    tau: Array  # (nv,)
    force: Array  # (m,) task force F
    acceleration: Array  # (m,) wanted task acceleration
    error: Array  # (m,) target less position
    limits: Limits


class TaskController:
    """Holds the tasks of a space on their references, and the posture as far as the tasks leave room.

    `references` gives for each task a constant `Reference` or a function of time; a task without one is held at rest.
    `hierarchy` makes priorities strict. `clip` cuts torques at their limits; what exceeds them is reported either way.
    """

    def __init__(
        self,
        space: OperationalSpace,
        references: Mapping[str, Reference | Callable[[float], Reference]],
        *,
        gains: Gains | Mapping[str, Gains] = Gains(),  # noqa: B008
        posture: npt.ArrayLike | None = None,
        posture_gains: Gains = Gains(25.0),  # noqa: B008
        hierarchy: Hierarchy | None = None,
        clip: bool = False,
    ) -> None:
        unknown = [name for name in references if name not in space.tasks.slices]
        if unknown:
            raise TaskError(f"there is a reference for {unknown[0]!r}; expected tasks {', '.join(space.tasks.names)}")
        self.space, self.references, self.hierarchy, self.clip = space, dict(references), hierarchy, clip
        self.dynamics = space.dynamics
        self.tracker, self.monitor = Tracker(space), LimitMonitor(space.model)
        self.posture = None if posture is None else np.asarray(posture, float)
        self.posture_gains = posture_gains
        self.stiffness, self.rate = np.empty(space.tasks.size), np.empty(space.tasks.size)
        for name, rows in space.tasks.slices.items():
            own = gains if isinstance(gains, Gains) else gains.get(name, Gains())
            self.stiffness[rows], self.rate[rows] = own.stiffness, own.rate

    def __call__(self, t: float, q: Any, v: Any, feed_forward: Array | float = 0.0) -> Command:
        """The torques (nv,) at time t. `feed_forward` (m,) is added to the task force: a load that the tasks carry."""
        op = self.space(q, v)
        wanted, error = self.wanted_acceleration(t, q, op.velocity)
        if self.hierarchy is None:
            force = (op.inertia @ (wanted - op.bias)) + feed_forward
        else:
            force = self.hierarchy.forces(op.inverse_inertia, op.bias, wanted).force + feed_forward
        tau = op.joint_forces(force, self.posture_torque(q, v))
        limits = self.monitor(np.asarray(q), np.asarray(v), tau)
        if self.clip and limits.torque:
            tau = np.clip(tau, -self.space.model.limits.effort, self.space.model.limits.effort)
        return Command(tau, force, wanted, error, limits)

    def wanted_acceleration(self, t: float, q: Any, velocity: Array) -> tuple[Array, Array]:
        """x** = reference acceleration + damping (velocity error) + stiffness (position error), and that error."""
        tasks, targets = self.space.tasks, {}
        speed, acceleration = np.zeros(tasks.size), np.zeros(tasks.size)
        for name, given in self.references.items():
            reference = given(t) if callable(given) else given
            rows = tasks.slices[name]
            speed[rows], acceleration[rows] = reference.velocity, reference.acceleration
            if reference.position is not None:
                targets[name] = reference.position
        error = self.tracker.errors(q, targets)
        return acceleration + self.rate * (speed - velocity) + self.stiffness * error, error

    def posture_torque(self, q: Any, v: Any) -> Array:
        """tau0 (nv,): what would take the whole body to its posture, gravity and Coriolis forces included."""
        target = q if self.posture is None else self.posture
        g = self.posture_gains
        pull = g.stiffness * self.space.model.difference(q, target) - g.rate * np.asarray(v)
        return self.dynamics.inverse_dynamics(q, v, pull)
