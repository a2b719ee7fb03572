"""Potentials of joints, implicit in steps, against the dense solution of (M + h V'') qdd = tau - V'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from adaptive.linkages import random_linkage
from bough import adaptive, zoo
from bough.adaptive import Dynamics, QuasiStatics, barrier, dihedral, energy, harmonic, relative_joint, rms_acceleration
from bough.errors import CheckpointError, ModelError, NonFiniteError, ShapeError, UnknownNameError
from bough.model import Passive

WAYS = {
    "aba": {"method": "aba"},
    "dca": {"method": "dca"},
    "zero": {"method": "adaptive", "error": relative_joint(1e-7), "culled": "zero"},
    "rigid": {"method": "adaptive", "error": energy(1e-7), "every": 3},
}
TYPES = ("revolute", "prismatic", "spherical", "universal")


def sprung(seed, size=8):
    """A linkage with springs and damping at its joints, somewhere."""
    twin = random_linkage(seed, size, TYPES)
    rng, nv = np.random.default_rng(seed), twin.model.nv
    stiffness, rest, damping = rng.uniform(0.5, 5.0, nv), rng.normal(size=nv), rng.uniform(0.0, 2.0, nv)
    for joint in twin.model.joints:
        if joint.type == "spherical":
            stiffness[joint.v] = stiffness[joint.v.start]
    twin.model = replace(twin.model, passive=Passive(damping, np.zeros(nv), stiffness, rest))
    return twin, rng


def slope(twin, q):
    return twin.model.stiffness * twin.model.difference(twin.model.rest_configuration, q)


def step(twin, q, h, V1, V2, tau=0.0):
    """One implicit step, dense."""
    nv = twin.model.nv
    world = naive.Mechanism(twin.bodies, q, np.zeros(nv), twin.gravity)
    M = world.mass_matrix() + np.diag(h * np.maximum(V2, 0.0) + np.sqrt(h / 2) * twin.model.damping)
    return twin.model.integrate(q, h * np.linalg.solve(M, tau - world.inverse_dynamics(np.zeros(nv)) - V1))


@pytest.mark.parametrize("way", WAYS)
def test_springs_and_damping_of_the_model_are_honoured(way):
    twin, rng = sprung(3)
    sim = QuasiStatics(twin.model, **WAYS[way])
    sim.configuration = q = twin.model.random_configuration(rng)
    tau = rng.normal(size=twin.model.nv)
    sim.set_torque(None, tau)
    for h in (1e-4, 1e-4, 1e-4, 3e-4, 1e-4):
        q = step(twin, q, h, slope(twin, q), twin.model.stiffness, tau)
        sim.step(h=h)
        np.testing.assert_allclose(sim.configuration, q, atol=1e-7)


def terms(x):
    """V' and V'' of the potentials that `set_all` sets."""
    c, s = np.cos(3 * x[0] - 0.4), np.sin(3 * x[0] - 0.4)
    first = -2.0 * 3 * s + 0.5 * -1 * np.sin(x[0]), -2.0 * 9 * c - 0.5 * np.cos(x[0])
    a, b = x[1] + 2.0, 3.0 - x[1]
    second = 0.7 * (1 / b - 1 / a), 0.7 * (1 / a**2 + 1 / b**2)
    third = x[2] ** 3 + 4.0 * x[2], 3 * x[2] ** 2 + 4.0
    return np.array([first, second, third]).T


def set_all(sim, asked):
    def quartic(x, which):
        asked.append((x.copy(), which.copy()))
        return x**4 / 4, x**3, 3 * x**2

    sim.set_potential("b0", dihedral([2.0, 0.5], [3, 1], [0.4, 0.0]))
    sim.set_potential(1, barrier(-2.0, 3.0, 0.7))
    sim.set_potential(["b2"], harmonic([4.0]), quartic)


@pytest.mark.parametrize("way", WAYS)
def test_potentials_that_are_set_equal_the_dense_solution(way):
    twin = random_linkage(1, 6, ("revolute",))
    sim, rng, asked = QuasiStatics(twin.model, **WAYS[way]), np.random.default_rng(0), []
    sim.configuration = q = rng.uniform(-1, 1, 6)
    names = twin.model.joint_names
    set_all(sim, asked)
    for _ in range(4):
        V1, V2 = np.zeros((2, 6))
        V1[:3], V2[:3] = terms(q)
        q = step(twin, q, 1e-3, V1, V2)
        sim.step(h=1e-3)
        np.testing.assert_allclose(sim.configuration, q, atol=1e-7)
    assert 4 <= len(asked) <= 6  # once when set, once for each step
    sim.set_potential(names[:3])
    bare = QuasiStatics(twin.model, **WAYS[way])
    bare.configuration = sim.configuration
    sim.step(h=1e-3)
    bare.step(h=1e-3)
    np.testing.assert_allclose(sim.configuration, bare.configuration, atol=1e-9)


