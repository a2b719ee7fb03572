"""Equilibria: the Hessian against differences of forces, the elastica, the catenary, and what cannot settle."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import bough
from adaptive.linkages import random_forces
from adaptive.trials import case
from bough import adaptive, zoo
from bough.adaptive import QuasiStatics
from bough.errors import NumericalError
from sizes import size


def elastica(alpha):
    """(x, sag) of the tip of a cantilever of length 1 under a load alpha EI at its tip (Bisshopp & Drucker 1945)."""

    def parts(angle):
        m = 0.5 * (1.0 + np.sin(angle))
        return m, np.arcsin(1.0 / np.sqrt(2.0 * m))

    def short(angle):
        m, phi = parts(angle)
        return ellipk(m) - ellipkinc(phi, m) - np.sqrt(alpha)

    angle = brentq(short, 1e-9, np.pi / 2 - 1e-12)
    m, phi = parts(angle)
    return np.sqrt(2.0 * np.sin(angle) / alpha), 1.0 - 2.0 / np.sqrt(alpha) * (ellipe(m) - ellipeinc(phi, m))


@pytest.mark.parametrize("alpha", [0.5, 10.0])
def test_a_cantilever_settles_to_the_elastica(alpha):
    errors = []
    for n in (100, 200, 1000):
        sim = QuasiStatics(zoo.cable(n, EI=2.0, planar=True).with_gravity((0, 0, 0)))
        sim.apply_force("end", (0.0, 0.0, -2.0 * alpha))
        found = sim.minimize()
        assert found.converged
        assert found.force < 1e-12
        assert found.iterations <= 12
        x, sag = elastica(alpha)
        errors.append(np.linalg.norm(sim.positions(["end"])[0] - [x, 0.0, -sag]))
    assert errors[2] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)  # second order


def catenary(span):
    """The sag of a chain of length 1."""
    a = brentq(lambda a: 2.0 * a * np.sinh(span / (2.0 * a)) - 1.0, 1e-2, 1e3)
    return a * (np.cosh(span / (2.0 * a)) - 1.0)


@pytest.mark.parametrize(
    ("span", "planar", "joints"),
    [(0.7, True, size(2000, 600)), (0.99, True, size(2000, 600)), (0.1, True, 2000), (0.7, False, size(2000, 1000))],
)
def test_a_cable_held_at_both_ends_settles_to_the_catenary(span, planar, joints):
    sim = QuasiStatics(zoo.cable(joints, clamped=False, span=span, planar=planar), method="aba")
    found = sim.minimize()
    assert found.converged
    assert found.opening < 1e-9
    assert -sim.positions()[:, 2].min() == pytest.approx(catenary(span), abs=1e-6)
    q = sim.configuration
    again = sim.minimize()
    assert again.iterations == 1
    np.testing.assert_allclose(sim.configuration, q, atol=1e-9)


def test_small_steps_lead_to_the_same_equilibrium():
    model = zoo.cable(12, EI=1e-2, mass=0.02, planar=True)
    sims = [QuasiStatics(model, method="aba") for _ in range(2)]
    sims[0].minimize()
    sims[1].run(400, h=1e-1)
    np.testing.assert_allclose(sims[1].configuration, sims[0].configuration, atol=1e-8)


def test_a_saddle_is_named_with_a_way_down():
    """Dihedral angles that start on top of their barriers are balanced there."""
    model = zoo.molecule(60, seed=2).with_gravity((0, 0, 0))
    sim = QuasiStatics(model)
    sim.set_potential(range(60), adaptive.dihedral([1.0, 0.3], [3, 1]))
    sim.apply_force(model.body_names[-1], (0.3, 0.0, 0.1))
    with pytest.warns(UserWarning, match="saddle"):
        saddle = sim.minimize()
    for _ in range(60):
        found = saddle
        if found.converged:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim.configuration = model.integrate(found.q, 0.3 * found.direction)
            saddle = sim.minimize()
        assert saddle.energy < found.energy
    assert found.converged
    assert found.direction is None
    assert found.force < 1e-8
    stays = sim.configuration
    sim.run(3, h=1e-3)
    np.testing.assert_allclose(sim.configuration, stays, atol=1e-9)


def test_stiff_cables_bend_until_they_close():
    """Springs, not weights, keep the loop open: Euler's load is 100 times the weight."""
    found = QuasiStatics(zoo.cable(100, EI=10.0, clamped=False, span=0.7, planar=True), method="aba").minimize()
    assert found.converged
    assert found.opening < 1e-9


def test_what_bears_nothing_stays():
    for model in (zoo.floating_chain(6), zoo.cable(3, EI=0.0)):
        sim = QuasiStatics(model.with_gravity((0, 0, 0)), method="aba")
        found = sim.minimize()
        assert found.converged
        assert (found.force, found.motion) == (0.0, 0.0)


