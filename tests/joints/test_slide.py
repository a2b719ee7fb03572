"""Prismatic joints."""

import numpy as np

import joint_checks as checks


def test_slide():
    checks.holds(checks.one("prismatic"))


def test_moves_along_its_axis():
    R, p = checks.placement(checks.one("prismatic"), np.array([0.5]))
    assert np.array_equal(R, np.eye(3))
    assert p.tolist() == [0.0, 0.0, 0.5]


def test_drawn_within_a_metre():
    q = checks.one("prismatic").random_configuration(np.random.default_rng(0), batch=1000)
    assert 0.99 < np.abs(q).max() <= 1.0
