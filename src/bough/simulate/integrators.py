"""Fixed-step integrators on the configuration manifold.

Munthe-Kaas 1999 for Runge-Kutta on Lie groups; Hairer, Lubich & Wanner 2006 for the midpoint rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bough.joints import bracket
from bough.model import Model

Array = npt.NDArray[np.float64]
Acceleration: TypeAlias = Callable[[Array, Array], Array]
Step: TypeAlias = Callable[[Model, Acceleration, Array, Array, float], tuple[Array, Array]]

# Fixed-point iterations of the midpoint rule: each gains about a factor of 1 / (rate dt)
MIDPOINT_ITERATIONS, MIDPOINT_TOLERANCE = 30, 1e-14


def semi_implicit_euler(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """First order; the position moves with the new velocity, which keeps oscillations from growing."""
    v = v + dt * acceleration(q, v)
    return model.integrate(q, dt * v), v


def runge_kutta_4(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Fourth order on vector spaces and rotations alike: steps are taken in the tangent space at q (Munthe-Kaas)."""
    steps: list[Array] = []
    rates: list[Array] = []
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


def lie_midpoint(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Second order and symmetric in time, so that energy does not drift; implicit, by fixed-point iteration."""
    middle = v
    for _ in range(MIDPOINT_ITERATIONS):
        last = middle
        middle = v + 0.5 * dt * acceleration(model.integrate(q, 0.5 * dt * middle), middle)
        if np.abs(middle - last).max(initial=0.0) <= MIDPOINT_TOLERANCE * (1.0 + np.abs(middle).max(initial=0.0)):
            break
    return model.integrate(q, dt * middle), 2.0 * middle - v


INTEGRATORS: dict[str, Step] = {
    "semi_implicit_euler": semi_implicit_euler,
    "rk4": runge_kutta_4,
    "lie_midpoint": lie_midpoint,
}


def _tangent_rate(model: Model, u: Array, v: Array) -> Array:
    """The rate of the tangent vector u when q exp(u) moves with the body velocity v: v + [u, v]/2 + [u, [u, v]]/12."""
    first = bracket(model.mechanism, u, v)
    return v + 0.5 * first + bracket(model.mechanism, u, first) / 12.0
