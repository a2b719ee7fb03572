"""A program and a sparse product after it, beside numpy: any size, any pattern, single, batched, both precisions."""

import numpy as np
import pytest

from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.graph.expr import Graph
from bough.compile.graph.program import Array, Program
from bough.compile.run.call import BoundFunction
from bough.compile.run.entry import Entry
from bough.compile.run.specialised import native_code

pytestmark = pytest.mark.native("writes LLVM text and runs it as machine code")


def bound(program, product):
    """The product and Z, of one row and of many."""

    def provide(dtype):
        return Entry(*(lambda lanes=lanes: native_code(program, dtype, lanes, product) for lanes in (1, None)))

    parts = [Array(f"X{k}", (product.height, product.n)) for k in range(product.arrays)]
    return BoundFunction("product", program.inputs, (*parts, program.outputs[-1]), provide)


def case(n, columns, density, seed=0, arrays=1):
    """A program (B, Z) -> (entries of B twice, Z), its product, and where the entries are."""
    rng = np.random.default_rng(seed)
    pattern = tuple(tuple(np.flatnonzero(rng.random(n) < density).tolist()) for _ in range(columns))
    pattern = (*pattern, *pattern[:3], ())  # some alike, one empty
    product = SparseProduct(pattern, n, arrays)
    graph, size = Graph(), len(pattern)
    B = [[graph.input(0, r * size + c) for c in range(size)] for r in range(n)]
    roots = tuple((B[r][c] + B[r][c]).id for g in product.groups for r in g.rows for c in g.columns)
    Z = tuple(graph.input(1, k).id for k in range(n * n))
    inputs = (Array("B", (n, size)), Array("Z", (n, n)))
    outputs = (Array("entries", (len(roots),)), Array("Z_out", (n, n)))
    return Program(graph, inputs, outputs, (roots, Z)), product


KINDS = [(np.float64, 1), (np.float64, 2), (np.float32, 2)]
CASES = [(n, density, *kind) for n in (1, 2, 3, 7, 8, 9, 17) for density in (0.0, 0.3, 1.0) for kind in KINDS]


@pytest.mark.parametrize(("n", "density", "dtype", "arrays"), [*CASES, (35, 0.3, np.float64, 2)])
def test_products(n, density, dtype, arrays):
    program, product = case(n, 6, density, arrays=arrays)
    f = bound(program, product)
    rng = np.random.default_rng(1)
    B = rng.normal(size=(19, n, len(product.pattern))).astype(dtype)
    Z = rng.normal(size=(19, n, n)).astype(dtype)
    mask = np.zeros(B.shape[1:])
    for c, rows in enumerate(product.pattern):
        mask[list(rows), c] = 1.0
    wanted = np.swapaxes(2 * B * mask, -1, -2) @ Z
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    for k in (0, 18):
        *X, same = f(B[k], Z[k])
        np.testing.assert_allclose(np.concatenate(X), wanted[k], atol=tolerance * n)
        np.testing.assert_array_equal(same, Z[k])
    whole = np.concatenate(f(B, Z, threads=1)[:-1], axis=1)
    np.testing.assert_allclose(whole, wanted, atol=tolerance * n)
