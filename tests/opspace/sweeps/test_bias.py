"""Jdot v beside differences of J, and the bias of tasks beside numpy, on random trees and tasks."""

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.opspace.sweeps.bias import BIAS, DRIFT
from opspace.cases import interpreted_jacobian, random_case


@pytest.mark.parametrize("seed", range(60))
def test_bias_and_drift(seed):
    twin, tasks = random_case(seed)
    model, rng, h = twin.model, np.random.default_rng(seed), 1e-6
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    ahead, back = (interpreted_jacobian(tasks, model.integrate(q, s * h * v)) for s in (1, -1))
    (drift,) = interpret(DRIFT, (model.mechanism, tasks.seeds), tasks.sizes, q, v)
    numerical = (ahead - back) @ v / (2 * h)
    np.testing.assert_allclose(drift, numerical, atol=1e-7 * (1 + np.abs(numerical).max()))
    (bias,) = interpret(BIAS, (model.mechanism, tasks.seeds), tasks.sizes, q, v)
    dynamics = bough.Dynamics(model, general=True)
    fall = np.linalg.solve(dynamics.mass_matrix(q), dynamics.bias_force(q, v))
    expected = drift - interpreted_jacobian(tasks, q) @ fall
    np.testing.assert_allclose(bias, expected, atol=1e-10 * (1 + np.abs(expected).max()))
