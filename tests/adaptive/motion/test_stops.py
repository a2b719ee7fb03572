"""Dry friction and limits of moving linkages: sticking, sliding, stopping, letting go; energy never grows by them."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.linkages import random_forces
from adaptive.trials import case, loaded
from bough import adaptive
from bough.adaptive.engines.modes import STUCK
from bough.simulate import rollout
from sizes import size


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


@pytest.mark.parametrize("integrator", ["rk4", "momentum"])
def test_other_integrators_stick_slip_and_stop(integrator):
    model = slider(2.0, friction=5.0, upper=1.2)

    def moving(v, torque):
        sim = adaptive.Dynamics(model, method="full", integrator=integrator)
        sim.velocity = [v]
        sim.set_torque(None, [torque])
        return sim

    stuck = moving(0.0, 4.9)
    stuck.run(100, 1e-2)
    assert abs(stuck.configuration[0]) < 1e-15
    sliding = moving(2.0, 0.0)
    sliding.run(1000, 1e-3)
    assert sliding.configuration[0] == pytest.approx(0.8, abs=1e-5 if integrator == "rk4" else 2e-3)
    assert sliding.velocity[0] == 0.0
    pulled = moving(0.0, 9.0)
    pulled.run(500, 1e-3)
    assert pulled.velocity[0] == pytest.approx(1.0, rel=1e-9)
    pulled.run(1000, 1e-3)
    assert pulled.configuration[0] == pytest.approx(1.2, abs=1e-5)
    assert pulled.velocity[0] == 0.0


@pytest.mark.parametrize("integrator", ["rk4", "momentum"])
def test_what_is_held_does_not_creep(integrator):
    """Friction holds a beam, and stops another, to rounding, for as long as they are loaded alike."""
    for model in (beam(6), beam(6, friction=0.0, lower=-1.0, upper=0.0)):
        sim = adaptive.Dynamics(model, method="full", integrator=integrator)
        sim.run(200, 1e-3)
        assert np.abs(sim.configuration).max() < 1e-9


def beam(links, free=0, friction=1e3, **options):
    """A level chain under gravity, held by friction but for its last links."""
    builder, up = bough.Builder("beam", gravity=(0.0, 0.0, -9.81)), "world"
    for k in range(links):
        up = builder.add_body(
            f"link{k}", up, placement=(0.1, 0, 0) if k else (0, 0, 0), axis=(0, 1, 0), mass=0.2, com=(0.05, 0, 0),
            inertia=1e-3 * np.eye(3), friction=0.0 if k >= links - free else friction, **options,
        )  # fmt: skip
    return builder.build()


def test_what_friction_or_stops_hold_is_locked():
    for model in (beam(30), beam(30, friction=0.0, lower=-1.0, upper=0.0)):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive")
        sim.run(25, 1e-3)
        assert sim.active == 0
        assert sim.acceleration_error < 1e-4
        assert not sim.configuration.any()
        sim.set_torque(model.joint_names[3], -2e3)  # more than friction, and away from the stop
        sim.run(5, 1e-3)
        assert sim.active > 0
        assert sim.configuration[3] < -1e-3


def test_what_hangs_on_held_links_moves_as_it_should():
    model = beam(30, free=4)
    full = adaptive.Dynamics(model, method="full")
    full.run(100, 1e-3)
    errors = []
    for eps in (0.3, 0.03):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(eps), "adaptive", every=10)
        few = []
        for _ in range(10):
            sim.run(10, 1e-3)
            few.append(sim.active)
        assert max(few) < 12  # friction holds the rest as one body
        assert not sim.configuration[:26].any()
        errors.append(np.abs(sim.positions() - full.positions()).max())
    assert errors[1] <= errors[0] < 1e-6


@pytest.mark.parametrize("joints", [20, size(600, 100)])
def test_friction_gives_way_at_once_to_a_load_that_jumps(joints):
    """A callback is known to have changed a load: whatever the size of the linkage, all joints are looked at."""
    friction, found = 0.3 * joints**2, []
    model = beam(joints, friction=friction)
    for method in ("full", "adaptive"):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(joints / 20), method, every=20)
        load = sim.loads([model.body_names[19]])

        def push(sim, load=load):
            load.values[:] = (0.0, 0.0, -friction if sim.steps >= 63 else -0.1)

        sim.run(63, 1e-4, load=push)
        assert not sim.configuration.any()
        sim.run(5, 1e-4, load=push)
        found.append(sim.configuration)
    assert found[0].any()
    assert np.allclose(*found, rtol=0, atol=1e-2 * np.abs(found[0]).max())


def test_friction_gives_way_to_a_load_that_grows():
    """Looks at all joints come the sooner the less of their friction is left."""
    model, found = beam(20, friction=60.0), []
    for method in ("full", "adaptive"):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.01), method, every=5)
        load = sim.loads([model.body_names[-1]])

        def pull(sim, load=load):
            load.values[:] = (0.0, 0.0, -60.0 * sim.time)

        sim.run(100, 1e-3, load=pull)
        assert not sim.configuration.any()
        sim.run(150, 1e-3, load=pull)
        found.append(sim.configuration)
    assert found[0][0] > 1e-3
    assert np.allclose(*found, rtol=0, atol=1e-2 * found[0][0])


def test_held_links_are_as_good_as_one():
    found = []
    for links in (8, 60):
        sim = adaptive.Dynamics(beam(links, free=4), method="full")
        sim.run(50, 1e-3)
        found.append(sim.configuration[-4:])
    assert np.allclose(*found, rtol=0, atol=1e-8)


def test_a_joint_that_hardly_moves_sticks():
    """Friction of many joints that all guessed to slide once drove them."""
    sim = adaptive.Dynamics(beam(40, free=2), method="full")
    sim.velocity = np.where(np.arange(40) < 38, 1e-17 * np.random.default_rng(0).normal(size=40), 0.0)
    sim.run(3, 1e-3)
    assert not sim.velocity[:38].any()
    assert np.abs(sim.velocity).max() < 1.0


def test_resuming_with_friction_is_exact(tmp_path):
    model = beam(20, free=3, friction=20.0)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.3), "adaptive", every=4)
    sim.run(10, 1e-3)
    sim.checkpoint(tmp_path / "beam")
    again = adaptive.Dynamics.resume(model, tmp_path / "beam")
    for each in (sim, again):
        each.run(20, 1e-3)
    assert np.array_equal(sim.configuration, again.configuration)
    assert sim.active == again.active


def rubbing(seed, friction=0.02, links=12):
    """Links in a row with dry friction, in any direction, some with limits."""
    rng, builder, parent = np.random.default_rng(seed), bough.Builder("rubbing"), "world"
    for k in range(links):
        limits = {"lower": -0.3, "upper": 0.3} if k % 5 == 4 else {}
        parent = builder.add_body(
            f"link{k}", parent, placement=(0.1, 0, 0) if k else None, axis=rng.normal(size=3), mass=0.1,
            com=(0.05, 0, 0), inertia=1e-4 * np.eye(3), friction=friction * rng.uniform(0.5, 2.0), **limits,
        )  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("seed", range(4))
def test_the_error_is_bounded_with_dry_friction(seed):
    """Whenever active joints are chosen, beside all joints with friction and limits in the same state."""
    model, eps = rubbing(seed), 1e-3
    rng = np.random.default_rng(seed)
    sim = adaptive.Dynamics(model, adaptive.rms_acceleration(eps), "adaptive", every=1)
    whole = adaptive.Dynamics(model, method="full")
    for each in (sim, whole):
        each.gravity = np.zeros(3)
        each.apply_force(11, (0.05, 0.1, 0.0))
    dynamics, locked, worst = bough.Dynamics(model), 0, 0.0
    number = sim.apply_force(5, np.zeros(3)), whole.apply_force(5, np.zeros(3))
    for step in range(60):
        if step % 10 == 0:
            force = rng.normal(size=3) * rng.choice([0.05, 0.5, 2.0])
            sim.change_force(number[0], force)
            whole.change_force(number[1], force)
        sim.step(1e-3)
        found = sim.accelerations()  # may lock joints
        whole.configuration, whole.velocity = sim.configuration, sim.velocity
        error = found - whole.accelerations()
        worst = max(worst, np.sqrt(error @ dynamics.mass_matrix(sim.configuration) @ error / model.total_mass))
        locked = max(locked, 12 - sim.active)
    assert worst <= 1.01 * eps
    assert locked > 0


@pytest.mark.parametrize("seed", [60, 72, 111])
def test_locked_joints_have_exactly_their_accelerations(seed):
    """A large armature let them move by 1e-13 to 7e-13 of the others."""
    twin, model, q, _, rng, _ = case(seed)
    sim = loaded(adaptive.Dynamics(model, method="full"), q, (random_forces(twin, rng), rng.normal(size=model.nv)))
    sim.velocity = rng.normal(size=model.nv) * (rng.random(model.nv) < 0.3)
    engine, qdd = sim.solver.engine, sim.solver.motion.qdd
    engine.accelerate(sim.inputs.forces.loads(), 1e-6, 0.0)
    locked = engine.mechanism.v_index[engine.work.mode >= STUCK]
    locked = locked[sim.velocity[locked] == 0.0]
    assert len(locked)
    assert np.abs(qdd[locked]).max() <= 1e-15 * np.abs(qdd).max()
