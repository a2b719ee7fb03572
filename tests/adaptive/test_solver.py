"""The present solution follows what was changed, and nothing less."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import random_forces, random_linkage, simulate
from bough.adaptive import QuasiStatics, absolute_joint, relative_joint, relative_linkage
from bough.zoo import chain


@pytest.fixture
def sim():
    twin = random_linkage(1, 60, types=("revolute",), forest=False)
    rng = np.random.default_rng(0)
    return simulate(
        twin.model,
        twin.model.random_configuration(rng),
        random_forces(twin, rng),
        method="adaptive",
        culled="zero",
        catch_up=False,
    )


def test_a_looser_error_gives_the_coarser_solution(sim):
    sim.error = relative_joint(0.5)
    coarse, joints = sim.accelerations(), sim.stats.joints
    for tighter in (relative_joint(1e-3), relative_linkage(1e-6), absolute_joint(0.0)):
        sim.error = tighter
        assert not np.array_equal(sim.accelerations(), coarse)
        assert sim.stats.joints > joints
        sim.error = relative_joint(0.5)
        np.testing.assert_array_equal(sim.accelerations(), coarse)
        assert sim.stats.joints == joints


def test_the_same_error_again_changes_nothing(sim):
    sim.error = relative_joint(0.5)
    sim.refine(budget=30)
    found = sim.accelerations()
    sim.error = relative_joint(0.5)
    np.testing.assert_array_equal(sim.accelerations(), found)


def test_every_eps_below_the_noise_floor_is_raised_with_a_warning_not_only_the_first(sim):
    sim.error = relative_joint(0.1)
    sim.accelerations()
    sim.error = relative_joint(1e-15)
    with pytest.warns(UserWarning, match="below the noise floor"):
        sim.accelerations()
    assert sim.error.eps == sim.stats.noise_floor > 1e-15


def test_engines_see_gravity_as_it_is_set():
    sims = [QuasiStatics(chain(6), method=method) for method in ("aba", "dca")]
    for sim in sims:
        sim.accelerations()
        sim.gravity = (0.0, 3.0, 1.0)
        sim.gravity[0] = 100.0  # a copy
    np.testing.assert_allclose(sims[0].accelerations(), sims[1].accelerations(), rtol=1e-10)
    plain = QuasiStatics(chain(6).with_gravity((0.0, 3.0, 1.0)), method="aba")
    np.testing.assert_array_equal(sims[0].accelerations(), plain.accelerations())


@pytest.mark.filterwarnings("ignore:.*below the noise floor", "ignore:divide and conquer is off")
def test_bounds_hold_under_every_load_of_bodies_with_wide_masses():
    """The noise of one load says little of another where masses differ by eight powers of ten."""
    checked = 0
    for seed in range(30, 60):
        rng, twin = np.random.default_rng(seed), random_linkage(seed, 20, ("revolute",), decades=8)
        options = dict(culled="zero", catch_up=False)
        sims = [
            QuasiStatics(twin.model, relative_joint(1e-2), "adaptive", **options),
            QuasiStatics(twin.model, method="aba"),
        ]
        q, loads = twin.model.random_configuration(rng), []
        for sim in sims:
            sim.configuration, sim.gravity = q, np.zeros(3)
            loads.append(sim.loads(range(20)))
        for _ in range(12):
            force, body = rng.normal(size=3), int(rng.integers(20))
            for load in loads:
                load.values[:] = 0.0
                load.values[body] = force
            found, exact = (sim.accelerations() for sim in sims)
            stats, largest = sims[0].stats, np.abs(exact).max()
            if stats.method == "adaptive" and largest > 1e-7 * np.abs(force).max() / twin.model.total_mass:
                assert np.abs(found - exact).max() <= (1.0 + 1e-9) * stats.bound * largest + 1e-15 * largest
                checked += 1
    assert checked > 50
