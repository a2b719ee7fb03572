"""H = L' D L in packed rows, its product and its substitution, beside dense ones."""

import numpy as np

import naive
from bough.sparsity.ltdl import ltdl, ltdl_product, ltdl_solve
from sparsity.kernels import PARENT, ROWS, matrix, pack


def test_factor_product_and_substitution():
    H = matrix()
    L, d = naive.ltdl(H)
    packed = pack(H)
    ltdl(PARENT, ROWS, packed)
    np.testing.assert_allclose(packed, pack(L - np.eye(len(d)) + np.diag(d)), atol=1e-14)
    x = np.random.default_rng(1).normal(size=(len(d), 2))
    y = x.copy()
    ltdl_solve(PARENT, ROWS, packed, y)
    np.testing.assert_allclose(H @ y, x, atol=1e-12)
    ltdl_product(PARENT, ROWS, packed)
    np.testing.assert_allclose(packed, pack(H), atol=1e-14)
