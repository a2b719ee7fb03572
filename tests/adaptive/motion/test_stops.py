"""Dry friction and limits of moving linkages: sticking, sliding, stopping, letting go; energy never grows by them."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import adaptive
from bough.errors import ModelError
from bough.simulate import rollout


def slider(mass=1.0, **options):
    builder = bough.Builder("slider", gravity=(0.0, 0.0, 0.0))
    builder.add_body("block", joint="prismatic", mass=mass, com=(0, 0, 0), inertia=np.eye(3), **options)
    return builder.build()


def moving(model, q, v, torque=None):
    sim = adaptive.Dynamics(model, method="full")
    sim.configuration, sim.velocity = np.atleast_1d(q), np.atleast_1d(v)
    if torque is not None:
        sim.set_torque(None, np.atleast_1d(torque))
    return sim


def test_a_block_sticks_slips_and_comes_to_rest():
    stuck = moving(slider(2.0, friction=5.0), 0.0, 0.0, 4.9)
    stuck.run(100, 1e-2)
    assert stuck.configuration[0] == 0.0
    pulled = moving(slider(2.0, friction=5.0), 0.0, 0.0, 9.0)
    pulled.run(1000, 1e-3)
    assert pulled.velocity[0] == pytest.approx(2.0, rel=1e-9)
    sliding = moving(slider(2.0, friction=5.0), 0.0, 2.0)
    sliding.run(10_000, 1e-4)
    assert sliding.configuration[0] == pytest.approx(0.8, abs=2e-4)
    assert sliding.velocity[0] == 0.0


def test_a_limit_stops_inelastically_and_lets_go():
    model = slider(lower=-1.0, upper=0.5)
    sim = moving(model, 0.0, 1.0)
    sim.run(40, 0.03)
    assert sim.configuration[0] == pytest.approx(0.5, abs=1e-12)
    assert sim.velocity[0] == 0.0
    sim.set_torque(None, [-1.0])
    sim.run(100, 0.01)
    assert sim.velocity[0] == pytest.approx(-1.0, rel=1e-9)


def rough(seed, links=6):
    rng, builder, up = np.random.default_rng(seed), bough.Builder("rough"), "world"
    for k in range(links):
        up = builder.add_body(
            f"link{k}", up, "revolute", rng.normal(size=3), axis=rng.normal(size=3), mass=1.0, com=rng.normal(size=3),
            inertia=np.eye(3), lower=-0.5, upper=0.5, friction=float(rng.uniform(0.0, 4.0)),
        )  # fmt: skip
    return builder.build(), rng


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_simulate(seed):
    """The same law, there by one dense program for each step, here by trying."""
    model, rng = rough(seed)
    q, v = rng.uniform(-0.4, 0.4, model.nv), rng.normal(size=model.nv)
    sim = moving(model, q, v)
    sim.run(300, 1e-3)
    found = rollout(model, q, v, duration=0.3, dt=1e-3, dynamics=bough.Dynamics(model, general=True))
    assert np.abs(sim.configuration - found.q[-1]).max() <= 2e-3


@pytest.mark.parametrize("seed", range(4))
def test_friction_and_stops_take_energy(seed):
    model, rng = rough(seed, links=10)
    sim = moving(model.with_gravity((0, 0, 0)), rng.uniform(-0.4, 0.4, model.nv), rng.normal(size=model.nv))
    free = adaptive.Dynamics(sim.model, method="full", without=("friction", "limits"))
    for _ in range(50):
        free.configuration, free.velocity = sim.configuration, sim.velocity
        for each in (sim, free):
            each.step(1e-3)
        assert sim.stats.kinetic_energy <= free.stats.kinetic_energy * (1 + 1e-6)
        assert (np.abs(sim.configuration) <= 0.5 + 1e-9).all()


def test_other_integrators_have_no_impacts():
    with pytest.raises(ModelError, match="'slider' has friction"):
        adaptive.Dynamics(slider(friction=1.0), integrator="rk4")
    with pytest.raises(ModelError, match="'slider' has limits"):
        adaptive.Dynamics(slider(lower=-1.0), integrator="momentum")
    adaptive.Dynamics(slider(friction=1.0), integrator="rk4", without="friction")
