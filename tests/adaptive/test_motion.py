"""Prescribed motion of joints and of a floating base, beside rollouts with the same motion."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bough
from adaptive.linkages import random_linkage
from adaptive.test_loops import closed_four_bar
from bough import adaptive
from bough.adaptive import Closure, Dynamics
from bough.errors import CheckpointError, SettingError, ShapeError
from bough.model import Passive
from bough.simulate import rollout

DT, STEPS = 1e-3, 40
SIMPLE = ("revolute", "prismatic", "helical")


def swing(size, rate, phase=0.0):
    return lambda t: size * math.sin(rate * t + phase)


def turning_base(t):
    """A floating base that rises and turns about z."""
    half = 0.4 * math.sin(3.0 * t)
    return np.array([0.1 * t, 0.0, 0.2 * math.sin(5.0 * t), 0.0, 0.0, math.sin(half), math.cos(half)])


def rolled(model, q, v, motion, **options):
    end = rollout(model, q, v, duration=STEPS * DT, dt=DT, motion=motion, **options)
    return end.q[-1], end.v[-1]


def simulated(model, q, v, motion, error=None, method="full", **options):
    sim = Dynamics(model, error, method, motion=motion, **options)
    sim.configuration, sim.velocity = q, v
    sim.run(STEPS, DT)
    return sim


def case(seed, size=12):
    """(model, q, v, motion) of a random tree, two of whose joints are prescribed."""
    rng = np.random.default_rng(seed)
    model = random_linkage(seed, size, SIMPLE, forest=False).model
    q, v = model.random_configuration(rng), 0.5 * rng.normal(size=model.nv)
    single = [j for j in model.joints if j.v.stop - j.v.start == 1]
    motion = {}
    for k in rng.choice(len(single), 2, replace=False):
        x, size, rate = float(q[single[k].q.start]), rng.uniform(0.1, 0.5), rng.uniform(2.0, 8.0)
        motion[single[k].name] = lambda t, x=x, a=size, w=rate: x + a * math.sin(w * t)
    return model, q, v, motion


@pytest.mark.parametrize("seed", range(4))
def test_all_joints_move_as_in_a_rollout(seed):
    model, q, v, motion = case(seed)
    sim = simulated(model, q, v, motion)
    expected_q, expected_v = rolled(model, q, v, motion)
    assert np.allclose(sim.velocity, expected_v, rtol=0.0, atol=1e-8 * np.abs(expected_v).max())
    assert np.allclose(sim.configuration, expected_q, rtol=0.0, atol=1e-9)


def test_friction_and_dampers_act_beside_it():
    model, q, v, motion = case(5)
    rng = np.random.default_rng(5)
    friction, damping = (rng.uniform(0.0, x, model.nv) for x in (0.3, 0.5))
    model = replace(model, passive=Passive(damping, friction, *np.zeros((2, model.nv))))
    sim = simulated(model, q, v, motion)
    for name, path in motion.items():
        assert sim.configuration[model.joint(name).q] == path(sim.time)
    assert np.allclose(sim.configuration, rolled(model, q, v, motion)[0], rtol=0.0, atol=1e-9)


def test_a_base_that_moves_carries_the_linkage():
    model = random_linkage(7, 9, ("revolute", "prismatic"), floating=True, forest=False).model
    base = model.joints[0].name
    q, v = np.array(model.neutral), np.zeros(model.nv)
    q[:7] = turning_base(0.0)
    sim = simulated(model, q, v, {base: turning_base})
    expected_q, expected_v = rolled(model, q, v, {base: turning_base})
    assert np.allclose(sim.configuration[:7], turning_base(STEPS * DT), atol=1e-15)
    assert np.allclose(sim.velocity, expected_v, rtol=0.0, atol=1e-8 * np.abs(expected_v).max())
    assert np.allclose(sim.configuration, expected_q, rtol=0.0, atol=1e-9)


def test_a_velocity_that_is_given_is_taken():
    chain = bough.zoo.chain(5)
    name = chain.joint_names[2]
    sim = simulated(chain, chain.neutral, np.zeros(5), {name: lambda t: (0.3 * t, 0.25)})
    assert sim.velocity[2] == 0.25
    assert sim.configuration[2] == pytest.approx(0.3 * STEPS * DT, rel=1e-12)


@pytest.mark.parametrize("integrator", ["semi_implicit", "momentum"])
def test_locked_joints_keep_the_bound(integrator):
    chain = bough.zoo.chain(60)
    motion = {chain.joint_names[40]: swing(0.3, 6.0)}
    measure = adaptive.rms_acceleration(0.5)
    sim = Dynamics(chain, measure, "adaptive", motion=motion, integrator=integrator)
    sim.gravity = (0.0, 0.0, 0.0)
    full = Dynamics(chain, None, "full", motion=motion)
    full.gravity = (0.0, 0.0, 0.0)
    H = bough.Dynamics(chain, general=True).mass_matrix
    fewest = 60
    for _ in range(STEPS):
        sim.step(DT)
        fewest = min(fewest, sim.active)
        assert sim.moving[40]
        assert sim.configuration[40] == motion[chain.joint_names[40]](sim.time)
        assert sim.acceleration_error <= 0.5
        full.configuration, full.velocity = sim.configuration, sim.velocity
        full.solver.laws.led[:] = sim.solver.laws.led
        d = full.accelerations() - sim.accelerations()
        if sim.solver.region.age == 1:
            assert math.sqrt(d @ H(sim.configuration) @ d / chain.total_mass) <= 1.1 * 0.5 + 1e-6
    assert fewest < 60


def test_an_even_motion_is_no_reason_to_select_joints():
    chain = bough.zoo.chain(60)
    motion = {chain.joint_names[40]: lambda t: 0.3 * t}
    sim = Dynamics(chain, adaptive.rms_acceleration(0.5), "adaptive", motion=motion, every=10)
    sim.gravity = (0.0, 0.0, 0.0)
    sim.run(4, DT)
    ages = []
    for _ in range(20):
        sim.step(DT)
        ages.append(sim.solver.region.age)
    assert ages.count(1) <= 2


def test_prescribed_joints_reach_their_velocity_where_others_are_locked():
    """Locking joints changes velocities: the step began with those before, so the linkage did not feel the rest."""
    chain = bough.zoo.chain(60)
    sim = Dynamics(
        chain, adaptive.rms_acceleration(2.0), "adaptive", motion={chain.joint_names[40]: swing(0.3, 6.0)}, every=5
    )
    sim.gravity = (0.0, 0.0, 0.0)
    sim.velocity = 0.02 * np.random.default_rng(0).normal(size=60)
    region, locked = sim.solver.region, 0
    choose = region.ready
    began = []

    def ready(*args, **options):
        before = sim.velocity[40]
        found = choose(*args, **options)
        began.append((before, sim.velocity[40]))
        return found

    region.ready = ready
    at = int(np.flatnonzero(sim.solver.laws.prescribed)[0])
    for _ in range(10):
        sim.step(DT)
        before, after = began[-1]
        locked += before != after
        assert after + DT * sim.solver.laws.led[at] == pytest.approx(sim.velocity[40], rel=1e-12)
    assert locked


def test_adaptive_motion_converges_to_full():
    chain = bough.zoo.chain(40)
    motion = {chain.joint_names[0]: swing(0.4, 4.0), chain.joint_names[30]: swing(0.2, 9.0, 0.5)}
    q = np.array(chain.neutral)
    q[30] = 0.2 * math.sin(0.5)
    expected = rolled(chain, q, np.zeros(40), motion)[0]
    errors = []
    for eps in (3.0, 0.03):
        sim = simulated(chain, q, np.zeros(40), motion, adaptive.rms_acceleration(eps), "adaptive")
        errors.append(float(np.abs(sim.configuration - expected).max()))
    assert errors[1] <= 1e-4
    assert errors[1] <= errors[0] + 1e-12


def test_loops_stay_closed_as_a_crank_turns():
    model, q, _ = closed_four_bar()
    crank, start = model.joint_names[0], float(q[0])
    motion = {crank: lambda t: (start + 0.5 * t + 2.0 * t * t, 0.5 + 4.0 * t)}
    sim = Dynamics(model, None, "full", motion=motion, closures=[Closure("pin", "tip")])
    sim.configuration = q
    sim.run(100, DT)
    assert sim.opening() <= 1e-5
    assert sim.configuration[0] == motion[crank](sim.time)[0]
    adaptively = Dynamics(model, adaptive.rms_acceleration(1e-3), motion=motion, closures=[Closure("pin", "tip")])
    adaptively.configuration = q
    adaptively.run(100, DT)
    assert np.allclose(adaptively.configuration, sim.configuration, atol=1e-9)


def test_motions_can_be_assigned_and_taken_away():
    chain = bough.zoo.chain(6)
    name = chain.joint_names[1]
    sim = Dynamics(chain, adaptive.rms_acceleration(1e-3), "adaptive")
    sim.step(DT)
    sim.motion = {name: swing(0.1, 5.0, 5.0 * -DT)}
    sim.run(5, DT)
    assert sim.configuration[1] == sim.motion[name](sim.time)
    sim.motion = None
    assert sim.motion == {}
    twin = Dynamics(chain, method="full")
    twin.configuration, twin.velocity = sim.configuration, sim.velocity
    assert np.allclose(sim.accelerations(), twin.accelerations(), atol=1e-2)


def test_what_is_no_motion_is_refused(tmp_path):
    chain = bough.zoo.chain(4)
    name = chain.joint_names[1]
    with pytest.raises(bough.errors.UnknownNameError):
        Dynamics(chain, motion={"elbow": swing(1.0, 1.0)})
    with pytest.raises(ShapeError, match="is a function of time"):
        Dynamics(chain, motion={name: 1.0})
    with pytest.raises(ShapeError, match="dictionary of joints"):
        Dynamics(chain, motion=swing(1.0, 1.0))
    with pytest.raises(SettingError, match="prescribed motion is for the integrators"):
        Dynamics(chain, integrator="rk4", motion={name: swing(1.0, 1.0)})
    sim = Dynamics(chain, motion={name: lambda t: math.nan})
    before = sim.configuration
    with pytest.raises(bough.errors.NonFiniteError, match="motion"):
        sim.step(DT)
    assert np.array_equal(sim.configuration, before)
    sim = Dynamics(chain, motion={name: swing(0.1, 1.0)})
    with pytest.raises(CheckpointError, match="Python functions"):
        sim.checkpoint(tmp_path / "c.npz")
    with pytest.raises(SettingError, match="minimize moves all joints"):
        sim.minimize()
