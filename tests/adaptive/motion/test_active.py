"""Active regions: accelerations of the locked linkage, the error of an instant, impulses, momentum and energy."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.motion.witness import kicked
from bough import adaptive
from bough.errors import ModelError


def test_error_falls_with_eps_and_energy_is_accounted_for():
    model = bough.zoo.chain(64)
    whole = kicked(model, None, "full", integrator="rk4")
    energy = whole.energy
    whole.run(200, 1e-3)
    errors = []
    for eps in (10.0, 0.3, 0.01):
        sim = kicked(model, adaptive.body_acceleration(eps), integrator="rk4")
        sim.run(200, 1e-3)
        errors.append(np.abs(sim.positions() - whole.positions()).max())
        assert sim.active < 64
        assert sim.energy_lost >= 0.0
        assert sim.energy + sim.energy_lost == pytest.approx(energy, rel=1e-7)
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_the_same_inputs_give_the_same_bits():
    model = bough.zoo.molecule(80)
    runs = []
    for _ in range(2):
        sim = kicked(model, adaptive.body_acceleration(1.0), every=5)
        sim.apply_force(60, (0.0, 1.0, 0.0))
        sim.run(100, 1e-3)
        runs.append((sim.configuration, sim.velocity, sim.energy_lost, sim.active))
    assert np.array_equal(runs[0][0], runs[1][0])
    assert np.array_equal(runs[0][1], runs[1][1])
    assert runs[0][2:] == runs[1][2:]


def test_forces_wake_a_rigid_linkage():
    model = bough.zoo.chain(40)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive")
    sim.gravity = np.zeros(3)
    sim.step(1e-3)
    assert sim.active == 0
    sim.apply_force(model.body_names[-1], (0.0, 0.0, 1.0))
    sim.run(20, 1e-3)
    assert 0 < sim.active < 40
    sim.set_torque(model.joint_names[3], 10.0)
    sim.step(1e-3)
    moving = set(np.asarray(sim.solver.region.engine.mechanism.v_index).tolist())
    assert model.joint(model.joint_names[3]).v.start in moving


def test_auto_is_full_where_everything_moves():
    model = bough.zoo.chain(100)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1e-3), "auto")
    sim.velocity = np.random.default_rng(0).normal(size=100)
    sim.run(5, 1e-4)
    full = adaptive.Dynamics(model, method="full")
    full.velocity = np.random.default_rng(0).normal(size=100)
    full.run(5, 1e-4)
    assert sim.stats.method == "full"
    assert np.array_equal(sim.configuration, full.configuration)


def test_measures_of_the_other_kind_are_refused():
    model = bough.zoo.chain(3)
    with pytest.raises(ValueError, match="measures joints"):
        adaptive.Dynamics(model, adaptive.relative_joint(0.1))
    with pytest.raises(ValueError, match="measures motions"):
        adaptive.QuasiStatics(model, adaptive.body_acceleration(0.1))


def test_an_eps_below_the_noise_floor_is_raised_to_it():
    model = bough.zoo.chain(200, geometry="straight")
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1e-9), "adaptive")
    ends = sim.positions([0, 1])
    sim.gravity = 9.81 * (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    sim.velocity = np.where(np.arange(200) > 196, 0.1, 0.0)
    with pytest.warns(UserWarning, match="below the noise floor"):
        sim.step(1e-4)
    assert sim.steps == 1
    sim.step(1e-4)  # said once
    sim.error = adaptive.body_acceleration(1e-2)
    sim.step(1e-4)
    assert 0 < sim.active < 30


def test_auto_moves_what_has_no_assembly_tree():
    builder = bough.Builder("thin")
    up = "world"
    for k in range(150):  # without inertia about their axes, on which they slide, too
        placed = {"placement": (0, 0, 0.1), "axis": (1, 0, 0), "joint": "cylindrical"}
        up = builder.add_body(f"rod{k}", up, mass=1.0, com=(0, 0, 0.05), **placed)
    model = builder.build()
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1))
    sim.velocity = np.where(np.arange(300) > 298, 0.1, 0.0)
    sim.run(3, 1e-4)
    assert sim.stats.method == "full"
    with pytest.raises(ModelError, match="singular inertia"):
        adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive").step(1e-4)


def test_one_body():
    builder = bough.Builder("one", gravity=(0, 0, -9.81))
    builder.add_body("bob", axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3))
    sim = adaptive.Dynamics(builder.build(), adaptive.body_acceleration(0.1), "adaptive")
    sim.run(100, 1e-3)
    assert sim.active == 1
    assert sim.configuration[0] > 0.05


def test_few_poses_are_those_of_all():
    model = bough.zoo.molecule(300)
    sim = kicked(model, adaptive.body_acceleration(0.1))
    sim.run(30, 1e-3)
    assert sim.stats.method == "adaptive"
    assert sim.moving.sum() == sim.active
    assert sim.moving[np.abs(sim.velocity) > 0.0].all()
    some = [0, 17, 150, 299]
    assert np.allclose(sim.poses(some), sim.poses()[some], atol=1e-12)
    sim.configuration = model.random_configuration(np.random.default_rng(5))
    assert np.allclose(sim.poses(some), sim.poses()[some], atol=1e-12)


def test_refining_within_a_budget():
    sim = kicked(bough.zoo.chain(64), adaptive.body_acceleration(10.0))
    sim.run(5, 1e-3)
    before, few = sim.acceleration_error, sim.active
    found = sim.refine(budget=40)
    assert few < sim.active
    assert found == sim.acceleration_error < before
    again = sim.refine(microseconds=1e6)
    assert again < found
    sim.run(5, 1e-3)
    assert sim.active > few
