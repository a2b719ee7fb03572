"""Numberings of trees, whether parents come first or not."""

from __future__ import annotations

import numpy as np
import pytest

from bough.tree import Tree, parents
from bough.tree.parents import numbering


@pytest.mark.parametrize("n", [0, 1, 2, 9, 60])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_by_their_definitions(n, seed, compiled, monkeypatch):
    """Of a tree with parents first, and of the same tree with its nodes shuffled."""
    monkeypatch.setattr(parents, "COMPILED", 0 if compiled else 1_000)
    rng = np.random.default_rng(seed)
    parent = rng.integers(-1, np.arange(n)) if n else np.zeros(0, np.int64)
    for given in (parent, shuffled(parent, rng)):
        paths = [path(given.tolist(), i) for i in range(n)]
        depth, size, rank = numbering(given)
        assert depth.tolist() == [len(p) for p in paths]
        assert size.tolist() == [sum(i in p for p in paths) for i in range(n)]
        assert np.argsort(rank).tolist() == sorted(range(n), key=lambda i: paths[i])


def shuffled(parent, rng):
    order = rng.permutation(len(parent))
    return np.array([-1 if parent[i] < 0 else np.flatnonzero(order == parent[i])[0] for i in order], np.int64)


def path(parent, i):
    """From the root to node i, itself included."""
    return [*path(parent, parent[i]), i] if i >= 0 else []


@pytest.mark.parametrize("seed", range(5))
def test_a_sorted_tree_is_the_tree_of_the_regular_parents(seed):
    rng = np.random.default_rng(seed)
    tree = Tree(rng.integers(-1, np.arange(40)))
    made, expected = tree.sorted(), Tree(tree.regular)
    for name in Tree.__annotations__:
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
    assert made == expected
