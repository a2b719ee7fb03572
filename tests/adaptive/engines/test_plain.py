"""The articulated-body algorithm at rest beside the dense solution."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.linkages import dense, random_forces, random_linkage, relative, simulate


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(4))
def test_accelerations_poses_and_power(seed):
    twin = random_linkage(seed, 12, floating=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    q, tau, forces = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv), random_forces(twin, rng)
    sim = simulate(twin.model, q, forces, tau, method="aba")
    expected = dense(twin, q, tau, forces)
    qdd = sim.accelerations()
    assert relative(qdd, expected) < 1e-10
    world = naive.Mechanism(twin.bodies, q, np.zeros(twin.model.nv))
    assert sim.solver.engine.power() == pytest.approx(qdd @ world.mass_matrix() @ qdd, rel=1e-10)
    np.testing.assert_allclose(sim.positions(), [p for _, p in world.placement], atol=1e-10)
