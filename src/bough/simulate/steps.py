"""Steps without loops and contacts: kernels of `dynamics.stepping`, bound once for all models that are equal.

And steps under accelerations that are functions of the caller, by the stages of the same integrators.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.dynamics.engine import CPU, CompiledFunction, Device, bind
from bough.dynamics.laws import joint_laws
from bough.dynamics.parameters import Parameters
from bough.dynamics.stepping import INTEGRATORS, Integrator
from bough.errors import NonFiniteError, ShapeError, short
from bough.model import Model, mark_limbs
from bough.types import FloatArray

KEPT = 64  # functions that stay bound: tracing one takes longer than a hundred steps
_bound: OrderedDict[Any, CompiledFunction] = OrderedDict()

Target: TypeAlias = Callable[[float, FloatArray, FloatArray], npt.ArrayLike] | npt.ArrayLike
Acceleration: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
State: TypeAlias = tuple[FloatArray, FloatArray]  # q and v
Path: TypeAlias = Callable[[float], Any]  # a position, or (position, velocity), at a time


def kept(key: Any, make: Callable[[], CompiledFunction]) -> CompiledFunction:
    """The function of this key, made if it is not among those used last."""
    if key not in _bound:
        _bound[key] = make()
    _bound.move_to_end(key)
    while len(_bound) > KEPT:
        _bound.popitem(last=False)
    return _bound[key]


def step_function(
    model: Model,
    integrator: Integrator,
    without: Collection[str] = (),
    *,
    servo: bool = False,
    prescribed: Collection[int] = (),
    quantities: Parameters | None = None,
    device: Device = CPU,
    general: bool = False,
) -> CompiledFunction:
    """A step of the model by one integrator, with servos, prescribed joints and further inputs where they are used."""
    inputs = quantities.inputs if quantities else ()
    options = tuple(sorted(without)), servo, tuple(sorted(prescribed)), tuple(inputs), device, general
    laws = joint_laws(model, without, prescribed)

    def make() -> CompiledFunction:
        routine = INTEGRATORS[integrator].step(servo, bool(prescribed))
        given = quantities or Parameters(model)
        routine, constants, twins = given.prepared(routine, laws, mark_limbs)
        return bind(routine, model, *constants, twins=twins, device=device, fold=given.folds, general=general)

    return kept((model.hash, integrator, *options), make)


def step_by_acceleration(
    model: Model, integrator: Integrator, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float
) -> State:
    """q and v after dt under accelerations (..., nv) that are a function of (q, v), of one state or many."""
    q, v, h = np.asarray(q, float), np.asarray(v, float), np.array([dt], float)
    now, qdd = (q, np.zeros((*v.shape[:-1], 4, model.nv))), np.zeros(v.shape)
    for n, routine in enumerate(INTEGRATORS[integrator].stages):
        if n > 0:
            qdd = numbers("the acceleration has", acceleration(now[0], now[1][..., 0, :]), v.shape)
        stage = kept((model.hash, integrator, n), partial(bind, routine, model, general=True))
        now = stage.call(q, v, qdd, now[1], h)
    return now[0], now[1][..., 0, :]


def semi_implicit_euler(model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float) -> State:
    """First order; the position moves with the new velocity, which keeps oscillations from growing."""
    return step_by_acceleration(model, "semi_implicit_euler", acceleration, q, v, dt)


def runge_kutta_4(model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float) -> State:
    """Fourth order on vector spaces and rotations alike: steps are taken in the tangent space at q (Munthe-Kaas)."""
    return step_by_acceleration(model, "runge_kutta_4", acceleration, q, v, dt)


def lie_midpoint(model: Model, acceleration: Acceleration, q: FloatArray, v: FloatArray, dt: float) -> State:
    """Second order and symmetric in time, so that energy does not drift; implicit, by fixed-point iteration."""
    return step_by_acceleration(model, "lie_midpoint", acceleration, q, v, dt)


def servo_gains(model: Model, name: str, value: Any, batch: int | None) -> FloatArray:
    """Gains of servos: a number for all revolute and prismatic joints, or an array (nv,) or (batch, nv)."""
    nv = model.nv
    gains = np.asarray(value, float)
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


class Drive:
    """Joint forces, or targets, at each time, apart from the caller's arrays: constant, or a function of (t, q, v)."""

    def __init__(self, name: str, given: Any, shape: tuple[int, ...], strict: bool) -> None:
        self.name, self.shape, self.strict = name, shape, strict
        self.function = given if callable(given) else None
        whole = 0.0 if given is None or self.function else given
        self.constant = numbers(f"{name} has", whole, shape, strict=strict)

    def __call__(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        if self.function is None:
            return self.constant
        found = self.function(t, read_only(q), read_only(v))
        if type(found) is np.ndarray and found.shape == self.shape and found.dtype == np.float64:
            copy = found.copy()
            if not self.strict or math.isfinite(copy.sum()):
                return copy
        return numbers(f"{self.name} returned", found, self.shape, f" at t = {t:g} s", self.strict)


def numbers(what: str, given: Any, shape: tuple[int, ...], when: str = "", strict: bool = False) -> FloatArray:
    """A new array of this shape from a caller's numbers; finite ones if `strict`."""
    try:
        found = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what} {short(repr(given))}{when}, expected an array of shape {shape}") from None
    if given is None:
        raise ShapeError(f"{what} None{when}, expected an array of shape {shape}")
    if strict and not np.isfinite(found).all():
        raise NonFiniteError(f"{what} a value that is not finite{when}: {short(repr(given))}")
    try:
        return np.array(np.broadcast_to(found, shape))
    except ValueError:
        raise ShapeError(f"{what} shape {found.shape}{when}, expected {shape}") from None


