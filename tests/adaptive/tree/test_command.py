"""Orders to a tree: what has changed is redone as if all was, and questions are answered."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adaptive.tree.test_whole import front
from adaptive.trees import PlainTree
from bough.adaptive.potentials import Potentials
from bough.adaptive.tree.bounded_pass import DONE, MET, OVER_LINKAGE
from bough.adaptive.tree.contract import no_forces
from bough.adaptive.tree.layout import RIGID, TOTAL, make_clock, make_keeps
from bough.adaptive.tree.passes import CHANGED, POSES, REBUILD, REFINE, SOLVE, Order, command

pytestmark = pytest.mark.interpreted


class Told:
    """A tree that takes orders as plain Python."""

    def __init__(self, seed):
        self.tree, self.queue = PlainTree(seed), None
        self.queue = front(self.tree)
        self.loads, self.clock = no_forces(len(self.tree.st.force)), make_clock()

    def __call__(self, what, number=(), out=None, limits=(0.0, 0.0, 0.0)):
        t = self.tree
        order = Order(what, OVER_LINKAGE, limits, math.inf, np.array(number, np.int64), out, make_keeps(TOTAL | RIGID))
        return command(
            t.m, t.plan, t.st, self.queue, self.loads, self.clock, order, Potentials(t.model, t.st.q, t.st.tau).springs
        )


def test_what_has_changed_is_redone_as_if_all_was():
    told = Told(1)
    told(REBUILD)
    t = told.tree
    t.st.tau[2] += 1.0
    t.st.force[t.plan.last[4]] += 1.0
    joint = int(np.searchsorted(t.plan.dof, 2, side="right")) - 1
    told(CHANGED, [t.plan.node_of[joint], t.plan.leaf_up[4]])
    found = t.st.record.copy()
    told(REBUILD)
    np.testing.assert_allclose(found, t.st.record, rtol=1e-12, atol=1e-12)


def test_refined_to_the_end_it_is_the_exact_solution():
    told = Told(2)
    told(REBUILD)
    told(SOLVE)
    exact = told.tree.st.qdd.copy()
    told.tree.st.qdd[:] = 0.0
    assert told(REFINE, [1]) != MET
    assert told.queue.count[DONE] == 1
    assert told(REFINE, [64]) == MET
    np.testing.assert_allclose(told.tree.st.qdd, exact, rtol=1e-9, atol=1e-9)


def test_poses_of_some_bodies():
    told, out = Told(3), np.zeros((1, 12))
    told(POSES, [0], out)
    np.testing.assert_allclose(out[0], told.tree.st.X[told.tree.plan.last[0]], atol=1e-14)
