"""The promised bounds hold: four error measures, random linkages, forces and thresholds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import models
from adaptive.linkages import random_forces, random_linkage, simulate, spread_masses
from bough.adaptive import absolute_joint, absolute_linkage, relative_joint, relative_linkage
from bough.zoo import cable
from sizes import size

MEASURES = (absolute_linkage, relative_linkage, absolute_joint, relative_joint)
LAST_BITS = 1 + 1e-14  # of norms taken here
slow = pytest.mark.slow


def joint_norms(model, x):
    """Norm of each joint's part; a floating base is no joint."""
    counted = [
        j for j in model.joints if not (j.type == "floating" and model.parent[model.joint_names.index(j.name)] < 0)
    ]
    return np.array([np.linalg.norm(x[j.v]) for j in counted] or [0.0])


def error_of(measure, exact, found):
    """The measure's own error, from its definition; exact and found are norms by joint."""
    if "linkage" in measure.name:
        size, scale = np.linalg.norm(found), np.linalg.norm(exact)
    else:
        size, scale = found.max(), exact.max()
    return size / scale if measure.name.startswith("relative") else size


def free_fall(sim, size):
    """Rounding of the plain solution, whose accelerations are differences of those with the acceleration of gravity."""
    rounding = 8 * 2.0**-53 * np.linalg.norm(sim.gravity)
    scale = np.linalg.norm(size) if "linkage" in sim.error.name else size.max()
    return rounding / scale if sim.error.name.startswith("relative") else rounding


def violations(seed, forces_per_model):
    """Over one random linkage, beside plain solutions: trials, broken bounds, broken reports, joints left out."""
    rng = np.random.default_rng(seed)
    options = dict(floating=seed % 2 == 0, armature=seed % 3 == 0, decades=2 * (seed % 5))
    twin = random_linkage(seed, int(rng.integers(3, 60)), **options)
    model = twin.model
    q, forces = model.random_configuration(rng), random_forces(twin, rng, 3)
    sim, plain = (
        simulate(model, q, forces, error=relative_joint(0.5), method=name, culled="zero", catch_up=False)
        for name in ("adaptive", "aba")
    )
    trials = broken = misreported = culled = 0
    for _ in range(forces_per_model):
        gravity = rng.normal(size=3) * rng.integers(0, 2) if rng.random() < 0.3 else None
        for number, (body, _, point, frame) in enumerate(forces):
            forces[number] = (body, rng.normal(size=6) * 10.0 ** rng.uniform(-2, 2), point, frame)
        for each in (sim, plain):
            for number, force in enumerate(forces):
                each.change_force(number, force[1])
            if gravity is not None:
                each.gravity = gravity
        exact = plain.accelerations()
        size = joint_norms(model, exact)
        for make in MEASURES:
            eps = 10.0 ** rng.uniform(-5, 0)
            sim.error = make(eps if make in (relative_linkage, relative_joint) else eps * max(size.max(), 1e-9))
            sim.change_force(0, forces[0][1])
            found = sim.accelerations()
            error = error_of(sim.error, size, joint_norms(model, found - exact)) - free_fall(sim, size)
            trials += 1
            broken += error > LAST_BITS * sim.error.eps
            misreported += error > LAST_BITS * sim.stats.bound and sim.stats.method != "aba"
            culled += int(np.count_nonzero(joint_norms(model, found) == 0.0))
    return trials, broken, misreported, culled


def run(models, forces_per_model):
    """Masses differ by up to eight powers of ten; where the tree is not to be trusted, steps are plain and exact."""
    totals = np.sum([violations(seed, forces_per_model) for seed in range(models)], axis=0)
    assert totals[1] == 0
    assert totals[2] == 0
    assert totals[3] > totals[0]  # the measures did leave joints out
    return int(totals[0])


@pytest.mark.filterwarnings("ignore:.*below the noise floor", "ignore:divide and conquer is off")
def test_no_bound_is_broken_in_two_thousand_trials():
    linkages = size(25, 4)
    assert run(linkages, 20) == 80 * linkages


@slow
@pytest.mark.filterwarnings("ignore:.*below the noise floor", "ignore:divide and conquer is off")
def test_no_bound_is_broken_in_twenty_thousand_trials():
    linkages = size(100, 2)
    assert run(linkages, 50) == 200 * linkages


@pytest.mark.filterwarnings("ignore:.*below the noise floor", "ignore:divide and conquer is off")
def test_bounds_know_how_much_of_the_forces_cancels():
    """A force of 200 N that a body passes on, nearly all of it: rounding is that of the force."""
    assert violations(77, 47)[1:3] == (0, 0)


