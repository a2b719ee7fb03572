"""Floating joints: x y z and a quaternion."""

import numpy as np
from scipy.spatial.transform import Rotation

import joint_checks as checks
from bough import Dynamics


def test_free():
    checks.holds(checks.one("floating"))


def test_placed_by_position_and_quaternion():
    model = checks.one("floating")
    for q, _ in checks.states(model):
        R, p = checks.placement(model, q)
        np.testing.assert_allclose(R, Rotation.from_quat(q[3:]).as_matrix(), rtol=0, atol=1e-15)
        assert np.array_equal(p, q[:3])


def test_a_force_free_body_keeps_its_velocity():
    """Newton's law: in the world, the centre of mass does not accelerate; in the body's axes it turns back by w x v."""
    model = checks.one("floating").with_gravity(np.zeros(3))
    for q, v in checks.states(model):
        qdd = Dynamics(model, general=True).forward_dynamics(q, v, np.zeros(6))
        l, w, c = v[:3], v[3:], np.array(checks.SOLID["com"])
        center = qdd[:3] + np.cross(w, l) + np.cross(qdd[3:], c) + np.cross(w, np.cross(w, c))
        np.testing.assert_allclose(center, 0.0, atol=1e-13)
