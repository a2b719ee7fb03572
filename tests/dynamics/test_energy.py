"""Kinetic and potential energy by definition, and the balance between them along a motion."""

import numpy as np

import bough
from bough import zoo
from models import random_state
from quantities import hold


def test_definition():
    hold("kinetic_energy", "potential_energy")


def test_a_free_fall_keeps_the_energy():
    model = zoo.arm(2)
    dyn = bough.Dynamics(model)
    q, v, _, _ = random_state(model, 0)
    qdd, h = dyn.forward_dynamics(q, v, np.zeros(2)), 1e-6
    ahead, behind = ((model.integrate(q, s * h * v), v + s * h * qdd) for s in (1.0, -1.0))
    total = [dyn.kinetic_energy(q, v) + dyn.potential_energy(q) for q, v in (ahead, behind)]
    assert abs(total[0] - total[1]) / (2 * h) < 1e-6
