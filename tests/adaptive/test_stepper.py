"""Steps: pseudo-time, parts of steps that would turn a joint too far, failures that change nothing, loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from adaptive.linkages import random_forces, random_linkage, simulate
from bough import Dynamics
from bough.adaptive import Closure, QuasiStatics, closure, energy, relative_joint
from bough.errors import NumericalError
from bough.model import Builder
from bough.zoo import chain

METHODS = ("aba", "dca", "adaptive", "auto")


def falling(method, **options):
    """A short chain under gravity, with an error where the method takes one."""
    return QuasiStatics(chain(8), relative_joint(1e-7) if method == "adaptive" else None, method, **options)


@pytest.mark.parametrize("method", METHODS)
def test_h_is_half_the_square_of_dt(method):
    sims = [falling(method), falling(method)]
    sims[0].run(3, 0.01)
    sims[1].run(3, h=0.5 * 0.01**2)
    np.testing.assert_array_equal(sims[0].configuration, sims[1].configuration)
    assert sims[1].pseudo_time == sims[0].stats.pseudo_time == pytest.approx(1.5e-4)
    assert sims[1].time == pytest.approx(0.03)


@pytest.mark.parametrize("method", METHODS)
def test_a_large_step_is_cut_into_parts_with_the_same_pseudo_time(method):
    large, small = falling(method), falling(method)
    fastest = np.abs(large.accelerations()).max()
    h = 0.9 / fastest
    large.step(h=h)
    assert large.stats.cuts >= 4
    assert large.pseudo_time == pytest.approx(h, rel=1e-14)
    assert large.steps == 1
    small.run(400, h=h / 400)
    assert small.stats.cuts == 0
    assert np.abs(large.configuration - small.configuration).max() < 0.15


@pytest.mark.parametrize("method", METHODS)
def test_no_part_turns_a_joint_farther_than_allowed(method):
    sim, again = falling(method, max_turn=0.05), falling(method, max_turn=0.05)
    h = 0.4 / np.abs(sim.accelerations()).max()
    sim.step(h=h)
    assert sim.stats.cuts >= 5
    # the same parts, one after another: a step of what is left is cut into equal ones, of which the first is taken
    left, seen = h, [again.configuration]
    while left > 1e-12 * h:
        parts = max(1, int(np.ceil(left * np.abs(again.accelerations()).max() / 0.05 - 1e-9)))
        again.step(h=left / parts)
        left -= left / parts
        seen.append(again.configuration)
    assert np.abs(np.diff(seen, axis=0)).max() <= 0.05 * (1 + 1e-9)
    np.testing.assert_allclose(sim.configuration, seen[-1], atol=1e-12)


def test_small_steps_are_left_alone():
    sim, free = falling("aba"), falling("aba", max_turn=np.inf)
    for s in (sim, free):
        s.run(20, 0.01)
    np.testing.assert_array_equal(sim.configuration, free.configuration)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_that_needs_too_many_parts_is_refused_and_changes_nothing(method):
    sim = falling(method)
    sim.run(2, 0.01)
    q, time = sim.configuration, sim.pseudo_time
    with pytest.raises(NumericalError, match=r"more than 1000 parts.*take a smaller step"):
        sim.run(5, 1e4)
    np.testing.assert_array_equal(sim.configuration, q)
    assert (sim.steps, sim.pseudo_time) == (2, time)
    other = falling(method)
    other.run(2, 0.01)
    for s in (sim, other):
        s.run(3, 0.01)
    np.testing.assert_array_equal(sim.configuration, other.configuration)


def slide():
    builder = Builder(gravity=(0, 0, 0))
    builder.add_body("cart", "world", "prismatic", axis=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    builder.add_body("lift", "cart", "prismatic", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3))
    return builder.build()


@pytest.mark.parametrize("method", ["aba", "dca", "adaptive"])
def test_a_step_too_large_is_not_blamed_on_the_linkage(method):
    sim = QuasiStatics(slide(), relative_joint(1e-6) if method == "adaptive" else None, method)
    sim.apply_force("cart", [1e3, 0.0, 0.0])
    sim.step(h=1e-3)
    q = sim.configuration
    with pytest.raises(NumericalError, match=r"would slide a joint by 5.0e\+302 m.*take a smaller step"):
        sim.run(3, h=1e300)
    np.testing.assert_array_equal(sim.configuration, q)


def test_a_joint_that_ran_away_is_not_blamed_on_the_linkage():
    sim = QuasiStatics(slide(), method="dca")
    sim.configuration = [1e300, 1e300]
    sim.apply_force("lift", [0.0, 1e300, 0.0], point=(1e300, 0, 0))
    with pytest.raises(NumericalError, match=r"a joint has moved to 1.0e\+300"):
        sim.accelerations()


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_forces_beyond_numbers_leave_the_state_alone(method):
    sim = QuasiStatics(chain(6), relative_joint(0.1), method)
    sim.step(0.01)
    q = sim.configuration
    number = sim.apply_force(3, [1e308, 1e308, 1e308], point=[1e10, 0, 0])
    with pytest.raises(NumericalError, match="the linkage is singular or the forces are too large"):
        sim.step(0.01)
    np.testing.assert_array_equal(sim.configuration, q)
    sim.remove_force(number)
    sim.step(0.01)
    assert np.isfinite(sim.configuration).all()


def test_catching_up_turns_no_joint_too_far():
    twin = random_linkage(0, 40, types=("revolute",))
    rng = np.random.default_rng(0)
    sim = simulate(
        twin.model,
        twin.model.neutral,
        random_forces(twin, rng),
        error=relative_joint(0.5),
        catch_up=True,
        max_turn=0.01,
    )
    q = sim.configuration
    for _ in range(60):
        sim.step(h=0.01 / np.abs(sim.accelerations()).max())
        if rng.random() < 0.2:
            sim.change_force(1, 10.0 * rng.normal(size=6))
        new = sim.configuration
        assert np.abs(new - q).max() <= 0.01 * (1 + 1e-9)
        q = new


# Loops


def arm_to(x):
    """Two bars of one metre, and a pin at x on the ground."""
    builder = Builder(gravity=(0, 0, 0))
    bar = dict(mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))
    builder.add_body("upper", axis=(0, 0, 1), **bar)
    builder.add_body("lower", "upper", "revolute", (1, 0, 0), axis=(0, 0, 1), **bar)
    builder.add_frame("tip", "lower", (1, 0, 0))
    builder.add_frame("pin", "world", (x, 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize("method", ["aba", "dca", "adaptive"])
def test_a_loop_that_cannot_close_says_so_once(method, monkeypatch):
    monkeypatch.setattr(closure, "refuse_beyond_reach", lambda *_: None)  # where it is not seen before
    error = relative_joint(1e-7) if method == "adaptive" else None
    sim = QuasiStatics(arm_to(3.0), error, method, closures=[Closure("pin", "tip", "spherical")])
    sim.configuration = [0.4, 0.3]
    with pytest.warns(UserWarning, match="closure of 'pin' to 'tip' is open by 1.* has not come closer") as said:
        sim.run(120, 0.01)
    assert len(said) == 1
    assert sim.opening() == sim.stats.opening == pytest.approx(1.0, abs=0.2)
    with pytest.warns(UserWarning, match="the closure of 'pin' to 'tip' is open by 1.* cannot close it from here"):
        assert not sim.minimize(steps=20).converged


@pytest.mark.parametrize("method", ["aba", "dca", "adaptive"])
def test_a_loop_that_closes_says_nothing(method):
    error = relative_joint(1e-7) if method == "adaptive" else None
    sim = QuasiStatics(arm_to(1.2), error, method, closures=[Closure("pin", "tip", "spherical")])
    sim.configuration = [0.4, 0.3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.run(120, 0.01)
    assert sim.opening() < 1e-9


@pytest.mark.parametrize("options", [{"method": "aba"}, {"error": energy(0.1), "method": "adaptive"}])
def test_steps_that_would_swing_are_cut_until_they_do_not(options, tmp_path):
    """A stiff spring that a callback makes: h k / m is well above 2, the limit of stable steps."""
    model = chain(4, seed=2).with_gravity((0.0, 0.0, 0.0))
    sim = QuasiStatics(model, max_turn=1e9, **options)
    load, target = sim.loads([3]), sim.positions([3])[0] + [0.0, 0.002, 0.001]
    h, asked = 0.02, []

    def spring(sim):
        asked.append(sim.steps)
        load.values[0] = 400.0 * (target - sim.positions([3])[0])

    sim.run(150, h=h, load=spring)
    assert sim.stepper.parts > 1
    assert sim.steps == 150
    assert sim.stats.cuts == len(asked) - 150
    assert sim.pseudo_time == pytest.approx(150 * h)
    assert sim.time == pytest.approx(150 * np.sqrt(2 * h))
    np.testing.assert_allclose(sim.positions([3])[0], target, atol=1e-6)
    sim.checkpoint(tmp_path / "run")
    again = QuasiStatics.resume(model, tmp_path / "run")
    assert again.stepper.parts == sim.stepper.parts
    np.testing.assert_array_equal(again.stepper.before, sim.stepper.before)


def test_a_step_in_parts_that_fails_is_as_if_it_had_not_been():
    sim = QuasiStatics(chain(4, seed=2), method="aba")
    load, calls = sim.loads([3]), []

    def broken(sim):
        calls.append(1)
        if len(calls) == 7:
            raise RuntimeError("no more")
        load.values[0] = (0.0, 0.1, 0.0)

    sim.run(2, h=1e-4, load=broken)
    sim.stepper.parts = 8
    q, t, s = sim.configuration, sim.pseudo_time, sim.time
    with pytest.raises(RuntimeError, match="no more"):
        sim.run(3, h=1e-4, load=broken)
    np.testing.assert_array_equal(sim.configuration, q)
    assert (sim.pseudo_time, sim.time, sim.steps) == (t, s, 2)


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("eps", [0.3, 0.6])
def test_constant_forces_never_go_uphill_however_long_a_step_is(n, eps):
    """A force that stays at a point of a body has the potential -f.x; steps are beyond the limit of stability."""
    model = chain(n, seed=3).with_gravity((0.0, 0.0, 0.0))
    sim = QuasiStatics(model, energy(eps), "adaptive")
    sim.configuration = 0.5 * model.random_configuration(np.random.default_rng(1))
    f, point = np.array([-3.0, 5.0, 2.0]), np.array([0.2, 0.1, 0.0])
    sim.apply_force(n - 1, f, point)
    heights = []
    for _ in range(60):
        T = sim.poses([n - 1])[0]
        heights.append(-float(f @ (T[:3, :3] @ point + T[:3, 3])))
        sim.step(h=0.5)
    assert np.diff(heights).max() <= 1e-12 * np.ptp(heights)
    assert sim.stats.cuts > 60
    assert np.abs(sim.velocities([n - 1], [point])).max() < 1e-2 * np.linalg.norm(f)  # it is nearly at rest


WAYS = {
    "aba": {"method": "aba"},
    "dca": {"method": "dca"},
    "auto": {},
    "rigid": {"error": energy(0.1), "method": "adaptive"},
    "zero": {"error": relative_joint(1e-3), "method": "adaptive", "culled": "zero"},
}


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_in_every_mode_steps_under_forces_that_stay_are_cut_where_they_would_go_uphill(way, looped):
    """A chain under gravity and a force, by steps beyond the limit of stability; its middle is held, perhaps."""
    model, closures, f = chain(10, seed=3), [], np.array([0.0, 3.0, 1.0])
    if looped:
        model = model.with_frame("pin", "world", QuasiStatics(model, method="aba").poses([3])[0])
        closures = [Closure("pin", model.body_names[3], "spherical")]
    sim = QuasiStatics(model, closures=closures, **WAYS[way])
    sim.apply_force(9, f)
    mass, com = model.inertias[:, 0], model.inertias[:, 1:4] / model.inertias[:, :1]
    heights = []
    for _ in range(70):
        T = sim.poses()
        at = T[:, :3, 3] + np.einsum("nij,nj->ni", T[:, :3, :3], com)
        heights.append(-float(mass @ at @ sim.gravity + f @ T[9, :3, 3]))
        sim.step(h=0.05)
    after = 34 if way == "zero" else 0  # there one step of 32 is looked at
    assert np.diff(heights[after:]).max() <= 1e-12 * np.ptp(heights)
    assert sim.stats.cuts > 60
    assert sim.opening() < 1e-9
    assert np.abs(sim.accelerations()).max() < 1e-3  # it has come to rest, and does not swing


def test_looking_at_power_leaves_calm_steps_as_they_are():
    """Accelerations at the end of a step are those of the next one, unless something was set between."""
    model = chain(6, seed=1)
    whole, single = (QuasiStatics(model, method="aba") for _ in range(2))
    for sim in (whole, single):
        number = sim.apply_force(5, (0.0, 1.0, 0.0))
    whole.run(8, h=1e-4)
    for _ in range(4):
        single.step(h=1e-4)
    single.accelerations()
    for _ in range(4):
        single.step(h=1e-4)
    np.testing.assert_array_equal(whole.configuration, single.configuration)
    for change in (
        lambda sim: sim.change_force(number, (0.3, 0.0, 2.0)),
        lambda sim: setattr(sim, "gravity", (0.0, 1.0, 0.0)),
        lambda sim: sim.set_torque("joint2", 0.4),
        lambda sim: setattr(sim, "configuration", 0.1 * np.arange(6)),
        lambda sim: sim.set_potential("joint1", lambda x, _: (x, np.ones_like(x), 0.0)),
    ):
        for sim in (whole, single):
            change(sim)
        single.accelerations()
        before = whole.configuration
        expected = model.integrate(before, 1e-4 * whole.accelerations())
        for sim in (whole, single):
            sim.step(h=1e-4)
            np.testing.assert_allclose(sim.configuration, expected, rtol=0, atol=1e-13)


def pulled(extra, steps, method="aba"):
    """A chain under gravity, its tip pulled by a callback that returns the energy of its spring, and perhaps more."""
    model = chain(8, seed=3)
    sim = QuasiStatics(model, None, method)
    load, goal = sim.loads([7]), sim.positions([7])[0] + 0.05

    def pull(_):
        d = goal - sim.positions([7])[0]
        load.values[0] = 30.0 * d
        return 15.0 * float(d @ d) + extra(sim)

    sim.run(steps, h=2e-3, load=pull)
    return sim


def lifted(sim):
    """The energy of gravity."""
    m = sim.model
    return Dynamics(m).potential_energy(sim.configuration)


def test_energy_of_its_own_forces_alone_is_found_out():
    with pytest.warns(UserWarning, match="return that of all forces but potentials, gravity and other loads included"):
        sim = pulled(lambda sim: 0.0, 40)
    assert sim.stats.cuts < 200


def test_rest_is_no_reason_to_cut_steps():
    """Near the end of a spring its energy is rounding beside what it was."""
    sim = QuasiStatics(chain(4, seed=3).with_gravity((0, 0, 0)), method="aba")
    load, goal = sim.loads([3]), sim.positions([3])[0] + [0.01, -0.02, 0.01]

    def pull(_):
        d = goal - sim.positions([3])[0]
        load.values[0] = 30.0 * d
        return 15.0 * float(d @ d)

    sim.run(300, h=0.2, load=pull)
    assert np.abs(goal - sim.positions([3])[0]).max() < 1e-14
    before = sim.stats.cuts
    sim.run(50, h=0.2, load=pull)
    assert sim.stats.cuts - before < 100
