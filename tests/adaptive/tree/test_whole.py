"""Passes over the whole tree, beside the dense solution and the naive oracle."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree
from bough.adaptive.tree.bounded_pass import make_queue
from bough.adaptive.tree.passes import body_poses, down_all, noise, transmit

pytestmark = pytest.mark.interpreted


def front(tree):
    nodes = len(tree.plan.left)
    return make_queue(nodes, int(tree.plan.depth[0]), np.zeros(nodes, np.int8))


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_and_forces_of_all_joints(seed):
    tree = PlainTree(seed)
    m, plan, st, pq = tree.m, tree.plan, tree.st, front(tree)
    _, whole = tree.clusters()[-1]
    y, a = whole.motion(), whole.accelerations()
    total = down_all(m, plan, st, pq, np.zeros(0))
    np.testing.assert_allclose(st.qdd[m.v_index], y, atol=1e-9 * np.abs(y).max())
    assert total == pytest.approx(y @ y, rel=1e-9)
    bodies, out = np.arange(len(plan.parent)), np.zeros((len(plan.parent), 6))
    transmit(plan, st, pq, bodies, out)
    for b in bodies:  # what a body is given through its joint, less what it gives, moves it
        given = out[b] + whole.F[b]
        for c in bodies[plan.parent == b]:
            given = given - (whole.X[c] @ np.linalg.inv(whole.X[b])).T @ out[c]
        np.testing.assert_allclose(given, whole.I[b] @ a[b], atol=1e-8 * np.abs(out).max())


def test_poses_are_products_of_placements():
    tree = PlainTree(5, 9)
    bodies = np.arange(len(tree.plan.parent))
    out, world = np.zeros((len(bodies), 12)), []
    body_poses(tree.plan, tree.st, front(tree), bodies, out)
    for b in bodies:
        R, p = tree.pose(b)
        if tree.plan.parent[b] >= 0:
            above, origin = world[tree.plan.parent[b]]
            R, p = above @ R, origin + above @ p
        world.append((R, p))
        np.testing.assert_allclose(out[b], [*R.ravel(), *p], atol=1e-12)


def test_noise_is_measured_against_what_is_given_as_true():
    tree = PlainTree(2)
    pq, found = front(tree), np.zeros(7)
    down_all(tree.m, tree.plan, tree.st, pq, np.zeros(0))
    true = tree.st.qdd.copy()
    off = true.copy()
    off[3] += 0.01
    nodes = len(tree.plan.left)
    noise(tree.m, tree.plan, tree.st, pq, np.zeros(nodes), np.zeros(nodes), off, found)
    np.testing.assert_allclose(off, true - (true + 0.01 * np.eye(len(true))[3]), atol=1e-12)
    assert found[4] == pytest.approx(1e-4, rel=1e-6)
    assert found[5] == pytest.approx(1e-4, rel=1e-6)
