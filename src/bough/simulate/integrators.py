"""The rules of `dynamics.stepping` for accelerations that are functions of the caller, on one state or many.

Munthe-Kaas 1999 for Runge-Kutta on Lie groups; Hairer, Lubich & Wanner 2006 for the midpoint rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from bough.dynamics.stepping import Integrator
from bough.joints import bracket
from bough.model import Model
from bough.types import FloatArray

Acceleration: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
State: TypeAlias = tuple[FloatArray, FloatArray]  # q and v
Step: TypeAlias = Callable[[Model, Acceleration, FloatArray, FloatArray, float], State]

# Fixed-point iterations of the midpoint rule: each gains about a factor of 1 / (rate dt)
MIDPOINT_ITERATIONS, MIDPOINT_TOLERANCE = 30, 1e-14


def semi_implicit_euler(
    model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """First order; the position moves with the new velocity, which keeps oscillations from growing."""
    v = v + dt * acceleration(q, v)
    return model.integrate(q, dt * v), v


def runge_kutta_4(
    model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """Fourth order on vector spaces and rotations alike: steps are taken in the tangent space at q (Munthe-Kaas)."""
    steps: list[FloatArray] = []
    rates: list[FloatArray] = []
    u, x = np.zeros_like(v), v
    for share in (0.5, 0.5, 1.0, None):
        steps.append(_tangent_rate(model, u, x))
        rates.append(acceleration(model.integrate(q, u), x))
        if share is not None:
            u, x = share * dt * steps[-1], v + share * dt * rates[-1]
    weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    move = sum(w * s for w, s in zip(weights, steps, strict=True))
    gain = sum(w * r for w, r in zip(weights, rates, strict=True))
    return model.integrate(q, dt * move), v + dt * gain


def lie_midpoint(
    model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """Second order and symmetric in time, so that energy does not drift; implicit, by fixed-point iteration."""
    middle = v
    for _ in range(MIDPOINT_ITERATIONS):
        last = middle
        middle = v + 0.5 * dt * acceleration(model.integrate(q, 0.5 * dt * middle), middle)
        if np.abs(middle - last).max(initial=0.0) <= MIDPOINT_TOLERANCE * (1.0 + np.abs(middle).max(initial=0.0)):
            break
    return model.integrate(q, dt * middle), 2.0 * middle - v


BY_ACCELERATION: dict[Integrator, Step] = {
    "semi_implicit_euler": semi_implicit_euler,
    "runge_kutta_4": runge_kutta_4,
    "lie_midpoint": lie_midpoint,
}


def _tangent_rate(model: Model, u: FloatArray, v: FloatArray) -> FloatArray:
    """The rate of the tangent vector u when q exp(u) moves with the body velocity v: v + [u, v]/2 + [u, [u, v]]/12."""
    first = bracket(model.mechanism, u, v)
    return v + 0.5 * first + bracket(model.mechanism, u, first) / 12.0
