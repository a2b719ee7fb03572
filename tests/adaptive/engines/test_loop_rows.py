"""Loops on a mechanism: where they are open, how far, and the unit forces of their rows."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import random_linkage
from bough.adaptive.engines.loops import factor_soft, loop_work, make_loops, place_loops
from bough.adaptive.engines.sweeps import world_poses
from bough.joints import move_joint

pytestmark = pytest.mark.interpreted


def placed(m, q):
    """X of all joints, and world poses (R, p)."""
    X, out = np.zeros((len(m.parent), 12)), np.zeros((len(m.parent), 12))
    world_poses(m, q, X, out)
    for i in range(len(m.parent)):
        move_joint(m, q, i, X)
    return X, [(x[:9].reshape(3, 3), x[9:]) for x in out]


def test_gaps_are_those_between_the_frames():
    model = random_linkage(3, 8, ("revolute",), forest=False).model
    m, rng = model.mechanism, np.random.default_rng(3)
    body = np.array([[len(m.parent) - 1, len(m.parent) - 3]])
    q = model.random_configuration(rng)
    (Ra, pa), (Rb, pb) = (placed(m, q)[1][i] for i in body[0])
    frame = np.array([[*(Ra.T @ Rb).ravel(), *(Ra.T @ (pb - pa))], [*np.eye(3).ravel(), 0.0, 0.0, 0.0]])
    lp = make_loops(np.asarray(m.parent), len(m.axis), body, frame, [[0, 1, 2, 3, 4, 5]])
    place_loops(m, placed(m, q)[0], lp)
    np.testing.assert_allclose(lp.gap, 0.0, atol=1e-12)
    moved = q + 1e-6 * rng.normal(size=len(q))
    X, world = placed(m, moved)
    place_loops(m, X, lp)
    (Ra, pa), (Rb, pb) = (world[i] for i in body[0])
    at = pa + Ra @ frame[0, 9:]
    np.testing.assert_allclose(lp.gap[3:], Rb.T @ (pb - at), atol=1e-15)
    turn = Rb.T @ Ra @ frame[0, :9].reshape(3, 3)  # small: its axis times its angle is read off it
    np.testing.assert_allclose(lp.gap[:3], [turn[1, 2], turn[2, 0], turn[0, 1]], atol=1e-11)
    assert np.abs(lp.gap).max() > 1e-7


def test_rows_are_open_on_the_ways_to_where_bodies_meet():
    parent = np.array([-1, 0, 1, 0, 3])
    lp = make_loops(parent, 5, np.array([[2, 4], [1, -1]]), np.zeros((4, 12)), [[3, 4, 5], [0]])
    assert lp.meet.tolist() == [0, -1]
    assert np.diff(lp.first).tolist() == [1, 4, 3, 3, 3]
    assert np.diff(lp.closing).tolist() == [3, 0, 0, 0, 0, 1]
    work, entries = loop_work(parent, np.array([[2, 4], [1, -1]]), np.array([3, 1]))
    assert (work, entries) == (1 + 16 + 9 + 9 + 9 + 27, 6)


@pytest.mark.parametrize(
    ("L", "negative"), [((2.0, 1.0, 3.0), 0), ((2.0, 3.0, 1.0), 1), ((1.0, 1.0, 1.0 + 2e-16), None)]
)
def test_soft_rows_count_negative_pivots_and_refuse_those_that_are_rounding(L, negative):
    lp = make_loops(np.array([-1]), 0, np.array([[-1, 0]]), np.tile(np.eye(4, 3).ravel(), (2, 1)), [[0, 1]])
    rows = lp.closed[lp.closing[1] : lp.closing[2]]
    lp.L[np.ix_(rows, rows)] = [[L[0], L[1]], [L[1], L[2]]]
    found = factor_soft(lp, lp.closing[1], lp.closing[2])
    assert np.isnan(found) if negative is None else found == negative