@pytest.mark.parametrize("options", [{"method": "full"}, {"method": "adaptive", "error": rms_acceleration(1e-6)}])
@pytest.mark.parametrize(("integrator", "tol"), [("rk4", 1e-4), ("semi_implicit", 1e-2)])
def test_potentials_act_in_motion(options, integrator, tol):
    """Beside the dense solution, and by the energy that a motion keeps."""
    twin = random_linkage(1, 6, ("revolute",))
    sim, q = Dynamics(twin.model, integrator=integrator, **options), np.random.default_rng(0).uniform(-1, 1, 6)
    sim.configuration = q
    sim.step(1e-9)
    set_all(sim, [])
    world, slope = naive.Mechanism(twin.bodies, q, np.zeros(6), twin.gravity), np.zeros(6)
    slope[:3] = terms(q)[0]
    dense = np.linalg.solve(world.mass_matrix(), -world.inverse_dynamics(np.zeros(6)) - slope)
    np.testing.assert_allclose(sim.accelerations(), dense, atol=1e-4 * np.abs(dense).max())
    before = sim.energy
    sim.run(200, 1e-4)
    assert abs(sim.energy - before) < tol * sim.stats.kinetic_energy
    assert abs(sim.configuration - q).max() > 1e-3


def test_springs_pull_in_motion_as_they_do_at_rest():
    twin, rng = sprung(4)
    q, found = twin.model.random_configuration(rng), []
    for sim in (QuasiStatics(twin.model, method="aba"), Dynamics(twin.model, method="full", integrator="rk4")):
        sim.configuration = q
        found.append(sim.accelerations())
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_slopes_and_curvatures_are_derivatives_of_the_energy():
    twin = random_linkage(1, 6, ("revolute",))
    sim = QuasiStatics(twin.model, method="aba")
    potentials = sim.inputs.potentials
    sim.set_potential([0, 1], dihedral([1.3], [2], [0.3]), barrier(-1.0, [1.0, 2.0], 0.2, 0.1))
    for x in (-1.2, -0.95, -0.5, 0.3, 0.96, 1.7):
        found = []
        for d in (-1e-5, 0.0, 1e-5):
            sim.configuration = np.full(6, x + d)
            potentials.set_step(1.0)
            V2 = potentials.springs.armature - twin.model.mechanism.armature
            found.append((potentials.energy(), -sim.inputs.shared.tau.sum(), V2))
        assert (found[2][0] - found[0][0]) / 2e-5 == pytest.approx(found[1][1], rel=1e-5, abs=1e-5)


def test_stiff_springs_are_stable_in_any_step():
    model = zoo.cable(30, EI=1e3, planar=True)
    sim = QuasiStatics(model, method="aba", max_turn=10.0)
    sim.configuration = 0.01 * np.sin(np.arange(30.0))
    for h in (1.0, 1e3, 1e6):
        sim.step(h=h)
    np.testing.assert_allclose(sim.configuration, 0.0, atol=1e-4)  # gravity bends it a little


def test_functions_are_asked_only_about_joints_that_moved():
    model = zoo.molecule(300, seed=1).with_gravity((0, 0, 0))
    sim = QuasiStatics(model, energy(0.3), "adaptive", every=1)
    sim.apply_force(290, [0.0, 0.1, 1.0])
    asked = []

    def V(x, which):
        asked.append(which.copy())
        return 0.5 * x * x, x, np.ones_like(x)

    some = np.arange(0, 300, 3)[::-1]
    sim.set_potential(some.tolist(), V)
    assert len(asked) == 1
    assert len(asked[0]) == 100
    before = sim.configuration
    sim.step(h=1e-3)
    moved = np.flatnonzero(sim.configuration[some] != before[some])
    assert 0 < len(moved) < 100
    assert np.array_equal(np.sort(asked[1]), moved)


