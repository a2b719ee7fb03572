"""Rigid inertias, by matrices."""

import numpy as np
import pytest

from bough.spatial import rigid_inertia
from spatial.dense import WAYS, V, motion_matrix, rigid_matrix, rng

I, OTHER = (tuple(row) for row in rng.normal(size=(2, 10)))


@pytest.mark.parametrize("prefix", WAYS)
def test_in_the_parent(prefix):
    """X^-T I X^-1."""
    given, place = WAYS[prefix]
    back = np.linalg.inv(motion_matrix(*place))
    found = getattr(rigid_inertia, f"{prefix}rigid_in")(*given, I)
    np.testing.assert_allclose(rigid_matrix(found), back.T @ rigid_matrix(I) @ back, atol=1e-13)


def test_sums_products_and_columns():
    np.testing.assert_allclose(rigid_inertia.rigid_add(I, OTHER), np.add(I, OTHER))
    np.testing.assert_allclose(rigid_inertia.rigid_times(I, V), rigid_matrix(I) @ V)
    for axis in range(6):
        np.testing.assert_allclose(rigid_inertia.rigid_column(I, axis, 0.0), rigid_matrix(I)[:, axis])
