"""Torques, springs, dampers and stops of a part of a linkage are those of its joints in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.motion.witness import Witness
from bough.adaptive.engines.sweeps import laws_of

FIELDS = ("tau", "damping", "rotor", "friction", "lower", "upper")


@pytest.mark.parametrize("seed", range(2))
def test_a_part_has_what_its_joints_have(seed):
    w = Witness(seed)
    region = w.region()
    laws = region.solver.laws._replace(damping=w.rng.uniform(size=len(region.solver.laws.tau)))
    clusters = region.linkage.clusters
    part = laws_of(laws, clusters.dofs)
    assert 0 < len(clusters.dofs) < len(laws.tau)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(part, name), getattr(laws, name)[clusters.dofs])
    laws.friction[clusters.dofs[0]] = 1.0
    assert laws_of(laws, clusters.dofs).stops[0] == 1
