"""The force that closes loops: least squares with a rank that neither units nor rounding decide."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive.handles import closing_force

TURNS = np.array([True, True, False, False, False])


def system(seed, singular=()):
    """G with these eigenvalues below 1, how the constraints accelerate, and a gap."""
    rng = np.random.default_rng(seed)
    J = np.linalg.qr(rng.normal(size=(5, 5)))[0] * np.sqrt([1.0, 0.7, 0.5, *(singular or (0.4, 0.3))])
    return J @ J.T, rng.normal(size=5), rng.normal(size=5), J


def test_loops_within_reach_are_closed():
    G, free, gap, _ = system(0)
    lam, rank = closing_force(G, free, gap, TURNS)
    np.testing.assert_allclose(G @ lam + free, -gap, atol=1e-12)
    assert rank == 5


@pytest.mark.parametrize("seed", range(4))
def test_a_loop_that_cannot_close_has_one_answer_however_it_is_rounded(seed):
    G, free, gap, J = system(seed, singular=(1e-14, 0.0))
    lam, rank = closing_force(G, free, gap, TURNS)
    assert rank == 3
    rng = np.random.default_rng(seed)
    for _ in range(5):
        again, same = closing_force(G + 1e-13 * rng.normal(size=G.shape), free, gap, TURNS)
        assert same == rank
        np.testing.assert_allclose(J.T @ again, J.T @ lam, atol=1e-9)


def test_units_do_not_matter():
    G, free, gap, J = system(1, singular=(0.0, 0.0))
    unit = np.array([1e3, 1e3, 1e-3, 1e-3, 1e-3])
    lam, rank = closing_force(G, free, gap, TURNS)
    other, same = closing_force(unit[:, None] * G * unit, unit * free, unit * gap, TURNS)
    assert same == rank == 3
    np.testing.assert_allclose(J.T @ (unit * other), J.T @ lam, rtol=1e-9)


def test_where_a_linkage_hardly_moves_it_is_held_but_not_driven():
    """A loop stretched out: its last direction answers 1e-6 of the others."""
    G, free, gap, J = system(2, singular=(0.4, 1e-6))
    held, rank = closing_force(G, free, 1e-9 * gap, TURNS)
    assert rank == 5
    np.testing.assert_allclose(G @ held + free, -1e-9 * gap, atol=1e-9)
    driven, rank = closing_force(G, free, 1e3 * gap, TURNS)
    assert rank == 4
    assert np.abs(J.T @ driven).max() < 1e-2 * np.abs(J.T @ np.linalg.solve(G, 1e3 * gap)).max()


def test_loops_that_hold_nothing_exert_nothing():
    lam, rank = closing_force(np.zeros((3, 3)), np.ones(3), np.ones(3), TURNS[:3])
    assert rank == 0
    assert not lam.any()
