"""Metrics of joints: levers reach as far as what a joint carries."""

from __future__ import annotations

import numpy as np
import pytest


def test_lever_weights_follow_the_reach_below_a_joint():
    from bough.adaptive.tree.assembly import lever, make_linkage
    from bough.zoo import chain

    model = chain(20, geometry="parallel")
    reach = lever(model, make_linkage(model))
    assert (np.diff(reach) < 0).all()
    assert reach[0] == pytest.approx(0.3 * 19 + reach[-1], rel=0.01)
