"""Energy and momentum by the clusters of a linkage."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.motion.witness import kicked
from bough import adaptive


def test_energy_and_momentum_are_those_of_the_pieces(monkeypatch):
    """Of all bodies, when they are first asked for; then of what moves, whatever is locked and released."""
    model = bough.zoo.tree(4, 3, 4)  # springs, locked ones too
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(3.0), "adaptive", every=3)
    q = np.array(model.rest_configuration)
    q[:3] += 1e-4  # slow, and soon locked where it is
    q[-4:] += 0.3
    sim.configuration = q
    sim.step(1e-3)
    before, region = sim.energy, sim.solver.region
    tally = sim.solver.engine.tally
    monkeypatch.setattr(sim.solver.engine, "tally", None)
    for eps in (30.0, 0.3, 10.0):
        sim.error = adaptive.body_acceleration(eps)
        sim.run(15, 1e-3)
        whole, stats = tally(), sim.stats
        assert stats.energy == pytest.approx(whole[:3].sum(), abs=1e-10 * abs(before))
        assert stats.kinetic_energy == pytest.approx(whole[0], rel=1e-9)
        assert np.allclose(stats.momentum, whole[3:], rtol=0, atol=1e-10 * np.abs(whole[3:]).max())
    assert region.activated > 0
    assert region.locked > 0
    assert sim.active < len(model.joints)


def test_momentum_of_a_free_linkage_is_that_of_the_integrator():
    model = bough.zoo.molecule(60, floating=True)
    sim = kicked(model, adaptive.body_acceleration(30.0), integrator="momentum", every=3)
    before = sim.momentum
    sim.run(100, 1e-3)
    region, few = sim.solver.region, sim.active
    assert region.locked > 0
    sim.error = adaptive.body_acceleration(1e-3)
    sim.run(100, 1e-3)
    assert region.activated > 0
    assert sim.active > few
    assert np.abs(sim.momentum - before).max() <= 1e-11 * np.abs(before).max()