def test_a_spring_that_is_pressed_to_a_point_leaves_it():
    sim = QuasiStatics(zoo.chain(5, seed=1), method="aba")
    end = [sim.model.body_names[-1]]
    springs = sim.restraints(end, sim.positions(end), 5.0, length=0.2)
    found = sim.minimize(springs)
    assert found.converged
    assert found.force < 1e-9


def test_an_inverted_pendulum_is_a_saddle():
    b = bough.Builder("pendulum")
    b.add_body("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.5))
    sim = QuasiStatics(b.build(), method="aba")
    with pytest.warns(UserWarning, match="saddle"):
        found = sim.minimize()
    assert (found.force, found.converged) == (0.0, False)
    sim.configuration = sim.model.integrate(found.q, 0.1 * found.direction)
    found = sim.minimize()
    assert found.converged
    assert found.energy == pytest.approx(-0.5 * 9.81)


@pytest.mark.parametrize("force", [(0.0, 0.3, 0.0), (0.0, 5.0, 0.0), (-5.0, 0.1, 0.1), (0.0, 1e9, 0.0)])
def test_a_soft_cable_turns_to_a_side_force(force):
    model = zoo.cable(300, EI=1e-3, GJ=1e-3)
    sim = QuasiStatics(model, method="aba")
    sim.apply_force("end", force)
    found = sim.minimize()
    assert found.converged
    assert found.iterations <= 40
    assert found.force < 1e-12 * (1.0 + np.linalg.norm(force))


def net(n, slack):
    """n x n knots, held at the corners of a square of 1 m by rods `slack` times as long as its meshes."""
    b, rod, closures = bough.Builder("net"), slack / (n - 1), []
    inertia = 0.1 * rod * np.diag([1e-6, rod * rod / 12, rod * rod / 12])
    link = {"mass": 0.1 * rod, "com": (rod / 2, 0, 0), "inertia": inertia, "axis": ((0, 1, 0), (0, 0, 1))}
    left = np.eye(4)
    left[:2, :2] = [[0, -1], [1, 0]]
    onward = np.eye(4)
    onward[0, 3] = rod
    for i in range(1, n):
        b.add_body(f"x{i}", f"x{i - 1}" if i > 1 else "world", "universal", onward if i > 1 else None, **link)
    for i in range(n):
        on = f"x{i}" if i else "world"
        b.add_body(f"y{i}_1", on, "universal", onward @ left if i else left, **link)
        for j in range(2, n):
            b.add_body(f"y{i}_{j}", f"y{i}_{j - 1}", "universal", onward, **link)
    for i in range(1, n):
        for j in range(1, n):
            b.add_body(f"r{i}_{j}", f"y{i - 1}_{j}", "universal", onward @ left.T, **link)
            b.add_frame(f"end{i}_{j}", f"r{i}_{j}", (rod, 0, 0))
            closures.append((f"knot{i}_{j}", f"end{i}_{j}"))
    for i in range(n):
        for j in range(1, n):
            b.add_frame(f"knot{i}_{j}", f"y{i}_{j}", (rod, 0, 0))
    b.add_frame("spine", f"x{n - 1}", (rod, 0, 0))
    for name, at, end in (("a", (1, 0, 0), "spine"), ("b", (0, 1, 0), f"knot0_{n - 1}")):
        b.add_frame(name, "world", at)
        closures.append((name, end))
    b.add_frame("c", "world", (1, 1, 0))
    closures.append(("c", f"knot{n - 1}_{n - 1}"))
    return b.build(), [adaptive.Closure(a, e, "spherical") for a, e in closures]


@pytest.mark.parametrize(
    ("knots", "slack", "most"),
    [
        (5, 1.1, 30),
        pytest.param(12, 1.1, 50, marks=pytest.mark.slow),
        pytest.param(12, 1.01, 50, marks=pytest.mark.slow),
        pytest.param(20, 1.1, 65, marks=pytest.mark.slow),
        pytest.param(30, 1.1, 65, marks=pytest.mark.slow),
    ],
)
def test_a_net_hangs_from_its_corners(knots, slack, most):
    model, closures = net(knots, slack)
    sim = QuasiStatics(model, method="aba", closures=closures)
    found = sim.minimize(tol=1e-9)
    assert found.converged
    assert found.iterations <= most
    assert found.force < 1e-7
    assert found.opening < 1e-9
    knot = sim.positions([f"knot{i}_{j}" for i in range(1, knots) for j in range(1, knots)])
    x = {tuple(k): p for k, p in zip(np.argwhere(np.ones((knots - 1, knots - 1))) + 1, knot, strict=True)}
    for (i, j), p in x.items() if knots < 30 else ():  # about the diagonal; larger nets have other minima, too
        np.testing.assert_allclose(p[[1, 0, 2]], x[j, i], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("span", "planar"), [(0.7, True), (0.3, False)])
def test_a_catenary_of_300_000_links_settles(span, planar):
    sim = QuasiStatics(zoo.cable(300_000, clamped=False, span=span, planar=planar), method="aba")
    found = sim.minimize()
    assert found.converged
    assert found.iterations <= 60
    assert -sim.positions()[:, 2].min() == pytest.approx(catenary(span), abs=1e-5)


def test_restraints_settle_to_the_minimum_of_their_energy():
    """Against L-BFGS on an energy that is written from the definition."""
    model = zoo.cable(12, EI=1e-2, GJ=1e-2, mass=0.02)
    names, dyn = model.body_names, bough.Dynamics(model, general=True)
    target, rest = np.array([[0.3, 0.2, 0.1], [0.4, -0.1, 0.3]]), np.array([0.0, 0.1])
    sim = QuasiStatics(model, method="aba")
    for ends in (
        {"bodies": names[5], "targets": target[:1], "length": 0.0},
        {"bodies": [names[5], names[11]], "targets": target, "length": rest},
        {"bodies": [names[4], names[2]], "others": [names[11], names[8]], "length": [0.0, 0.05]},
    ):
        sim.configuration = model.neutral
        springs = sim.restraints(**ends, stiffness=3.0)
        found = sim.minimize(springs)
        assert found.converged
        assert found.iterations <= 40
        bodies = [ends["bodies"]] if isinstance(ends["bodies"], str) else ends["bodies"]

        def energy(q, bodies=bodies, ends=ends):
            far = dyn.placements(q)[[model.frame(b) for b in ends["others"]]][:, :3, 3] if "others" in ends else None
            x = dyn.placements(q)[[model.frame(b) for b in bodies]][:, :3, 3]
            d = (ends["targets"] if far is None else far) - x
            size = np.linalg.norm(d, axis=1)
            pull = (3.0 * (size - ends["length"]) / size)[:, None] * d
            tau = dyn.generalized_forces(q, bodies, pull)
            if far is not None:
                tau = tau - dyn.generalized_forces(q, ends["others"], pull)
            turn = model.difference(model.neutral, q)
            own = dyn.potential_energy(q) + 0.5 * float(turn @ (model.stiffness * turn))
            total = own + float(1.5 * ((size - ends["length"]) ** 2).sum())
            return total, dyn.gravity(q) + model.stiffness * turn - tau

        value, gradient = energy(found.q)
        assert np.abs(gradient).max() < 1e-8
        assert found.energy == pytest.approx(value, rel=1e-9)


def test_limits_bear_what_presses_against_them():
    b = bough.Builder("arm")
    b.add_body("a", axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), lower=-1.0, upper=0.1)
    b.add_body("b", "a", "revolute", (1, 0, 0), axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0))
    found = QuasiStatics(b.build(), method="aba").minimize()
    assert found.converged
    np.testing.assert_allclose(found.q, [0.1, np.pi / 2 - 0.1], atol=1e-9)
    free = QuasiStatics(b.build(), method="aba", without="limits").minimize()
    np.testing.assert_allclose(free.q, [np.pi / 2, 0.0], atol=1e-9)


