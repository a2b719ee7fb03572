"""Forces and joint accelerations on the way down, beside dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree
from bough.adaptive.tree.algebra import hand_down, joint_acceleration, joint_force, total_acceleration

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(3))
def test_joints_answer_forces_on_handles(seed):
    tree = PlainTree(seed)
    m, plan, st = tree.m, tree.plan, tree.st
    for n, cluster in tree.clusters():
        f1, f2 = (tuple(f) for f in tree.rng.normal(size=(2, 6)))
        y = cluster.motion(f1, f2)
        qdd = dict(zip(cluster.dofs.tolist(), y[len(y) - len(cluster.dofs) :], strict=True))
        waiting, total = [(n, f1, f2 if len(cluster.handles) == 2 else (0.0,) * 6)], 0.0
        expected = total_acceleration(plan, st, *waiting[0])
        while waiting:
            k, a, b = waiting.pop()
            total += joint_acceleration(m, plan, st, k, a, b)
            own = range(plan.dof[plan.body[k]], plan.dof[plan.body[k] + 1])
            np.testing.assert_allclose([st.qdd[m.v_index[d]] for d in own], [qdd[d] for d in own], rtol=1e-7, atol=1e-8)
            a1, a2, c1, c2 = hand_down(plan, st, k, a, b)
            below = ((plan.left[k], a1, a2), (plan.right[k], c1, c2))
            waiting += [child for child in below if child[0] >= 0]
        assert total == pytest.approx(expected, rel=1e-7)


def test_what_a_joint_transmits_is_what_the_far_side_needs():
    tree = PlainTree(3)
    n = len(tree.plan.left) - 1
    _, cluster = tree.clusters()[n]
    a, b = cluster.accelerations(), int(tree.plan.body[n])
    below = [k for k in cluster.real if _hangs_on(tree.plan, k, b)]
    back = np.linalg.inv(cluster.X[b])
    need = sum((cluster.X[k] @ back).T @ (cluster.I[k] @ a[k] - cluster.F[k]) for k in below)
    f = joint_force(tree.plan, tree.st, n, (0.0,) * 6, (0.0,) * 6)
    np.testing.assert_allclose(f, need, rtol=1e-8, atol=1e-8)


def _hangs_on(plan, k, b):
    while k > b:
        k = plan.parent[k]
    return k == b
