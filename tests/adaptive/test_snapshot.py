"""Checkpoints of motions go on to the last bit; recordings keep what a motion reports."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import adaptive
from bough.errors import CheckpointError


def kicked(model, method, integrator):
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.3), method, integrator=integrator, every=7)
    sim.gravity = (0.0, 0.0, -0.1)
    v = np.zeros(model.nv)
    v[-10:] = np.random.default_rng(0).normal(size=10)
    sim.velocity = v
    sim.apply_force(5, (0.0, 0.1, 0.0))
    load = sim.loads(model.body_names[20:23])
    load.values[:] = (0.05, 0.0, 0.0)
    return sim


@pytest.mark.parametrize("method", ["adaptive", "full", "auto"])
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "momentum"])
def test_resuming_is_exact(tmp_path, method, integrator):
    model = bough.zoo.molecule(60)
    sim = kicked(model, method, integrator)
    sim.run(24, 1e-3)
    sim.all_loads[0].values[1] = (0.0, 0.0, 0.2)
    sim.checkpoint(tmp_path / "motion")
    again = adaptive.Dynamics.resume(model, tmp_path / "motion")
    for each in (sim, again):
        each.run(40, 1e-3)
    assert np.array_equal(sim.configuration, again.configuration)
    assert np.array_equal(sim.velocity, again.velocity)
    assert (sim.steps, sim.time, sim.active, sim.energy_lost) == (
        again.steps,
        again.time,
        again.active,
        again.energy_lost,
    )
    assert sim.acceleration_error == again.acceleration_error


def test_a_checkpoint_of_the_other_kind_is_refused(tmp_path):
    model = bough.zoo.chain(5)
    adaptive.Dynamics(model).checkpoint(tmp_path / "motion")
    adaptive.QuasiStatics(model).checkpoint(tmp_path / "rest")
    with pytest.raises(CheckpointError, match="one of quasi-statics"):
        adaptive.Dynamics.resume(model, tmp_path / "rest")
    with pytest.raises(CheckpointError, match="one of a motion"):
        adaptive.QuasiStatics.resume(model, tmp_path / "motion")
    with pytest.raises(CheckpointError, match="another model"):
        adaptive.Dynamics.resume(bough.zoo.chain(6), tmp_path / "motion")


def test_recordings(tmp_path):
    model = bough.zoo.molecule(60)
    sim, record = kicked(model, "adaptive", "semi_implicit"), adaptive.Recorder([3, 40], every=5, configuration=True)
    sim.run(20, 1e-3, record=record, progress=True)
    found = record.arrays()
    assert found["step"].tolist() == [5, 10, 15, 20]
    assert found["positions"].shape == (4, 2, 3)
    assert found["momentum"].shape == (4, 6)
    assert np.array_equal(found["q"][-1], sim.configuration)
    assert (found["energy_lost"] >= 0.0).all()
    record.save(tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as file:
        assert np.array_equal(file["active"], found["active"])


def test_a_callback_sets_forces_before_every_step():
    model, times = bough.zoo.chain(30), []
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1e-3), "adaptive", every=2)
    sim.gravity = np.zeros(3)
    load = sim.loads([model.body_names[-1]])

    def push(sim):
        times.append(sim.time)
        load.values[0] = (0.0, np.sin(50.0 * sim.time), 0.0)

    sim.run(60, 1e-3, load=push)
    assert np.allclose(times, 1e-3 * np.arange(60))
    whole = adaptive.Dynamics(model, method="full")
    whole.gravity = np.zeros(3)
    load = whole.loads([model.body_names[-1]])
    whole.run(60, 1e-3, load=push)
    moved = np.abs(whole.positions()[-1] - adaptive.Dynamics(model).positions()[-1]).max()
    assert np.abs(whole.positions() - sim.positions()).max() < 0.05 * moved
