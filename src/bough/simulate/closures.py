"""Loops and mimic joints in steps of higher order, and loops that are open at the start.

Accelerations of `ConstrainedDynamics` are an ordinary differential equation whatever the state; positions and
velocities are put back onto the loops after each step, along the least way in the metric of the masses. As what a step
leaves is of its own order, so is the result (Hairer & Wanner 1996, VII.2). A step in which a stop or dry friction acts
is one of semi-implicit Euler, in which both are exact.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bough.dynamics.engine import bind
from bough.dynamics.laws import LAW_FORCES, joint_laws
from bough.dynamics.stepping import Integrator
from bough.errors import NumericalError, ShapeError
from bough.opspace import ConstrainedDynamics, Loops
from bough.simulate.stepping import RowStepper
from bough.simulate.steps import step_by_acceleration
from bough.types import FloatArray

OPEN = 1e-3  # metres or radians by which loops may be open at the start
UNMET = 1e-6  # of the accelerations: rows of loops that are further off have no motion


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


class HeldMotion:
    """Steps by an integrator of higher order, of a model whose loops and mimic joints `stepper` holds."""

    def __init__(self, stepper: RowStepper, integrator: Integrator, without: Any, servo: bool) -> None:
        self.stepper, self.model, self.integrator = stepper, stepper.model, integrator
        self.motion = ConstrainedDynamics(stepper.loops.space) if stepper.loops else None
        routine = LAW_FORCES if servo else LAW_FORCES.without("target", "kp", "kd")
        self._forces = bind(routine, self.model, *joint_laws(self.model, without), general=stepper.dynamics.general)

    def advance(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, *, servo: tuple[FloatArray, ...] = ()
    ) -> tuple[FloatArray, FloatArray]:
        """The state after dt."""
        Q, V = np.atleast_2d(q), np.atleast_2d(v)
        T, *drawn = (np.ascontiguousarray(np.broadcast_to(x, V.shape)) for x in (tau, *servo))
        exact = self.stepper.advance(Q, V, T, dt, servo=tuple(drawn))
        acts = np.abs(self.stepper.impulses).max(axis=1, initial=0.0) > 0.0
        if not acts.all():
            moved = self._smooth(Q, V, dt, (T, *drawn))
            exact = np.where(acts[:, None], exact[0], moved[0]), np.where(acts[:, None], exact[1], moved[1])
        return (exact[0][0], exact[1][0]) if q.ndim == 1 else exact

    def _smooth(self, q: FloatArray, v: FloatArray, dt: float, drives: tuple[FloatArray, ...]) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            law = partial(self._acceleration, drives)
            q, v = step_by_acceleration(self.model, self.integrator, law, q, v, dt)
        if self.stepper.loops is None or self.motion is None:
            return q, v
        q = self.stepper.loops.onto(q)
        return q, self.motion.impact(q, v).v

    def _acceleration(self, drives: tuple[FloatArray, ...], q: FloatArray, v: FloatArray) -> FloatArray:
        tau = self._forces.call(q, v, *drives)
        if self.motion is None:
            return np.asarray(self.stepper.dynamics.forward_dynamics(q, v, tau))
        found = self.motion(q, v, tau)
        size = np.maximum(1.0, np.abs(found.qdd).max(axis=-1))
        if not (found.residual <= UNMET * size).all():
            worst = float(np.max(found.residual))
            raise NumericalError(f"the loops of {self.model.name!r} cannot be met by any motion here (by {worst:.2g})")
        return np.asarray(found.qdd)
