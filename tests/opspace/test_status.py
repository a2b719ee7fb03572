"""Rows of a batch that stand alone: what is refused in one is computed in the others."""

from __future__ import annotations

import numpy as np
import pytest

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