def test_refining_goes_on_where_it_stopped_and_ends_exact():
    twin = random_linkage(1, 60, types=("revolute",), forest=False)
    rng = np.random.default_rng(0)
    sim = simulate(
        twin.model,
        twin.model.random_configuration(rng),
        random_forces(twin, rng),
        error=relative_joint(0.9),
        culled="zero",
        catch_up=False,
    )
    exact = simulate(twin.model, sim.configuration, [], method="dca")
    exact.inputs.forces.restore(sim.inputs.forces.state())
    expected = exact.accelerations()
    sim.accelerations()
    joints, bound, before = sim.stats.joints, sim.stats.bound, np.inf
    for _ in range(6):
        bound = sim.refine(budget=8)
        assert bound <= before
        assert sim.stats.joints >= joints
        error = np.abs(sim.accelerations() - expected).max() / np.abs(expected).max()
        assert error <= bound + 1e-12
        before, joints = bound, sim.stats.joints
    assert sim.refine(microseconds=1e6) < 1e-9  # what is left is rounding
    np.testing.assert_allclose(sim.accelerations(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("make", MEASURES)
@pytest.mark.parametrize("decades", [3, 6])
def test_at_the_noise_floor_the_bound_still_holds(make, decades):
    """The smallest eps that is taken, on linkages whose masses differ by up to six powers of ten."""
    rng = np.random.default_rng(0)
    twin = spread_masses(models.random_twin(0, range(-1, 79), ["revolute"] * 80), rng, decades)
    model = twin.model.with_gravity((0, 0, 0))
    q, forces = model.random_configuration(rng), [(40, rng.normal(size=6), np.zeros(3), "world")]
    exact = simulate(model, q, forces, method="aba").accelerations()
    sim = simulate(model, q, forces, error=make(1e-300), culled="zero", catch_up=False)
    with pytest.warns(UserWarning, match="below the noise floor"):
        found = sim.accelerations()
    size = joint_norms(model, exact)
    error = error_of(sim.error, size, joint_norms(model, found - exact))
    assert 0.0 < error <= sim.stats.bound <= sim.error.eps == sim.stats.noise_floor


def wide(seed=1):
    """55 revolute joints, masses over eight powers of ten, where divide and conquer is off by more than TRUSTED."""
    rng = np.random.default_rng(seed)
    twin = random_linkage(seed, 55, ("revolute",), forest=False, decades=8)
    return twin.model, twin.model.random_configuration(rng), random_forces(twin, rng), rng.normal(size=twin.model.nv)


@pytest.mark.parametrize("method", ["dca", "adaptive", "auto"])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_a_linkage_on_which_the_tree_is_wrong_is_solved_in_full_and_says_so(method, eps):
    model, q, forces, tau = wide()
    plain = simulate(model, q, forces, tau, method="aba")
    sim = simulate(model, q, forces, tau, relative_joint(eps), method, culled="zero", catch_up=False)
    sim.selector.wait = 0
    if method == "auto":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim.run(2, 1e-6)
        plain.run(2, 1e-6)
    else:
        with pytest.warns(UserWarning, match=r"full O\(n\) steps are taken instead"):
            sim.accelerations()
    np.testing.assert_array_equal(sim.accelerations(), plain.accelerations())
    for each in (sim, plain):
        each.run(3, 1e-6)
    np.testing.assert_array_equal(sim.configuration, plain.configuration)
    assert sim.stats.method == "aba"
    if method == "adaptive":
        assert sim.refine() == 0.0


def test_exact_solutions_report_their_rounding():
    twin = random_linkage(3, 30, decades=4)
    rng = np.random.default_rng(3)
    q, forces = twin.model.random_configuration(rng), random_forces(twin, rng)
    exact = simulate(twin.model, q, forces, method="aba").accelerations()
    sim = simulate(twin.model, q, forces, method="dca")
    error = np.linalg.norm(joint_norms(twin.model, sim.accelerations() - exact))
    assert 0.0 < error <= sim.stats.bound < 1e-6 * np.linalg.norm(exact)


def test_an_eps_below_the_noise_floor_is_clamped_with_a_warning():
    twin = random_linkage(2, 20)
    sim = simulate(
        twin.model,
        twin.model.neutral,
        random_forces(twin, np.random.default_rng(0)),
        error=relative_joint(1e-15),
        culled="zero",
        catch_up=False,
    )
    with pytest.warns(UserWarning, match="below the noise floor"):
        sim.accelerations()
    assert sim.error.eps == sim.stats.noise_floor > 1e-15


@slow
def test_a_uniform_cable_of_many_joints_keeps_its_tree():
    """3 GB and a minute: rounding of so long a tree is not taken for unequal masses."""
    model = cable(550_000)
    forces = [(len(model.joints) - 1, [0.0, 1e-3, 0.0], None, "world")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = simulate(model, model.neutral, forces, error=relative_linkage(1e-3))
        found = sim.accelerations()
    full = simulate(model, model.neutral, forces, method="aba").accelerations()
    assert sim.stats.method == "adaptive"
    assert sim.stats.joints < 0.1 * model.nv
    assert np.linalg.norm(found - full) <= sim.stats.bound * np.linalg.norm(full) <= 1e-3 * np.linalg.norm(full)
