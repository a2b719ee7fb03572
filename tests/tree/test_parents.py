"""Numberings of trees: the sweep where parents come first, and doubling for any order, are the same."""

from __future__ import annotations

import numpy as np
import pytest

from bough.tree import Tree, parents
from bough.tree.parents import depth_and_size, depth_first_rank, numbering


@pytest.mark.parametrize("n", [0, 1, 2, 9, 60])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("compiled", [False, True])
def test_the_sweep_and_doubling_agree(n, seed, compiled, monkeypatch):
    monkeypatch.setattr(parents, "COMPILED", 0 if compiled else 1_000)
    rng = np.random.default_rng(seed)
    parent = rng.integers(-1, np.arange(n)) if n else np.zeros(0, np.int64)
    depth, size = depth_and_size(parent)
    for found, expected in zip(numbering(parent), (depth, size, depth_first_rank(parent, size)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_sorted_tree_is_the_tree_of_the_regular_parents(seed):
    rng = np.random.default_rng(seed)
    tree = Tree(rng.integers(-1, np.arange(40)))
    made, expected = tree.sorted(), Tree(tree.regular)
    for name in Tree.__annotations__:
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
    assert made == expected
