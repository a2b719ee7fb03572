"""Revolute, continuous and helical joints."""

import numpy as np
import pytest

import joint_checks as checks


@pytest.mark.parametrize(("joint", "options"), [("revolute", {}), ("continuous", {}), ("helical", {"pitch": 0.3})])
def test_turn(joint, options):
    checks.holds(checks.one(joint, **options))


def test_a_screw_advances_by_its_pitch():
    R, p = checks.placement(checks.one("helical", pitch=0.3), np.array([0.5]))
    np.testing.assert_allclose(R[:, 0], [np.cos(0.5), np.sin(0.5), 0.0])
    np.testing.assert_allclose(p, [0.0, 0.0, 0.15])


def test_drawn_within_half_a_turn_or_its_limits():
    rng = np.random.default_rng(0)
    q = checks.one("revolute").random_configuration(rng, batch=1000)
    assert 3.1 < np.abs(q).max() <= np.pi
    q = checks.one("revolute", lower=0.2, upper=0.3).random_configuration(rng, batch=1000)
    assert 0.2 <= q.min() < q.max() <= 0.3
