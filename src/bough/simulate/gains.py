"""Gains of a servo from the weight of a robot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.joints import JOINTS, PRIMITIVES
from bough.types import FloatArray


@explained
def default_gains(
    dynamics: Dynamics, q: npt.ArrayLike, kp: float | None = None, kd: float | None = None, dt: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Gains kp and kd, (nv,) each, by which a servo holds the robot near q; zero where there is no motor.

    With I, the largest moment of inertia in H, M, the total mass, and r = sqrt(I / M), a joint deflects by 0.1 rad
    under a moment M g r, and a slide by 0.01 r under a force M g. kd is critical for a pendulum of length r that stands
    on such a joint.

    Parameters
    ----------
    dynamics : Dynamics
        Of the robot.
    q : array_like
        Configuration (nq,).
    kp, kd : float, optional
        The same gain for all motors instead, in N m / rad and N m s / rad, or N / m and N s / m.
    dt : float, optional
        Step of an explicit integrator, in s: default gains are then limited to what the inertia of a joint tolerates.
    """
    model = dynamics.model
    axes = [k for joint in model.joints for name in JOINTS[joint.type] for k in PRIMITIVES[name].axes]
    slides, mass, g = np.array(axes) >= 3, model.total_mass, float(np.linalg.norm(model.gravity)) or 9.81
    largest = float(np.diag(dynamics.mass_matrix(q))[~slides].max(initial=0.0))
    r = (largest / mass) ** 0.5 if largest > 0.0 and mass > 0.0 else 1.0
    stiffness = np.where(slides, 100.0 / r, 10.0 * r) * mass * g if kp is None else np.full(model.nv, kp)
    damping = 2.0 * (r / (10.0 * g)) ** 0.5 * stiffness if kd is None else np.full(model.nv, kd)
    if dt is not None:
        inertia = 1.0 / np.diag(dynamics.inverse_mass_matrix(q))
        stiffness = np.minimum(stiffness, 0.05 * inertia / dt**2) if kp is None else stiffness
        damping = np.minimum(damping, 0.2 * inertia / dt) if kd is None else damping
    return model.actuated * stiffness, model.actuated * damping
