"""What joints do by themselves: damping, springs, dry friction and stops at their limits.

Forces of springs and damping follow `Model.passive`. Damping is implicit: (H + dt B) v' = H v + dt (tau - C - K x).
Dry friction and limits act on the velocity at the end of the step, as impulses (see `impulses`): a joint sticks unless
more than its friction pulls at it, and stops inelastically at its limits, which it reaches exactly. A joint that starts
beyond a limit is not pushed back, it only cannot go further.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import numpy as np

from bough.dynamics.dynamics import Dynamics
from bough.errors import unknown_option
from bough.model import Model
from bough.simulate.impulses import joint_impulses
from bough.types import FloatArray

Effect: TypeAlias = Literal["damping", "springs", "friction", "limits", "closures"]
EFFECTS: tuple[str, ...] = get_args(Effect)


class JointEffects:
    """The effects of a model's joints, less those in `without`. Works on one state or on a batch."""

    def __init__(self, dynamics: Dynamics, without: Iterable[Effect] = ()) -> None:
        off = (without,) if isinstance(without, str) else tuple(without)
        unknown = [name for name in off if name not in EFFECTS]
        if unknown:
            raise unknown_option(f"joints have no effect {unknown[0]!r}", unknown[0], EFFECTS)
        model, zero = dynamics.model, np.zeros(dynamics.model.nv)
        self.dynamics, self.model, self.closures = dynamics, model, "closures" not in off and bool(model.closures)
        self.damping = zero if "damping" in off else model.damping
        self.stiffness = zero if "springs" in off else model.stiffness
        self.friction = zero if "friction" in off else model.friction
        self.limited, self.coordinate = _limited(model) if "limits" not in off else (zero[:0].astype(int),) * 2
        # freedoms that an impulse may act on
        self.rows = np.union1d(self.limited, np.flatnonzero(self.friction)).astype(np.int64)
        self._place = np.searchsorted(self.rows, self.limited)

    @property
    def none(self) -> bool:
        """Whether the joints are free of all effects."""
        return not (self.damping.any() or self.stiffness.any() or len(self.rows))

    def springs(self, q: FloatArray) -> FloatArray:
        """The force of the springs (nv,)."""
        if not self.stiffness.any():
            return np.zeros(self.model.nv)
        return -self.stiffness * self.model.difference(np.broadcast_to(self.model.rest_configuration, q.shape), q)

    def forces(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Springs and damping (nv,): what integrators without an implicit step add to tau."""
        return self.springs(q) - self.damping * v

    def damped_velocity(self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float) -> FloatArray:
        """The velocity after a step under tau, springs and implicit damping."""
        tau = tau + self.springs(q)
        if not self.damping.any():
            return v + dt * self.dynamics.forward_dynamics(q, v, tau)
        H, C = self.dynamics.mass_matrix(q), self.dynamics.bias_force(q, v)
        push = (H @ v[..., None])[..., 0] + dt * (tau - C)
        return np.linalg.solve(H + np.diag(dt * self.damping), push[..., None])[..., 0]

    def stopped(self, q: FloatArray, u: FloatArray, dt: float, implicit: bool = True) -> FloatArray:
        """The velocity that friction and limits leave of u at q; `implicit`: the step that made u damps implicitly."""
        if not len(self.rows):
            return u
        many = np.atleast_2d(u).copy()
        lower, upper = self.bounds(np.atleast_2d(q), dt)
        w = many[:, self.rows]
        touched = np.flatnonzero((w < lower).any(axis=1) | (w > upper).any(axis=1) | bool(self.friction.any()))
        if len(touched):
            M = self.dynamics.mass_matrix(np.atleast_2d(q)[touched])
            if implicit:
                M = M + np.diag(dt * self.damping)
            unit = np.eye(self.model.nv)[:, self.rows]
            columns = np.linalg.solve(M, np.broadcast_to(unit, (len(M), *unit.shape)))
            A = columns[:, self.rows]
            lam = joint_impulses(A, w[touched], dt * self.friction[self.rows], lower[touched], upper[touched])
            many[touched] += (columns @ lam[..., None])[..., 0]
        return many.reshape(u.shape)

    def bounds(self, q: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Velocities (batch, k) that do not carry a joint beyond its limits within the step."""
        lower, upper = np.full((len(q), len(self.rows)), -np.inf), np.full((len(q), len(self.rows)), np.inf)
        x, limits = q[:, self.coordinate], self.model.limits
        lower[:, self._place] = np.minimum((limits.lower[self.limited] - x) / dt, 0.0)
        upper[:, self._place] = np.maximum((limits.upper[self.limited] - x) / dt, 0.0)
        return lower, upper


def coordinate_limits(model: Model) -> tuple[np.ndarray, np.ndarray, FloatArray, FloatArray]:
    """Freedoms with a limit, ascending, where their coordinates lie in q, and both limits."""
    v, q = _limited(model)
    return v, q, model.limits.lower[v], model.limits.upper[v]


def _limited(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Freedoms of revolute and prismatic joints with a limit, ascending, and where each one's coordinate lies in q."""
    q, v = model.scalar_joints
    finite = np.isfinite(model.limits.lower[v]) | np.isfinite(model.limits.upper[v])
    order = np.argsort(v[finite])
    return v[finite][order], q[finite][order]
