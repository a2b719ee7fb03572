"""Joints computed on a chain of 50,000, beside Table 1 of Redon & Lin 2005 (forces on neighbours at the free end)."""

import numpy as np
import pytest

from bough.adaptive import QuasiStatics, relative_joint
from bough.zoo import chain

# what the paper computed for eps = 2^-3, 2^-7, 2^-11, 2^-15, 2^-19; of the last two rows the ends are certain
TABLE_1 = {1: (25, 37, 47, 59, 73), 10: (32, 45, 56, 75, 85), 100: (206,) * 5, 1000: (1086,) * 5}


@pytest.fixture(scope="module")
def linkage():
    return chain(50_000).with_gravity((0, 0, 0))


@pytest.mark.parametrize("forces", TABLE_1)
def test_no_more_joints_than_the_paper(linkage, forces):
    rng = np.random.default_rng(5)
    pushes = rng.normal(size=(forces, 3))
    counts = []
    for exponent in (3, 7, 11, 15, 19):
        sim = QuasiStatics(linkage, relative_joint(2.0**-exponent), "adaptive")
        for k, push in enumerate(pushes):
            sim.apply_force(50_000 - forces + k, push)
        sim.run(3, 1e-3)
        counts.append(sim.stats.joints)
    assert counts == sorted(counts)
    assert all(ours <= theirs for ours, theirs in zip(counts, TABLE_1[forces], strict=True))
    assert counts[-1] > min(forces, 40)
