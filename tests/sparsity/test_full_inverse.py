"""H^-1 entry by entry from its factor, beside numpy."""

import numpy as np

import naive
from bough.sparsity.full_inverse import divide_columns, inverse_entry, invert_unit
from bough.sparsity.ltdl import ltdl
from sparsity.kernels import PARENT, ROWS, matrix, pack


def test_entries():
    H = matrix()
    M = pack(H)
    ltdl(PARENT, ROWS, M)
    invert_unit(PARENT, ROWS, M)
    E = np.zeros_like(M)
    divide_columns(PARENT, ROWS, M, E, 1.0)
    expected = np.linalg.inv(H)
    for i in range(len(H)):
        for j in range(i + 1):
            a = naive.common_ancestor(PARENT, i, j)
            np.testing.assert_allclose(inverse_entry(ROWS, M, E, i, j, a), expected[i, j], atol=1e-12)
