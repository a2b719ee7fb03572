"""Sweeps over a contracted tree: the articulated-body algorithm where it is all of it."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.motion.witness import Witness


@pytest.mark.parametrize("seed", range(12))
def test_all_joints_active_is_the_articulated_body_algorithm(seed):
    """The contracted tree is all of it; divide and conquer with velocities, whose forces Delta is made of, agrees."""
    w = Witness(seed, floating=bool(seed % 2))
    w.sim.velocity = w.v = w.rng.normal(size=w.model.nv)
    region = w.region()
    found = w.sim.solver.motion.qdd.copy()
    assert region.linkage.joints == len(w.model.joints)
    assert np.allclose(found, w.full(), rtol=0, atol=1e-10 * np.abs(found).max())
    assert region.lost <= 1e-20 * (found @ w.M @ found)
