"""Loops in rollouts: what they leave of velocities and positions, and steps of higher order that keep them closed.

Those integrate the accelerations of `ConstrainedDynamics`, an ordinary differential equation whatever the state, and
put positions and velocities back onto the loops after each step, along the least way in the metric of the masses. As
what a step leaves is of its own order, so is the result (Hairer & Wanner 1996, VII.2).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bough.dynamics.dynamics import Dynamics
from bough.dynamics.stepping import Integrator
from bough.errors import NumericalError, ShapeError
from bough.opspace import ConstrainedDynamics, Loops
from bough.simulate.integrators import BY_ACCELERATION
from bough.simulate.joint_effects import JointEffects
from bough.types import FloatArray

OPEN = 1e-3  # metres or radians by which loops may be open at the start
UNMET = 1e-6  # of the accelerations: rows of loops that are further off have no motion


def check_closed(loops: Loops, q: FloatArray) -> None:
    """Refuse states whose loops are open: closing them would be no motion."""
    gap = np.abs(loops.gap(np.atleast_2d(q))).max(axis=1)
    row = int(gap.argmax())
    if not gap[row] <= OPEN:
        which = f"row {row} of the batch" if q.ndim == 2 else "the state"
        raise ShapeError(
            f"{which} has a loop of {loops.model.name!r} open by {gap[row]:.3g} m or rad: start from "
            f'bough.close_loops(model, q).q, or leave loops out with without=["closures"]'
        )


class Settles(Protocol):
    """What knows the stops and the friction of joints within loops."""

    def settled(self, q: FloatArray, v: FloatArray, dt: float) -> FloatArray:
        """What they and the loops leave of v (batch, nv)."""


class ClosedMotion:
    """Steps of one state or many by an integrator of `integrators`, with the loops of the model held."""

    def __init__(
        self, dynamics: Dynamics, effects: JointEffects, loops: Loops, integrator: Integrator, joints: Settles
    ) -> None:
        self.dynamics, self.model, self.effects, self.joints = dynamics, dynamics.model, effects, joints
        self.loops, self.step = loops, BY_ACCELERATION[integrator]
        self.motion = ConstrainedDynamics(loops.space)

    def advance(self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """The state after dt."""
        Q, V, T = (np.atleast_2d(x) for x in (q, v, np.broadcast_to(tau, v.shape)))
        Q, V = self.step(self.model, lambda x, y: self._acceleration(x, y, T), Q, V, dt)
        Q = self.loops.onto(Q)
        V = self.joints.settled(Q, V, dt)
        return (Q[0], V[0]) if q.ndim == 1 else (Q, V)

    def _acceleration(self, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
        found = self.motion(q, v, np.ascontiguousarray(tau + self.effects.forces(q, v)))
        size = np.maximum(1.0, np.abs(found.qdd).max(axis=-1))
        if not (found.residual <= UNMET * size).all():
            worst = float(np.max(found.residual))
            raise NumericalError(f"the loops of {self.model.name!r} cannot be met by any motion here (by {worst:.2g})")
        return np.asarray(found.qdd)
