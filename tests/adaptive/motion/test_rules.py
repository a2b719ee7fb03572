"""How often active joints are chosen, where it is not given."""

from __future__ import annotations

import numpy as np

import bough
from adaptive.motion.witness import kicked
from bough import adaptive
from bough.adaptive.cost import LATEST, SOONEST, ReselectionInterval


def test_choices_come_sooner_where_more_had_to_be_opened():
    cases = [(20, 0, 100, 40), (40, 0, 100, LATEST), (20, 6, 100, 20), (20, 50, 100, 10), (10, 50, 100, SOONEST)]
    for every, opened, open_, expected in [*cases, (20, 0, 0, 40)]:
        interval, fixed = ReselectionInterval(every, False), ReselectionInterval(every, True)
        for each in (interval, fixed):
            each.adapt(opened, open_)
        assert (interval.every, fixed.every) == (expected, every)


def test_waiting_longer_where_nothing_is_opened_and_resuming(tmp_path):
    """A chain that is still: choices become rare; the spacing is part of a checkpoint."""
    model = bough.zoo.chain(40)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0), "adaptive")
    sim.gravity = np.zeros(3)
    sim.run(200, 1e-3)
    assert sim.solver.region.interval.every == LATEST
    sim = kicked(model, adaptive.body_acceleration(0.3))
    sim.run(75, 1e-3)
    sim.checkpoint(tmp_path / "kicked")
    again = adaptive.Dynamics.resume(model, tmp_path / "kicked")
    assert again.solver.region.interval.every == sim.solver.region.interval.every
    for each in (sim, again):
        each.run(75, 1e-3)
    assert np.array_equal(sim.configuration, again.configuration)
    assert sim.energy_lost == again.energy_lost
