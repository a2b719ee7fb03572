"""Factors and products bound to one tree: beside dense matrices, in the user's order, in both precisions."""

import numpy as np
import pytest

from bough import sparsity
from bough.errors import NumericalError, ShapeError
from bough.sparsity.ltdl import ltdl
from bough.sparsity.routines import PRODUCTS, vector_function
from bough.tree.tree import Tree
from strategies import random_matrix

TREE = Tree([-1, 0, 0, 2, 1, 2, 5])


def packed_matrix(seed):
    """A positive definite matrix with the pattern of the tree, and its factor."""
    H = random_matrix(TREE, seed)
    return H, sparsity.ltdl(H, TREE)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_products(dtype):
    rng = np.random.default_rng(0)
    H, factor = packed_matrix(0)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    packed = np.asarray(factor.packed, dtype)
    x = rng.normal(size=TREE.n).astype(dtype)
    solve = next(f for f in PRODUCTS if f.__name__ == "ltdl_solve")
    np.testing.assert_allclose(vector_function(TREE, solve, np.dtype(dtype)).call(packed, x), np.linalg.solve(H, x),
                               rtol=tolerance, atol=tolerance)  # fmt: skip
    for there, back in (("unit_lmul", "unit_lsolve"), ("unit_ltmul", "unit_ltsolve"),
                        ("lmul", "lsolve"), ("ltmul", "ltsolve")):  # fmt: skip
        f, g = (next(p for p in PRODUCTS if p.__name__ == name) for name in (there, back))
        y = vector_function(TREE, f, np.dtype(dtype)).call(packed, x)
        assert y.dtype == dtype
        assert np.abs(y - x).max() > 1e-3
        np.testing.assert_allclose(vector_function(TREE, g, np.dtype(dtype)).call(packed, y), x, atol=tolerance)


def test_a_factor_is_made_from_packed_rows_which_are_kept():
    H, factor = packed_matrix(0)
    rows = np.concatenate([_row(H, k) for k in TREE.order])
    before = rows.copy()
    found = vector_function(TREE, ltdl, np.dtype(float)).call(rows)
    np.testing.assert_allclose(found, factor.packed, atol=1e-13)
    np.testing.assert_array_equal(rows, before)
    rows[0] -= 100.0  # of the root, which is eliminated last
    with pytest.raises(NumericalError):
        vector_function(TREE, ltdl, np.dtype(float)).call(rows)
    for pivot in (0.0, -1e-300):
        with pytest.raises(NumericalError):
            vector_function(Tree([-1]), ltdl, np.dtype(float)).call(np.array([pivot]))


def test_vectors_of_any_real_kind_are_taken_and_wrong_lengths_refused():
    H, factor = packed_matrix(1)
    x = np.arange(1, TREE.n + 1)
    for given in (x, x.astype(">f8"), x.astype(np.float32), np.repeat(x, 2).astype(float)[::2]):
        np.testing.assert_allclose(factor.solve(given), np.linalg.solve(H, x), rtol=1e-12)
    with pytest.raises(ShapeError, match=r"\(8,\)"):
        factor.solve(np.ones(TREE.n + 1))


def test_functions_are_kept_with_the_tree():
    solve = next(iter(PRODUCTS))
    assert vector_function(TREE, solve, np.dtype(float)) is vector_function(TREE, solve, np.dtype(float))


@pytest.mark.native("asks which code serves")
@pytest.mark.parametrize(("nodes", "own", "is_traced"), [(3, False, False), (3, True, True), (44, True, False)])
def test_small_trees_have_code_of_their_own_where_calls_are_many(nodes, own, is_traced):
    bound = vector_function(Tree(range(-1, nodes - 1)), ltdl, np.dtype(float), own=own)
    assert bound.entry(bound.dtype).single().is_shared == is_traced  # general code has memory for each call


def _row(H, k):
    """The entries of row k from the root to itself."""
    path, j = [], k
    while j >= 0:
        path.append(j)
        j = TREE.parent[j]
    return H[k, path[::-1]]
