"""Potentials of joints: slopes and curvatures are derivatives, and enter torques and armatures."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.trees import PlainTree
from bough.adaptive.potentials import BARRIER, COSINE, HARMONIC, Potentials, spring_all, spring_energy, term
from bough.adaptive.tree.layout import make_shared

pytestmark = pytest.mark.interpreted
VALUES = {HARMONIC: (2.0, 0.3, 0.0, 0.0), COSINE: (1.5, 3.0, 0.2, 0.0), BARRIER: (-1.0, 1.2, 0.4, 0.1)}


def springs(tree, kind):
    """One term on every freedom."""
    p, n = Potentials(tree.model, *make_shared(tree.model)[::2]).springs, len(tree.m.axis)
    value = np.tile(VALUES[kind], (n, 1))
    each = np.arange(n)
    return p._replace(begin=each, end=each + 1, kind=np.full(n, kind), value=value, h=np.array([0.5]))


@pytest.mark.parametrize("kind", VALUES)
def test_derivatives_of_a_term(kind):
    p, d = springs(PlainTree(0, 2, ("revolute",)), kind), 1e-5
    for x in (-1.3, -0.95, -0.2, 0.7, 1.15, 1.5):  # beyond the barrier, too
        before, now, after = (term(p, 0, x + s) for s in (-d, 0.0, d))
        assert now[1] == pytest.approx((after[0] - before[0]) / (2 * d), rel=1e-6, abs=1e-6)
        assert now[2] == pytest.approx((after[1] - before[1]) / (2 * d), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", VALUES)
def test_torques_are_minus_the_slope_of_the_energy(kind):
    tree = PlainTree(1, 4, ("revolute", "prismatic", "universal"))
    p, q, d = springs(tree, kind), 0.5 * np.ones(tree.model.nq), 1e-6
    spring_all(tree.m, p, q)
    at = p.x.copy()
    for k, e in enumerate(np.eye(tree.model.nv)[tree.m.v_index]):
        slope = (spring_energy(tree.m, p, q + d * e) - spring_energy(tree.m, p, q - d * e)) / (2 * d)
        assert p.tau[k] == pytest.approx(-slope, rel=1e-6, abs=1e-8)
        x = at[tree.m.v_index[k]]
        assert p.armature[k] == pytest.approx(0.5 * max(term(p, k, x)[2], 0.0), rel=1e-9)
