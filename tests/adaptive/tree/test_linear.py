"""b of every cluster beside dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree
from bough.adaptive.tree.algebra import linear
from bough.adaptive.tree.layout import B1, B2, make_keeps

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(3))
def test_handles_accelerate_as_dense_equations_say_also_under_other_forces(seed):
    tree = PlainTree(seed)
    tree.st.force[tree.plan.last] += tree.rng.normal(size=(len(tree.plan.last), 6))
    tree.st.tau[:] += tree.rng.normal(size=len(tree.st.tau))
    for n in tree.nodes:
        linear(tree.m, tree.plan, tree.st, n, make_keeps(0))
    for n, cluster in tree.clusters():
        a = cluster.accelerations()
        for b, at in zip(cluster.handles, (B1, B2), strict=False):
            found = tree.record(n)[at : at + 6]
            np.testing.assert_allclose(found, a[b], atol=1e-9 * max(1.0, *(np.abs(x).max() for x in a.values())))
