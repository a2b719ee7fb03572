"""Phi of every cluster beside dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree, general, symmetric
from bough.adaptive.tree.layout import PHI1, PHI2, PHI12

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_yields_as_its_dense_equations_say(seed):
    tree = PlainTree(seed)
    for n, cluster in tree.clusters():
        J = np.concatenate([cluster.J[b] for b in cluster.handles])
        Phi, r = J @ np.linalg.solve(cluster.M, J.T), tree.record(n)
        found = symmetric(r, PHI1)
        if len(cluster.handles) == 2:
            cross = general(r, PHI12)
            found = np.block([[found, cross], [cross.T, symmetric(r, PHI2)]])
        np.testing.assert_allclose(found, Phi, atol=1e-9 * max(np.abs(Phi).max(), 1.0))
