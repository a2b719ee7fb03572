"""Inputs of a step: joint forces, external wrenches and targets of servos."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.run.libraries import asarray, full, on_host
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.prescribed import numbers
from bough.errors import ShapeError
from bough.joints import JOINTS, PRIMITIVES
from bough.model import Model
from bough.types import FloatArray

Target: TypeAlias = Callable[[float, FloatArray, FloatArray], npt.ArrayLike] | npt.ArrayLike
Array: TypeAlias = Any  # of numpy, PyTorch or CuPy


def servo_gains(model: Model, servo: Any, batch: int | None) -> list[FloatArray]:
    """kp and kd of servos."""
    if not (isinstance(servo, tuple | list) and len(servo) == 2):
        raise ShapeError(f"servo is a pair of gains (kp, kd), got {servo!r}")
    return [joint_gains(model, name, x, batch) for name, x in zip(("kp", "kd"), servo, strict=True)]


def joint_gains(model: Model, name: str, value: Any, batch: int | None) -> FloatArray:
    """A number for all revolute and prismatic joints, or an array (nv,) or (batch, nv)."""
    nv = model.nv
    gains = np.asarray(on_host(value), float)
    if gains.shape not in ((), (nv,), (batch, nv)):
        raise ShapeError(f"{name} must be a number, (nv,) or (batch, nv), got {gains.shape}")
    if not (gains >= 0.0).all():
        raise ShapeError(f"{name} must not be negative")
    if gains.ndim == 0:
        gains, whole = np.zeros(nv), gains
        gains[model.scalar_joints.v] = whole
    others = ~np.isin(np.arange(nv), model.scalar_joints.v)
    wrong = np.flatnonzero(others & (gains.reshape(-1, nv) != 0.0).any(axis=0))
    if len(wrong):
        raise ShapeError(f"{name}: servos act on revolute and prismatic joints, not on {model.dof_names[wrong[0]]!r}")
    return gains


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


class Drive:
    """Joint forces, or targets, at each time, copied from the caller's: constant, or a function of (t, q, v)."""

    def __init__(self, name: str, given: Any, shape: tuple[int, ...], strict: bool) -> None:
        self.name, self.shape, self.strict = name, shape, strict
        self.function = given if callable(given) else None
        whole = 0.0 if given is None or self.function else given
        self.constant = numbers(f"{name} has", whole, shape, strict=strict)

    def __call__(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        if self.function is None:
            return self.constant
        found = self.function(t, q, v)
        if type(found) is np.ndarray and found.shape == self.shape and found.dtype == np.float64:
            copy = found.copy()
            if not self.strict or is_finite(copy):
                return copy
        return numbers(f"{self.name} returned", found, self.shape, f" at t = {t:g} s", self.strict)


def is_finite(x: FloatArray) -> bool:
    """Whether all numbers are finite: the sum of squares is quick, and infinite where one is not, or is very large."""
    flat = x.ravel()
    return math.isfinite(flat.dot(flat)) or bool(np.isfinite(flat).all())


def start_target(model: Model, q: FloatArray) -> FloatArray:
    """The target (..., nv) of servos that keep revolute and prismatic joints where they are at q."""
    goal = np.zeros((*q.shape[:-1], model.nv))
    goal[..., model.scalar_joints.v] = q[..., model.scalar_joints.q]
    return goal


class Wrenches:
    """External wrenches [force, moment] on frames by name, (6,) or (..., 6), in world axes, as joint forces."""

    def __init__(self, dynamics: Dynamics, forces: Any, q: Array) -> None:
        if not isinstance(forces, Mapping):
            raise ShapeError(f"forces are a dictionary of frames and wrenches, got {forces!r}")
        self.dynamics, self.names, shape = dynamics, tuple(forces), (*q.shape[:-1], 6)
        self.F = full((*q.shape[:-1], len(forces), 6), 0.0, q)
        for k, (name, wrench) in enumerate(forces.items()):
            dynamics.model.frame(name)  # an unknown one is refused by name
            given = asarray(wrench, q)
            if tuple(given.shape) not in ((6,), shape):
                raise ShapeError(f"forces[{name!r}] must have shape (6,) or {shape}, got {tuple(given.shape)}")
            self.F[..., k, :] = given

    def __call__(self, q: Array, rows: Any = ..., **parameters: Array) -> Array:
        """Joint forces (..., nv) at q, the configurations of `rows`."""
        if not self.names:
            return 0.0
        return by_rows(self.dynamics, "generalized_forces", q, self.names, self.F[rows], **parameters)


def by_rows(dynamics: Dynamics, function: str, *inputs: Any, **options: Any) -> Array:
    """Compute a function of `dynamics`; rows that have lost their state give NaN and raise nothing."""
    if dynamics.device.is_gpu:
        return getattr(dynamics, function)(*inputs, **options)
    return dynamics.with_status(function, *inputs, **options)[0]
