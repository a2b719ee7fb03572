"""The entries of H^-1 on the pattern of H, beside numpy."""

import numpy as np

from bough.sparsity.ltdl import ltdl
from bough.sparsity.selected_inverse import selected_inverse
from sparsity.kernels import PARENT, ROWS, matrix, pack


def test_entries_on_the_pattern():
    H = matrix()
    L = pack(H)
    ltdl(PARENT, ROWS, L)
    Z = np.zeros_like(L)
    selected_inverse(PARENT, ROWS, L, Z)
    np.testing.assert_allclose(Z, pack(np.linalg.inv(H)), atol=1e-12)
