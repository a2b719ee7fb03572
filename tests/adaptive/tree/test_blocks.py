"""Blocks of a node: what is kept of a symmetric one."""

from __future__ import annotations

import numpy as np
import pytest

import models
from adaptive.linkages import simulate, spread_masses
from bough.adaptive.tree.blocks import store_symmetric
from bough.compile.vectors import WIDTH, unpacked


@pytest.mark.interpreted
def test_a_symmetric_block_is_kept_as_the_mean_with_its_transpose():
    S, r = np.zeros((1, 6, WIDTH)), np.zeros(21)
    S[0, :, :6] = np.random.default_rng(0).normal(size=(6, 6))
    store_symmetric(S, 0, r, 0)
    np.testing.assert_allclose(unpacked(r, 0), (S[0, :, :6] + S[0, :, :6].T) / 2, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:divide and conquer is off")
@pytest.mark.parametrize("seed", range(6))
def test_a_chain_of_light_and_heavy_bodies_keeps_its_digits(seed):
    """Masses over eight powers of ten. Half a block instead of its mean loses three digits (2e-5)."""
    rng = np.random.default_rng(seed)
    twin = spread_masses(models.random_twin(seed, range(-1, 54), ["revolute"] * 55), rng, 8)
    q, tau = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv)
    sim = simulate(twin.model, q, [], tau, method="dca")
    sim.accelerations()
    assert sim.solver.tree.noise.rounding < 5e-7
