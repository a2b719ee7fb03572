"""The sparse factorization for a bare H and J, beside dense algebra; the group of factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bough
from bough import zoo
from bough.errors import NonFiniteError, ShapeError
from bough.opspace import SparseRows
from bough.sparsity import ltdl, ltl
from bough.tree import Tree
from papers.featherstone2010.asimo import jacobian_pattern
from papers.featherstone2010.section2 import in_group
from strategies import random_matrix, relative_error, seeds, trees

pytestmark = pytest.mark.interpreted


def random_rows(tree, m, seed):
    """Rows with nonzeros on one or two paths."""
    rng = np.random.default_rng(seed)
    J = np.zeros((m, tree.n))
    for r in range(m):
        for i in rng.integers(0, tree.n, 1 + r % 2):
            J[r, tree.path(int(i))] = rng.normal(size=tree.depth[i])
    return J


@given(trees(), st.integers(1, 5), seeds)
def test_a_bare_h_and_j(tree, m, seed):
    H, J = random_matrix(tree, seed), random_rows(tree, m, seed)
    rows, expected = SparseRows(tree, J), J @ np.linalg.solve(H, J.T)
    rng = np.random.default_rng(seed)
    x, f = rng.normal(size=tree.n), rng.normal(size=m)
    np.testing.assert_allclose(rows.times(x), J @ x, atol=1e-12)
    np.testing.assert_allclose(rows.transpose_times(f), J.T @ f, atol=1e-12)
    found, unit = rows.factorization(H), rows.unit_factorization(H)
    np.testing.assert_allclose(found.Y, J @ np.linalg.inv(ltl(H, tree).L), atol=1e-10)
    np.testing.assert_allclose(unit.Y_d, J @ np.linalg.inv(ltdl(H, tree).L), atol=1e-10)
    np.testing.assert_allclose(unit.Y_D, unit.Y_d / ltdl(H, tree).D, atol=1e-10)
    for inverse_inertia in (found.inverse_inertia, unit.inverse_inertia):
        assert relative_error(inverse_inertia, expected) < 1e-12
    assert not np.any(found.Y[~rows.pattern])
    assert not np.any((J != 0) & ~rows.pattern)


def test_erratum_e2_of_f10():
    """Lambda^-1 is Y_D Y_d', not Y_D Y_D' as eq. 22 prints."""
    tree = Tree([-1, 0, 0])
    H, J = random_matrix(tree, 1), random_rows(tree, 2, 1)
    unit = SparseRows(tree, J).unit_factorization(H)
    expected = J @ np.linalg.solve(H, J.T)
    np.testing.assert_allclose(unit.Y_D @ unit.Y_d.T, expected)
    assert relative_error(unit.Y_D @ unit.Y_D.T, expected) > 0.01


def test_a_row_of_zeros():
    tree = Tree([-1, 0, -1])
    rows = SparseRows(tree, [[0, 0, 0], [0, 0, 2.0]])
    np.testing.assert_array_equal(rows.times([1, 2, 3]), [0, 6])
    np.testing.assert_array_equal(rows.transpose_times([5, 1]), [0, 0, 2])
    np.testing.assert_array_equal(rows.factorization(4 * np.eye(3)).inverse_inertia, [[0, 0], [0, 1]])
    np.testing.assert_array_equal(rows.unit_factorization(4 * np.eye(3)).inverse_inertia, [[0, 0], [0, 1]])


def test_the_rows_of_a_robot():
    model = zoo.asimo()
    space = bough.OperationalSpace(model, [bough.pose(frame, "local") for frame in zoo.asimo_tasks()])
    q = model.random_configuration(np.random.default_rng(0))
    J, H = space(q).J, bough.Dynamics(model).mass_matrix(q)
    rows = SparseRows(model.dof_tree, J, jacobian_pattern(space.tasks))
    assert rows.pattern.sum() == 312
    assert relative_error(rows.unit_factorization(H).inverse_inertia, space.inverse_inertia(q)) < 1e-11


@given(trees(), seeds)
def test_the_factors_are_a_group(tree, seed):
    """F10 section 7: products and inverses stay in L(lambda); a full lower triangle does not belong."""
    A, B = ltl(random_matrix(tree, seed), tree).L, ltdl(random_matrix(tree, seed + 1), tree).L
    assert in_group(np.eye(tree.n), tree)
    assert in_group(A @ B, tree)
    inverse = np.linalg.inv(A)
    inverse[np.abs(inverse) < 1e-13] = 0.0
    assert in_group(inverse, tree)
    if tree.D1 < tree.n * (tree.n - 1) // 2:
        assert not in_group(np.ones((tree.n, tree.n)), tree)
    A[0, 0] = 0.0
    assert not in_group(A, tree)


def test_what_does_not_fit_is_refused():
    tree = Tree([-1, 0, 0])
    with pytest.raises(ShapeError, match=r"J has shape \(2, 2\): expected \(m, 3\)"):
        SparseRows(tree, np.ones((2, 2)))
    with pytest.raises(NonFiniteError, match="row 1"):
        SparseRows(tree, [[1, 0, 0], [np.nan, 0, 0]])
    with pytest.raises(ShapeError, match="contain every nonzero"):
        SparseRows(tree, np.ones((1, 3)), np.zeros((1, 3)))
    with pytest.raises(ShapeError, match=r"x has shape \(2,\)"):
        SparseRows(tree, np.ones((1, 3))).times([1, 2])


def test_former_names_warn():
    rows = SparseRows(Tree([-1, 0]), np.array([[1.0, 2.0]]))
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    for former, now in (("innovations", "factorization"), ("unit_innovations", "unit_factorization")):
        with pytest.warns(DeprecationWarning, match=f"called {now}"):
            found = getattr(rows, former)(H)
        np.testing.assert_array_equal(found.inverse_inertia, getattr(rows, now)(H).inverse_inertia)
    with pytest.warns(DeprecationWarning, match="SparseFactorization"):
        assert bough.opspace.Innovations is bough.opspace.SparseFactorization
