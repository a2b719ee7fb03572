"""LTDL in blocks: unbranched stretches beside the dense definition, with every size of tile and block, and its cost."""

from __future__ import annotations

import numpy as np
import pytest

from bough import cost
from bough.compile.graph.expr import Graph
from bough.compile.graph.program import count
from bough.compile.settings import interpreted
from bough.sparsity import ltdl, stretch, to_dense
from bough.sparsity.stretch import ltdl_in_blocks
from bough.tree import Tree
from strategies import random_matrix, relative_error


def long_limbs(*lengths: int, spine: int = 0) -> Tree:
    """A spine, and limbs that hang on it, one after the other on nodes from its end backwards."""
    parent = list(range(-1, spine - 1))
    for number, length in enumerate(lengths):
        parent.append(spine - 1 - number if spine else -1)
        parent.extend(range(len(parent) - 1, len(parent) + length - 2))
    return Tree(parent)


TREES = {
    "chain 63": long_limbs(63),
    "chain 64": long_limbs(64),
    "chain 71": long_limbs(71),
    "chain 200": long_limbs(200),
    "two limbs on a spine": long_limbs(90, 70, spine=50),
    "many limbs on a spine": long_limbs(9, 1, 1, 17, 8, 3, 64, 2, spine=80),
    "two robots": long_limbs(70, 66),
    "any numbering": Tree([149 - p if p >= 0 else -1 for p in range(148, -2, -1)]),
}


@pytest.mark.skipif(interpreted(), reason="long loops: the small blocks below run interpreted")
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_reproduce_the_matrix(name, dtype):
    tree = TREES[name]
    H = random_matrix(tree, 1).astype(dtype)
    factor = ltdl(H, tree)
    L, D = factor.L.astype(float), factor.D.astype(float)
    assert relative_error(L.T @ np.diag(D) @ L, H) < 20 * np.finfo(dtype).eps
    assert relative_error(factor.reconstruct(), H) < 20 * np.finfo(dtype).eps


@pytest.mark.skipif(interpreted(), reason="long loops")
def test_rows_longer_than_a_tile():
    tree = long_limbs(stretch.TILE + 70, 60, spine=stretch.TILE)
    H = random_matrix(tree, 2)
    factor = ltdl(H, tree)
    x = np.random.default_rng(0).normal(size=tree.n)
    assert relative_error(factor.solve(H @ x), x) < 1e-9
    assert relative_error(factor.reconstruct(), H) < 1e-14


@pytest.mark.parametrize("sizes", [(8, 16), (8, 8), (16, 8), (24, 64), (32, 24), (192, 256)])
@pytest.mark.parametrize("tree", [long_limbs(50), long_limbs(13, 20, spine=21), long_limbs(9, 8, 7, 2, 1, 1, spine=20)])
def test_small_blocks_give_the_same_factor(sizes, tree, monkeypatch):
    """As plain Python, so that the sizes can be changed: block and tile."""
    H = random_matrix(tree, 3)
    expected = reference(H, tree)
    monkeypatch.setattr(stretch, "DEEP", 8)
    for name, size in zip(("BLOCK", "TILE"), sizes, strict=True):
        monkeypatch.setattr(stretch, name, size)
    packed = H[np.repeat(tree.order, tree.depth[tree.order]), tree.order[tree.ancestors]]
    ltdl_in_blocks(tree.regular, tree.rows, packed, np.zeros(stretch.panel_size(tree.height)))
    assert relative_error(to_dense(packed, tree, "lower"), expected) < 1e-13


def reference(H, tree):
    """L below the diagonal and D on it, from the definition, children before parents."""
    H = H.copy()
    for k in tree.order[::-1]:
        path = tree.path(k)[:-1]
        row = H[k, path].copy()
        H[np.ix_(path, path)] -= np.outer(row, row) / H[k, k]
        H[k, path] = row / H[k, k]
    lower = np.zeros_like(H)
    for k in range(tree.n):
        lower[k, tree.path(k)] = H[k, tree.path(k)]
    return lower


@pytest.mark.parametrize("tree", [long_limbs(100), long_limbs(12, 30, spine=60)])
def test_blocks_cost_what_the_plain_loop_costs(tree):
    graph = Graph()
    H = np.empty(tree.D1 + tree.n, dtype=object)
    H[:] = [graph.input(0, p) for p in range(len(H))]
    ltdl_in_blocks(tree.regular, tree.rows, H, np.zeros(stretch.panel_size(tree.height), dtype=object))
    assert count(graph, [x.id for x in H]) == cost.ltdl(tree)
