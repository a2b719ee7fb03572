"""Lambda from Lambda^-1, and the strain that bounds its smallest eigenvalue."""

import numpy as np

from bough import zoo
from bough.compile.routine import interpret
from bough.opspace.sweeps.factored import INVERT


def test_inverse_and_strain():
    rng = np.random.default_rng(0)
    for n in (1, 3, 6):
        A = rng.normal(size=(n, n))
        A, scale = A @ A.T + np.eye(n), rng.uniform(1.0, 2.0, n)
        Lam, strain = interpret(INVERT, (zoo.arm(2).mechanism,), {"rows": n}, A, [0.5], scale)
        expected = np.linalg.inv(A + 0.5 * np.eye(n))
        np.testing.assert_allclose(Lam, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(strain, [((np.diag(expected) * scale) ** 2).sum()])
        d = np.sqrt(scale)
        least = np.linalg.eigvalsh((A + 0.5 * np.eye(n)) / np.outer(d, d))[0]
        assert np.sqrt(strain[0] / n) <= 1 / least * (1 + 1e-12) <= np.sqrt(strain[0] * n) * (1 + 1e-11)
