"""Clusters as rigid bodies: their inertia, and what release of their joints would add."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree, six_by_six
from bough.adaptive.tree.rigid import cluster_inertia, released_energy

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(3))
def test_release_adds_what_dense_equations_say(seed):
    tree = PlainTree(seed)
    for n, cluster in tree.clusters():
        f = tuple(tuple(x) for x in tree.rng.normal(size=(2, 6)))
        found = released_energy(tree.plan, tree.st, n, *f)
        assert found == pytest.approx(cluster.released(*f), rel=1e-6, abs=1e-9)
        if not cluster.ground:
            I = six_by_six(cluster_inertia(tree.m, tree.plan, tree.st, n))
            np.testing.assert_allclose(
                I, sum(cluster.X[b].T @ cluster.I[b] @ cluster.X[b] for b in cluster.real), atol=1e-9
            )
