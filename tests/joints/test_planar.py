"""Planar joints: x, y, angle."""

import numpy as np

import joint_checks as checks


def test_planar():
    checks.holds(checks.one("planar"))


def test_placed_by_x_y_and_angle():
    R, p = checks.placement(checks.one("planar"), np.array([0.1, 0.2, 0.5]))
    np.testing.assert_allclose(R[:, 0], [np.cos(0.5), np.sin(0.5), 0.0])
    assert p.tolist() == [0.1, 0.2, 0.0]


def test_whole_turns_count():
    model = checks.one("planar")
    assert np.isclose(model.difference(np.zeros(3), [0.0, 0.0, 7.0])[2], 7.0)
