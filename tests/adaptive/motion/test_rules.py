"""How often active joints are chosen, where it is not given."""

from __future__ import annotations

import numpy as np

import bough
from adaptive.motion.witness import kicked
from bough import adaptive
from bough.adaptive.cost import LATEST, SOONEST, spaced


def test_choices_come_sooner_where_more_had_to_be_opened():
    assert spaced(20, 0, 100) == 40
    assert spaced(40, 0, 100) == LATEST
    assert spaced(20, 6, 100) == 20
    assert spaced(20, 50, 100) == 10
    assert spaced(10, 50, 100) == SOONEST
    assert spaced(20, 0, 0) == 40


def test_waiting_longer_where_nothing_is_opened_and_resuming(tmp_path):
    """A chain that is still: choices become rare; the spacing is part of a checkpoint."""
    model = bough.zoo.chain(40)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0), "adaptive")
    sim.gravity = np.zeros(3)
    sim.run(200, 1e-3)
    assert sim.mover.every == LATEST
    sim = kicked(model, adaptive.body_acceleration(0.3))
    sim.run(75, 1e-3)
    sim.checkpoint(tmp_path / "kicked")
    again = adaptive.Dynamics.resume(model, tmp_path / "kicked")
    assert again.mover.every == sim.mover.every
    for each in (sim, again):
        each.run(75, 1e-3)
    assert np.array_equal(sim.configuration, again.configuration)
    assert sim.energy_lost == again.energy_lost