def read_only(x: FloatArray) -> FloatArray:
    """The same numbers, which a caller's function cannot write to."""
    view = x.view()
    view.flags.writeable = False
    return view


class Servos:
    """The inputs target, kp and kd of a step: a target that stays, or a function of (t, q, v)."""

    def __init__(self, model: Model, servo: Any, target: Target | None, q: FloatArray, strict: bool) -> None:
        if not (isinstance(servo, tuple | list) and len(servo) == 2):
            raise ShapeError(f"servo is a pair of gains (kp, kd), got {servo!r}")
        batch = len(q) if q.ndim == 2 else None
        self.gains = [servo_gains(model, name, x, batch) for name, x in zip(("kp", "kd"), servo, strict=True)]
        goal: Any = target
        if target is None:
            goal = np.zeros((*q.shape[:-1], model.nv))
            goal[..., model.scalar_joints.v] = q[..., model.scalar_joints.q]
        self.target = Drive("target", goal, (*q.shape[:-1], model.nv), strict)

    def __call__(self, t: float, q: FloatArray, v: FloatArray) -> list[FloatArray]:
        """At time t."""
        return [self.target(t, q, v), *self.gains]


class PrescribedMotion:
    """The input `lead` of a step: joints by name that follow functions of time."""

    def __init__(self, model: Model, paths: Mapping[str, Path]) -> None:
        self.model, self.paths = model, paths
        for name, path in paths.items():
            model.joint(name)  # an unknown one is refused by name
            if not callable(path):
                raise ShapeError(f"motion[{name!r}] is a function of time, got {type(path).__name__}")
        self.coordinates = [k for name in paths for k in range(model.nq)[model.joint(name).q]]
        self.dofs = [v for name in paths for v in range(model.nv)[model.joint(name).v]]

    def __call__(self, t: float, dt: float, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Velocities (..., nv) at t + dt, and q with prescribed joints where they are then.

        Where only positions are known, the velocity is the one that leads there in dt.
        """
        goal, velocity = q.copy(), {}
        for name, path in self.paths.items():
            joint, found = self.model.joint(name), path(t + dt)
            if isinstance(found, tuple):
                found, velocity[name] = found[0], np.asarray(found[1], float)
            at = np.asarray(found, float)
            if at.shape not in ((), goal[..., joint.q].shape[-1:]) or not np.isfinite(at).all():
                raise NonFiniteError(f"motion[{name!r}] gives no position of the joint at t = {t + dt:g} s: {found!r}")
            goal[..., joint.q] = at
        lead = self.model.difference(q, goal) / dt
        for name, rate in velocity.items():
            lead[..., self.model.joint(name).v] = rate
        return lead, goal
