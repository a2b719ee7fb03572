"""Rows of results by short programs of what another program leaves in the lanes, beside numpy."""

import numpy as np
import pytest

from bough.compile.emit.llvm_columns import ResultRow, RowPrograms
from bough.compile.graph.expr import Graph
from bough.compile.graph.program import Array, Program
from bough.compile.run.call import BoundFunction
from bough.compile.run.entry import Entry
from bough.compile.run.specialised import native_code
from bough.errors import NumericalError

pytestmark = pytest.mark.native("writes LLVM text and runs it as machine code")


def scaled(n):
    """(b, f) -> f_k b_k."""
    g = Graph()
    roots = tuple((g.input(0, k) * g.input(1, k)).id for k in range(n))
    return Program(g, (Array("b", (n,)), Array("f", (n,))), (Array("z", (n,)),), (roots,))


def summed(n, many):
    """(z, f) -> running sums of z, times f_0; many times over, so that it takes several functions."""
    g = Graph()
    x, total = [], g.input(0, 0)
    for k in range(n):
        total = total if k == 0 else total + g.input(0, k)
        y = total
        for _ in range(many):
            y = y + total * g.input(1, 0)
        x.append(y.id)
    return Program(g, (Array("z", (n,)), Array("f", (n,))), (Array("x", (n,)),), (tuple(x),))


def rows_function(n, many):
    """(B, f) -> X and Y, whose rows are made by one or by both programs."""
    g = Graph()
    inputs = (Array("B", (n, n)), Array("f", (n,)))
    entries = tuple((g.input(0, k) + g.input(0, k)).id for k in range(n * n))
    outputs = (Array("entries", (n * n,)), Array("factor", (n,)))
    program = Program(g, inputs, outputs, (entries, tuple(g.input(1, k).id for k in range(n))))
    rows = [ResultRow((0, 1) if r % 2 else (1,), r * n, k, n - 1 - r) for r in range(n) for k in (0, 1)]
    results = (Array("X", (n, n)), Array("Y", (n, n)))
    after = RowPrograms((scaled(n), summed(n, many)), tuple(rows), results)
    return BoundFunction(
        "rows", inputs, results, lambda d: Entry(lambda: None, lambda: native_code(program, d, after=after))
    )


@pytest.mark.parametrize(("n", "many"), [(1, 1), (3, 1), (8, 1), (11, 1), (35, 1), (35, 40)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows(n, many, dtype):
    f = rows_function(n, many)
    rng = np.random.default_rng(0)
    for batch in (1, 5, 19):
        B, factor = rng.normal(size=(batch, n, n)).astype(dtype), rng.normal(size=(batch, n)).astype(dtype)
        z = np.where(np.arange(n)[:, None] % 2, 2 * B * factor[:, None], 2 * B)
        wanted = np.cumsum(z, axis=2)[:, ::-1] * (1 + many * factor[:, :1, None])
        for found in f(B, factor, threads=1):
            np.testing.assert_allclose(found, wanted, atol=(1e-12 if dtype == np.float64 else 1e-4) * n * many)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 11])
def test_rows_that_overflow_are_named_and_large_ones_are_not(n, dtype):
    """Code adds up what it writes: a sum that overflows where no number does is no error."""
    f = rows_function(n, 1)
    most = np.finfo(dtype).max
    for batch in (1, 7, 8, 9, 16, 17):
        for row in range(batch):
            B, factor = np.zeros((batch, n, n), dtype), np.zeros((batch, n), dtype)
            B[row, 0, n - 1] = 0.4 * most
            out = tuple(np.full((batch, n, n), np.nan, dtype) for _ in range(2))
            assert f(B, factor, out=out, threads=1) is out
            B[:, 0, 0] = 0.4 * most
            B[row, 0, n - 1] = 0
            assert np.isfinite(f(B, factor, threads=1)).all()
            B[row, 0, n - 1] = 0.4 * most
            with pytest.raises(NumericalError, match=f"no finite X in row {row}; overflow") as error:
                f(B, factor, threads=1)
            assert error.value.rows == (row,)
