"""Error measures are data: one defined outside of the package works like those inside."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import random_forces, random_linkage, simulate
from bough import adaptive, zoo
from bough.adaptive import (
    ErrorMeasure,
    QuasiStatics,
    absolute_joint,
    absolute_linkage,
    energy,
    relative_joint,
    relative_linkage,
)
from bough.errors import SettingError


def mixed_linkage(eps, absolute):
    """Not in the package: |error| <= eps sqrt(absolute^2 + |qdd|^2), the tolerance of integrators."""
    return ErrorMeasure("mixed_linkage", eps, "linkage", (absolute**2, 1.0, 0.0))


@pytest.mark.parametrize("eps", [0.5, 0.1, 1e-2, 1e-4])
def test_a_measure_from_outside_is_met_and_reported(eps):
    culled = 0
    for seed in range(6):
        twin = random_linkage(seed, 40, types=("revolute",))
        rng = np.random.default_rng(seed)
        q, forces = twin.model.random_configuration(rng), random_forces(twin, rng)
        exact = simulate(twin.model, q, forces, method="dca").accelerations()
        sim = simulate(twin.model, q, forces, error=mixed_linkage(eps, 3.0), culled="zero", catch_up=False)
        error = np.linalg.norm(sim.accelerations() - exact)
        scale = np.sqrt(9.0 + exact @ exact)
        assert error <= eps * scale
        assert sim.stats.bound <= eps
        assert error <= sim.stats.bound * scale * (1 + 1e-9)
        culled += np.count_nonzero(sim.accelerations() == 0.0)
    assert culled > 0 or eps < 1e-3


def test_a_measure_from_outside_survives_a_checkpoint(tmp_path):
    twin = random_linkage(0, 10)
    sim = simulate(twin.model, twin.model.neutral, [], error=mixed_linkage(0.1, 2.0))
    sim.checkpoint(tmp_path / "run.npz")
    assert type(sim).resume(twin.model, tmp_path / "run.npz").error == mixed_linkage(0.1, 2.0)


def test_measures_are_checked():
    with pytest.raises(ValueError, match="goes over linkage, joint, energy, body, got"):
        ErrorMeasure("mine", 0.1, "planet")
    for scale in [(0.0, 0.0, 0.0), (1.0, -1.0, 0.0), (1.0, np.nan, 0.0), (1.0,)]:
        with pytest.raises(ValueError, match="scale must be three numbers"):
            ErrorMeasure("mine", 0.1, "joint", scale)


def test_a_number_is_an_error_in_energy():
    model = zoo.chain(6)
    sim = adaptive.QuasiStatics(model, 0.1)
    assert sim.error == adaptive.energy(0.1)
    sim.error = 0.2
    assert sim.error == adaptive.energy(0.2)
    sim.error = None
    assert sim.error.eps == adaptive.QuasiStatics(model).error.eps == adaptive.QuasiStatics(model, 0).error.eps == 0.0
    for bad in (-0.1, float("nan")):
        with pytest.raises(SettingError, match="energy: eps must be"):
            adaptive.QuasiStatics(model, bad)
    with pytest.raises(SettingError, match="error is a number, or a measure"):
        adaptive.QuasiStatics(model, True)
    with pytest.raises(SettingError, match="needs culled clusters to be rigid"):
        adaptive.QuasiStatics(model, 0.1, culled="zero")


def test_joints_catch_up_unless_they_are_rigid_or_it_is_switched_off():
    model = zoo.chain(6)
    measure = adaptive.relative_joint(0.1)
    for options, catches in (({}, 1.0), ({"catch_up": False}, 0.0), ({"culled": "rigid"}, 0.0)):
        assert adaptive.QuasiStatics(model, measure, "adaptive", **options).solver.clock.catches_up[0] == catches
    full = adaptive.QuasiStatics(model, measure, culled="zero")  # it takes full steps, too
    assert full.solver.clock.catches_up[0] == 0.0
    assert adaptive.QuasiStatics(model, measure, catch_up=True).solver.culled == "zero"
    with pytest.raises(SettingError, match="do not go together"):
        adaptive.QuasiStatics(model, measure, culled="rigid", catch_up=True)


@pytest.mark.parametrize("method", ["auto", "adaptive"])
@pytest.mark.parametrize("measure", [absolute_linkage, relative_linkage, absolute_joint, relative_joint])
def test_the_measures_of_the_paper_have_their_bound_by_default(measure, method):
    model = zoo.molecule(300, seed=2).with_gravity((0, 0, 0))
    eps = 1e-2
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sim, exact = QuasiStatics(model, measure(eps), method), QuasiStatics(model, method="aba")
        for body in rng.integers(0, 300, 3).tolist():
            force = rng.normal(size=3)
            for each in (sim, exact):
                each.apply_force(body, force)
        if method == "adaptive":
            found, whole = sim.accelerations(), exact.accelerations()
            wrong, size = np.abs(found - whole), np.abs(whole)
            error = np.linalg.norm(wrong) if "linkage" in sim.error.name else wrong.max()
            scale = np.linalg.norm(size) if "linkage" in sim.error.name else size.max()
            bound = sim.stats.bound
            assert error / (scale if sim.error.name.startswith("relative") else 1.0) <= bound <= eps
        sim.run(3, h=1e-9)
        assert not np.isnan(sim.stats.bound)


def test_the_rule_follows_the_measure():
    sim = QuasiStatics(zoo.chain(40), relative_joint(1e-3), "adaptive")
    assert sim.solver.culled == "zero"
    sim.step(1e-3)
    sim.error = energy(0.1)
    sim.step(1e-3)
    assert sim.solver.culled == "rigid"
    assert not np.isnan(sim.stats.bound)
    sim.error = relative_joint(1e-3)
    sim.step(1e-3)
    assert sim.stats.bound <= 1e-3
