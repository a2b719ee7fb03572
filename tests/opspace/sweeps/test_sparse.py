"""Algorithms on packed rows of J, beside dense matrices: Featherstone 2010, Figs. 8 to 10 and eqs. 10, 32, 33."""

import numpy as np
import pytest

from bough.opspace.methods.ltdl import dof_tree
from bough.opspace.sweeps import jacobian as sparse
from opspace.cases import random_case
from papers.featherstone2010 import products


def case(seed):
    """A task set's patterns with random numbers in them: J (m, n) and a unit factor with D on its diagonal."""
    _, tasks = random_case(seed)
    p, f = tasks.pattern, dof_tree(tasks)
    rng = np.random.default_rng(seed)
    J, n = rng.normal(size=len(p.dof)), len(f.parent)
    packed = 0.3 * rng.normal(size=f.rows[-1])
    L, D = np.eye(n), np.zeros(n)
    for k in range(n):
        D[k] = packed[f.rows[k + 1] - 1] = rng.uniform(1.0, 2.0)
        up = f.parent[k]
        for e in range(f.rows[k + 1] - 2, f.rows[k] - 1, -1):
            L[k, up] = packed[e]
            up = f.parent[up]
    return p, f, J, packed, L, D


def dense(p, x, n):
    full = np.zeros((len(p.of_row) - 1, n))
    for r in range(len(full)):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            full[r, p.dof[e]] = x[e]
    return full


@pytest.mark.parametrize("seed", range(10))
def test_as_dense_matrices(seed):
    p, f, J, packed, L, D = case(seed)
    n = len(D)
    Y, YD = J.copy(), np.zeros_like(J)
    sparse.solve_rows_unit(p, f, packed, Y, YD)
    wanted = dense(p, J, n) @ np.linalg.inv(L)
    np.testing.assert_allclose(dense(p, Y, n), wanted, atol=1e-12)
    np.testing.assert_allclose(dense(p, YD, n), wanted / D, atol=1e-12)
    plain = J.copy()
    sparse.solve_rows(p, f, packed, plain)
    whole = L - np.eye(n) + np.diag(D)
    np.testing.assert_allclose(dense(p, plain, n), dense(p, J, n) @ np.linalg.inv(whole), atol=1e-12)

    rows = len(p.of_row) - 1
    Lam_inv = np.zeros((rows, rows))
    sparse.outer_product(p, YD, Y, Lam_inv, 0.0)
    H = L.T @ np.diag(D) @ L
    np.testing.assert_allclose(Lam_inv, dense(p, J, n) @ np.linalg.solve(H, dense(p, J, n).T), atol=1e-11)

    Lam, Jbar, N = np.random.default_rng(seed).normal(size=(rows, rows)), np.zeros((n, rows)), np.zeros((n, n))
    products.generalised_inverse(p, f, packed, YD, Lam, Jbar, 0.0)
    np.testing.assert_allclose(Jbar, np.linalg.solve(H, dense(p, J, n).T) @ Lam, atol=1e-11)
    products.null_space(p, J, Jbar, N, 0.0, 1.0)
    np.testing.assert_allclose(N, np.eye(n) - Jbar @ dense(p, J, n), atol=1e-11)
