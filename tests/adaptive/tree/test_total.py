"""Total accelerations are kept for bounded passes, and only for them."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import random_forces, random_linkage, relative, simulate
from bough.adaptive.tree.layout import ETA, P1, PSI1, H


def engine_of(sim):
    return sim.solver.tree


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["dca", "adaptive"])
def test_plain_divide_and_conquer_computes_none(method):
    twin = random_linkage(4, 12)
    rng = np.random.default_rng(4)
    q, tau, forces = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv), random_forces(twin, rng)
    sim = simulate(twin.model, q, forces, tau, method=method)
    found = sim.accelerations()
    plan, record = engine_of(sim).plan, engine_of(sim).state.record
    parts = [
        record[o + at : o + at + size]
        for o in plan.offset[:-1]
        for at, size in ((ETA, 1), (P1, 6), (H, 21), (PSI1, 21))
    ]
    assert any(part.any() for part in parts) == (method == "adaptive")
    assert relative(found, simulate(twin.model, q, forces, tau, method="aba").accelerations()) < 1e-10
    assert sim.stats.acceleration**2 == pytest.approx(sum(found[j.v] @ found[j.v] for j in twin.model.joints), rel=1e-9)
