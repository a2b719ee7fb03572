"""Rigid inertias, by matrices."""

import numpy as np
import pytest

from bough.spatial import blocks, rigid_inertia
from spatial.dense import WAYS, V, motion_matrix, rigid_matrix, rng

I, OTHER = (tuple(row) for row in rng.normal(size=(2, 10)))


@pytest.mark.parametrize("prefix", WAYS)
def test_in_the_parent(prefix):
    """X^-T I X^-1."""
    given, place = WAYS[prefix]
    back = np.linalg.inv(motion_matrix(*place))
    found = getattr(rigid_inertia, f"{prefix}rigid_in")(*given, I)
    np.testing.assert_allclose(rigid_matrix(found), back.T @ rigid_matrix(I) @ back, atol=1e-13)


def test_a_free_body_answers_a_force():
    """About the centre of mass force and moment do not meet; a rod along x is singular about it."""
    A = rng.normal(size=(3, 3))
    body = (*(A @ A.T + 9 * np.eye(3))[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], 0.3, -0.8, 0.5, 2.0)
    np.testing.assert_allclose(rigid_matrix(body) @ rigid_inertia.rigid_solve(body, V), V, atol=1e-12)
    J, c = rigid_inertia.about_centre((0.0, 8.0, 8.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 2.0))
    assert (J, c) == ((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    S = (3.0, 4.0, 5.0, 0.2, -0.7, 0.4)
    adj, det = blocks.adjugate(S)
    np.testing.assert_allclose(
        np.array(blocks.full(adj)).reshape(3, 3) @ np.array(blocks.full(S)).reshape(3, 3), det * np.eye(3), atol=1e-12
    )


def test_sums_products_and_columns():
    np.testing.assert_allclose(rigid_inertia.rigid_add(I, OTHER), np.add(I, OTHER))
    np.testing.assert_allclose(rigid_inertia.rigid_times(I, V), rigid_matrix(I) @ V)
    for axis in range(6):
        np.testing.assert_allclose(rigid_inertia.rigid_column(I, axis, 0.0), rigid_matrix(I)[:, axis])
