"""Steps of all joints: those of forward dynamics, of fourth order, with stiff springs."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.linkages import moving, random_linkage
from bough import adaptive
from bough.simulate import runge_kutta_4


@pytest.mark.parametrize(("seed", "floating"), [(0, False), (1, True), (2, False)])
def test_full_steps_are_those_of_forward_dynamics(seed, floating):
    rng = np.random.default_rng(seed)
    twin = random_linkage(seed, size=8, floating=floating)
    model = twin.model
    dyn, h = bough.Dynamics(model, general=True), 1e-3
    q, v, tau = model.random_configuration(rng), 0.3 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    sim = moving(model, q, v)
    sim.set_torque(None, tau)
    sim.run(1000, h)
    for _ in range(1000):
        v = v + h * dyn.forward_dynamics(q, v, tau)
        q = model.integrate(q, h * v)
    assert np.abs(sim.configuration - q).max() <= 1e-9 * max(1.0, np.abs(q).max())
    assert np.abs(sim.velocity - v).max() <= 1e-9 * max(1.0, np.abs(v).max())
    assert sim.stats.active == len(model.joints)
    assert sim.energy == pytest.approx(dyn.kinetic_energy(q, v) + dyn.potential_energy(q), rel=1e-9)
    assert np.allclose(sim.momentum, dyn.momentum(q, v), rtol=1e-9, atol=1e-9)


def test_fourth_order_steps_are_those_of_simulate():
    rng = np.random.default_rng(4)
    model = random_linkage(4, size=6, floating=True).model
    dyn, h = bough.Dynamics(model, general=True), 2e-3
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    sim = moving(model, q, v, integrator="rk4")
    sim.run(50, h)
    for _ in range(50):
        q, v = runge_kutta_4(model, lambda q, v: dyn.forward_dynamics(q, v, np.zeros(model.nv)), q, v, h)
    assert np.abs(sim.velocity - v).max() <= 1e-10 * np.abs(v).max()


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "momentum"])
def test_momentum_of_a_free_linkage(integrator):
    rng = np.random.default_rng(5)
    model = bough.zoo.floating_chain(5).with_gravity((0.0, 0.0, 0.0))
    sim = moving(model, model.random_configuration(rng), rng.normal(size=model.nv), integrator=integrator)
    before = sim.momentum
    sim.run(200, 1e-3)
    error = np.abs(sim.momentum - before).max() / np.abs(before).max()
    assert error <= {"semi_implicit": 0.5, "rk4": 1e-6, "momentum": 1e-12}[integrator]


def test_stiff_springs_and_dampers_are_implicit():
    builder = bough.Builder("pendulum", gravity=(0.0, 0.0, 0.0))
    inertia = np.diag([0.1, 0.1, 0.1])
    builder.add_body("bar", mass=1.0, com=(0, 0, 0), inertia=inertia, joint="revolute", stiffness=1e6, damping=1e3)
    sim = moving(builder.build(), [0.1], [0.0])
    sim.run(100, 1e-2)
    assert abs(sim.configuration[0]) < 1e-3
    assert abs(sim.velocity[0]) < 1e-2


def swinging(integrator, dt, load, method="full"):
    """Two links and a spring from the last one to the world, set by a callback or given as one of the joint."""
    builder = bough.Builder("spring", gravity=(0, 0, -9.81))
    options = dict(axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.1 * np.eye(3))
    builder.add_body("upper", **options)
    builder.add_body("lower", "upper", placement=(0, 0, -1.0), **options)
    builder.add_frame("tip", "lower", (0, 0, -1.0))
    sim = adaptive.Dynamics(builder.build(), adaptive.body_acceleration(1e-9), method, integrator=integrator)
    sim.configuration, sim.velocity = [0.6, -0.3], [0.0, 1.0]
    number = sim.apply_force("tip", np.zeros(3))

    def pull(sim):
        x = sim.positions(["tip"])[0]
        sim.change_force(number, 30.0 * (np.array([0.3, 0.0, -1.5]) - x) + [np.sin(3.0 * sim.time), 0.0, 0.0])

    def steady(sim):
        sim.change_force(number, [1.0, 0.0, 2.0])

    sim.run(round(0.4 / dt), dt, load=pull if load == "follows" else steady)
    return sim.configuration


@pytest.mark.filterwarnings("ignore:.*below the noise floor")
@pytest.mark.parametrize("load", ["follows", "steady"])
@pytest.mark.parametrize(("integrator", "order"), [("semi_implicit", 1), ("momentum", 1), ("rk4", 4)])
@pytest.mark.parametrize("method", ["full", "adaptive"])
def test_the_order_holds_with_forces_of_a_callback(integrator, order, load, method):
    exact = swinging("rk4", 1e-3, load)
    errors = [np.abs(swinging(integrator, dt, load, method) - exact).max() for dt in (0.02, 0.01)]
    assert 2.0 ** (order - 0.45) < errors[0] / errors[1] < 2.0 ** (order + 0.7)


def test_a_callback_that_fails_inside_a_step_leaves_it_undone():
    sim, calls = adaptive.Dynamics(bough.zoo.chain(4), method="full", integrator="rk4"), []

    def load(_):
        calls.append(sim.time)
        if len(calls) == 7:
            raise RuntimeError("no force")

    with pytest.raises(RuntimeError):
        sim.run(5, 0.01, load=load)
    assert calls == pytest.approx([0.0, 0.005, 0.005, 0.01, 0.01, 0.015, 0.015])
    assert sim.steps == 1
    other = adaptive.Dynamics(bough.zoo.chain(4), method="full", integrator="rk4")
    other.step(0.01)
    assert np.array_equal(sim.configuration, other.configuration)
