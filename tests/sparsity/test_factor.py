"""`Factor` against dense linear algebra, on random trees in any numbering."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from bough import sparsity
from bough.errors import FactorizationError, NonFiniteError, ShapeError
from bough.sparsity.factor import METHODS
from bough.tree.tree import Tree
from strategies import TREES, random_matrix, regular_parents, relative_error, seeds, trees

pytestmark = pytest.mark.interpreted

methods = st.sampled_from(sorted(METHODS))
widths = st.sampled_from([None, 0, 1, 3])


def vector(tree, seed, width=None, dtype=np.float64):
    shape = (tree.n,) if width is None else (tree.n, width)
    return np.random.default_rng(seed + 1).standard_normal(shape).astype(dtype)


@given(trees(), methods, seeds)
def test_factors_reproduce_the_matrix(tree, method, seed):
    H = random_matrix(tree, seed)
    factor = sparsity.factorize(H, tree, method)
    assert relative_error(factor.L.T @ np.diag(factor.D) @ factor.L, H) <= 1e-14
    assert relative_error(factor.U @ np.diag(factor.D) @ factor.U.T, H) <= 1e-14
    assert relative_error(factor.reconstruct(), H) <= 1e-14
    assert not factor.L[~naive.pattern(tree.parent)].any()


@given(regular_parents(), seeds)
def test_factors_are_the_dense_ones(parent, seed):
    tree = Tree(parent)
    H = random_matrix(tree, seed)
    L, d = naive.ltdl(H)
    assert relative_error(sparsity.ltl(H, tree).L, naive.ltl(H)) <= 1e-13
    for factor in (sparsity.ltdl(H, tree), sparsity.udut(H, tree)):
        assert relative_error(factor.L, L) <= 1e-13
        assert relative_error(factor.D, d) <= 1e-13


@given(trees(), methods, seeds, widths)
def test_products_and_substitutions(tree, method, seed, width):
    H, x = random_matrix(tree, seed), vector(tree, seed, width)
    factor = sparsity.factorize(H, tree, method)
    L = factor.L
    assert relative_error(factor.solve(x), np.linalg.solve(H, x)) <= 1e-12
    assert relative_error(factor.lmul(x), L @ x) <= 1e-13
    assert relative_error(factor.ltmul(x), L.T @ x) <= 1e-13
    assert relative_error(factor.lsolve(x), np.linalg.solve(L, x)) <= 1e-12
    assert relative_error(factor.ltsolve(x), np.linalg.solve(L.T, x)) <= 1e-12
    assert relative_error(factor.hmul(x), H @ x) <= 1e-13
    assert relative_error(sparsity.hmul(H, tree, x), H @ x) <= 1e-13


@given(trees(), methods, seeds)
def test_log_determinant_and_selected_inverse(tree, method, seed):
    H = random_matrix(tree, seed)
    factor = sparsity.factorize(H, tree, method)
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(H)[1], rel=1e-12, abs=1e-12)
    inverse = np.where(naive.pattern(tree.parent), np.linalg.inv(H), 0)
    assert relative_error(factor.selected_inverse(), inverse) <= 1e-12


@given(trees(), methods, seeds, st.floats(0.1, 10), st.data())
def test_rank_one_update(tree, method, seed, scale, data):
    H = random_matrix(tree, seed)
    factor = sparsity.factorize(H, tree, method)
    path = tree.path(data.draw(st.integers(0, tree.n - 1)))
    v = np.zeros(tree.n)
    v[path] = np.random.default_rng(seed).standard_normal(len(path))
    updated = factor.update(v, scale)
    assert relative_error(updated.reconstruct(), H + scale * np.outer(v, v)) <= 1e-13
    assert relative_error(updated.update(v, -scale).reconstruct(), H) <= 1e-11
    assert relative_error(factor.reconstruct(), H) <= 1e-14
    assert relative_error(factor.update(0 * v).reconstruct(), H) <= 1e-14


@given(trees(), methods, seeds)
def test_single_precision_stays_single(tree, method, seed):
    H, x = random_matrix(tree, seed, np.float32), vector(tree, seed, 2)
    factor = sparsity.factorize(H, tree, method)
    assert {factor.L.dtype, factor.D.dtype, factor.solve(x).dtype, factor.hmul(x).dtype} == {np.dtype(np.float32)}
    assert factor.selected_inverse().dtype == factor.reconstruct().dtype == np.float32
    assert relative_error(factor.reconstruct(), H) <= 1e-6
    assert relative_error(factor.solve(x), np.linalg.solve(H.astype(float), x)) <= 1e-4


def test_inputs_are_left_alone():
    tree = TREES["tree1"]
    H, x = random_matrix(tree, 0), vector(tree, 0)
    packed = sparsity.pack(H, tree)
    before = H.copy(), x.copy(), packed.copy()
    for matrix in (H, packed):
        factor = sparsity.ltdl(matrix, tree)
        factor.solve(x), factor.lmul(x), factor.update(np.eye(tree.n)[0])
    assert all((a == b).all() for a, b in zip(before, (H, x, packed), strict=True))


def test_integers_and_lists_are_accepted():
    factor = sparsity.ltl([[4, 2], [2, 5]], Tree([-1, 0]))
    assert factor.solve([1, 0]).dtype == np.float64
    assert relative_error(factor.solve([1, 0]), np.array([5, -2]) / 16) <= 1e-15


def test_empty():
    factor = sparsity.ltdl(np.zeros((0, 0)), Tree([]))
    assert factor.solve(np.zeros(0)).shape == (0,)
    assert factor.logdet() == 0
    assert factor.L.shape == (0, 0)


@given(trees(), methods, seeds, st.data())
def test_an_indefinite_matrix_is_refused_by_name(tree, method, seed, data):
    H = random_matrix(tree, seed)
    worst = data.draw(st.integers(0, tree.n - 1))
    H[worst, worst] -= 1 / np.linalg.inv(H)[worst, worst] + 1
    with pytest.raises(FactorizationError, match=r"not positive definite: the pivot of DoF \d+ \(joint\d+\) is"):
        sparsity.factorize(H, tree, method, names=[f"joint{i}" for i in range(tree.n)])


@pytest.mark.parametrize("method", METHODS)
def test_the_named_dof_is_the_one_that_breaks_down(method):
    tree = Tree([2, -1, 1, 1])
    for worst in range(tree.n):
        H = np.eye(tree.n)
        for pivot in (0.0, -1.0):
            H[worst, worst] = pivot
            with pytest.raises(FactorizationError, match=f"pivot of DoF {worst} "):
                sparsity.factorize(H, tree, method)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite(bad):
    tree = Tree([2, -1, 1, 1])
    H = np.eye(4)
    H[0, 2] = H[2, 0] = bad
    with pytest.raises(FactorizationError, match=r"not finite at DoF 0 \(a\), DoF 2 \(c\)"):
        sparsity.ltdl(H, tree, names="abcd")
    with pytest.raises(NonFiniteError, match="row 3"):
        sparsity.ltdl(np.eye(4), tree).solve([0, 0, 0, bad])


def test_wrong_matrices_and_vectors():
    tree = Tree([-1, 0, 0])
    H = np.eye(3)
    with pytest.raises(ShapeError, match=r"H has shape \(2, 2\): expected \(3, 3\), or \(5,\)"):
        sparsity.ltdl(np.eye(2), tree)
    with pytest.raises(ShapeError, match="complex128"):
        sparsity.ltdl(H * 1j, tree)
    with pytest.raises(ShapeError, match="2 names were given for 3 DoF"):
        sparsity.ltdl(H, tree, names=["a", "b"])
    with pytest.raises(FactorizationError, match="not symmetric at DoF 1, DoF 0"):
        sparsity.ltdl(H + np.eye(3, k=-1) * [1, 0, 0], tree)
    with pytest.raises(FactorizationError, match="not zero between DoF 1 and DoF 2, which lie on different branches"):
        sparsity.ltdl(H + 0.1, tree)
    factor = sparsity.ltdl(H, tree)
    for x in (np.zeros(2), np.zeros((3, 1, 1)), 1.0):
        with pytest.raises(ShapeError, match=r"expected \(3,\) or \(3, k\)"):
            factor.solve(x)
    with pytest.raises(ShapeError, match="object"):
        factor.solve([None] * 3)


def test_wrong_updates():
    factor = sparsity.ltdl(np.eye(3), Tree([-1, 0, 0]))
    with pytest.raises(ShapeError, match="not zero at DoF 1 and DoF 2, which lie on different branches"):
        factor.update([0, 1, 1])
    with pytest.raises(ShapeError, match=r"v has shape \(3, 2\)"):
        factor.update(np.zeros((3, 2)))
    with pytest.raises(FactorizationError, match="pivot of DoF 1 is -1"):
        factor.update([0, 1, 0], -2.0)


def test_a_factor_prints_a_summary():
    tree = Tree([-1, 0, 0])
    H = np.array([[4.0, 1, 1], [1, 2, 0], [1, 0, 8]])
    assert repr(sparsity.ltdl(H, tree)) == "Factor(H = L' D L: 3 DoF, 5 elements of 6, float64, pivots 2 to 8)"
    assert (
        repr(sparsity.ltl(H.astype(np.float32), tree))
        == "Factor(H = L' L: 3 DoF, 5 elements of 6, float32, pivots 2 to 8)"
    )
    assert repr(sparsity.udut(H, tree)).startswith("Factor(H = U D U': 3 DoF")
    assert repr(sparsity.ltdl(np.zeros((0, 0)), Tree([]))).startswith("Factor(H = L' D L: 0 DoF, 0 elements of 0")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e200])
def test_packed_rows_are_refused_wherever_they_are_wrong(bad):
    """The quick way for packed rows says what the slow one says: which element is not finite, which pivot broke."""
    tree = Tree([-1, 0, 0, 1, 1, 2, 5])
    H = sparsity.pack(random_matrix(tree, 1), tree)
    for p in range(len(H)):
        wrong = H.copy()
        wrong[p] = bad
        with pytest.raises(FactorizationError, match="not finite at DoF" if not np.isfinite(bad) else "not positive"):
            sparsity.factorize(wrong, tree)


@given(trees(), seeds, st.sampled_from([np.float64, np.float32]))
def test_packed_rows_are_kept_and_give_the_same_as_dense_ones(tree, seed, dtype):
    H = random_matrix(tree, seed).astype(dtype)
    packed = sparsity.pack(H, tree)
    before = packed.copy()
    quick, slow = (sparsity.factorize(x, tree).packed for x in (packed, H))
    assert quick.dtype == dtype
    assert relative_error(quick, slow) <= 100 * np.finfo(dtype).eps
    np.testing.assert_array_equal(packed, before)


@pytest.mark.parametrize("method", METHODS)
def test_refactor(method):
    """Packed rows and dense matrices in the place of an earlier factor."""
    H, tree = np.array([[2.0, 0.5, 0.25], [0.5, 1.0, 0.0], [0.25, 0.0, 1.0]]), Tree([-1, 0, 0])
    factor, packed, b = sparsity.factorize(H, tree, method), sparsity.pack(H, tree), np.array([1.0, 2.0, 3.0])
    for scale, other in ((2.0, 2.0 * packed), (3.0, 3.0 * packed), (4.0, 4.0 * H)):
        kept = other.copy()
        assert factor.refactor(other) is factor
        np.testing.assert_array_equal(other, kept)
        np.testing.assert_allclose(factor.solve(b), np.linalg.solve(scale * H, b), rtol=1e-12)
    with pytest.raises(FactorizationError, match="pivot"):
        factor.refactor(-packed)
    with pytest.raises(ShapeError, match="H must be float64 like the factor, got float32"):
        factor.refactor(packed.astype(np.float32))


def test_solve_into_an_array():
    H, tree = np.array([[2.0, 0.5, 0.25], [0.5, 1.0, 0.0], [0.25, 0.0, 1.0]]), Tree([-1, 0, 0])
    b = np.array([1.0, 2.0, 3.0])
    for factor in (sparsity.ltdl(H, tree), sparsity.ltl(H, tree)):
        for right in (b, np.stack([b, 2 * b], axis=1), b.tolist()):
            x = np.empty(np.shape(right))
            for _ in range(2):
                assert factor.solve(right, out=x) is x
                np.testing.assert_allclose(x, np.linalg.solve(H, right), rtol=1e-12)
        copy = pickle.loads(pickle.dumps(factor))
        np.testing.assert_array_equal(copy.solve(b), factor.solve(b))
        for wrong in (np.empty(2), np.empty(3, np.float32), [0.0, 0.0, 0.0]):
            with pytest.raises(ShapeError, match=r"out must be a float64 array \(3,\), got"):
                factor.solve(b, out=wrong)


@pytest.mark.parametrize(
    "parent", [[], [-1], [-1, -1], [-1, 0, 0, 2, 1, 2, 5], list(range(-1, 24)), list(range(-1, 44))]
)
def test_calls_in_a_loop_agree_with_others(parent):
    """With `out` and in `refactor`, small trees have code of their own; larger ones, and other calls, have not."""
    tree, rng = Tree(parent), np.random.default_rng(0)
    H = sparsity.pack(random_matrix(tree, 0), tree)
    factor, b = sparsity.ltdl(H, tree), rng.normal(size=tree.n)
    np.testing.assert_allclose(factor.solve(b, out=np.empty(tree.n)), factor.solve(b), rtol=1e-10, atol=1e-12)
    expected = factor.packed.copy()
    np.testing.assert_allclose(factor.refactor(2 * H).D, 2 * sparsity.ltdl(H, tree).D, rtol=1e-12)
    np.testing.assert_allclose(factor.refactor(H).packed, expected, rtol=1e-10, atol=1e-12)
