"""Where bodies are: placements beside the naive oracle, and joints that move by a finite step."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.trees import PlainTree
from bough.adaptive.tree.layout import advance_body, compose, cross_pose, place_body

pytestmark = pytest.mark.interpreted


def world(tree):
    """(4, 4) of every body, from the placements in the state."""
    found = []
    for b in range(len(tree.plan.parent)):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = tree.pose(b)
        p = tree.plan.parent[b]
        found.append(T if p < 0 else found[p] @ T)
    return found


def naive_world(tree):
    placed = naive.Mechanism(tree.twin.bodies, tree.st.q.copy(), np.zeros(tree.model.nv)).placement
    first = tree.m.v_index[tree.plan.dof[:-1]]  # bodies are in another order than the user's
    users = [next(j for j, joint in enumerate(tree.model.joints) if joint.v.start <= v < joint.v.stop) for v in first]
    return [np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]) for R, p in (placed[j] for j in users)]


@pytest.mark.parametrize("seed", range(3))
def test_bodies_move_as_the_oracle_says(seed):
    """Frames of the kernels differ from the user's by what is fixed in the bodies."""
    tree = PlainTree(seed)
    fixed = [np.linalg.inv(A) @ B for A, B in zip(world(tree), naive_world(tree), strict=True)]
    tree.st.qdd[:] = tree.rng.normal(size=tree.model.nv)
    expected = tree.model.integrate(tree.st.q, 0.3 * tree.st.qdd)
    for b in range(len(tree.plan.parent)):
        advance_body(tree.m, tree.plan, tree.st, b, 0.3)
        place_body(tree.m, tree.plan, tree.st, b)
    np.testing.assert_allclose(tree.st.q, expected, atol=1e-12)
    for A, F, B in zip(world(tree), fixed, naive_world(tree), strict=True):
        np.testing.assert_allclose(A @ F, B, atol=1e-10)


def test_cross_poses_lead_from_the_near_to_the_far_body():
    tree = PlainTree(4, 9)
    placed = [*world(tree), np.eye(4)]
    for n, cluster in tree.clusters():
        if len(cluster.handles) == 2:
            near, far = (placed[b] for b in cluster.handles)
            R, p = cross_pose(tree.plan, tree.st, n)
            T = np.linalg.inv(near) @ far
            np.testing.assert_allclose(np.reshape(R, (3, 3)), T[:3, :3], atol=1e-12)
            np.testing.assert_allclose(p, T[:3, 3], atol=1e-12)
            back = compose((tuple(T[:3, :3].T.ravel()), tuple(-T[:3, :3].T @ T[:3, 3])), (R, p))
            np.testing.assert_allclose(back[0], np.eye(3).ravel(), atol=1e-12)
