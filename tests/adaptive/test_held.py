"""Quasi-statics with dry friction and limits: beside the laws of both, checked on a dense mass matrix."""

import math
from dataclasses import replace

import numpy as np
import pytest

import bough
import naive
from adaptive.linkages import random_forces, random_linkage, simulate, world_wrench
from bough.adaptive import QuasiStatics, energy, relative_joint
from bough.model import Passive
from sizes import size

H = 1e-2


def pendulum(**options):
    builder = bough.Builder()
    builder.add_body(
        "arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.0, 0.0, 1.0), inertia=np.eye(3), **options
    )
    return builder.build()


def with_laws(model, rng, friction=0.5, width=0.3):
    """The model with friction and limits at some joints, in a configuration between them."""
    q = model.random_configuration(rng)
    at, v = model.scalar_joints
    rubs, limited = rng.random(len(v)) < 0.5, rng.random(len(v)) < 0.5
    none, lower, upper = np.zeros(model.nv), np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    mu = none.copy()
    mu[v[rubs]] = rng.uniform(0.0, friction, rubs.sum())
    lower[v[limited]] = q[at[limited]] - rng.uniform(0.0, width, limited.sum()) * (rng.random(limited.sum()) < 0.7)
    upper[v[limited]] = q[at[limited]] + rng.uniform(0.0, width, limited.sum())
    passive = Passive(none, mu, none, none)
    return replace(model, passive=passive, limits=model.limits._replace(lower=lower, upper=upper)), q


def broken_laws(twin, model, q, after, qdd, h, forces, tau):
    """How far q and its accelerations are from the laws of friction and limits, each in units of its own scale."""
    world = naive.Mechanism(twin.bodies, q, np.zeros(model.nv), twin.gravity)
    applied = np.array(tau) - world.inverse_dynamics(np.zeros(model.nv))
    for body, force, point, frame in forces:
        applied = applied + world.J[body].T @ world_wrench(world.placement[body], force, point, frame)
    held = world.mass_matrix() @ qdd - applied  # what friction and limits exert
    scale, mu = np.abs(applied).max(), model.passive.friction
    at, v = model.scalar_joints
    y, pull = after[at], held[v]
    lower, upper = model.limits.lower[v], model.limits.upper[v]
    moved = np.abs(qdd[v]) * h
    low, high = (y <= lower + 1e-9), (y >= upper - 1e-9)
    wrong = [np.maximum(lower - y, 0.0).max(initial=0.0), np.maximum(y - upper, 0.0).max(initial=0.0)]
    stronger = np.where(low, -pull, np.where(high, pull, np.abs(pull))) - mu[v]
    wrong.append(np.maximum(stronger, 0.0).max(initial=0.0) / scale)  # nothing is stronger than it may be
    slides = (moved > 1e-9) & ~low & ~high
    against = np.abs(pull + mu[v] * np.sign(qdd[v]))[slides]
    wrong.append(against.max(initial=0.0) / scale)  # what slides is braked by all of its friction
    return max(wrong), slides.sum(), (low | high).sum(), ((mu[v] > 0) & (moved <= 1e-9) & ~low & ~high).sum()


@pytest.mark.parametrize("method", ["aba", "adaptive", "auto", "dca"])
def test_accelerations_obey_friction_and_limits(method):
    slides = stops = sticks = 0
    for seed in range(size(12, 3)):
        rng = np.random.default_rng(seed)
        twin = random_linkage(seed, 14, ("revolute", "revolute", "prismatic", "spherical"))
        model, q = with_laws(twin.model, rng)
        forces, tau = random_forces(twin, rng), 0.3 * rng.normal(size=model.nv)
        error = [relative_joint(1e-9), energy(1e-9), None][seed % 3] if method != "dca" else None
        sim = simulate(model, q, forces, tau, error, method)
        sim.gravity = twin.gravity
        sim.solver.set_step(H)
        qdd = sim.accelerations()
        after = model.integrate(q, H * qdd)
        wrong, *counts = broken_laws(twin, model, q, after, qdd, H, forces, tau)
        assert wrong < 1e-6, seed
        slides, stops, sticks = slides + counts[0], stops + counts[1], sticks + counts[2]
    assert min(slides, stops, sticks) > 0  # all of them occur


