"""Operational-space control (Khatib 1987; Chang & Khatib 2001): task PD on references, posture in the null space.

tau = J' F + N' tau0 with F = Lambda (x** - beta): x** is the wanted task acceleration, beta the one that comes by
itself (gravity included), and tau0 holds the posture without disturbing the tasks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import ShapeError, TaskError
from bough.joints import SLIDE
from bough.model import Model
from bough.opspace.constrained import Constrained, ConstrainedDynamics
from bough.opspace.hierarchy import Hierarchy
from bough.opspace.space import OperationalSpace
from bough.opspace.tracking import Spin, Tracker, has_position, rotation_vector

__all__ = [
    "Command",
    "Constrained",
    "ConstrainedDynamics",
    "CubicPath",
    "Gains",
    "LimitMonitor",
    "Limits",
    "PosePath",
    "Reference",
    "Stabiliser",
    "TaskController",
    "share_wrench",
]

Array = npt.NDArray[np.float64]


class Reference(NamedTuple):
    """Where a task should be, its velocity and acceleration (rows of the task, [linear, angular] for a pose)."""

    position: Any = None
    velocity: Any = 0.0
    acceleration: Any = 0.0


class Gains(NamedTuple):
    """Stiffness in 1/s^2 and damping in 1/s, each a number or one for each row; critical damping if none is given."""

    stiffness: Any = 100.0
    damping: Any = None

    @property
    def rate(self) -> Any:
        return 2.0 * np.sqrt(self.stiffness) if self.damping is None else self.damping


class Limits(NamedTuple):
    """What a command or a state exceeds: names of joints, and the largest torque over its limit."""

    torque: tuple[str, ...]
    position: tuple[str, ...]
    velocity: tuple[str, ...]
    torque_ratio: float


class Command(NamedTuple):
    """One answer of a controller."""

    tau: Array  # (nv,)
    force: Array  # (m,) task force F
    acceleration: Array  # (m,) wanted task acceleration
    error: Array  # (m,) target less position
    limits: Limits


class CubicPath:
    """The cubic spline through points (k, n) at times (k,), at rest at both ends, where it stays; k at least 2.

    Two equal points in a row are a pause: the path rests between them.
    """

    def __init__(self, times: npt.ArrayLike, points: npt.ArrayLike) -> None:
        self.times, self.points = np.asarray(times, float), np.asarray(points, float)
        k = len(self.times)
        if self.times.ndim != 1 or self.points.ndim != 2 or len(self.points) != k or k < 2:
            raise ShapeError(
                f"a path has times (k,) and points (k, n), k > 1: got {self.times.shape}, {self.points.shape}"
            )
        h = np.diff(self.times)
        if not (np.isfinite(self.times).all() and np.isfinite(self.points).all() and (h > 0).all()):
            raise ShapeError("the times of a path must ascend, and all numbers be finite")
        # slopes at the knots, from continuity of the second derivative; zero at the ends
        A, b = np.eye(k), np.zeros_like(self.points)
        pause = (np.diff(self.points, axis=0) == 0.0).all(axis=1)
        for i in (i for i in range(1, k - 1) if not (pause[i - 1] or pause[i])):
            A[i, i - 1 : i + 2] = 1 / h[i - 1], 2 / h[i - 1] + 2 / h[i], 1 / h[i]
            step = np.diff(self.points[i - 1 : i + 2], axis=0)
            b[i] = 3 * (step[0] / h[i - 1] ** 2 + step[1] / h[i] ** 2)
        slopes = np.linalg.solve(A, b)
        x0, x1, h = self.points[:-1], self.points[1:], h[:, None]
        m0, m1 = h * slopes[:-1], h * slopes[1:]
        self._pieces = np.stack([x0, m0, 3 * (x1 - x0) - 2 * m0 - m1, 2 * (x0 - x1) + m0 + m1], axis=1)
        self._starts = self.times.tolist()

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n,) at time t."""
        i, starts = self.segment(t), self._starts
        h = starts[i + 1] - starts[i]
        s = (t - starts[i]) / h
        if not starts[0] < t < starts[-1]:
            still = np.zeros_like(self.points[0])
            return self.points[0 if t <= starts[0] else -1].copy(), still, still.copy()
        powers = [
            [1.0, s, s * s, s * s * s],
            [0.0, 1 / h, 2 * s / h, 3 * s * s / h],
            [0.0, 0.0, 2 / h**2, 6 * s / h**2],
        ]
        x, dx, ddx = np.array(powers) @ self._pieces[i]
        return x, dx, ddx

    def segment(self, t: float) -> int:
        """The number of the piece that t falls in; the first or last one outside."""
        return min(max(bisect_right(self._starts, t) - 1, 0), len(self._starts) - 2)


