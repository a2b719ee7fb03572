"""Leaves: free rigid bodies."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree, six_by_six
from bough.adaptive.tree.blocks import free_body, leaf_acceleration, leaf_inverse, load_leaf
from bough.adaptive.tree.layout import TMP

pytestmark = pytest.mark.interpreted


def test_a_leaf_yields_as_its_inertia_says():
    tree = PlainTree(0)
    for leaf in range(len(tree.plan.parent)):
        i = tree.plan.leaf_body[leaf]
        I, f = six_by_six(tree.m.inertia[tree.plan.last[i]]), tree.rng.normal(size=6)
        np.testing.assert_allclose(I @ free_body(leaf_inverse(tree.plan, i), tuple(f)), f, atol=1e-9)
        load_leaf(tree.plan, tree.st, leaf, TMP)
        np.testing.assert_allclose(tree.st.scratch[TMP, :, :6] @ I, np.eye(6), atol=1e-9)
        own = tree.st.force[tree.plan.last[i]]
        np.testing.assert_allclose(
            I @ leaf_acceleration(tree.m, tree.plan, tree.st, leaf, tuple(f)), f + own, atol=1e-9
        )
