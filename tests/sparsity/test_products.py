"""Products and substitutions with packed factors, beside dense ones."""

import numpy as np
import pytest

from bough.sparsity import products
from sparsity.kernels import PARENT, ROWS, matrix, pack

H = matrix()
L = np.tril(H)
UNIT = L - np.diag(np.diag(L)) + np.eye(len(H))
X = np.random.default_rng(1).normal(size=(len(H), 2))
EXPECTED = {
    "lmul": L @ X,
    "ltmul": L.T @ X,
    "lsolve": np.linalg.solve(L, X),
    "ltsolve": np.linalg.solve(L.T, X),
    "unit_lmul": UNIT @ X,
    "unit_ltmul": UNIT.T @ X,
    "unit_lsolve": np.linalg.solve(UNIT, X),
    "unit_ltsolve": np.linalg.solve(UNIT.T, X),
    "multiply_diagonal": np.diag(L)[:, None] * X,
    "divide_diagonal": X / np.diag(L)[:, None],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_as_dense(name):
    x = X.copy()
    getattr(products, name)(PARENT, ROWS, pack(L), x)
    np.testing.assert_allclose(x, EXPECTED[name], atol=1e-12)


def test_symmetric_product():
    y = np.zeros_like(X)
    products.hmul(PARENT, ROWS, pack(H), X, y)
    np.testing.assert_allclose(y, H @ X, atol=1e-13)
