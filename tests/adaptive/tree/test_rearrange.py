"""Assembly trees of the user's own with any handles: where one has too many, paths are cut in the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough import adaptive
from bough.adaptive.tree.assembly import assembly_tree
from bough.adaptive.tree.shapes import NestedPairs, rows_of
from bough.zoo.families import _family
from tests.adaptive.linkages import random_forces, random_linkage, simulate


def random_rows(parent, rng):
    """Joints closed in any order: clusters with any number of handles; N is the ground."""
    rows, home = [], list(range(2 * len(parent) + 1))
    for joint in rng.permutation(len(parent)).tolist():
        pair = []
        for x in (parent[joint], joint):
            while home[x] != x:
                x = home[x]
            pair.append(x)
        rows.append(tuple(pair[:: 1 - 2 * int(rng.integers(2))]))
        home[pair[0]] = home[pair[1]] = len(parent) + len(rows)
    return rows


def random_parents(n, rng):
    """Of bodies numbered depth-first; n is the ground."""
    way, parent = [n], []
    for i in range(n):
        del way[max(1, len(way) - int(rng.integers(4))) :]
        parent.append(way[-1])
        way.append(i)
    return parent


def clusters(rows, n):
    found = [frozenset([x]) for x in range(n + 1)]
    for a, b in rows:
        found.append(found[a] | found[b])
    return found


@settings(max_examples=200, deadline=None)
@given(n=st.integers(2, 24), seed=st.integers(0, 10_000))
def test_every_joint_is_closed_once_and_the_last_joint_of_a_path_at_its_root(n, seed):
    rng = np.random.default_rng(seed)
    parent = np.array(random_parents(n, rng))
    rank = rng.permutation(n)
    tree = assembly_tree(np.where(parent == n, -1, parent), rank=rank)
    assert sorted(tree.body.tolist()) == list(range(n))
    assert set(tree.handles.tolist()) <= {1, 2}
    made = clusters(rows_of(tree).rows, n)
    assert made[-1] == frozenset(range(n + 1))
    chain = assembly_tree(np.arange(-1, n - 1), rank=np.append(n, rank[1:]))
    for node, cluster in enumerate(clusters(rows_of(chain).rows, n)[n + 1 :]):
        inner = [k for k in cluster if k < n and (k - 1 if k else n) in cluster]
        assert chain.body[node] == max(inner, key=lambda k: rank[k] if k else n)


@pytest.mark.parametrize("seed", range(6))
def test_any_tree_with_any_handles_gives_the_accelerations_of_plain_steps(seed):
    twin = random_linkage(seed, 16, floating=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    q, forces = twin.model.random_configuration(rng), random_forces(twin, rng)
    expected = simulate(twin.model, q, forces, method="aba").accelerations()
    link = adaptive.QuasiStatics(twin.model, method="dca").solver.assemble().link
    parent = [p if p >= 0 else len(link.parent) for p in link.parent.tolist()]
    rows = NestedPairs(tuple(random_rows(parent, rng)))
    for method in ("dca", "adaptive"):
        found = simulate(twin.model, q, forces, method=method, assembly=rows).accelerations()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_tree_with_two_ends_a_cluster_stays_and_one_with_three_is_replaced():
    bush = _family("random_tree", np.array([-1, 0, 1, 2, 1, 4, 1]), 0, "random")

    def found(pairs):
        sim = adaptive.QuasiStatics(bush, adaptive.energy(0.1), "adaptive", assembly=pairs)
        return set(clusters(rows_of(sim.solver.assemble().plan).rows, 7))

    few = found((((((0, 1), 2), (4, 5)), 6), 3))  # 0 1 2 goes on at 1 and at 2
    assert frozenset({0, 1, 2}) not in few
    assert frozenset({4, 5}) in few
    as_given = found((0, (((1, (2, 3)), (4, 5)), 6)))
    assert {frozenset({2, 3}), frozenset({1, 2, 3}), frozenset({1, 2, 3, 4, 5})} <= as_given
