"""The kernels, run on symbols, perform exactly the operations that the papers print."""

from __future__ import annotations

import numpy as np
import pytest

from bough import cost
from bough.compile.graph.expr import Graph
from bough.compile.graph.program import OperationCount, count
from bough.sparsity import products
from bough.sparsity.ltdl import ltdl, ltdl_product, ltdl_solve
from bough.sparsity.ltl import ltl, ltl_product, ltl_solve, ltl_to_ltdl
from bough.sparsity.selected_inverse import selected_inverse
from bough.sparsity.udut import udut, udut_backward, udut_forward, udut_solve
from strategies import FACTS, TREES

pytestmark = pytest.mark.interpreted


def symbols(graph, array, *shape):
    flat = [graph.input(array, k) for k in range(int(np.prod(shape)))]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(shape)


def operations(kernel, tree, *others):
    """Count a kernel on symbolic packed rows and on further symbolic arrays of these shapes."""
    graph = Graph()
    arrays = [symbols(graph, k, *shape) for k, shape in enumerate([(tree.D1 + tree.n,), *others])]
    kernel(tree.regular, tree.rows, *arrays)
    return count(graph, [x.id for array in arrays for x in array.flat])


KERNELS = {
    "F05 LTL factorize": (ltl, False),
    "F05 LTDL factorize": (ltdl, False),
    "F05 LTL back-substitute": (ltl_solve, True),
    "F05 LTDL back-substitute": (ltdl_solve, True),
    "F05 Lx LTL": (products.lmul, True),
    "F05 Lx LTDL": (products.unit_lmul, True),
    "F05 LTx LTL": (products.ltmul, True),
    "F05 LTx LTDL": (products.unit_ltmul, True),
    "F05 Lix LTL": (products.lsolve, True),
    "F05 Lix LTDL": (products.unit_lsolve, True),
    "F05 LiTx LTL": (products.ltsolve, True),
    "F05 LiTx LTDL": (products.unit_ltsolve, True),
    "S UDU^T": (udut, False),
    "S forward substitution": (udut_forward, True),
    "S back substitution": (udut_backward, True),
}


@pytest.mark.parametrize("name", FACTS["counts"])
@pytest.mark.parametrize("operation", KERNELS)
def test_printed_counts(name, operation):
    kernel, takes_vector = KERNELS[operation]
    tree, printed = TREES[name], FACTS["counts"][name][operation]
    expected = OperationCount(printed["m"], printed["a"], printed["d"], printed["s"])
    assert operations(kernel, tree, *([(tree.n, 1)] if takes_vector else [])) == expected


@pytest.mark.parametrize("name", ["asimo40", "balanced255", "grid256"])
def test_larger_factorizations(name):
    tree = TREES[name]
    assert operations(ltdl, tree) == cost.ltdl(tree)
    assert operations(ltdl_solve, tree, (tree.n, 1)) == cost.ltdl_solve(tree)
    assert operations(udut_solve, tree, (tree.n, 1)) == cost.ltdl_solve(tree)


@pytest.mark.parametrize("name", ["tree1", "humanoid30", "forest3x5", "star6"])
def test_documented_counts(name):
    tree = TREES[name]
    n, D1, D2 = tree.n, tree.D1, tree.D2
    assert operations(ltl_product, tree) == OperationCount(mul=D1 + n + D2, add=D2)
    assert operations(ltdl_product, tree) == OperationCount(mul=D1 + D2, add=D2)
    assert operations(ltl_to_ltdl, tree) == OperationCount(mul=n, div=D1)
    assert operations(products.hmul, tree, (n, 1), (n, 1)) == OperationCount(mul=n + 2 * D1, add=2 * D1)
    assert operations(selected_inverse, tree, (D1 + n,)) == OperationCount(mul=2 * D2, add=2 * D2 - D1, div=n)


def test_columns_multiply_the_cost():
    tree = TREES["humanoid30"]
    one, three = (operations(ltdl_solve, tree, (tree.n, k)) for k in (1, 3))
    assert three == one + one + one
