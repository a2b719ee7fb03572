"""Articulated inertias, by matrices."""

import numpy as np
import pytest

from bough.spatial import articulated_inertia
from spatial.dense import WAYS, F, V, articulated_matrix, motion_matrix, rigid_matrix, rng

IA, OTHER = (tuple(row) for row in rng.normal(size=(2, 21)))


@pytest.mark.parametrize("prefix", WAYS)
def test_in_the_parent(prefix):
    """X^-T I X^-1."""
    given, place = WAYS[prefix]
    back = np.linalg.inv(motion_matrix(*place))
    found = getattr(articulated_inertia, f"{prefix}articulated_in")(*given, IA)
    np.testing.assert_allclose(articulated_matrix(found), back.T @ articulated_matrix(IA) @ back, atol=1e-13)


def test_of_a_rigid_body():
    I = tuple(rng.normal(size=10))
    np.testing.assert_allclose(articulated_matrix(articulated_inertia.articulated(I, 0.0)), rigid_matrix(I))


def test_sums_products_and_columns():
    dense = articulated_matrix(IA)
    np.testing.assert_allclose(articulated_inertia.articulated_add(IA, OTHER), np.add(IA, OTHER))
    np.testing.assert_allclose(articulated_inertia.articulated_times(IA, V), dense @ V)
    for axis in range(6):
        np.testing.assert_allclose(articulated_inertia.articulated_column(IA, axis), dense[:, axis])


def test_downdate():
    """I - u u' / d, given u / d and u."""
    found = articulated_inertia.articulated_downdate(IA, 2.0 * F, F)
    np.testing.assert_allclose(articulated_matrix(found), articulated_matrix(IA) - 2.0 * np.outer(F, F))