# a joint at its limit had the metric of all others, was moved beyond it, or opened its loop by standing still
@pytest.mark.parametrize("seed", [239, 519, 529, 575, 658, 963, 1518, 1644])
def test_linkages_with_loops_and_limits_settle(seed):
    twin, model, q, closures, rng, _ = case(seed)
    sim = QuasiStatics(model, method="aba", closures=closures)
    sim.configuration = q
    for body, force, point, _ in random_forces(twin, rng)[:3]:
        sim.apply_force(body, force[:3], point)
    found = sim.minimize()
    assert found.converged
    assert found.opening < 1e-8
    at, v = model.scalar_joints
    assert (found.q[at] >= model.limits.lower[v]).all()
    assert (found.q[at] <= model.limits.upper[v]).all()


@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_loops_settle_alike_in_any_units(unit):
    """Rows that hold turns had the penalty of those that hold places."""

    def settled(unit):
        b, last = bough.Builder("ring"), "world"
        for k in range(4):
            solid = {"mass": 0.1 + 0.1 * k, "com": (0.5 * unit, 0, 0), "inertia": 0.01 * unit**2 * np.eye(3)}
            place = (unit * (k > 0), 0.0, 0.0)
            b.add_body(f"link{k}", last, "universal", place, axis=((0, 1, 0), (0, 0, 1)), stiffness=0.3 * unit, **solid)
            last = f"link{k}"
        model = b.build().with_frame("tip", last, (unit, 0.0, 0.0)).with_frame("pin", "world", (2.2 * unit, 0.0, 0.0))
        return QuasiStatics(model, method="aba", closures=[adaptive.Closure("pin", "tip", "fixed")]).minimize()

    here, there = settled(1.0), settled(unit)
    assert here.converged
    assert there.converged
    assert abs(here.iterations - there.iterations) <= 1
    np.testing.assert_allclose(there.q, here.q, atol=1e-7)


