"""Equilibria: the Hessian against differences of forces, the elastica, the catenary, and what cannot settle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import bough
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


def test_a_molecule_settles_in_its_force_field():
    model = zoo.molecule(60, seed=2).with_gravity((0, 0, 0))
    sim = QuasiStatics(model)
    sim.set_potential(range(60), adaptive.dihedral([1.0, 0.3], [3, 1]))
    sim.apply_force(model.body_names[-1], (0.3, 0.0, 0.1))
    found = sim.minimize()
    assert found.converged
    assert found.force < 1e-8
    stays = sim.configuration
    sim.run(3, h=1e-3)
    np.testing.assert_allclose(sim.configuration, stays, atol=1e-9)


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
    with pytest.warns(UserWarning, match="no equilibrium near"):
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
