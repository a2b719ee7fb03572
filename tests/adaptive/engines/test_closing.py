"""Rows that close: their system solved by eigenvalues, redundant ones too."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bough.adaptive.engines.loops import factor_closing, solve_closing

pytestmark = pytest.mark.interpreted


def rows(L, axes):
    """What the kernels read of `LoopRows`; nothing moves and no gap asks for more."""
    m = len(L)
    return SimpleNamespace(
        L=L, A=np.zeros((m, m)), V=np.zeros((m, m)), closed=np.arange(m)[::-1], axis=np.array(axes),
        scale=np.ones(m), lam=np.zeros(m), l=np.ones(m), gap=np.zeros(m), rate=np.ones(1), K0=np.zeros((m, 6)),
        reach=np.ones(1),
    )  # fmt: skip


def solved(lp, y):
    factor_closing(lp, 0, len(y), (0.0,) * 6)
    Y = np.array(y)[:, None]
    solve_closing(lp, 0, len(y), Y, 0)
    return Y[:, 0]


@pytest.mark.parametrize("seed", range(5))
def test_independent_rows_of_any_units(seed):
    rng = np.random.default_rng(seed)
    units = np.array([1.0, 1.0, 1e3, 1e3, 1e3])  # turning, then sliding
    A = rng.normal(size=(5, 7)) * units[:, None]
    L, y = A @ A.T, rng.normal(size=5) * units
    np.testing.assert_allclose(L @ solved(rows(L, [0, 2, 3, 4, 5]), y), y, rtol=1e-8, atol=1e-8)


def test_of_redundant_rows_a_solution_is_found():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 6))[[0, 1, 2, 2]]
    L = A @ A.T
    y = L @ rng.normal(size=4)
    x = solved(rows(L, [3, 4, 5, 5]), y)
    np.testing.assert_allclose(L @ x, y, atol=1e-8)
    assert x[2] == pytest.approx(x[3], rel=1e-6)  # the least forces
