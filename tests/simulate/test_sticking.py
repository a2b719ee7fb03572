"""Contacts that stick, by one factor: the laws, beside sweeps, with redundant rows and rows that must be swept."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.simulate import ContactPoint, Contacts, Ensemble
from simulate.impulses import solved, stuck

JOINTS, CONTACTS = 2, 3
ROWS = JOINTS + 3 * CONTACTS
H = 0.1
BOTTOM = [ContactPoint("box", (x * H, y * H, -H)) for x in (-1, 1) for y in (-1, 1)]


def problem(seed, freedoms, push=3.0):
    """A = J J' of a mechanism with few or many freedoms, its contacts pressed to the ground."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(ROWS, freedoms))
    b = J @ rng.normal(size=freedoms) * 0.1
    b[JOINTS::3] -= push * np.diag(J @ J.T)[JOINTS::3] if freedoms >= ROWS else 0.0
    friction = np.r_[0.05, 0.4, np.full(CONTACTS, 2.0)]
    return J @ J.T, b, friction


@pytest.mark.parametrize("seed", range(12))
def test_what_sticks_without_breaking_a_law_is_what_sweeps_find(seed):
    given = problem(seed, 20)
    swept, _ = solved(JOINTS, CONTACTS, *given, np.zeros(ROWS))
    lam, left = stuck(JOINTS, CONTACTS, *given, swept)
    reach = given[2][JOINTS:] * swept[JOINTS::3]
    pull = np.hypot(swept[JOINTS + 1 :: 3], swept[JOINTS + 2 :: 3])
    sticks = bool((pull < 0.999 * reach)[swept[JOINTS::3] > 0.0].all())
    assert (left[0] < 1.0) == sticks
    if sticks:
        np.testing.assert_allclose(given[0] @ lam, given[0] @ swept, atol=1e-6)
        assert left[0] < 1e-9


def test_some_of_the_problems_stick():
    """Else the test above would show nothing."""
    kinds = set()
    for seed in range(12):
        given = problem(seed, 20)
        swept, _ = solved(JOINTS, CONTACTS, *given, np.zeros(ROWS))
        kinds.add(stuck(JOINTS, CONTACTS, *given, swept)[1][0] < 1.0)
    assert kinds == {True, False}


@pytest.mark.parametrize("guess", ["open", "sticks"])
def test_a_wrong_guess_is_seen(guess):
    """A contact that falls is not left open, one that rises does not stick."""
    A, b, friction = np.eye(ROWS), np.zeros(ROWS), np.ones(5)
    start, sign = (np.zeros(ROWS), -1.0) if guess == "open" else (np.ones(ROWS), 1.0)
    b[JOINTS::3] = sign
    _, left = stuck(JOINTS, CONTACTS, A, b, friction, start)
    assert left[0] >= CONTACTS


@pytest.fixture(scope="module")
def box():
    builder = bough.Builder("box")
    builder.add_body("box", joint="floating", mass=2.0, inertia=np.eye(3) * 0.0133)
    return builder.build()


def test_redundant_contacts_share_the_load(box):
    """Twelve rows of a body with six freedoms: the least impulses, a quarter of the weight on each corner."""
    q = np.tile(box.neutral, (2, 1))
    q[:, 2] = H
    runs = Ensemble(box, q, np.zeros((2, 6)), dt=1e-3, contacts=Contacts(BOTTOM))
    runs.step(20)
    np.testing.assert_allclose(runs.force[..., 2], 2.0 * 9.81 / 4, rtol=1e-2)
    assert runs.residual.max() < 1e-11
    np.testing.assert_allclose(runs.v, 0.0, atol=1e-10)


def test_what_a_row_does_depends_on_itself_alone(box):
    """Rows that stick, slip, land and fly: few or many of each, to the last digit."""
    q = np.tile(box.neutral, (8, 1))
    q[:, 2] = [H, H, H, H + 2e-3, 0.5, H, H, H]
    v = np.zeros((8, 6))
    v[:, 0] = [0.0, 1.0, 0.1, 0.0, 0.0, 2.0, 0.0, 0.0]

    def after(rows):
        runs = Ensemble(box, q[rows], v[rows], dt=1e-3, contacts=Contacts(BOTTOM, friction=0.4))
        runs.step(40)
        return runs.q, runs.force

    whole = after(np.arange(8))
    for rows in ([0, 6, 7, 1, 2], [1, 5, 0], [4, 3]):
        for ours, theirs in zip(after(np.array(rows)), whole, strict=True):
            np.testing.assert_array_equal(ours, theirs[rows])
