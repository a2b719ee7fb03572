"""L-BFGS on configurations: the metric against a dense one, minima against Newton's, and energies that have none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bough
from bough import zoo
from bough.adaptive import QuasiStatics
from bough.adaptive.lbfgs import MassMetric, minimize_energy
from bough.errors import ModelError, NonFiniteError, SettingError, ShapeError


def elastic(model):
    """Gravity and the springs of a model, with the gradient of both."""
    dyn = bough.Dynamics(model, general=True)

    def energy(q):
        x = model.difference(model.rest_configuration, q)
        return dyn.potential_energy(q) + 0.5 * float(x @ (model.stiffness * x)), dyn.gravity(q) + model.stiffness * x

    return energy


@pytest.mark.parametrize("model", [zoo.cable(9), zoo.humanoid(), zoo.floating_chain(5)], ids=lambda m: m.name)
def test_the_metric_is_the_mass_matrix_with_rotors(model):
    q = model.random_configuration(3)
    metric = MassMetric(model, q)
    rotor = np.zeros(model.nv)
    rotor[model.mechanism.v_index] = metric.work.rotor - model.mechanism.armature
    M = bough.Dynamics(model, general=True).mass_matrix(q) + np.diag(rotor)
    x = np.random.default_rng(0).normal(size=model.nv)
    np.testing.assert_allclose(M @ metric.solve(x), x, atol=1e-9)


def test_a_cable_comes_to_where_newton_ends():
    model = zoo.cable(12, EI=1e-2, mass=0.02)
    found = minimize_energy(model, elastic(model), tol=1e-9, force=1e-10)
    assert found.converged
    assert found.calls <= 1.3 * found.iterations + 5
    sim = QuasiStatics(model, method="aba")
    sim.minimize()
    np.testing.assert_allclose(found.q, sim.configuration, atol=1e-6)
    assert found.force <= 1e-10


def beads(n):
    """A free chain of links of 0.25 m, which turn about axes of their own."""
    b, rng = bough.Builder("beads", gravity=(0, 0, 0)), np.random.default_rng(n)
    solid = {"mass": 1.0, "com": (0.1, 0.02, 0), "inertia": 1e-2 * np.eye(3)}
    b.add_body("0", joint="floating", **solid)
    for k in range(1, n):
        b.add_body(f"{k}", f"{k - 1}", "revolute", (0.25, 0, 0), axis=rng.normal(size=3), **solid)
    return b.build()


def lennard_jones(model):
    """All pairs of bodies attract, and repel when near; a floating base, so that quaternions move."""
    dyn, names = bough.Dynamics(model, general=True), list(model.body_names)
    at = [model.frame(name) for name in names]
    i, j = np.triu_indices(len(names), 1)

    def energy(q):
        x = dyn.placements(q)[at][:, :3, 3]
        d = x[i] - x[j]
        r2 = (d * d).sum(axis=1)
        s6 = (0.2**2 / r2) ** 3
        pull = (24.0 * (2.0 * s6 * s6 - s6) / r2)[:, None] * d
        F = np.zeros_like(x)
        np.add.at(F, i, pull)
        np.add.at(F, j, -pull)
        return float(4.0 * (s6 * s6 - s6).sum()), -dyn.generalized_forces(q, names, F)

    return energy


def test_a_free_chain_folds_downhill_from_a_clash():
    model = beads(12)
    energy, q = lennard_jones(model), model.random_configuration(1)
    first, gradient = energy(q)
    d = np.random.default_rng(2).normal(size=model.nv)
    ends = [energy(model.integrate(q, h * d))[0] for h in (-1e-6, 1e-6)]
    assert (ends[1] - ends[0]) / 2e-6 == pytest.approx(gradient @ d, rel=1e-4)
    found = minimize_energy(model, energy, q, tol=1e-12, force=1e-6, calls=2000)
    assert found.converged
    assert found.energy < min(first, 0.0)
    assert np.abs(energy(found.q)[1]).max() == found.force <= 1e-6


def test_energies_that_are_no_numbers_are_kept_away_from():
    model = zoo.chain(3).with_gravity((0, 0, 0))

    def walled(q):
        return (float(((q - 1.0) ** 2).sum()), 2.0 * (q - 1.0)) if q.max() < 0.9 else (math.nan, q)

    found = minimize_energy(model, walled, np.zeros(3), calls=200)
    assert not found.converged
    assert 0.89 < found.q.max() < 0.9
    with pytest.raises(NonFiniteError, match="where the search begins"):
        minimize_energy(model, walled, np.ones(3))


def test_what_has_no_minimum_says_so():
    model = zoo.chain(3)
    found = minimize_energy(model, lambda q: (float(q.sum()), np.ones(3)), calls=50)
    assert not found.converged
    assert found.reason == "more calls are needed"
    wrong = minimize_energy(model, lambda q: (float(q @ q), -2.0 * q), np.ones(3), calls=500)
    assert not wrong.converged
    assert "not its own" in wrong.reason
    still = minimize_energy(model, lambda q: (0.0, np.zeros(3)))
    assert still.converged
    assert still.calls == 1


@pytest.mark.parametrize(
    ("energy", "options", "error"),
    [
        (lambda q: 1.0, {}, ShapeError),
        (lambda q: (1.0, np.zeros(2)), {}, ShapeError),
        (lambda q: (np.zeros(3), np.zeros(3)), {}, ShapeError),
        (lambda q: (0.0, q), {"q": np.zeros(4)}, ShapeError),
        (lambda q: (0.0, q), {"tol": 0.0}, SettingError),
        (lambda q: (0.0, q), {"calls": 0}, SettingError),
    ],
)
def test_wrong_energies_and_options_are_refused(energy, options, error):
    with pytest.raises(error, match=r"expected|must be"):
        minimize_energy(zoo.chain(3), energy, **options)


def test_coupled_joints_are_refused_by_name():
    b = bough.Builder("pair")
    b.add_body("a", mass=1.0, com=(0, 0, 1))
    b.add_body("b", "a", mass=1.0, com=(0, 1, 1), mimic=("a", 1.0, 0.0))
    with pytest.raises(ModelError, match="'b' mimics another"):
        minimize_energy(b.build(), lambda q: (0.0, q))
