"""Motion of linkages with all joints: the same as forward dynamics step by step, and what it conserves."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.linkages import moving, random_forces, random_linkage
from bough import adaptive
from bough.errors import NumericalError, ShapeError
from sizes import size


def test_accelerations_under_forces_on_bodies():
    rng = np.random.default_rng(3)
    twin = random_linkage(3, size=7)
    model = twin.model
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    sim = moving(model, q, v)
    wrenches = {}
    for body, force, point, frame in random_forces(twin, rng):
        sim.apply_force(body, force, point, frame)
        pose = sim.poses([body])[0]
        turn = np.eye(3) if frame == "world" else pose[:3, :3]
        f, n = turn @ force[:3], turn @ force[3:]
        name = model.body_names[body]
        wrenches[name] = wrenches.get(name, 0.0) + np.concatenate([f, n + np.cross(pose[:3, :3] @ point, f)])
    expected = bough.Dynamics(model, general=True).forward_dynamics(q, v, np.zeros(model.nv), wrenches)
    assert np.allclose(sim.accelerations(), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_velocities_of_bodies_are_rates_of_their_places():
    rng = np.random.default_rng(6)
    model = random_linkage(6, size=6).model
    q, v, h = model.random_configuration(rng), rng.normal(size=model.nv), 1e-6
    sim = moving(model, q, v)
    found, before = sim.velocities(), sim.positions()
    sim.configuration = model.integrate(q, h * v)
    assert np.allclose(found[:, :3], (sim.positions() - before) / h, atol=1e-4 * np.abs(found).max())


def test_bad_input():
    model = bough.zoo.chain(3)
    sim = adaptive.Dynamics(model, method="full")
    for dt in (0.0, -1e-3, np.nan, np.inf):
        with pytest.raises(ValueError, match="positive, finite time"):
            sim.step(dt)
    with pytest.raises(ShapeError, match=r"velocity: expected shape \(3,\)"):
        sim.velocity = np.zeros(4)
    with pytest.raises(ValueError, match="no method 'fast'"):
        adaptive.Dynamics(model, method="fast")
    with pytest.raises(ValueError, match="no integrator 'verlet'"):
        adaptive.Dynamics(model, integrator="verlet")


def test_a_motion_that_diverges_names_step_and_joint():
    model = bough.zoo.chain(3)
    sim = adaptive.Dynamics(model, method="full")
    sim.velocity = [0.0, 1e7, 0.0]
    with pytest.raises(NumericalError, match=r"diverges in step \d+.*joint"):
        sim.run(100, 1.0)
    assert np.isfinite(sim.configuration).all()
    assert np.isfinite(sim.velocity).all()


@pytest.mark.parametrize("method", ["full", "adaptive"])
def test_forces_through_joints_change_momentum(method):
    model = bough.zoo.random_tree(12)
    rng, h = np.random.default_rng(7), 1e-7
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(3.0), method)
    v = np.zeros(model.nv)
    v[:5] = rng.normal(size=5)
    sim.configuration, sim.velocity = model.random_configuration(rng), v
    sim.step(h)
    found, before = sim.constraint_forces([model.joint_names[0]])[0], sim.momentum
    sim.step(h)
    pulled = model.total_mass * model.gravity
    assert np.allclose((sim.momentum - before)[:3] / h, found[:3] + pulled, atol=1e-4 * np.abs(found).max())
    axis = bough.Dynamics(model, general=True).jacobian(sim.configuration, model.body_names[0])[3:, 0]
    assert abs(axis @ found[3:]) <= 1e-6 * np.abs(found).max()  # no torque was applied


def test_fast_joints_cut_steps():
    model = bough.zoo.chain(3).with_gravity((0, 0, 0))
    sim = moving(model, np.zeros(3), [10.0, 0.0, 0.0], max_turn=0.011, integrator="rk4")
    sim.run(3, 1e-2)
    assert sim.stats.cuts >= 3 * 9
    assert sim.time == pytest.approx(0.03)
    assert sim.steps == 3
    fine = moving(model, np.zeros(3), [10.0, 0.0, 0.0], integrator="rk4")
    fine.run(300, 1e-4)
    assert np.allclose(sim.configuration, fine.configuration, atol=1e-5)
    with pytest.raises(ValueError, match="max_turn must be a positive angle"):
        adaptive.Dynamics(model, max_turn=0.0)


def test_memory_is_that_of_quasi_statics():
    joints = size(1000, 200)
    model = bough.zoo.chain(joints)
    rest = adaptive.QuasiStatics(model, adaptive.relative_joint(1e-3), "adaptive")
    rest.apply_force(joints // 2, (0.0, 0.0, 1.0))
    rest.step(1e-3)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0), "adaptive")
    sim.velocity = np.where(np.arange(joints) > joints - 20, 1.0, 0.0)
    sim.step(1e-4)
    assert sim.solver.nbytes <= 1.6 * rest.stats.memory
