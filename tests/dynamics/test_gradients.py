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


def several(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.fixture(scope="module")
def small():
    return random_twin(5, [-1, 0], ["spherical", "helical"], armature=True).model


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_table_by_every_input(small, name):
    """Jacobians, rates, gradients and their rates beside differences; with wrenches where they are taken."""
    row, rng, dyn = FUNCTIONS[name], np.random.default_rng(0), bough.Dynamics(small, inputs=("gravity",))
    options = {"frame": small.frame_names[-1]} if "frame" in row.options else {}
    q, v, x = random_state(small, 1)[:3]
    values = {key: {"q": q, "v": v, "dt": np.array(0.01)}.get(key, x) for key in row.arguments}
    values["gravity"] = rng.normal(size=3)
    if row.takes_forces:
        values["forces"] = rng.normal(size=(2, 6))
    along = {key: rng.normal(size=small.nv if key == "q" else x.shape) for key, x in values.items()}
    value, more = dyn.fused([(name, options)]), values.keys() - row.arguments

    def call(derivative, at, **given):
        return derivative(name, *(at[k] for k in row.arguments), **{k: at[k] for k in more}, **options, **given)

    def result(at):
        arrays = [at[k] for k in row.arguments]
        if "forces" in at:
            return (getattr(dyn, name)(*arrays, at["forces"], gravity=at["gravity"]),)
        return tuple(value(*arrays, gravity=at["gravity"]))

    weights = tuple(rng.normal(size=y.shape) for y in result(values))
    weight = weights if len(weights) > 1 else weights[0]
    full, by = call(dyn.derivatives, values), call(dyn.vjp, values, weight=weight)
    assert full.keys() == by.keys() == values.keys()
    for key in values:
        only = {k: d if k == key else 0.0 * d for k, d in along.items()}
        ahead, behind = (result(moved(small, values, only, s)) for s in (STEP, -STEP))
        rates = several(call(dyn.jvp, values, along=only))
        for rate, J, a, b in zip(rates, several(full[key]), ahead, behind, strict=True):
            expected = (a - b) / (2 * STEP)
            np.testing.assert_allclose(rate, expected, atol=2e-6 * max(1.0, np.abs(expected).max()), err_msg=key)
            assert J.shape == (*a.shape, *along[key].shape)
            product = np.tensordot(J, along[key], along[key].ndim)
            np.testing.assert_allclose(product, rate, atol=1e-10 * max(1.0, np.abs(rate).max()))
        total = sum(np.sum(w * rate) for w, rate in zip(weights, rates, strict=True))
        np.testing.assert_allclose(np.sum(by[key] * along[key]), total, rtol=1e-9, atol=1e-9)
    bent = call(dyn.hvp, values, weight=weight, along=along)
    ahead, behind = (call(dyn.vjp, moved(small, values, along, s), weight=weight) for s in (STEP, -STEP))
    for key in values:
        expected = (ahead[key] - behind[key]) / (2 * STEP)
        np.testing.assert_allclose(bent[key], expected, atol=1e-5 * max(1.0, np.abs(expected).max()), err_msg=key)


def test_wrenches_by_name():
    """One wrench on a frame: its gradient, rate and Jacobian have its name, and are those of the array."""
    model = zoo.arm(3)
    q, v, tau = random_state(model, 1)[:3]
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    hand, way, weight = rng.normal(size=6), rng.normal(size=6), rng.normal(size=3)
    J = dyn.jacobian(q, "hand")
    # qdd depends on a wrench by H^-1 J'
    slope = dyn.inverse_mass_matrix(q) @ J.T
    full = dyn.derivatives("forward_dynamics", q, v, tau, forces={"hand": hand, "link1": 0.0 * hand})
    np.testing.assert_allclose(full["forces"]["hand"], slope, atol=1e-9 * np.abs(slope).max())
    by = dyn.vjp("forward_dynamics", q, v, tau, weight=weight, forces={"hand": hand})
    np.testing.assert_allclose(by["forces"]["hand"], weight @ slope, atol=1e-9 * np.abs(slope).max())
    rate = dyn.jvp("forward_dynamics", q, v, tau, along={"forces": {"hand": way}}, forces={"hand": hand})
    np.testing.assert_allclose(rate, slope @ way, atol=1e-9 * np.abs(slope).max())
    # named alone, it is at zero, on all bodies
    assert dyn.vjp("bias_force", q, v, weight=weight, wrt=["forces"])["forces"].shape == (3, 6)
    rows = dyn.derivatives("inverse_dynamics", *(np.stack([x, x]) for x in (q, v, tau)), forces={"hand": [hand, way]})
    assert rows["forces"]["hand"].shape == (2, 3, 6)
    np.testing.assert_allclose(rows["forces"]["hand"][1], -J.T, atol=1e-12)
    single = dyn.derivatives("mass_matrix", np.stack([q, q]).astype(np.float32))["q"]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[1], dyn.derivatives("mass_matrix", q)["q"], atol=1e-4)
    assert dyn.derivatives("mass_matrix", np.zeros((0, 3)))["q"].shape == (0, 3, 3, 3)


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


