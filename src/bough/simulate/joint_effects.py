"""The laws of joints in the order of v, for steps with loops and contacts (`stepping`): see `dynamics.laws`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import check_effects, coordinate_limits, joint_laws
from bough.types import FloatArray

Effect: TypeAlias = Literal["damping", "springs", "friction", "limits", "closures"]


class JointEffects:
    """The effects of a model's joints, less those in `without`. Works on one state or on a batch."""

    def __init__(self, dynamics: Dynamics, without: Iterable[Effect] = ()) -> None:
        off = self.without = check_effects(without)
        model, zero = dynamics.model, np.zeros(dynamics.model.nv)
        self.dynamics, self.model, self.closures = dynamics, model, "closures" not in off and bool(model.closures)
        self.damping = zero if "damping" in off else model.damping
        self.stiffness = zero if "springs" in off else model.stiffness
        self.friction = zero if "friction" in off else model.friction
        self.limited, self.coordinate = (
            coordinate_limits(model)[:2] if "limits" not in off else (zero[:0].astype(int),) * 2
        )
        self.laws = joint_laws(model, off)
        # degrees of freedom that an impulse may act on
        self.rows = np.union1d(self.limited, np.flatnonzero(self.friction)).astype(np.int64)
        self._place = np.searchsorted(self.rows, self.limited)

    def springs(self, q: FloatArray) -> FloatArray:
        """The force of the springs (nv,)."""
        if not self.stiffness.any():
            return np.zeros(self.model.nv)
        return -self.stiffness * self.model.difference(np.broadcast_to(self.model.rest_configuration, q.shape), q)

    def forces(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Springs and damping (nv,): what integrators without an implicit step add to tau."""
        return self.springs(q) - self.damping * v

    def bounds(self, q: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Velocities (batch, k) that do not carry a joint beyond its limits within the step."""
        lower, upper = np.full((len(q), len(self.rows)), -np.inf), np.full((len(q), len(self.rows)), np.inf)
        x, limits = q[:, self.coordinate], self.model.limits
        lower[:, self._place] = np.minimum((limits.lower[self.limited] - x) / dt, 0.0)
        upper[:, self._place] = np.maximum((limits.upper[self.limited] - x) / dt, 0.0)
        return lower, upper
