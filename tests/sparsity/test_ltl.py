"""H = L' L in packed rows, its product and its substitution, beside dense ones."""

import numpy as np

import naive
from bough.sparsity.ltl import ltl, ltl_product, ltl_solve, ltl_to_ltdl
from sparsity.kernels import PARENT, ROWS, matrix, pack


def test_factor_product_and_substitution():
    H = matrix()
    packed = pack(H)
    ltl(PARENT, ROWS, packed)
    np.testing.assert_allclose(packed, pack(naive.ltl(H)), atol=1e-14)
    x = np.random.default_rng(1).normal(size=(len(H), 2))
    y = x.copy()
    ltl_solve(PARENT, ROWS, packed, y)
    np.testing.assert_allclose(H @ y, x, atol=1e-12)
    other = packed.copy()
    ltl_to_ltdl(PARENT, ROWS, other)
    L, d = naive.ltdl(H)
    np.testing.assert_allclose(other, pack(L - np.eye(len(d)) + np.diag(d)), atol=1e-14)
    ltl_product(PARENT, ROWS, packed)
    np.testing.assert_allclose(packed, pack(H), atol=1e-14)