def test_friction_that_is_strong_enough_holds_a_pendulum_anywhere():
    sim = QuasiStatics(pendulum(friction=100.0, lower=-3.0, upper=3.0))
    sim.configuration = [0.7]
    sim.run(20, h=0.01)
    assert sim.configuration[0] == 0.7


def test_a_pendulum_comes_to_rest_where_friction_begins_to_hold_it():
    torque = 9.81  # at the side
    sim = QuasiStatics(pendulum(friction=0.5 * torque))
    sim.configuration = [0.9]
    sim.run(4000, h=0.002)
    assert abs(torque * math.sin(sim.configuration[0])) <= 0.5 * torque * (1 + 1e-9)
    assert sim.configuration[0] == pytest.approx(math.pi - math.asin(0.5), abs=0.01)


@pytest.mark.parametrize("error", [None, 1e-6, relative_joint(1e-6)], ids=str)
@pytest.mark.parametrize("method", ["auto", "adaptive", "aba"])
def test_a_joint_ends_at_its_limit_and_leaves_it_again(method, error):
    sim = QuasiStatics(pendulum(lower=-0.3, upper=0.1), error, method)
    sim.configuration = [0.05]
    sim.run(200, h=0.05)
    assert sim.configuration[0] == pytest.approx(0.1, abs=1e-12)
    sim.gravity = (0.0, 0.0, 9.81)
    sim.run(200, h=0.05)
    assert abs(sim.configuration[0]) < 1e-6
    assert sim.steps == 400


def test_effects_may_be_left_out():
    sim = QuasiStatics(pendulum(lower=-0.3, upper=0.1, friction=100.0), without=["limits", "friction"])
    sim.configuration = [0.05]
    sim.run(300, h=0.05)
    assert sim.configuration[0] == pytest.approx(math.pi, abs=1e-3)
    with pytest.raises(bough.errors.OptionError, match="no effect 'frictio'"):
        QuasiStatics(pendulum(), without="frictio")


@pytest.mark.parametrize("error", [energy(1e-3), relative_joint(1e-4)], ids=lambda e: e.name)
def test_a_long_chain_under_limits_ends_where_plain_steps_end(error):
    """Adaptive steps where no limit acts, plain ones where one does: the same equilibrium, limits kept all the time."""
    model = bough.zoo.chain(size(60, 20), seed=3)
    width = np.full(model.nv, 0.4)
    model = replace(model, limits=model.limits._replace(lower=-width, upper=width))
    ends = []
    for given, method in ((error, "adaptive"), (None, "aba")):
        sim = QuasiStatics(model, given, method)
        sim.apply_force(len(model.joints) - 1, (0.0, 3.0, 0.0))
        for _ in range(30):
            sim.run(10, h=2e-3)
            assert np.abs(sim.configuration).max() <= 0.4 + 1e-9
        ends.append(sim)
    assert (np.abs(ends[1].configuration) > 0.4 - 1e-9).any()
    assert np.abs(ends[0].positions() - ends[1].positions()).max() < 0.2


def test_a_checkpoint_under_friction_goes_on_to_the_last_bit(tmp_path):
    twin = random_linkage(3, 12, ("revolute", "prismatic"))
    model, q = with_laws(twin.model, np.random.default_rng(3))
    sim = QuasiStatics(model, energy(1e-3), without="closures")
    sim.configuration = q
    sim.run(5, h=1e-3)
    sim.checkpoint(tmp_path / "c.npz")
    again = QuasiStatics.resume(model, tmp_path / "c.npz")
    for s in (sim, again):
        s.run(5, h=1e-3)
    assert np.array_equal(sim.configuration, again.configuration)
    assert again.without == ("closures",)


def test_friction_at_rest_knows_the_armature_of_each_step():
    """Dampers and springs add to it as steps are long."""
    model, one = bough.zoo.chain(3), np.ones(3)
    model = replace(model, passive=Passive(2.0 * one, 0.02 * one, 3.0 * one, 0.0 * one))
    sim, fresh = (QuasiStatics(model, method="aba") for _ in range(2))
    sim.step(h=1e-4)
    fresh.configuration = sim.configuration
    for each in (sim, fresh):
        each.step(h=3e-2)
    np.testing.assert_allclose(sim.configuration, fresh.configuration, atol=1e-12)
