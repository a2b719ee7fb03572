"""Derivatives of inverse dynamics: against Pinocchio's analytical ones, finite differences and the complex step."""

import numpy as np
import pytest

import bough
from bough.dynamics.functions import program
from dynamics.derivative_case import JOINTS, PARENT
from graphs import evaluate, jacobian
from models import random_state, random_twin
from strategies import relative_error

pin = pytest.importorskip("pinocchio")


def test_inverse_dynamics_agrees_with_pinocchio(case):
    twin, dyn, q, v, _, qdd = case
    peers = pin.computeRNEADerivatives(twin.pin, twin.data, twin.q_to_pin(q), twin.v_to_pin(v), twin.v_to_pin(qdd))
    for ours, theirs in zip(dyn.inverse_dynamics_derivatives(q, v, qdd), peers, strict=True):
        full = theirs if theirs is not peers[2] else np.triu(theirs) + np.triu(theirs, 1).T
        assert relative_error(ours, twin.from_pin(full, axes=(0, 1))) < 1e-9


def test_tangent_derivatives_are_limits_of_differences():
    twin = random_twin(5, PARENT, ["floating", "universal", "spherical", "universal", "planar", *JOINTS[5:]])
    dyn = bough.Dynamics(twin.model)
    q, v, _, qdd = random_state(twin.model, 6)
    step, columns = 1e-6, np.eye(twin.model.nv)
    move = twin.model.integrate
    differences = [
        dyn.inverse_dynamics(move(q, step * e), v, qdd) - dyn.inverse_dynamics(move(q, -step * e), v, qdd)
        for e in columns
    ]
    by_q = dyn.inverse_dynamics_derivatives(q, v, qdd)[0]
    assert relative_error(np.array(differences).T / (2 * step), by_q) < 1e-6


def test_complex_step_on_the_same_graph():
    model = bough.zoo.arm(5)
    traced = program(model, "inverse_dynamics")
    rng = np.random.default_rng(1)
    point = rng.normal(size=(3, model.nv))
    exact = evaluate(jacobian(traced, 0, range(3)), list(point))
    for k in range(3):
        for j in range(model.nv):
            moved = point.astype(complex)
            moved[k, j] += 1e-30j
            column = evaluate(traced, list(moved))[0].imag / 1e-30
            np.testing.assert_allclose(exact[k].reshape(model.nv, model.nv)[:, j], column, rtol=0, atol=1e-12)


def test_batches(case):
    twin, dyn, *_ = case
    rng = np.random.default_rng(2)
    q = twin.model.random_configuration(rng, batch=5)
    v, qdd = rng.normal(size=(2, 5, twin.model.nv))
    together = dyn.inverse_dynamics_derivatives(q, v, qdd)
    for row in range(5):
        for all_rows, one in zip(together, dyn.inverse_dynamics_derivatives(q[row], v[row], qdd[row]), strict=True):
            np.testing.assert_allclose(all_rows[row], one, rtol=1e-10, atol=1e-10)
