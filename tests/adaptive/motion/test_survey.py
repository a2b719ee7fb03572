"""Accelerations of an active region and the error of an instant, beside dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.motion.witness import CASES, Witness
from bough.adaptive.active.choice import FRONT


@pytest.mark.parametrize(("size", "seed", "floating", "armature"), CASES)
def test_accelerations_and_the_error_of_an_instant(size, seed, floating, armature):
    w = Witness(seed, size, floating=floating, armature=armature)
    region = w.region()
    free, found, full = np.sort(region.engine.mechanism.v_index), w.sim.solver.motion.qdd.copy(), w.full()
    assert 0 < len(free) < w.model.nv
    expected = w.locked(free, full)
    assert np.allclose(found[free], expected[free], rtol=0, atol=1e-10 * np.abs(expected).max())
    error = full - expected
    delta = error @ w.M @ error
    assert region.lost == pytest.approx(delta, rel=1e-8)
    # below: what clusters would do at the forces of the whole; above: the full accelerations of locked joints
    still = np.setdiff1d(np.arange(w.model.nv), free)
    least = region.choice.square[: region.choice.count[FRONT]].sum()
    assert least <= delta * (1 + 1e-9)
    assert delta <= full[still] @ w.M[np.ix_(still, still)] @ full[still] * (1 + 1e-9)
