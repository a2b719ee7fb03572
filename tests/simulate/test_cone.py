"""Impulses obey the laws of contacts and joints, and never feed energy in."""

from __future__ import annotations

import numpy as np
import pytest

from bough.compile.executions import bind_arrays
from bough.compile.routine import interpret
from bough.simulate.cone import IMPULSES, laws

JOINTS, CONTACTS, ROWS = 2, 3, 11


def problem(seed, freedoms):
    """A = J J' of a mechanism with few or many freedoms: singular where they are few."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(ROWS, freedoms))
    b = J @ rng.normal(size=freedoms)  # a velocity that the mechanism can have
    friction = np.r_[0.1, 0.0, rng.uniform(0.2, 0.9, size=CONTACTS)]
    lower, upper = np.r_[-0.2, -0.1, -1e30 * np.ones(CONTACTS)], np.r_[0.3, 0.1, 1e30 * np.ones(CONTACTS)]
    return J @ J.T, b, friction, lower, upper, np.zeros(ROWS)


def check(A, b, friction, lower, upper, lam):
    w = A @ lam + b
    for i in range(JOINTS):
        assert lower[i] - 1e-7 <= w[i] <= upper[i] + 1e-7
    for c in range(CONTACTS):
        mu, f, v = friction[JOINTS + c], lam[JOINTS + 3 * c :][:3], w[JOINTS + 3 * c :][:3]
        slide, pull = np.linalg.norm(v[1:]), np.linalg.norm(f[1:])
        assert f[0] >= 0.0
        assert v[0] >= -1e-6
        assert abs(f[0] * v[0]) < 1e-6
        assert pull <= mu * f[0] * (1 + 1e-9) + 1e-12
        if slide > 1e-4 and f[0] > 1e-6:  # on the edge of the cone, against the sliding
            np.testing.assert_allclose(f[1:], -mu * f[0] * v[1:] / slide, atol=1e-4 * mu * f[0] + 1e-9)
    # kinetic energy after less before
    assert lam @ w - 0.5 * lam @ A @ lam <= 1e-9


@pytest.mark.parametrize("freedoms", [20, 7])
@pytest.mark.parametrize("seed", range(20))
def test_laws_hold(seed, freedoms):
    sizes = {"rows": ROWS, "laws": JOINTS + CONTACTS}
    given = problem(seed, freedoms)
    lam, _ = bind_arrays(IMPULSES, (laws(JOINTS, CONTACTS),), sizes, general=True).call(*given)
    check(*given[:-1], lam)


@pytest.mark.interpreted
def test_interpreted_alike():
    sizes = {"rows": ROWS, "laws": JOINTS + CONTACTS}
    given = problem(1, 20)
    lam, _ = interpret(IMPULSES, (laws(JOINTS, CONTACTS),), sizes, *given)
    check(*given[:-1], lam)
