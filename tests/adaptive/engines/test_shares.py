"""What each joint has of a motion, beside the dense mass matrix."""

from __future__ import annotations

import numpy as np

import bough
from bough.adaptive import QuasiStatics
from bough.zoo import random_tree


def test_energies_of_joints_are_those_of_the_diagonal_of_the_mass_matrix():
    model = random_tree(9, seed=4)
    sim = QuasiStatics(model, method="aba")
    sim.configuration = q = model.random_configuration(np.random.default_rng(1))
    sim.apply_force(model.body_names[-1], (1.0, 2.0, -3.0))
    qdd = sim.accelerations()
    M = bough.Dynamics(model).mass_matrix(q)
    np.testing.assert_allclose(sim.solver.engine.energies(), np.sort(np.diag(M) * qdd**2), rtol=1e-10)
