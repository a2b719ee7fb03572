"""Clusters that turn as one body: what release would do, from their columns, beside dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import Cluster, PlainTree
from bough.adaptive.tree.layout import RIGID
from bough.adaptive.tree.rigid import bias_of, cluster_force, columns, make_columns, released_square
from bough.dynamics.newton_euler import squares

pytestmark = pytest.mark.interpreted


def turning(seed):
    """A tree with columns, and its clusters turning."""
    tree, x = PlainTree(seed, keeps=RIGID), make_columns()
    for n in tree.nodes:
        b = tree.plan.body[n]
        Q = np.zeros(6)
        Q[: tree.plan.dof[b + 1] - tree.plan.dof[b]] = tree.st.tau[tree.plan.dof[b] : tree.plan.dof[b + 1]]
        columns(tree.m, tree.plan, tree.st, n, Q, x)
    for n in tree.nodes:
        ground = tree.plan.near[n] == len(tree.plan.parent)
        w = np.zeros(3) if ground else tree.rng.normal(size=3)
        yield tree, n, Cluster(tree, n, w), squares(tuple(w))


@pytest.mark.parametrize("seed", range(3))
def test_handles_of_a_turning_cluster_accelerate_as_dense_equations_say(seed):
    for tree, n, cluster, S in turning(seed):
        a = cluster.accelerations()
        scale = max(1.0, *(np.abs(x).max() for x in a.values()))
        for b, far in zip(cluster.handles, (False, True), strict=False):
            np.testing.assert_allclose(bias_of(tree.m, tree.plan, tree.st, n, far, S, 1.0), a[b], atol=1e-8 * scale)
        if not cluster.ground:
            F = sum(cluster.X[b].T @ tree.st.force[tree.plan.last[b]] for b in cluster.real)
            np.testing.assert_allclose(cluster_force(tree.plan, tree.st, n), F, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_release_of_a_turning_cluster_adds_what_dense_equations_say(seed):
    for tree, n, cluster, S in turning(seed):
        f = tuple(tuple(x) for x in tree.rng.normal(size=(2, 6)))
        found, _ = released_square(tree.m, tree.plan, tree.st, n, S, *f)
        assert found == pytest.approx(cluster.released(*f), rel=1e-6, abs=1e-8)
