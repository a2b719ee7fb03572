"""Assembly trees of the user's own with any handles: what has too many is taken apart, and the solution is the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough import adaptive
from bough.adaptive.tree.shapes import GivenPairs, _ends, _joins, rearranged, rows_of
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
    wide = int(rng.integers(1, 8))
    return [n if i == 0 or rng.random() < 0.1 else int(rng.integers(max(0, i - wide), i)) for i in range(n)]


def clusters(rows, n):
    found = [frozenset([x]) for x in range(n + 1)]
    for a, b in rows:
        found.append(found[a] | found[b])
    return found


@settings(max_examples=200, deadline=None)
@given(n=st.integers(1, 24), seed=st.integers(0, 10_000))
def test_no_cluster_has_more_than_two_ends_and_what_can_stay_does(n, seed):
    rng = np.random.default_rng(seed)
    parent = random_parents(n, rng)
    rows = random_rows(parent, rng)
    new = rearranged(_joins(None, None, rows, parent), parent)
    assert len(new) == n
    assert _ends(_joins(None, None, new, parent), parent) is not None
    now = set(clusters(new, n))
    for cluster in clusters(rows, n):
        out = [k for k in range(n) if parent[k] in cluster and k not in cluster]
        top = n if n in cluster else min(x for x in cluster if parent[x] not in cluster)
        if all(parent[k] == top for k in out) or (len(out) == 1 and top != n):
            assert cluster in now


@pytest.mark.parametrize("seed", range(6))
def test_any_tree_with_any_handles_gives_the_accelerations_of_plain_steps(seed):
    twin = random_linkage(seed, 16, floating=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    q, forces = twin.model.random_configuration(rng), random_forces(twin, rng)
    expected = simulate(twin.model, q, forces, method="aba").accelerations()
    link = adaptive.QuasiStatics(twin.model, method="dca").solver.assemble().link
    parent = [p if p >= 0 else len(link.parent) for p in link.parent.tolist()]
    rows = GivenPairs(tuple(random_rows(parent, rng)))
    for method in ("dca", "adaptive"):
        found = simulate(twin.model, q, forces, method=method, assembly=rows).accelerations()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_cluster_of_three_ends_is_replaced_and_the_others_stay():
    bush = _family("random_tree", np.array([-1, 0, 1, 2, 1, 4, 1]), 0, "random")

    def found(pairs):
        sim = adaptive.QuasiStatics(bush, adaptive.energy(0.1), "adaptive", assembly=pairs)
        return set(clusters(rows_of(sim.solver.assemble().plan).rows, 7))

    few = found((((((0, 1), 2), (4, 5)), 6), 3))  # 0 1 2 goes on at 1 and at 2
    assert {frozenset({4, 5}), frozenset({0, 1, 2, 4, 5, 6})} <= few
    assert frozenset({0, 1, 2}) not in few
    as_given = found((0, (((1, (2, 3)), (4, 5)), 6)))
    assert {frozenset({2, 3}), frozenset({1, 2, 3}), frozenset({1, 2, 3, 4, 5})} <= as_given
