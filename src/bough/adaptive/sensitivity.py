"""Gradients of equilibria by the implicit function theorem: one solution with the stiffness there, in O(n)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bough.adaptive.closure import Closures
from bough.adaptive.engines.rest import Ties
from bough.adaptive.equilibrium import Equilibrium
from bough.adaptive.inputs import Inputs
from bough.errors import NumericalError
from bough.types import FloatArray

UNBALANCED = 1e-6  # of the largest moment of forces: more is no equilibrium


@dataclass(frozen=True)
class Sensitivity:
    """The gradient of a function of the equilibrium with respect to what holds it there."""

    torque: FloatArray  # (nv,) of joints; for a potential V of a joint and its parameter p, this times -dV' / dp
    stiffness: FloatArray  # (nv,) of the model's springs
    rest: FloatArray  # (nv,)
    restraint_stiffness: FloatArray  # (k,)
    restraint_length: FloatArray  # (k,)
    restraint_targets: FloatArray  # (k, 3)


def sensitivity(inputs: Inputs, closures: Closures | None, ties: Ties | None, cotangent: FloatArray) -> Sensitivity:
    """See `Simulation.equilibrium_gradient`.

    An equilibrium has f(q, p) = 0, f the generalized forces and p what they depend on, so K dq = (df / dp) dp. A
    function of q with the gradient c changes by a' (df / dp) dp, with the adjoint a = K^-1 c (K is symmetric).
    """
    here = Equilibrium(inputs, closures, ties, None)
    m, w, model = here.m, here.work, inputs.model
    left, size = float(np.abs(here.force).max(initial=0.0)), float(np.abs(w.G).max(initial=0.0))
    if left > UNBALANCED * max(size, float(np.abs(w.slope).max(initial=0.0))):
        raise NumericalError(f"there is no equilibrium here: a force of {left:.2g} is left; call minimize first")
    a = here.adjoint(cotangent[m.v_index])
    x = model.difference(model.rest_configuration, inputs.configuration)
    springs, rest = (np.zeros((0,)), np.zeros((0,)), np.zeros((0, 3))), model.stiffness * a
    rest[m.v_index[m.dof[here.balls][:, None] + np.arange(3)]] = 0.0  # they rest where the model is neutral
    if ties is not None:
        springs = _restraints(here, ties, a)
    return Sensitivity(a, -a * x, rest, *springs)


def _restraints(here: Equilibrium, t: Ties, a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gradients with respect to stiffness, length and targets of restraints."""
    w = here.work
    here.motion_of(a)  # which leaves the motion of every body in w.p
    ends = np.zeros((2, len(t.stiffness), 3))
    for side in (0, 1):
        real = t.body[:, side] >= 0
        body, r = t.body[real, side], t.point.reshape(-1, 2, 3)[real, side]
        moved = w.p[body, 3:] + np.cross(w.p[body, :3], r)
        ends[side, real] = np.einsum("kij,kj->ki", w.pose[body, :9].reshape(-1, 3, 3), moved)
    apart, e, (k, across, stretch) = ends[1] - ends[0], here.stiff[:, :3], here.stiff[:, 3:].T
    longer = (e * apart).sum(axis=1)
    targets = -(across[:, None] * apart + ((k - across) * longer)[:, None] * e)
    return -stretch * longer, k * longer, np.where(t.body[:, 1:] < 0, targets, 0.0)
