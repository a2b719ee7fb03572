"""Changes of the active region never add energy, and keep the momentum of free linkages: in many random runs."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.linkages import random_linkage
from adaptive.motion.test_loops import garland
from bough import adaptive
from sizes import size

FAMILIES = [
    lambda seed: bough.zoo.chain(30, seed=seed),
    lambda seed: bough.zoo.molecule(40, seed=seed, floating=True),
    lambda seed: bough.zoo.random_tree(40, seed=seed),
    lambda seed: bough.zoo.star(12, seed=seed),
    lambda seed: random_linkage(seed, size=16, floating=bool(seed % 2), armature=bool(seed % 3 == 0)).model,
]


def check(seed):
    """One run: kicks, choices at random times, and another eps in the middle."""
    rng = np.random.default_rng(seed)
    model = FAMILIES[seed % 5](seed % 8)  # few models, many motions: they are compiled once
    eps = 10.0 ** rng.uniform(-2.0, 1.5, 2)
    sim = adaptive.Dynamics(
        model, adaptive.body_acceleration(eps[0]), "adaptive", integrator="momentum", every=int(rng.integers(1, 6))
    )
    sim.gravity = np.zeros(3)
    v = np.zeros(model.nv)
    some = rng.choice(model.nv, int(rng.integers(1, model.nv + 1)), replace=False)
    v[some] = rng.normal(size=len(some))
    sim.configuration, sim.velocity = model.random_configuration(rng), v
    free = model.name.startswith("molecule")
    before, lost = sim.momentum, 0.0
    for k in range(12):
        if k == 6:
            sim.error = adaptive.body_acceleration(eps[1])
        kinetic = sim.stats.kinetic_energy
        sim.solver.region.ready(1e-4, keep=False)  # a choice alone, where one is due
        after = sim.stats.kinetic_energy
        assert after <= kinetic * (1 + 1e-12)
        assert sim.energy_lost - lost == pytest.approx(kinetic - after, abs=1e-10 * max(kinetic, 1e-12))
        lost = sim.energy_lost
        sim.run(int(rng.integers(1, 4)), 1e-4)
        assert sim.energy_lost >= lost - 1e-13 * kinetic
        lost = sim.energy_lost
    if free:
        assert np.abs(sim.momentum - before).max() <= 1e-10 * np.abs(before).max()
    return sim.solver.region.locked


def test_energy_in_random_runs():
    runs = size(60, 8)
    assert sum(check(seed) for seed in range(runs)) > runs / 2


@pytest.mark.slow
def test_energy_in_two_thousand_random_runs():
    runs = size(2000, 8)
    assert sum(check(seed) for seed in range(runs)) > runs / 2


@pytest.mark.parametrize("seed", range(8))
def test_energy_with_loops_in_random_runs(seed):
    """Locking joints of loops is one projection, and the ledger has all of it."""
    rng = np.random.default_rng(seed)
    model, q = garland(16, friction=0.0 if seed % 2 else 1e-3)
    eps = 10.0 ** rng.uniform(-1.0, 1.5)
    sim = adaptive.Dynamics(
        model, adaptive.body_acceleration(eps), "adaptive", integrator=("semi_implicit", "rk4", "momentum")[seed % 3],
        every=int(rng.integers(1, 6)),
    )  # fmt: skip
    sim.gravity = np.zeros(3)
    sim.configuration, sim.velocity = q, np.where(rng.random(16) < 0.4, rng.normal(size=16), 0.0)
    sim.step(1e-4)
    for _ in range(12):
        kinetic, lost = sim.stats.kinetic_energy, sim.energy_lost
        sim.solver.region.ready(1e-4, keep=False)  # a choice alone, where one is due
        after = sim.stats.kinetic_energy
        assert after <= kinetic * (1 + 1e-12)
        assert sim.energy_lost - lost == pytest.approx(kinetic - after, abs=1e-10 * max(kinetic, 1e-12))
        sim.run(int(rng.integers(1, 4)), 1e-4)
        assert sim.opening() < 1e-5
