"""Derivative programs against finite differences, the complex step and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphs
from bough.compile.graph.expr import ATAN, COS, SIN, SQRT
from compile.programs import arm, cholesky_solve, program, random_inputs, random_programs
from graphs import jacobian

MODES = ["forward", "reverse"]


def complex_step(p, inputs, output, wrt):
    """d(output)/d(wrt) by the complex step, shape (outputs, inputs)."""
    columns = []
    for offset in range(p.inputs[wrt].size):
        shifted = [x.astype(complex) for x in inputs]
        shifted[wrt].reshape(-1)[offset] += 1e-30j
        columns.append(graphs.evaluate(p, shifted)[output].ravel().imag / 1e-30)
    return np.array(columns).T


def assert_jacobian(p, output, wrt, mode, tolerance=1e-10):
    inputs = random_inputs(p)
    derivative = jacobian(p, output, wrt, mode)
    for k, got in zip(wrt, graphs.evaluate(derivative, inputs), strict=True):
        want = complex_step(p, inputs, output, k)
        assert got.shape == p.outputs[output].shape + p.inputs[k].shape
        np.testing.assert_allclose(
            got.reshape(want.shape), want, rtol=tolerance, atol=tolerance * (1 + abs(want).max())
        )


@pytest.mark.parametrize("mode", MODES)
def test_jacobian_of_large_programs(mode):
    assert_jacobian(arm(6), 0, [0, 1], mode)
    assert_jacobian(arm(6), 1, [1], mode)
    assert_jacobian(cholesky_solve(4), 0, [0, 1], mode)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=40)
@given(data=st.data())
def test_jacobian_of_random_programs(mode, data):
    p = data.draw(random_programs(max_operations=25))
    assert_jacobian(p, 0, list(range(len(p.inputs))), mode, tolerance=1e-8)


def test_closed_forms():
    def function(x):
        a, b = x
        return ([a * b, a / b, a - b, a.unary(SIN), b.unary(COS), (a * a).unary(SQRT), -a, a + 3.0, b.unary(ATAN)],)

    p = program(function, {"x": (2,)}, {"y": (9,)})
    a, b = 0.7, 1.3
    want = [[b, a], [1 / b, -a / b**2], [1, -1], [np.cos(a), 0], [0, -np.sin(b)], [1, 0], [-1, 0], [1, 0]]
    want.append([0, 1 / (1 + b**2)])
    for mode in MODES:
        np.testing.assert_allclose(
            graphs.evaluate(jacobian(p, 0, [0], mode), [[a, b]])[0], want, rtol=1e-15, atol=1e-15
        )


def test_derivative_of_the_solution_of_a_linear_system():
    """dx/db of x = H^-1 b is H^-1."""
    p = cholesky_solve(5)
    A, b = random_inputs(p)
    inverse = np.linalg.inv(A @ A.T + 5 * np.eye(5))
    np.testing.assert_allclose(graphs.evaluate(jacobian(p, 0, [1]), [A, b])[0], inverse, rtol=1e-12)


def test_finite_differences():
    p = arm(5)
    q, v = random_inputs(p)
    got = graphs.evaluate(jacobian(p, 0, [0]), [q, v])[0]
    step = 1e-6
    want = [
        (graphs.evaluate(p, [q + step * e, v])[0] - graphs.evaluate(p, [q - step * e, v])[0]) / (2 * step)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(got, np.array(want).T, atol=1e-7)
