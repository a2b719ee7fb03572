"""The equations of a double pendulum, as the textbooks print them."""

import numpy as np
import pytest

import bough
from bough import zoo

sympy = pytest.importorskip("sympy")


def double_pendulum():
    """Two point masses of 1 kg on massless rods of 1 m."""
    builder = bough.Builder("double pendulum")
    builder.add_body("upper", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0))
    lower = {"placement": np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -1.0], [0, 0, 0, 1]])}
    builder.add_body("lower", "upper", "revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0), **lower)
    return builder.build()


def test_the_mass_matrix_of_a_double_pendulum():
    model = double_pendulum()
    ((_, q1),) = bough.sympy.symbols(model, "mass_matrix")
    c = sympy.cos(q1)
    H = bough.sympy.expressions(model, "mass_matrix")
    wanted = sympy.Matrix([[3 + 2 * c, 1 + c], [1 + c, 1]])
    assert sympy.simplify(H - wanted) == sympy.zeros(2, 2)


def test_its_bias_is_readable():
    """No parts of a turn as decimals, no rounding left over as terms of their own."""
    model = double_pendulum()
    (q0, q1), (v0, v1) = bough.sympy.symbols(model, "bias_force")
    sin, g = sympy.sin, sympy.Rational(981, 100)
    wanted = [
        2 * g * sin(q0) + g * sin(q0 + q1) - (2 * v0 * v1 + v1**2) * sin(q1),
        g * sin(q0 + q1) + v0**2 * sin(q1),
    ]
    found = bough.sympy.expressions(model, "bias_force")
    assert not found.atoms(sympy.Float)
    assert sympy.simplify(found - sympy.Matrix(wanted)) == sympy.zeros(2, 1)
    assert all(len(str(x)) < 100 for x in found)


def test_expressions_have_the_values_of_dynamics():
    model = double_pendulum()
    q, v = np.array([0.3, -0.7]), np.array([0.5, 1.1])
    names = bough.sympy.symbols(model, "bias_force")
    values = dict(zip([*names[0], *names[1]], [*q, *v], strict=True))
    C = bough.sympy.expressions(model, "bias_force").subs(values)
    np.testing.assert_allclose(np.array(C, float).ravel(), bough.Dynamics(model).bias_force(q, v), atol=1e-12)


def test_large_mechanisms_are_refused():
    with pytest.raises(bough.BoughError, match="operations"):
        bough.sympy.expressions(zoo.humanoid(), "forward_dynamics")
    with pytest.raises(bough.BoughError, match="gravity needs a Model, got int"):
        bough.sympy.expressions(3, "gravity")
