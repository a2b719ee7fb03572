"""Derivatives and regressors of Pinocchio, on a twin of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from bough.app.bench.engines.common import agreed, check, expected, ours, random_state
from bough.app.bench.peers import pinocchio_twin
from bough.dynamics.dynamics import Dynamics
from bough.model import Model


class Peer:
    """A model in Pinocchio at a state; what it gives was found to be what Bough gives before it is timed."""

    def __init__(self, model: Model) -> None:
        self.model, self.dyn, self.s = model, Dynamics(model), random_state(model)
        self.twin = pinocchio_twin(model)
        self.data = self.twin.createData()
        self.q, self.v, self.tau = self.s.q[self.s.q_order], *(x[self.s.v_order] for x in (self.s.v, self.s.tau))

    def call(self, name: str, *more: Any) -> Callable[[], Any]:
        """`pin.<name>` of the configuration and what follows."""
        return partial(getattr(import_module("pinocchio"), name), self.twin, self.data, self.q, *more)

    def check_dynamics(self) -> None:
        """Forward dynamics, frames, a Jacobian and the mass matrix; bias forces; derivatives of both dynamics."""
        dyn, s, order = self.dyn, self.s, self.s.v_order
        agreed("pinocchio", self.model, s, expected(ours(self.model, dyn, s), self.model, s))
        check("pin.nonLinearEffects", self.call("nonLinearEffects", self.v)(), dyn.bias_force(s.q, s.v)[order])
        self.check_derivatives()

    def check_derivatives(self) -> None:
        """Of forward and of inverse dynamics."""
        dyn, s, order = self.dyn, self.s, self.s.v_order
        for name, function in (
            ("computeABADerivatives", dyn.forward_dynamics_derivatives),
            ("computeRNEADerivatives", dyn.inverse_dynamics_derivatives),
        ):
            theirs = self.call(name, self.v, self.tau)()
            for found, wanted in zip(theirs, function(s.q, s.v, s.tau), strict=True):
                half = np.triu(np.ones(wanted.shape)) if found is theirs[2] else 1.0  # it leaves the rest unset
                check(f"pin.{name}", half * found, half * wanted[np.ix_(order, order)])

    def check_regressor(self) -> None:
        """Bodies are merged and laid otherwise there: both must give the torques of inverse dynamics."""
        s, dyn = self.s, self.dyn
        wanted = dyn.inverse_dynamics(s.q, s.v, s.tau) - self.model.armature * s.tau
        Y = self.call("computeJointTorqueRegressor", self.v, self.tau)()
        inertias = np.concatenate([I.toDynamicParameters() for I in list(self.twin.inertias)[1:]])
        check("pin.computeJointTorqueRegressor", Y @ inertias, wanted[s.v_order])
        check("regressor", dyn.regressor(s.q, s.v, s.tau) @ self.model.inertias.ravel(), wanted)