def test_an_energy_of_the_users_own_is_followed():
    """A spring as a function is the spring of a restraint, with Newton's method or without."""
    model = zoo.cable(12, EI=1e-2, mass=0.02)
    dyn, target, end = bough.Dynamics(model, general=True), np.array([0.5, 0.2, 0.3]), model.body_names[-1]

    def spring(q):
        d = target - dyn.placement(q, end)[:3, 3]
        return 1.5 * float(d @ d), -dyn.generalized_forces(q, [end], 3.0 * d[None])

    sims = [QuasiStatics(model, method="aba"), adaptive.Dynamics(model)]
    exact = sims[0].minimize(sims[0].restraints([end], target[None], 3.0))
    for sim in (QuasiStatics(model, method="aba"), sims[1]):
        found = sim.minimize(energy=spring)
        assert found.converged
        assert found.energy == pytest.approx(exact.energy, rel=1e-9)
        np.testing.assert_allclose(sim.configuration, exact.q, atol=1e-4)
    loaded = QuasiStatics(model, method="aba")
    load = loaded.loads([end])

    def returning(sim):
        E, _ = spring(sim.configuration)
        load.values[0] = 3.0 * (target - sim.positions([end])[0])
        return E + dyn.potential_energy(sim.configuration)

    found = loaded.minimize(returning)
    assert found.converged
    assert found.energy == pytest.approx(exact.energy, rel=1e-9)


def test_motions_settle_too_and_come_to_rest():
    model = zoo.cable(12, EI=1e-2, mass=0.02)
    still, moving = QuasiStatics(model, method="aba"), adaptive.Dynamics(model)
    moving.velocity = np.ones(model.nv)
    for sim in (still, moving):
        assert sim.minimize(sim.restraints([model.body_names[-1]], [[0.5, 0.2, 0.3]], 3.0)).converged
    np.testing.assert_allclose(moving.configuration, still.configuration, atol=1e-9)
    assert not moving.velocity.any()


def test_forces_of_a_callback_are_followed():
    sim = QuasiStatics(zoo.cable(20, EI=0.5, planar=True).with_gravity((0, 0, 0)))
    load = sim.loads(["end"])
    target = np.array([0.7, 0.0, -0.4])

    def spring(sim):
        load.values[0] = 3.0 * (target - sim.positions(["end"])[0])

    found = sim.minimize(spring)
    assert found.converged
    pull = np.array(load.values[0])
    np.testing.assert_allclose(pull, 3.0 * (target - sim.positions(["end"])[0]), atol=1e-6)


def test_a_chain_between_two_pins_is_symmetric():
    b, last = bough.Builder("bridge"), "world"
    for k in range(10):
        solid = {"mass": 0.1, "com": (0.05, 0, 0), "inertia": 1e-4 * np.eye(3)}
        b.add_body(f"link{k}", last, "revolute", axis=(0, 1, 0), placement=(0.1 * (k > 0), 0.0, 0.0), **solid)
        last = f"link{k}"
    model = b.build().with_frame("tip", last, (0.1, 0.0, 0.0)).with_frame("pin", "world", (0.8, 0.0, 0.0))
    sim = QuasiStatics(model, method="aba", closures=[adaptive.Closure("pin", "tip", "spherical")])
    found = sim.minimize()
    assert found.converged
    x = sim.positions()
    np.testing.assert_allclose(x[1:, 0] + x[:0:-1, 0], 0.8, atol=1e-8)


def test_what_cannot_settle_says_so_and_leaves_everything_alone():
    free = zoo.floating_chain(4)
    sim = QuasiStatics(free, method="aba")
    with pytest.warns(UserWarning, match="nothing holds joint .* against a force"):
        assert not sim.minimize(steps=3).converged
    with pytest.raises(ValueError, match="tol"):
        sim.minimize(tol=0.0)
    sim = QuasiStatics(zoo.chain(4), method="aba")
    before = sim.configuration

    def broken(sim):
        raise RuntimeError("no load")

    with pytest.raises(RuntimeError, match="no load"):
        sim.minimize(broken)
    np.testing.assert_array_equal(sim.configuration, before)
    sim.set_potential(0, lambda x, which: (x, np.where(np.abs(x) > 1e-3, np.nan, 0.1), x))
    with pytest.raises((NumericalError, bough.errors.NonFiniteError)):
        sim.minimize()
    np.testing.assert_array_equal(sim.configuration, before)


def test_the_former_name_of_results_is_kept():
    with pytest.warns(DeprecationWarning, match="called Result"):
        assert adaptive.Settled is adaptive.Result
