"""Assembly trees: at most two handles, low, and every joint once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.adaptive.tree.assembly import assembly_tree
from bough.tree.tree import Tree
from strategies import regular_parents

RNG = np.random.default_rng(0)


def window(n, width):
    """At most three children each, on one of the bodies shortly before."""
    parent, free = [-1], [4]
    for i in range(1, n):
        near = [j for j in range(max(0, i - width), i) if free[j]]
        j = int(RNG.choice(near))
        parent.append(j)
        free[j] -= 1
        free.append(3)
    return parent


# name: parents, height beyond log2 n allowed (ADAPTIVE measurements, and one for the ground)
TREES = {
    "chain": (np.arange(-1, 4999), 3),
    "millipede": (
        np.concatenate([np.arange(-1, 1499), *(np.r_[3 * k, 1500 + 10 * k + np.arange(9)] for k in range(350))]),
        6,
    ),
    "molecule": (window(5000, 30), 11),
    "star": (np.array([-1] + [0] * 4999), 5),
    "forest": (np.full(5000, -1), 3),
    "bushy molecule": (window(3000, 300), 11),
    "binary": (np.array([(i - 1) // 2 if i else -1 for i in range(4095)]), 13),
    "random recursive": (np.array([-1] + [int(RNG.integers(0, i)) for i in range(1, 5000)]), 12),
    "broom": (np.array(list(range(-1, 2499)) + [2499] * 2500), 5),
}


@pytest.mark.parametrize("name", TREES)
def test_every_topology_is_low(name):
    parent, extra = TREES[name]
    tree = assembly_tree(Tree(parent).regular)
    check(tree, Tree(parent).regular)
    assert tree.depth.max() <= np.log2(len(parent)) + extra


@given(regular_parents(40))
def test_any_tree_is_put_together_once(parent):
    regular = Tree(parent).regular
    check(assembly_tree(regular), regular)


@given(st.integers(0, 2**32 - 1))
def test_hubs_are_split_into_copies(seed):
    rng = np.random.default_rng(seed)
    parent = Tree(rng.integers(-1, 4, 40).clip(-1, np.arange(40) - 1)).regular
    check(assembly_tree(parent), parent)


def check(tree, parent):
    """Handles are the bodies with joints to the outside: count them from the definition."""
    n, nodes = len(parent), len(tree.left)
    assert sorted(tree.body[tree.body >= 0].tolist()) == list(range(n))
    assert (tree.body[tree.node_of] == np.arange(n)).all()
    assert tree.copies.sum() == len(tree.leaf_body)
    assert nodes == len(tree.leaf_body) - 1
    if n > 200:
        return
    inside = [None] * nodes
    for k in range(nodes):
        sets = [{int(tree.leaf_body[~c])} if c < 0 else inside[c][0] for c in (tree.left[k], tree.right[k])]
        joints = set().union(*(inside[c][1] for c in (tree.left[k], tree.right[k]) if c >= 0))
        if tree.body[k] >= 0:
            joints.add(int(tree.body[k]))
            above = int(parent[tree.body[k]]) if parent[tree.body[k]] >= 0 else n
            assert above in sets[0]
            assert int(tree.body[k]) in sets[1]
        inside[k] = (sets[0] | sets[1], joints)
        bodies = inside[k][0]
        open_ = {b for b in bodies - {n} if b not in joints}
        open_ |= {
            int(p) if p >= 0 else n for c, p in enumerate(parent) if c not in joints and (p if p >= 0 else n) in bodies
        }
        assert len(open_) <= 2
        if n not in bodies:
            assert len(open_) <= tree.handles[k]
