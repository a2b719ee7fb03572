"""The factor of H + s v v', with v along a path, beside factorizing anew."""

import numpy as np
import pytest

from bough.sparsity.ltdl import ltdl
from bough.sparsity.update import rank_one_update
from sparsity.kernels import PARENT, ROWS, TREE, matrix, pack


@pytest.mark.parametrize("tip", range(TREE.n))
def test_as_factorized_anew(tip):
    H, path = matrix(), TREE.path(tip)
    v = np.random.default_rng(tip).normal(size=len(path))
    updated, anew = pack(H), H.copy()
    anew[np.ix_(path, path)] += 0.3 * np.outer(v, v)
    expected = pack(anew)
    for packed in (updated, expected):
        ltdl(PARENT, ROWS, packed)
    rank_one_update(PARENT, ROWS, updated, np.array([tip]), v, np.array([0.3]))
    np.testing.assert_allclose(updated, expected, atol=1e-13)
