"""Rotation vectors, quaternions and inertias as arrays, beside SciPy and beside the kernels of joints."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bough import Builder
from bough.spatial import inertia_matrix, quaternion_rotate, rotation_vector

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-6, 1e-3, 0.5, 2.0, 3.0]
SHORT_OF_PI = [0.1, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15]


def axes():
    rng = np.random.default_rng(0)
    return [*np.eye(3), *-np.eye(3), *(x / np.linalg.norm(x) for x in rng.normal(size=(20, 3)))]


@pytest.mark.parametrize("angle", [*ANGLES, *(np.pi - x for x in SHORT_OF_PI)])
def test_rotation_vector(angle):
    """Both formulas there were lost digits near half a turn: the axis came from the skew part, which vanishes there."""
    for axis in axes():
        found = rotation_vector(Rotation.from_rotvec(angle * axis).as_matrix())
        np.testing.assert_allclose(found, angle * axis, rtol=0, atol=4e-15)


def test_half_turns_have_an_answer():
    for axis in axes():
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        found = rotation_vector(R)
        assert np.isclose(np.linalg.norm(found), np.pi, rtol=1e-15)
        np.testing.assert_allclose(np.abs(found), np.pi * np.abs(axis), atol=2e-15)
    assert rotation_vector(np.diag([-1.0, 1.0, -1.0])).tolist() == [0.0, np.pi, 0.0]


@pytest.mark.parametrize("angle", [1e-6, 1.0, np.pi - 1e-6])
def test_agrees_with_the_difference_of_a_spherical_joint(angle):
    builder = Builder()
    builder.add_body("ball", joint="spherical", mass=1.0, inertia=np.eye(3))
    model = builder.build()
    for axis in axes():
        turn = Rotation.from_rotvec(angle * axis)
        found = model.difference(model.neutral, turn.as_quat())
        np.testing.assert_allclose(found, rotation_vector(turn.as_matrix()), rtol=0, atol=4e-15)


def test_quaternion_rotate():
    rng = np.random.default_rng(1)
    q, x = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    np.testing.assert_allclose(quaternion_rotate(q, x), Rotation.from_quat(q).apply(x), rtol=0, atol=1e-14)


def test_inertia_matrix():
    I = np.arange(20.0).reshape(2, 10)
    assert inertia_matrix(I[0]).tolist() == [[0.0, 3.0, 4.0], [3.0, 1.0, 5.0], [4.0, 5.0, 2.0]]
    assert inertia_matrix(I).shape == (2, 3, 3)
