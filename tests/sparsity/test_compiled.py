"""The kernels give compiled what they give interpreted."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from bough.compile.run import direct
from bough.sparsity import products
from bough.sparsity.ltdl import ltdl, ltdl_product, ltdl_solve
from bough.sparsity.ltl import ltl, ltl_product, ltl_solve, ltl_to_ltdl
from bough.sparsity.pattern import pack
from bough.sparsity.selected_inverse import selected_inverse
from bough.sparsity.udut import udut, udut_solve
from bough.sparsity.update import rank_one_update
from bough.tree.tree import Tree
from strategies import TREES, random_matrix, relative_error


def everything(parent, rows, A, B, C, Z, x, y, tip, v, s):
    """All kernels in a row, each on something that an earlier one left."""
    products.hmul(parent, rows, A, x, y)
    ltl(parent, rows, A)
    ltl_solve(parent, rows, A, x)
    products.lmul(parent, rows, A, x)
    products.ltmul(parent, rows, A, x)
    ltl_product(parent, rows, A)
    ltdl(parent, rows, B)
    ltdl_solve(parent, rows, B, y)
    products.unit_lmul(parent, rows, B, y)
    products.multiply_diagonal(parent, rows, B, y)
    products.unit_ltmul(parent, rows, B, y)
    selected_inverse(parent, rows, B, Z)
    rank_one_update(parent, rows, B, tip, v, s)
    ltdl_product(parent, rows, B)
    udut(parent, rows, C)
    udut_solve(parent, rows, C, x)
    ltdl_product(parent, rows, C)
    ltl(parent, rows, C)
    ltl_to_ltdl(parent, rows, C)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_and_interpreted_agree(dtype):
    compiled = partial(direct.call, everything)
    for tree in (TREES["humanoid30"], TREES["forest3x5"], TREES["star6"], Tree([3, 3, -1, 2])):
        rng = np.random.default_rng(0)
        packed = pack(random_matrix(tree, 0, dtype), tree)
        x, y = rng.standard_normal((2, tree.n, 3)).astype(dtype)
        v = rng.standard_normal(tree.rows[-1] - tree.rows[-2]).astype(dtype)
        arrays = [packed, packed, packed, packed, x, y, np.array([tree.n - 1]), v, np.ones(1, dtype)]
        results = []
        for run in (everything, compiled):
            copies = [a.copy() for a in arrays]
            run(tree.regular, tree.rows, *copies)
            results.append(copies)
        for a, b in zip(*results, strict=True):
            assert relative_error(a, b) <= 1000 * np.finfo(dtype).eps