@pytest.mark.parametrize("way", ["aba", "rigid"])
def test_a_step_in_which_a_potential_fails_leaves_everything_alone(way):
    twin = random_linkage(1, 6, ("revolute",))
    sim, calls = QuasiStatics(twin.model, **WAYS[way]), []

    def V(x, which):
        calls.append(1)
        value = np.nan if len(calls) == 3 else 1.0
        return x, value * np.ones_like(x), np.zeros_like(x)

    sim.set_potential(0, V)
    sim.step(h=1e-3)
    q, steps, t = sim.configuration, sim.steps, sim.pseudo_time
    with pytest.raises(NonFiniteError, match="must be finite"):
        sim.step(h=1e-3)
    np.testing.assert_array_equal(sim.configuration, q)
    assert (sim.steps, sim.pseudo_time) == (steps, t)
    sim.step(h=1e-3)


def test_bad_potentials_are_refused_and_change_nothing():
    twin = random_linkage(1, 6, ("revolute", "spherical"))
    model = twin.model
    ball = next(j.name for j in model.joints if j.type == "spherical")
    hinge = next(j.name for j in model.joints if j.type == "revolute")
    sim = QuasiStatics(model)
    sim.set_potential(hinge, harmonic(2.0, 0.1))
    sim.step(h=1e-3)
    qdd = sim.accelerations()
    with pytest.raises(ValueError, match="max_h"):
        harmonic(-1.0)
    with pytest.raises(NonFiniteError):
        harmonic(np.nan)
    with pytest.raises(ShapeError, match="amplitudes"):
        dihedral([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="below the upper"):
        barrier(1.0, -1.0, 1.0)
    with pytest.raises(ModelError, match="one coordinate"):
        sim.set_potential(ball, harmonic(1.0))
    with pytest.raises(UnknownNameError):
        sim.set_potential("nothing", harmonic(1.0))
    with pytest.raises(UnknownNameError):
        sim.set_potential(99, harmonic(1.0))
    with pytest.raises(ShapeError, match="one for each of 1 joints"):
        sim.set_potential([hinge], harmonic([1.0, 2.0]))
    with pytest.raises(ValueError, match="twice"):
        sim.set_potential([hinge, hinge], harmonic(1.0))
    with pytest.raises(TypeError, match="harmonic"):
        sim.set_potential(hinge, 3.0)
    with pytest.raises(ShapeError, match="tuple"):
        sim.set_potential(hinge, lambda x, which: x)
    with pytest.raises(ShapeError, match="has shape"):
        sim.set_potential(hinge, lambda x, which: (x, np.zeros(7), x))
    with pytest.raises(NonFiniteError):
        sim.set_potential(hinge, lambda x, which: (x, x + np.inf, x))
    np.testing.assert_array_equal(sim.accelerations(), qdd)
    sim.set_potential(hinge, harmonic(-2.0, max_h=1e-3))
    sim.step(h=1e-3)
    with pytest.raises(ValueError, match="too long"):
        sim.step(h=2e-3)
    moving = Dynamics(sim.model)
    moving.set_potential(hinge, harmonic(-2.0, max_h=1e-6))
    moving.step(1e-3)
    with pytest.raises(ValueError, match="too long"):
        moving.step(2e-3)


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_run_has_the_potentials(tmp_path, way):
    twin = sprung(3)[0]
    sim = QuasiStatics(twin.model, **WAYS[way])
    hinge = next(j.name for j in twin.model.joints if j.type == "revolute")
    sim.set_potential(hinge, harmonic(2.0, 0.1), dihedral(1.0, 3))
    sim.run(4, h=1e-4)
    sim.checkpoint(tmp_path / "here")
    again = adaptive.QuasiStatics.resume(twin.model, tmp_path / "here")
    for s in (sim, again):
        s.run(5, h=1e-4)
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    sim.set_potential(hinge, lambda x, which: (x, x, x))
    with pytest.raises(CheckpointError, match="function"):
        sim.checkpoint(tmp_path / "there")


def test_a_torque_is_added_to_the_springs_of_its_joint_alone():
    twin, rng = sprung(5)
    model, q = twin.model, twin.model.random_configuration(rng)
    sims = [QuasiStatics(model, method="aba") for _ in range(2)]
    for sim in sims:
        sim.set_potential([j.name for j in model.joints if j.type == "revolute"], harmonic(3.0, 0.2))
        sim.configuration = q
    tau = rng.normal(size=model.nv)
    for joint in model.joints:
        sims[0].set_torque(joint.name, tau[joint.v])
    sims[1].set_torque(None, tau)
    assert (sims[0].accelerations() == sims[1].accelerations()).all()
    sims[0].inputs.potentials.refresh()  # all of them, from q
    assert (sims[0].inputs.shared.tau == sims[1].inputs.shared.tau).all()
