"""H = U D U' in packed rows (Shimanovskij), and its substitutions, beside dense ones."""

import numpy as np

from bough.sparsity.udut import udut, udut_backward, udut_forward, udut_solve
from sparsity.kernels import PARENT, ROWS, matrix, pack


def test_substitutions():
    H = matrix()
    packed = pack(H)
    udut(PARENT, ROWS, packed)
    x = np.random.default_rng(1).normal(size=(len(H), 2))
    whole, steps = x.copy(), x.copy()
    udut_solve(PARENT, ROWS, packed, whole)
    udut_forward(PARENT, ROWS, packed, steps)
    udut_backward(PARENT, ROWS, packed, steps)
    np.testing.assert_allclose(H @ whole, x, atol=1e-12)
    np.testing.assert_array_equal(whole, steps)
