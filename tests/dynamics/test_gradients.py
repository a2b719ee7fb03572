"""Gradients, rates and second derivatives on the tangent space, against differences and closed forms."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.functions import FUNCTIONS
from models import random_state, random_twin

STEP = 1e-6


@pytest.fixture(scope="module")
def model():
    return random_twin(3, [-1, 0, 1], ["floating", "revolute", "spherical"], armature=True).model


def moved(model, values, along, step):
    """Inputs moved along directions, q on its manifold."""
    return {
        name: model.integrate(x, step * along[name]) if name == "q" else x + step * along.get(name, 0.0 * np.asarray(x))
        for name, x in values.items()
    }


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "center_of_mass", "placements"]
)
def test_rates_and_gradients(model, name):
    row, rng = FUNCTIONS[name], np.random.default_rng(0)
    q, v, x = random_state(model, 1)[:3]
    values = {key: {"q": q, "v": v}.get(key, x) for key in row.arguments}
    along = {key: rng.normal(size=model.nv) for key in values}
    dyn = bough.Dynamics(model)
    call = getattr(dyn, name)
    ahead, behind = (call(*moved(model, values, along, s).values()) for s in (STEP, -STEP))
    expected = (ahead - behind) / (2 * STEP)
    rate = dyn.jvp(name, *values.values(), along=along)
    np.testing.assert_allclose(rate, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
    weight = rng.normal(size=rate.shape)
    by = dyn.vjp(name, *values.values(), weight=weight)
    assert [*by] == [*row.arguments]
    assert all(g.shape == (model.nv,) for g in by.values())
    # <weight, rate> is <gradient, direction>, exactly
    total = sum(by[key] @ along[key] for key in by)
    np.testing.assert_allclose(total, np.sum(weight * rate), rtol=1e-10)


def test_they_are_rows_of_the_jacobians():
    model = zoo.star(3)
    q, v, tau = random_state(model, 1)[:3]
    dyn = bough.Dynamics(model)
    by_q, by_v, by_tau = dyn.forward_dynamics_derivatives(q, v, tau)
    for k in range(model.nv):
        weight = np.eye(model.nv)[k]
        found = dyn.vjp("forward_dynamics", q, v, tau, weight=weight)
        for name, J in (("q", by_q), ("v", by_v), ("tau", by_tau)):
            np.testing.assert_allclose(found[name], J[k], atol=1e-9 * np.abs(J).max())


def test_by_parameters():
    """tau is linear in the inertias: its gradient by them is the regressor."""
    model = zoo.arm(3)
    q, v, qdd = random_state(model, 1)[:3]
    dyn = bough.Dynamics(model, inputs=("inertia", "gravity"))
    weight = np.array([0.3, -1.0, 2.0])
    heavier = 1.5 * model.inertias
    by = dyn.vjp("inverse_dynamics", q, v, qdd, weight=weight, wrt=["inertia"], inertia=heavier)
    assert [*by] == ["inertia"]
    Y = bough.Dynamics(model).regressor(q, v, qdd)
    np.testing.assert_allclose(by["inertia"].ravel(), weight @ Y, atol=1e-12)
    rate = dyn.jvp("gravity", q, along={"gravity": (0.0, 0.0, 1.0)})
    np.testing.assert_allclose(rate, dyn.gravity(q, gravity=(0.0, 0.0, 1.0)), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches(dtype):
    model = zoo.arm(3)
    rows = [np.array([random_state(model, s)[k] for s in range(4)], dtype) for k in range(3)]
    weight = np.ones((4, 3), dtype)
    dyn = bough.Dynamics(model)
    found = dyn.vjp("inverse_dynamics", *rows, weight=weight)
    assert found["q"].dtype == dtype
    for k in range(4):
        alone = dyn.vjp("inverse_dynamics", *(x[k].astype(float) for x in rows), weight=np.ones(3))
        np.testing.assert_allclose(found["q"][k], alone["q"], atol=1e-10 if dtype == np.float64 else 1e-3)
    rate = dyn.jvp("jacobian", rows[0], along={"q": rows[1]}, frame="hand")
    assert rate.shape == (4, 6, 3)


def test_second_derivatives(model):
    """The rate of a gradient along a direction, against differences of gradients."""
    rng = np.random.default_rng(0)
    q, v = random_state(model, 1)[:2]
    along = {"q": rng.normal(size=model.nv), "v": rng.normal(size=model.nv)}
    dyn, weight = bough.Dynamics(model), np.ones(1)
    found = dyn.hvp("kinetic_energy", q, v, weight=weight, along=along)
    sides = []
    for step in (STEP, -STEP):
        at = moved(model, {"q": q, "v": v}, along, step)
        sides.append(dyn.vjp("kinetic_energy", *at.values(), weight=weight))
    for name in ("q", "v"):
        expected = (sides[0][name] - sides[1][name]) / (2 * STEP)
        np.testing.assert_allclose(found[name], expected, atol=1e-6)
    # by v alone it is the mass matrix
    only = dyn.hvp("kinetic_energy", q, v, weight=weight, wrt=["v"], along={"v": along["v"]})
    np.testing.assert_allclose(only["v"], dyn.mass_matrix(q) @ along["v"], atol=1e-10)


def test_what_is_refused():
    model = zoo.arm(3)
    dyn, x = bough.Dynamics(model), np.zeros(3)
    with pytest.raises(bough.BoughError, match="takes q, v, tau, got 2 arrays"):
        dyn.vjp("forward_dynamics", x, x, weight=x)
    with pytest.raises(bough.BoughError, match="no input 'qdd'"):
        dyn.vjp("forward_dynamics", x, x, x, weight=x, wrt=["qdd"])
    with pytest.raises(bough.BoughError, match=r"differentiated by some of q; got \{\}"):
        dyn.jvp("gravity", x, along={})
    with pytest.raises(bough.BoughError, match="does not take the option 'inertia'"):
        dyn.jvp("gravity", x, along={"q": x}, inertia=model.inertias)
    with pytest.raises(bough.BoughError, match=r"weight_tau must have shape \(3,\)"):
        dyn.vjp("gravity", x, weight=np.ones(2))
    with pytest.raises(bough.BoughError, match="did you mean 'gravity'"):
        dyn.vjp("gravty", x, weight=x)
