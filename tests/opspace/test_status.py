"""Rows of a batch that stand alone: what is refused in one is computed in the others."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import NumericalError, ShapeError
from bough.opspace.status import BAD_INPUT, BAD_OUTPUT, OK, common_rows, row_by_row


def inverse(x, y):
    """1 / x + y, refused where x is zero, by row."""
    if (x == 0.0).any():
        error = NumericalError("zero")
        error.rows = tuple(np.flatnonzero((x == 0.0).any(axis=1)).tolist())
        raise error
    return (1.0 / x + y,)


def test_each_row_has_its_own_end():
    x = np.array([[1.0], [0.0], [np.nan], [2.0], [0.0]])
    (found,), status = row_by_row(inverse, (x, np.ones(1)))
    assert status.tolist() == [OK, BAD_OUTPUT, BAD_INPUT, OK, BAD_OUTPUT]
    np.testing.assert_array_equal(found[:, 0], [2.0, np.nan, np.nan, 1.5, np.nan])
    (found,), status = row_by_row(inverse, (np.array([4.0]), np.zeros(1)))
    assert (found.tolist(), status.shape, int(status)) == ([0.25], (), OK)


def test_what_is_no_row_s_fault_is_raised():
    def refuse(x):
        raise NumericalError("always")

    with pytest.raises(NumericalError, match="always"):
        row_by_row(refuse, (np.ones((2, 1)),))
    with pytest.raises(ShapeError, match="one size, but there are 3 and 2"):
        common_rows([np.ones((3, 1)), np.ones((2, 1))])


def test_functions_of_a_space_row_by_row():
    model = bough.zoo.arm(4)
    rng = np.random.default_rng(0)
    q, v, a = model.random_configuration(rng, 5), *rng.normal(size=(2, 5, 4))
    space = bough.OperationalSpace(model, [bough.position("hand")])
    inputs = {"inverse_inertia": (q,), "inertia": (q,), "jacobian": (q,), "drift": (q, v), "bias": (q, v)}
    inputs["torques"] = (q, v, a[:, :3])
    for name, arrays in inputs.items():
        spoiled = tuple(x.copy() for x in arrays)
        spoiled[-1][2, 0] = np.nan
        found, status = space.with_status(name, *spoiled)
        assert status.tolist() == [0, 0, 2, 0, 0]
        assert np.isnan(found[2]).all()
        good = [0, 1, 3, 4]
        np.testing.assert_allclose(found[good], getattr(space, name)(*arrays)[good], rtol=1e-12)
        one, zero = space.with_status(name, *(x[0] for x in arrays))
        np.testing.assert_allclose(one, found[0], rtol=1e-12)
        assert zero == 0
    with pytest.raises(bough.BoughError, match="did you mean 'jacobian'"):
        space.with_status("jacobain", q)


def test_singular_tasks_have_a_status():
    model = bough.zoo.arm(4)
    space = bough.OperationalSpace(model, [bough.position("hand"), bough.position("hand", name="again")])
    q = model.random_configuration(np.random.default_rng(0), 3)
    found, status = space.with_status("inertia", q)
    assert status.tolist() == [3, 3, 3]
    assert np.isnan(found).all()
