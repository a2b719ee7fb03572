"""Spherical joints: a quaternion of any length but zero."""

import numpy as np
from scipy.spatial.transform import Rotation

import joint_checks as checks


def test_ball():
    checks.holds(checks.one("spherical"))


def test_the_length_of_the_quaternion_does_not_matter():
    model = checks.one("spherical")
    for q, _ in checks.states(model):
        expected = Rotation.from_quat(q).as_matrix()
        for length in (1.0, -1.0, 3.0, 1e-3):
            np.testing.assert_allclose(checks.placement(model, length * q)[0], expected, rtol=0, atol=1e-15)


def test_all_rotations_are_equally_likely():
    """The mean of a rotation matrix is then zero, and that of its squared entries a third."""
    q = checks.one("spherical").random_configuration(np.random.default_rng(0), batch=20000)
    R = Rotation.from_quat(q).as_matrix()
    np.testing.assert_allclose(R.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose((R**2).mean(axis=0), 1.0 / 3.0, atol=0.02)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0)
