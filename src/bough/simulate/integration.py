"""Steps without loops and contacts: kernels of `dynamics.stepping`, bound once for all models that are equal.

And steps under accelerations that are functions of the caller, by the stages of the same integrators.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from bough.dynamics.engine import CPU, CompiledFunction, Device, bind
from bough.dynamics.laws import joint_laws
from bough.dynamics.parameters import Parameters
from bough.dynamics.prescribed import numbers
from bough.dynamics.stepping import INTEGRATORS, Integrator
from bough.model import Model, mark_limbs
from bough.types import FloatArray

KEPT = 64  # functions that stay bound: tracing one takes longer than a hundred steps
_bound: OrderedDict[Any, CompiledFunction] = OrderedDict()

Acceleration: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
State: TypeAlias = tuple[FloatArray, FloatArray]  # q and v


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
