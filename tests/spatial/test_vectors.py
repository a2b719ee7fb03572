"""Vectors and rotations on tuples, by numpy."""

import numpy as np

from bough.spatial import vectors
from spatial.dense import FLAT, X_TURN, Z_TURN, C, R, S, rng

A, B = rng.normal(size=(2, 3))


def test_sums_and_products():
    np.testing.assert_allclose(vectors.cross(A, B), np.cross(A, B))
    np.testing.assert_array_equal(vectors.add3(A, B), A + B)
    np.testing.assert_array_equal(vectors.sub3(A, B), A - B)
    np.testing.assert_array_equal(vectors.scale3(-3.0, A), -3.0 * A)
    np.testing.assert_allclose(vectors.dot3(A, B), A @ B)


def test_rotations():
    other = rng.normal(size=(3, 3))
    np.testing.assert_allclose(vectors.rotate(FLAT, A), R @ A)
    np.testing.assert_allclose(vectors.rotate_back(FLAT, A), R.T @ A)
    np.testing.assert_allclose(np.reshape(vectors.matmul3(FLAT, tuple(other.ravel())), (3, 3)), R @ other)
    np.testing.assert_array_equal(np.reshape(vectors.transpose3(FLAT), (3, 3)), R.T)


def test_turns_about_axes():
    np.testing.assert_allclose(vectors.z_turn_in(C, S, A), Z_TURN @ A)
    np.testing.assert_allclose(vectors.z_turn_out(C, S, A), Z_TURN.T @ A)
    np.testing.assert_allclose(vectors.x_turn_in(C, S, A), X_TURN @ A)
    np.testing.assert_allclose(vectors.x_turn_out(C, S, A), X_TURN.T @ A)
