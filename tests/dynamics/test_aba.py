"""Forward dynamics by articulated bodies: the definition, and the inverse of inverse dynamics."""

import numpy as np

from bough import zoo
from bough.compile.routine import interpret
from bough.dynamics.aba import ABA
from bough.dynamics.rnea import RNEA
from models import random_state
from quantities import hold


def test_definition():
    hold("forward_dynamics")


def test_undoes_inverse_dynamics_with_forces_on_all_bodies():
    model = zoo.star(4)
    q, v, qdd, _ = random_state(model, 0)
    forces = np.random.default_rng(1).normal(size=(model.sizes["bodies"], 6))
    (tau,) = interpret(RNEA, (model.mechanism,), model.sizes, q, v, qdd, forces)
    (found,) = interpret(ABA, (model.mechanism,), model.sizes, q, v, tau, forces)
    np.testing.assert_allclose(found, qdd, rtol=1e-11, atol=1e-11)
