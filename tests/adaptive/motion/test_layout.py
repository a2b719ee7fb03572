"""Torques, springs, dampers and stops of a part of a linkage are those of its joints in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.motion.witness import Witness
from bough.adaptive.motion.layout import make_part, take_part

FIELDS = ("tau", "damping", "stiffness", "rotor", "friction", "lower", "upper")


@pytest.mark.parametrize("seed", range(2))
def test_a_part_has_what_its_joints_have(seed):
    w = Witness(seed)
    region = w.region()
    effort = region.effort._replace(damping=w.rng.uniform(size=len(region.effort.tau)))
    pieces = region.pieces
    part = make_part(effort, len(pieces.dofs), len(region.engine.mechanism.parent))
    take_part(effort, region.tree.plan, pieces, part)
    assert 0 < len(pieces.dofs) < len(effort.tau)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(part, name), getattr(effort, name)[pieces.dofs])
    effort.friction[pieces.dofs[0]] = 1.0
    take_part(effort, region.tree.plan, pieces, part)
    assert part.stops[0] == 1
