"""Derivatives of forward dynamics: against Pinocchio's analytical ones and finite differences, by all ways."""

import numpy as np
import pytest

import bough
from strategies import relative_error

pin = pytest.importorskip("pinocchio")


def test_forward_dynamics_agrees_with_pinocchio(case):
    twin, dyn, q, v, tau, _ = case
    peers = pin.computeABADerivatives(twin.pin, twin.data, twin.q_to_pin(q), twin.v_to_pin(v), twin.v_to_pin(tau))
    for ours, theirs in zip(dyn.forward_dynamics_derivatives(q, v, tau), peers, strict=True):
        full = theirs if theirs is not peers[2] else np.triu(theirs) + np.triu(theirs, 1).T
        assert relative_error(ours, twin.from_pin(full, axes=(0, 1))) < 1e-9


def test_large_models_are_served_by_general_code():
    model = bough.zoo.random_tree(90, seed=3)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, (v, tau, u) = model.random_configuration(rng), rng.normal(size=(3, model.nv))
    by_q, by_v, by_tau = dyn.forward_dynamics_derivatives(q, v, tau)
    step = 1e-6
    ahead, back = (dyn.forward_dynamics(model.integrate(q, s * u), v + s * u, tau + s * u) for s in (step, -step))
    rate = (ahead - back) / (2 * step)
    assert relative_error((by_q + by_v + by_tau) @ u, rate) < 1e-6
    slopes = dyn.inverse_dynamics_derivatives(q, v, dyn.forward_dynamics(q, v, tau))
    assert relative_error(by_tau @ slopes[0], -by_q) < 1e-8


def mimicking():
    builder = bough.Builder("mimic")
    builder.add_body("a", joint="floating", mass=2.0, com=(0.1, 0.2, 0), inertia=np.diag([0.1, 0.2, 0.25]))
    builder.add_body("b", "a", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0.1), armature=0.3)
    builder.add_body("c", "b", axis=(0, 0, 1), placement=(0.3, 0, 0), mass=1.0, com=(0.2, 0, 0), mimic=("b", -0.5, 0.1))
    builder.add_body("d", "a", axis=(1, 0, 0), placement=(0, 0.3, 0), mass=0.5, com=(0.2, 0.3, 0), mimic=("b", 2.0, 0))
    return builder.build()


