"""Whatever is set between steps, in any order, an active region follows it as the motion of all joints does."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import adaptive

MODELS = [
    lambda: bough.zoo.chain(40),
    lambda: bough.zoo.molecule(50, floating=True),
    lambda: bough.zoo.millipede(legs=4, geometry="random", floating=True),
    lambda: bough.zoo.tree(3, 2, 4),
]
INTEGRATORS = ["semi_implicit", "rk4", "momentum"]


def change(sim, what, numbers, body, joint, f):
    """One operation of a user."""
    at = sim.model.joint(joint).v
    if what in (0, 1):
        numbers.append(sim.apply_force(body, f, frame=("world", "body")[what]))
    elif what == 2 and numbers:
        sim.change_force(numbers[-1], f)
    elif what == 3 and numbers:
        sim.remove_force(numbers.pop())
    elif what == 4:
        sim.set_torque(joint, np.full(at.stop - at.start, 0.02))
    elif what == 5:
        sim.set_torque(None, np.zeros(sim.model.nv))
    elif what == 6:
        sim.gravity = f
    elif what == 7:
        sim.velocity = 0.9 * sim.velocity


@pytest.mark.parametrize("seed", range(12))
def test_operations_in_any_order(seed):
    rng, model = np.random.default_rng(seed), MODELS[seed % 4]()
    v = np.zeros(model.nv)
    v[-5:] = 0.3 * rng.normal(size=5)
    sims = [
        adaptive.Dynamics(
            model, adaptive.body_acceleration(1e-4), method, integrator=INTEGRATORS[seed % 3], every=1 + seed % 4
        )
        for method in ("full", "adaptive")
    ]
    start = sims[0].positions()
    for sim in sims:
        sim.gravity, sim.velocity = (0.0, 0.0, -0.1), v
    numbers = [[], []]
    for _ in range(12):
        what, body = int(rng.integers(8)), int(rng.integers(len(model.body_names)))
        joint, f = model.joint_names[int(rng.integers(len(model.joint_names)))], 0.05 * rng.normal(size=3)
        dt = float(rng.choice([1e-3, 5e-4]))
        for sim, own in zip(sims, numbers, strict=True):
            change(sim, what, own, body, joint, f)
            sim.run(1 + what % 3, dt)
    full, few = (sim.positions() for sim in sims)
    assert np.abs(full - few).max() <= 1e-2 * np.abs(full - start).max()
