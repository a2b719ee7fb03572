"""Records lie one behind the other, each as long as its joint needs."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree
from bough.adaptive.tree.layout import IDENTITY, ZERO3, joint_places, placement, record_size, two_handled

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(3))
def test_records_and_handles(seed):
    tree = PlainTree(seed)
    plan = tree.plan
    for n, cluster in tree.clusters():
        d = int(plan.dof[plan.body[n] + 1] - plan.dof[plan.body[n]])
        assert plan.offset[n + 1] - plan.offset[n] == record_size(plan.handles[n], d)
        at = joint_places(plan, n)
        assert at.d == d
        assert (at.u2 if plan.handles[n] == 1 else at.u2 + 6 * d) == plan.offset[n + 1] - plan.offset[n]
        assert two_handled(plan, n) == (len(cluster.handles) == 2)
        # the near body is the one that no other body of the cluster carries
        carried = {int(plan.parent[b]) for b in cluster.real} - set(cluster.real)
        assert (cluster.near == len(plan.parent)) == (carried == {-1} and len(plan.parent) in cluster.bodies)
    assert not two_handled(plan, -1)
    assert placement(plan, tree.st, -1) == (IDENTITY, ZERO3)
    assert np.asarray(placement(plan, tree.st, 0)[0]).shape == (9,)