CASES = {
    "one joint": lambda: bough.zoo.arm(1),
    "two": lambda: bough.zoo.arm(2),
    "nine": lambda: bough.zoo.random_tree(9, seed=1),
    "mimic": mimicking,
    "forest": lambda: bough.zoo.star(3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_ways_agree_with_differences(name, dtype):
    model, rng = CASES[name](), np.random.default_rng(0)
    dyn = bough.Dynamics(model)
    Q, (V, T) = model.random_configuration(rng, 11), rng.normal(size=(2, 11, model.nv))
    rows = [x.astype(dtype) for x in (Q, V, T)]
    whole = dyn.forward_dynamics_derivatives(*rows)
    single = dyn.forward_dynamics_derivatives(*(x[3] for x in rows))
    general = bough.Dynamics(model, general=True).forward_dynamics_derivatives(Q[3], V[3], T[3])
    step, columns = 1e-6, np.eye(model.nv)
    f, (q, v, tau) = dyn.forward_dynamics, (Q[3], V[3], T[3])
    differences = (
        [f(model.integrate(q, step * e), v, tau) - f(model.integrate(q, -step * e), v, tau) for e in columns],
        [f(q, v + step * e, tau) - f(q, v - step * e, tau) for e in columns],
        [f(q, v, tau + step * e) - f(q, v, tau - step * e) for e in columns],
    )
    for many, one, other, change in zip(whole, single, general, differences, strict=True):
        assert many.dtype == one.dtype == dtype
        exact = np.array(change).T / (2 * step)
        assert relative_error(other, exact) < 1e-6
        for found in (many[3], one):
            assert relative_error(found, other) < (1e-12 if dtype == np.float64 else 1e-4)


def test_derivatives_are_functions_of_the_table():
    model = bough.zoo.arm(3)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, v, tau, u = rng.normal(size=(4, 3))
    by_q, by_v, by_tau = dyn.fused(["forward_dynamics_derivatives"])(q, v, tau)
    for ours, theirs in zip((by_q, by_v, by_tau), dyn.forward_dynamics_derivatives(q, v, tau), strict=True):
        assert relative_error(ours, theirs) < 1e-12
    # second derivatives, of the derivatives themselves and as products
    rates = dyn.jvp("forward_dynamics_derivatives", q, v, tau, along={"q": u})
    step = 1e-6
    change = np.array(dyn.forward_dynamics_derivatives(q + step * u, v, tau)) - np.array(
        dyn.forward_dynamics_derivatives(q - step * u, v, tau)
    )
    assert relative_error(np.array(rates), change / (2 * step)) < 1e-6
    weights = tuple(rng.normal(size=(3, 3, 3)))
    by = dyn.vjp("forward_dynamics_derivatives", q, v, tau, weight=weights)
    assert abs(by["q"] @ u - sum((w * r).sum() for w, r in zip(weights, rates, strict=True))) < 1e-6
    with pytest.raises(bough.BoughError, match="weight is a tuple of as many"):
        dyn.vjp("forward_dynamics_derivatives", q, v, tau, weight=weights[0])


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_batches_with_few_and_with_many_kinds_of_columns(most, monkeypatch):
    monkeypatch.setattr("bough.dynamics.derivatives.MOST_OPERATIONS", most)
    model, rng = bough.zoo.random_tree(14, seed=5), np.random.default_rng(1)
    Q, (V, T) = model.random_configuration(rng, 19), rng.normal(size=(2, 19, model.nv))
    found = bough.Dynamics(model).forward_dynamics_derivatives(Q, V, T, threads=1)
    wanted = [bough.Dynamics(model, general=True).forward_dynamics_derivatives(*x) for x in zip(Q, V, T, strict=True)]
    for ours, theirs in zip(found, zip(*wanted, strict=True), strict=True):
        assert relative_error(ours, np.array(theirs)) < 1e-11


def test_results_of_an_earlier_call_serve_as_out():
    model, rng = bough.zoo.arm(4), np.random.default_rng(1)
    dyn = bough.Dynamics(model)
    Q, (V, T) = model.random_configuration(rng, 9), rng.normal(size=(2, 9, 4))
    for rows in ((Q, V, T), (Q[0], V[0], T[0])):
        wanted = dyn.forward_dynamics_derivatives(*rows)
        out = tuple(x.copy("K") * 0 for x in wanted)
        for arrays in (out, tuple(np.zeros(x.shape) for x in wanted)):
            assert dyn.forward_dynamics_derivatives(*rows, out=arrays) is arrays
            for x, y in zip(arrays, wanted, strict=True):
                np.testing.assert_array_equal(x, y)


def test_float32_rows_with_float64_parameters_give_float64():
    model, rng = bough.zoo.arm(2), np.random.default_rng(1)
    dyn = bough.Dynamics(model, inputs=["inertia"])
    rows = [x.astype(np.float32) for x in rng.normal(size=(3, 5, 2))]
    assert dyn.forward_dynamics_derivatives(*rows, inertia=1.1 * model.inertias)[0].dtype == np.float64
    assert dyn.forward_dynamics_derivatives(*rows)[0].dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_without_finite_derivatives_is_named_in_batches_of_any_size(dtype):
    model = bough.zoo.arm(3)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    fast = float(np.finfo(dtype).max) ** 0.6  # its square overflows
    for batch in range(1, 18):
        row = 7 * batch % 5 % batch
        q, v, tau = (x.astype(dtype) for x in rng.normal(size=(3, batch, 3)))
        good = dyn.forward_dynamics_derivatives(q, v, tau)
        v[row] = fast
        with pytest.raises(bough.errors.NumericalError, match=f"in row {row}") as error:
            dyn.forward_dynamics_derivatives(q, v, tau, out=tuple(np.empty_like(x) for x in good))
        assert error.value.rows == (row,)
        found, status = dyn.with_status("forward_dynamics_derivatives", q, v, tau)
        assert np.flatnonzero(status).tolist() == [row]
        for x, y in zip(found, good, strict=True):
            np.testing.assert_allclose(np.delete(x, row, 0), np.delete(y, row, 0), rtol=1e4 * np.finfo(dtype).eps)
