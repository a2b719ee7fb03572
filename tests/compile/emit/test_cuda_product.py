"""The kernel of a sparse product, compiled for the stand-in of a GPU, beside the product of dense matrices."""

import numpy as np
import pytest

from bough.compile.emit import cuda_product
from bough.compile.emit.llvm_product import SparseProduct
from bough.errors import TooLargeError
from stand_in import COMPILER, LIMITS, StandInGpu

pytestmark = pytest.mark.native("writes CUDA text and compiles it as C++")


def run(product, entries, lower, dtype, model):
    """The arrays of X, Z, and a byte for each row."""
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    gpu, batch = StandInGpu(model), len(entries)
    source = cuda_product.emit(product, np.dtype(dtype), gpu.limits)
    given = [np.ascontiguousarray(x.T, dtype) for x in (entries, lower)]
    heights = [*[product.height] * product.arrays, product.n]
    found, bad = [np.full((batch, h, product.n), np.nan, dtype) for h in heights], np.zeros(batch, np.uint8)
    arguments = [*(x.ctypes.data for x in (*given, *found, bad)), batch, entries.shape[1], lower.shape[1]]
    kernel = gpu.load(gpu.compile(source.text, fast=False))
    launch = gpu.prepared(kernel, -(-batch // source.rows), source.block, source.shared, len(arguments))
    launch(arguments, 0)
    return found, bad, source


@pytest.mark.parametrize(("dtype", "model", "n"), [("f4", "H200", 5), ("f8", "A100", 33), ("f8", "T4", 33)])
def test_a_sparse_product_is_that_of_dense_matrices(dtype, model, n):
    rng = np.random.default_rng(0)
    rows = [tuple(np.flatnonzero(rng.random(n) < 0.4).tolist()) for _ in range(3)]
    pattern = (*(rows[k % 3] for k in range(2 * n - 1)), ())  # full groups, others, and a column of zeros
    product, batch = SparseProduct(pattern, n, arrays=2), 11
    B, Z = np.zeros((batch, n, 2 * n)), rng.normal(size=(batch, n, n))
    Z = Z + Z.swapaxes(1, 2)
    for c, at in enumerate(pattern):
        B[:, at, c] = rng.normal(size=(batch, len(at)))
    entries = np.stack([B[:, r, c] for g in product.groups for r in g.rows for c in g.columns], axis=1)
    entries[3, 0] = np.nan
    low = np.tril_indices(n)
    (first, second, inverse), bad, source = run(product, entries, Z[:, low[0], low[1]], dtype, model)
    wanted = (Z @ B).swapaxes(1, 2)
    fine = np.arange(batch) != 3
    for found, expected in ((first, wanted[:, :n]), (second, wanted[:, n:]), (inverse, Z)):
        np.testing.assert_allclose(found[fine], expected[fine], atol=1e-5 if dtype == "f4" else 1e-13)
    assert bad.tolist() == [0, 0, 0, 1, *[0] * 7]
    assert source.shared <= LIMITS[model].tile


def test_what_does_not_fit_a_block_is_refused():
    product = SparseProduct((tuple(range(400)),) * 400, 400)
    with pytest.raises(TooLargeError, match="160000 entries and 400 columns is more than one GPU kernel takes"):
        cuda_product.emit(product, np.dtype(float), LIMITS["H200"])