@pytest.mark.parametrize("rows", [(), (4,)])
def test_what_is_one_number_has_no_axis_in_derivatives_either(rows):
    """Energies and dt are () or (batch,), as functions give and take them: nothing broadcasts to batch x batch."""
    model, rng = zoo.arm(2), np.random.default_rng(0)
    dyn, (q, v, tau) = bough.Dynamics(model), rng.normal(size=(3, *rows, 2))
    T, weight = dyn.kinetic_energy(q, v), rng.normal(size=rows)
    by = dyn.vjp("kinetic_energy", q, v, weight=weight)["v"]
    np.testing.assert_allclose(by, np.asarray(weight)[..., None] * dyn.derivatives("kinetic_energy", q, v)["v"])
    np.testing.assert_allclose(dyn.jvp("kinetic_energy", q, v, along={"v": v}), 2.0 * T, strict=True)
    along = {"v": rng.normal(size=v.shape)}
    bent = dyn.hvp("kinetic_energy", q, v, weight=weight, wrt=["v"], along=along)["v"]
    assert bent.shape == v.shape
    name, found = "semi_implicit_step", []
    for dt in (0.01, np.float64(0.01), np.array([0.01]), np.full(rows, 0.01), np.full((*rows, 1), 0.01)):
        step, J = getattr(dyn, name)(q, v, tau, dt), dyn.derivatives(name, q, v, tau, dt)["dt"]
        by = dyn.vjp(name, q, v, tau, dt, weight=(q, v))["dt"]
        rate = dyn.jvp(name, q, v, tau, dt, along={"dt": np.ones(rows)})
        assert [x.shape for x in (*step, *J, *rate, by)] == [v.shape] * 6 + [rows]
        np.testing.assert_allclose(by, ((q * J[0]).sum(-1) + (v * J[1]).sum(-1)))
        np.testing.assert_allclose(rate, J)
        found.append(np.stack([*step, *J]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)
    if rows:
        with pytest.raises(bough.BoughError, match="dt has 3 rows where an earlier input has 4"):
            getattr(dyn, name)(q, v, tau, np.full(3, 0.01))


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
    with pytest.raises(bough.BoughError, match="mass_matrix takes no forces"):
        dyn.derivatives("mass_matrix", x, forces=np.zeros((3, 6)))
    with pytest.raises(bough.BoughError, match="forces move along directions of hand"):
        dyn.jvp("bias_force", x, x, forces={"hand": np.ones(6)}, along={"forces": {"link1": np.ones(6)}})
    with pytest.raises(bough.BoughError, match=r"the force on 'hand' must have shape \(6,\)"):
        dyn.vjp("bias_force", x, x, forces={"hand": np.ones(3)}, weight=x)
    with pytest.raises(bough.BoughError, match=r"along must be Mapping\[str, real numbers\], got None"):
        dyn.jvp("gravity", x, along=None)
    with pytest.raises(bough.BoughError, match="q is ragged"):
        dyn.derivatives("mass_matrix", [[1.0], [1.0, 2.0]])
    with pytest.raises(bough.BoughError, match="v has 3 rows where an earlier input has 2"):
        dyn.derivatives("coriolis_matrix", np.zeros((2, 3)), np.zeros((3, 3)))
    given = bough.Dynamics(model, inputs=("inertia",))
    assert given.derivatives("mass_matrix", x, wrt=["q"], inertia=None)["q"].shape == (3, 3, 3)
    with pytest.raises(bough.BoughError, match="inertia must be an array of real numbers"):
        given.vjp("gravity", x, weight=x, inertia="heavy")
    with pytest.raises(bough.BoughError, match="there is no general code: leave general=True out"):
        bough.Dynamics(model, general=True).vjp("gravity", x, weight=x)