class PosePath:
    """Placements (k, 4, 4) at times (k,): positions on a cubic spline, turns about fixed axes from rest to rest."""

    def __init__(self, times: npt.ArrayLike, placements: npt.ArrayLike) -> None:
        self.placements = np.asarray(placements, float)
        if self.placements.ndim != 3 or self.placements.shape[1:] != (4, 4):
            raise ShapeError(f"placements have shape (k, 4, 4), got {self.placements.shape}")
        self.path = CubicPath(times, self.placements[:, :3, 3])
        R = self.placements[:, :3, :3]
        self._turns = np.array([rotation_vector(b @ a.T) for a, b in pairwise(R)])
        self._spins = [Spin(turn) for turn in self._turns]

    def __call__(self, t: float) -> Reference:
        """Placement (4, 4), velocity and acceleration (6,) = [linear, angular] in world axes."""
        p, v, a = self.path(t)
        i, times = self.path.segment(t), self.path.times
        h = float(times[i + 1] - times[i])
        s = min(max((t - float(times[i])) / h, 0.0), 1.0)
        placement = np.eye(4)
        placement[:3, :3] = self._spins[i](s * s * (3 - 2 * s)) @ self.placements[i, :3, :3]
        placement[:3, 3] = p
        turn = self._turns[i]
        rates = np.concatenate([v, 6 * s * (1 - s) / h * turn]), np.concatenate([a, (6 - 12 * s) / h**2 * turn])
        if times[0] < t < times[-1]:
            return Reference(placement, *rates)
        return Reference(placement, np.zeros(6), np.zeros(6))


class Stabiliser:
    """Accelerations that bring drifting constraints back to where they were at `q` (Baumgarte 1972)."""

    def __init__(self, space: OperationalSpace, q: Any, rate: float = 50.0) -> None:
        self.space, self.rate, self.tracker = space, rate, Tracker(space)
        self.targets = {t.name: self.tracker.position(t, q) for t in space.tasks.tasks if has_position(t)}

    def __call__(self, q: Any, v: Any) -> Array:
        """-2 rate J v + rate^2 (target - position), (m,)."""
        error = self.tracker.errors(q, self.targets)
        return self.rate**2 * error - 2 * self.rate * (self.space.jacobian(q) @ v)


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
        self.dynamics = Dynamics(space.model, general=space.general)
        self.tracker, self.monitor = Tracker(space, self.dynamics), LimitMonitor(space.model)
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


class LimitMonitor:
    """Says which joints are beyond their torque, position or velocity limits."""

    def __init__(self, model: Model) -> None:
        m, limits, names = model.mechanism, model.limits, [""] * model.nv
        for joint in model.joints:
            names[joint.v] = [joint.name] * (joint.v.stop - joint.v.start)
        self._names, self._effort, self._speed = names, limits.effort, limits.velocity
        single = np.flatnonzero((m.kind <= SLIDE) & (m.ratio[m.dof[:-1]] == 1.0))
        self._q, self._v = m.q_index[single], m.v_index[m.dof[single]]
        self._lower, self._upper = limits.lower[self._v], limits.upper[self._v]

    def __call__(self, q: Array, v: Array, tau: Array) -> Limits:
        ratio, x = np.abs(tau) / self._effort, q[self._q]
        outside = self._v[(x < self._lower) | (x > self._upper)]
        torque, speed = (ratio > 1.0).nonzero()[0], (np.abs(v) > self._speed).nonzero()[0]
        torques, positions, speeds = (tuple(dict.fromkeys(self._names[k] for k in d)) for d in (torque, outside, speed))
        return Limits(torques, positions, speeds, float(ratio.max(initial=0.0)))


def share_wrench(points: Sequence[npt.ArrayLike], wrench: npt.ArrayLike) -> Array:
    """Forces and moments (k, 6) on k grips that add up to `wrench` (6,) = [force, moment about the origin].

    All in the same axes; the least of all such forces (the augmented object's grasp, without internal forces).
    """
    p = np.asarray(points, float).reshape(-1, 3)
    G = np.zeros((6, 6 * len(p)))
    for k, x in enumerate(p):
        G[:, 6 * k : 6 * k + 6] = np.eye(6)
        G[3:, 6 * k : 6 * k + 3] = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.linalg.lstsq(G, np.asarray(wrench, float), rcond=None)[0].reshape(-1, 6)
