"""What joints of every type transmit and how they yield: W, U and D beside their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import TYPES
from adaptive.trees import PlainTree
from bough.adaptive.tree.algebra import constrain
from bough.adaptive.tree.layout import D_, K_, U_, W_
from bough.joints import freedom

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("armature", [0.0, 0.7])
def test_a_joint_between_two_clusters(kind, armature):
    tree = PlainTree(1, 3, (kind,))
    plan, st = tree.plan, tree.st
    m = tree.m._replace(armature=np.full(len(tree.m.axis), armature))
    A = tree.rng.normal(size=(6, 6))
    K = A @ A.T + np.eye(6)
    st.scratch[K_, :, :6] = K
    own = range(plan.dof[1], plan.dof[2])
    constrain(m, plan, st, 1)
    S = np.array([freedom(m, k, 1.0) if plan.simple[1] else st.freedoms[k] for k in own]).T
    d, V = len(own), np.linalg.inv(K)
    D = np.linalg.inv(S.T @ V @ S + armature * np.eye(d))
    U = D @ S.T @ V
    np.testing.assert_allclose(st.scratch[D_, :d, :d], D, atol=1e-10)
    np.testing.assert_allclose(st.scratch[U_, :d, :6], U, atol=1e-10)
    np.testing.assert_allclose(st.scratch[W_, :, :6], V - V @ S @ U, atol=1e-10)
