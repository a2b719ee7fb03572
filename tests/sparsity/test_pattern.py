"""Dense, scipy.sparse and packed forms of one matrix."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

from bough import sparsity
from bough.errors import FactorizationError, MissingExtraError, ShapeError, TooLargeError
from bough.sparsity import pattern as memory
from bough.tree.tree import Tree
from strategies import TREES, random_matrix, seeds, trees

pytestmark = pytest.mark.interpreted


@given(trees(), seeds)
def test_round_trips(tree, seed):
    H = random_matrix(tree, seed)
    packed = sparsity.pack(H, tree)
    assert packed.shape == (tree.D1 + tree.n,)
    assert (sparsity.to_dense(packed, tree) == H).all()
    sparse = sparsity.to_scipy(packed, tree)
    assert sparse.nnz == tree.n + 2 * tree.D1
    assert (sparse.toarray() == H).all()
    assert (sparsity.pack(sparse, tree) == packed).all()
    assert (sparsity.pack(scipy.sparse.coo_matrix(H), tree) == packed).all()
    assert (sparsity.pack(packed, tree) == packed).all()


@given(trees(), seeds)
def test_triangles(tree, seed):
    packed = sparsity.pack(random_matrix(tree, seed), tree)
    lower, upper = (sparsity.to_dense(packed, tree, side) for side in ("lower", "upper"))
    assert (lower == upper.T).all()
    assert (sparsity.to_scipy(packed, tree, "lower").toarray() == lower).all()
    assert (sparsity.to_scipy(packed, tree, "upper").toarray() == upper).all()


@given(trees(), seeds)
def test_element_places(tree, seed):
    H = random_matrix(tree, seed)
    packed = sparsity.pack(H, tree)
    for k in range(tree.n):
        i = tree.order[k]
        for j in tree.path(int(i)):
            assert packed[tree.rows[k] + tree.depth[j] - 1] == H[i, j]


def test_factor_formats():
    tree = TREES["humanoid30"]
    H = random_matrix(tree, 0)
    factor = sparsity.ltdl(scipy.sparse.csr_array(H), tree)
    assert (factor.to_scipy().toarray() == factor.L).all()
    assert np.allclose(factor.reconstruct("scipy").toarray(), H, rtol=1e-13)
    assert np.allclose(factor.reconstruct("packed"), sparsity.pack(H, tree), rtol=1e-13)
    assert factor.selected_inverse("scipy").nnz == 468


def test_single_precision_sparse():
    tree = TREES["tree1"]
    assert sparsity.pack(scipy.sparse.csr_array(random_matrix(tree, 0, np.float32)), tree).dtype == np.float32


def test_bad_sparse_matrices():
    tree = Tree([-1, 0, 0])
    with pytest.raises(ShapeError, match=r"H has shape \(2, 2\): expected \(3, 3\)"):
        sparsity.pack(scipy.sparse.eye_array(2), tree)
    with pytest.raises(FactorizationError, match="not zero between DoF 1 and DoF 2"):
        sparsity.pack(scipy.sparse.csr_array(np.ones((3, 3))), tree)
    with pytest.raises(FactorizationError, match="not symmetric at DoF 1, DoF 0"):
        sparsity.pack(scipy.sparse.csr_array(np.tril([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]])), tree)


def test_what_cannot_fit_is_refused_with_its_size():
    n = 1_000_000
    with pytest.raises(TooLargeError, match=r"the inertia matrix of 1000000 DoF needs 4 TB of memory"):
        sparsity.ltdl(scipy.sparse.eye_array(n), Tree(np.arange(-1, n - 1)))
    star = Tree(np.full(n, -1))
    with pytest.raises(TooLargeError, match=r"a dense 1000000 x 1000000 matrix needs 8 TB of memory: .* are available"):
        sparsity.to_dense(np.ones(n), star)


def test_a_large_sparse_matrix_needs_no_dense_one():
    n = 20_000
    factor = sparsity.ltdl(scipy.sparse.diags_array([np.full(n, 2.0)], offsets=[0]), Tree(np.full(n, -1)))
    assert factor.logdet() == pytest.approx(n * np.log(2))


def test_memory_without_meminfo(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError

    monkeypatch.setattr("builtins.open", refuse)
    assert memory.available_memory() > 2**20
    monkeypatch.delattr("os.sysconf")
    assert memory.available_memory() == 2**47


def test_readable_sizes():
    assert [memory.readable(x) for x in (12, 1.5e4, 2e6, 8e9, 4e12)] == ["12 B", "15 kB", "2 MB", "8 GB", "4 TB"]


def test_missing_scipy_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtraError, match=r"bough\[sparse\]"):
        sparsity.to_scipy(np.ones(1), Tree([-1]))
