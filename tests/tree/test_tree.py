"""Trees against the naive definitions, the papers' figures and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

import naive
from bough.errors import TreeError
from bough.tree.tree import Tree
from strategies import FACTS, TREES, parents, regular_parents, trees

pytestmark = pytest.mark.interpreted


@given(parents())
def test_sets_and_sums_match_the_definitions(parent):
    tree = Tree(parent)
    assert (tree.D0, tree.D1, tree.D2) == naive.sums(parent)
    assert tree.density == naive.pattern(parent).mean()
    assert tree.height == tree.depth.max()
    assert list(tree.children(-1)) == naive.children(parent, -1)
    for i in range(len(parent)):
        assert list(tree.path(i)) == naive.path(parent, i)
        assert tree.depth[i] == len(tree.path(i))
        assert set(tree.subtree(i)) == naive.subtree(parent, i)
        assert tree.size[i] == len(tree.subtree(i))
        assert list(tree.children(i)) == naive.children(parent, i)


@given(parents(max_size=12))
def test_common_ancestor(parent):
    tree = Tree(parent)
    for i in range(tree.n):
        for j in range(tree.n):
            assert tree.common_ancestor(i, j) == naive.common_ancestor(parent, i, j)


@given(parents())
def test_depth_first_numbering(parent):
    tree = Tree(parent)
    assert list(tree.order) == naive.depth_first(parent)
    assert list(tree.order[tree.rank]) == list(range(tree.n))
    assert (tree.regular < np.arange(tree.n)).all()
    for k in range(tree.n):
        above = tree.regular[k]
        assert tree.parent[tree.order[k]] == (tree.order[above] if above >= 0 else -1)
        assert set(tree.order[tree.span(k)]) == naive.subtree(parent, tree.order[k])


@given(trees())
def test_a_depth_first_numbering_is_kept(tree):
    again = Tree(tree.regular)
    assert list(again.order) == list(range(tree.n))
    assert list(again.regular) == list(tree.regular)


@given(trees())
def test_levels_rows_and_ancestors(tree):
    assert sorted(k for level in tree.levels for k in level) == list(range(tree.n))
    for d, level in enumerate(tree.levels, start=1):
        assert (tree.depth[tree.order[level]] == d).all()
    assert len(tree.rows) == tree.n + 1
    assert tree.rows[-1] == tree.D1 + tree.n
    for k in range(tree.n):
        row = tree.ancestors[tree.rows[k] : tree.rows[k + 1]]
        assert list(tree.order[row]) == list(tree.path(int(tree.order[k])))


@given(parents())
def test_dh_children_and_counts(parent):
    tree = Tree(parent)
    for i in range(tree.n):
        children = naive.children(parent, i)
        largest = max(children, key=lambda c: tree.size[c], default=-1)  # max keeps the first of equals
        assert tree.dh_child[i] == largest
    counts = tree.dh_counts()
    assert counts.D0a + counts.D0b == tree.D0
    assert counts.D1a + counts.D1b == tree.D1
    assert (counts.D0c, counts.D1c) == (0, 0)
    assert counts.D0b == sum(max(0, len(tree.children(i)) - 1) for i in range(tree.n))


@given(regular_parents(max_size=10), trees(max_size=10))
def test_expansion(dofs, tree):
    dofs = [1 + (dofs[i % len(dofs)] % 3) for i in range(tree.n)]
    expanded = tree.expanded(dofs)
    first, node = expanded.first, expanded.node
    assert expanded.n == sum(dofs) == len(node)
    for i in range(tree.n):
        own = range(first[i], first[i + 1])
        assert (node[own] == i).all()
        assert list(expanded.path(own[-1])) == [k for j in tree.path(i) for k in range(first[j], first[j + 1])]


@pytest.mark.parametrize("name", TREES)
def test_sums_of_the_papers(name):
    tree, fact = TREES[name], FACTS["trees"][name]
    assert (tree.D1, tree.D2) == (fact["D1"], fact["D2"])
    assert tree.D0 == fact.get("D0", tree.D0)
    assert tree.n + 2 * tree.D1 == fact.get("nonzeros", tree.n + 2 * tree.D1)
    assert tree.density == pytest.approx(fact.get("density", tree.density), rel=1e-12)


@pytest.mark.parametrize("name", FACTS["expansions"])
def test_expansions_of_the_papers(name):
    fact = FACTS["expansions"][name]
    expanded = Tree(fact["parent"]).expanded(fact["dofs"])
    first = expanded.first
    assert list(expanded.parent) == fact["expanded"]
    assert list(first[1:] - 1) == fact.get("last", list(first[1:] - 1))


@pytest.mark.parametrize("name", FACTS["dynamics"])
def test_dh_counts_of_the_papers(name):
    tree = Tree(FACTS["expansions"][name]["parent"])
    assert list(tree.dh_counts(floating_roots=[0])) == FACTS["dynamics"][name]["D_abc"]


def test_surplus_children_of_the_base_are_not_counted():
    assert Tree([-1, 0, 0, -1, 3, 3]).dh_counts().D0b == 2


BAD_PARENTS = {
    "cycle": ([2, 0, 1, -1], "0 -> 2 -> 1 -> 0"),
    "cycle below a tail": ([1, 2, 1, -1], "1 -> 2 -> 1"),
    "own parent": ([-1, 1], "node 1 is its own parent"),
    "too high": ([-1, 7], "parent of node 1 is 7"),
    "too low": ([-1, -2], "parent of node 1 is -2"),
    "fraction": ([-1, 0.5], "parent of node 0 is -1.0"),
    "not a number": (np.array([np.nan]), "parent of node 0 is nan"),
    "none": ([-1, None], "parent of node 1 is None"),
    "words": (["base"], "parent of node 0 is 'base'"),
    "bool": ([True, False], "parent of node 0 is True"),
    "table": ([[-1, 0]], "one dimension"),
    "scalar": (3, "one dimension"),
    "ragged": ([[1], [2, 3]], "nested"),
    "huge": ([-1, 2**70], "parent of node 1 is 1180591620717411303424"),
    "huge unsigned": (np.array([2**64 - 1], np.uint64), "parent of node 0 is 18446744073709551615"),
}


@pytest.mark.parametrize("case", BAD_PARENTS)
def test_bad_parents_are_refused_by_name(case):
    parent, message = BAD_PARENTS[case]
    with pytest.raises(TreeError, match=message):
        Tree(parent)


def test_a_long_cycle_is_abridged():
    with pytest.raises(TreeError, match=r"parents of 1000 nodes form a cycle, 0 -> .* -> \.\.\. -> 0"):
        Tree(np.roll(np.arange(1000), 1))


def test_bad_questions():
    tree = Tree([-1, 0])
    for ask in (tree.path, tree.subtree, tree.children, lambda i: tree.common_ancestor(0, i)):
        with pytest.raises(TreeError, match="there is no node 2: expected 0 to 1"):
            ask(2)
    with pytest.raises(TreeError, match="there is no node -1"):
        tree.path(-1)
    with pytest.raises(TreeError, match="node 1 has 0 DoF"):
        tree.expanded([1, 0])
    with pytest.raises(TreeError, match="dofs must be 2 integers"):
        tree.expanded([1, 1, 1])
    with pytest.raises(TreeError, match="node 1 cannot be a floating base"):
        tree.dh_counts(floating_roots=[1])


@given(trees())
def test_identity(tree):
    twin = pickle.loads(pickle.dumps(tree))
    assert twin == tree
    assert hash(twin) == hash(tree)
    assert tree != Tree([*tree.parent, -1])
    assert tree != "tree"
    assert len(tree) == tree.n
    assert f"n={tree.n}" in repr(tree)


def test_frozen():
    parent = np.array([-1, 0])
    tree = Tree(parent)
    parent[1] = -1
    assert list(tree.parent) == [-1, 0]
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1
    with pytest.raises(AttributeError, match="frozen"):
        tree.parent = parent


def test_empty():
    tree = Tree([])
    assert (tree.n, tree.D0, tree.D1, tree.D2, tree.height, tree.density) == (0, 0, 0, 0, 0, 1.0)
    assert tree.levels == ()
    assert len(tree.children(-1)) == len(tree.ancestors) == 0
    assert tree.expanded([]) == tree


def _shuffled(parent):
    new = np.random.default_rng(0).permutation(len(parent))
    relabelled = np.empty_like(parent)
    relabelled[new] = np.where(parent < 0, -1, new[parent])
    return relabelled


MILLION = 1_000_000
BIG = {
    "chain": lambda: np.arange(-1, MILLION - 1),
    "star": lambda: np.full(MILLION, -1),
    "shuffled chain": lambda: _shuffled(np.arange(-1, MILLION - 1)),
    "binary": lambda: (np.arange(MILLION) - 1) // 2,
}


@pytest.mark.parametrize("shape", BIG)
def test_a_million_nodes(shape):
    tree = Tree(BIG[shape]())
    assert (tree.regular < np.arange(MILLION)).all()
    assert (tree.rank[tree.order] == np.arange(MILLION)).all()
    assert tree.size[tree.parent < 0].sum() == MILLION
    if "chain" in shape:
        assert tree.D2 == (MILLION**3 - MILLION) // 6
