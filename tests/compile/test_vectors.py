"""Eight numbers at once: what is compiled does what the functions say, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest

from bough.compile.kernel import kernel
from bough.compile.run import direct
from bough.compile.vectors import eight, over, plus, put_eight, scaled, subtract_eight
from bough.types import Rows


@kernel
def everything(A: Rows, B: Rows, shift: int) -> None:
    """B = (a x + b y) / c from one place of A; less x in another."""
    x, y = eight(A, 0), eight(A, shift)
    z = scaled(A[1], x)
    for k in range(2, 5):
        z = plus(z, A[k], y)
    put_eight(B, shift, over(z, A[5]))
    subtract_eight(A, shift + 8, x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_as_interpreted(dtype):
    given = np.random.default_rng(0).uniform(1, 2, 24).astype(dtype)
    results = []
    for call in (everything, lambda *arrays: direct.call(everything, *arrays)):
        A, B = given.copy(), np.zeros(24, dtype)
        call(A, B, 3)
        results.append((A, B))
    (A, B), (A2, B2) = results
    np.testing.assert_allclose(B2, B, rtol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(A2, A)
    assert (B[3:11] > 0).all()
    assert not B[:3].any()
    assert not B[11:].any()
    assert (A[11:19] == given[11:19] - given[:8]).all()
