"""Impulses obey the laws of contacts and joints, and never feed energy in."""

from __future__ import annotations

import numpy as np
import pytest

from simulate.impulses import check, solved

JOINTS, CONTACTS, ROWS = 2, 3, 11


def problem(seed, freedoms):
    """A = J J' of a mechanism with few or many freedoms: singular where they are few."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(ROWS, freedoms))
    b = J @ rng.normal(size=freedoms)  # a velocity that the mechanism can have
    friction = np.r_[0.1, 0.3, rng.uniform(0.2, 0.9, size=CONTACTS)]
    return J @ J.T, b, friction, np.zeros(ROWS)


@pytest.mark.parametrize("freedoms", [20, 7])
@pytest.mark.parametrize("seed", range(20))
def test_laws_hold(seed, freedoms):
    given = problem(seed, freedoms)
    lam, change = solved(JOINTS, CONTACTS, *given)
    check(JOINTS, *given[:-1], lam)
    assert change[0] < 1e-8


@pytest.mark.interpreted
def test_interpreted_alike():
    given = problem(1, 20)
    lam, _ = solved(JOINTS, CONTACTS, *given, plain=True)
    check(JOINTS, *given[:-1], lam)
    np.testing.assert_allclose(lam, solved(JOINTS, CONTACTS, *given)[0], atol=1e-9)


def test_so_many_sweeps_are_no_more():
    given = problem(3, 20)
    changes = [solved(JOINTS, CONTACTS, *given, sweeps=n)[1][0] for n in (1, 4, 40)]
    assert changes[0] > changes[1] > changes[2]
