"""Inverse dynamics: the definition, and that it is the sum of its parts."""

import numpy as np

from bough import zoo
from models import interpreted, random_state
from quantities import QUANTITIES, State, hold


def test_definition():
    hold("inverse_dynamics", "bias_force", "gravity")


def test_is_linear_in_accelerations():
    model = zoo.humanoid()
    state = State(*random_state(model, 0))
    of = {name: quantity.by(interpreted, model, state, "") for name, quantity in QUANTITIES.items()
          if quantity.reference is None}  # fmt: skip
    tau = of["mass_matrix"] @ state.qdd + of["bias_force"]
    np.testing.assert_allclose(of["inverse_dynamics"], tau, rtol=1e-11, atol=1e-10)
