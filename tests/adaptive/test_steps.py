"""Stepping: lazy updates, catching up, changing inputs, the solver selector, checkpoints and recordings."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.linkages import dense, relative, start, world_wrench
from bough.adaptive import QuasiStatics, Recorder, relative_joint
from bough.adaptive.cost import SolverSelector
from bough.errors import CheckpointError
from bough.zoo import chain, millipede

DT = 0.01


@pytest.mark.parametrize("method", ["dca", "adaptive"])
def test_exact_steps_are_those_of_plain_quasi_statics(method):
    _, sim, _ = start(3, method=method)
    _, plain, _ = start(3, method="aba")
    sim.run(30, DT)
    plain.run(30, DT)
    np.testing.assert_allclose(sim.configuration, plain.configuration, atol=1e-11)
    np.testing.assert_allclose(sim.positions(), plain.positions(), atol=1e-10)


def test_a_step_moves_joints_by_half_the_acceleration_times_the_square_of_time():
    twin, sim, _ = start(1, method="aba")
    q, qdd = sim.configuration, sim.accelerations()
    sim.step(DT)
    np.testing.assert_allclose(sim.configuration, twin.model.integrate(q, 0.5 * DT**2 * qdd), atol=1e-14)


def test_inputs_may_change_between_steps():
    twin, sim, forces = start(2, error=relative_joint(1e-3))
    rng = np.random.default_rng(9)
    for round_ in range(4):
        sim.run(5, DT)
        tau, new = rng.normal(size=twin.model.nv), rng.normal(size=6)
        body, _, point, frame = forces[round_]
        sim.set_torque(None, tau)
        sim.change_force(round_, new)
        forces[round_] = (body, new, point, frame)
        sim.gravity = twin.gravity = rng.normal(size=3)
        sim.refine()
        assert relative(sim.accelerations(), dense(twin, sim.configuration, tau, forces)) < 1e-9
    name = twin.model.joint_names[5]
    v = twin.model.joint(name).v
    tau[v] = 3.0
    sim.set_torque(name, np.full(v.stop - v.start, 3.0))
    sim.remove_force(0)
    sim.refine()
    assert relative(sim.accelerations(), dense(twin, sim.configuration, tau, forces[1:])) < 1e-9
    sim.clear_forces()
    sim.refine()
    assert relative(sim.accelerations(), dense(twin, sim.configuration, tau, [])) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_positions_are_those_of_the_dense_oracle(seed):
    twin, sim, _ = start(seed, 30, error=relative_joint(1e-2))
    sim.run(20, DT)
    world = naive.Mechanism(twin.bodies, sim.configuration, np.zeros(twin.model.nv))
    expected = np.array([p for _, p in world.placement])
    np.testing.assert_allclose(sim.positions(), expected, atol=1e-10)
    sim.accelerations()
    np.testing.assert_allclose(
        sim.solver.tree.poses(np.array([sim.inputs.model.frames.body[sim.inputs.forces.frame(7)]]))[0, 9:],
        sim.solver.engine.poses(np.array([sim.inputs.model.frames.body[sim.inputs.forces.frame(7)]]))[0, 9:],
        atol=1e-10,
    )
    np.testing.assert_allclose(sim.positions([3, "world"]), [expected[3], np.zeros(3)], atol=1e-10)


def test_forces_act_where_and_how_they_are_applied():
    twin, sim, forces = start(4, 10, method="aba")
    body, force, point, _ = forces[0]
    world = naive.Mechanism(twin.bodies, sim.configuration, np.zeros(twin.model.nv))
    along = world_wrench(world.placement[body], force, point, "body")
    sim.clear_forces()
    sim.apply_force(body, force, point, frame="body")
    first = sim.accelerations()
    sim.clear_forces()
    p = world.placement[body][1]
    f = along[3:]
    n = along[:3] - np.cross(p, f)
    sim.apply_force(body, np.concatenate([f, n]))
    np.testing.assert_allclose(sim.accelerations(), first, atol=1e-10)


# The solver selector


def test_auto_is_exact_without_an_error_and_uses_plain_steps():
    _, sim, _ = start(1, method="auto")
    _, plain, _ = start(1, method="aba")
    sim.run(5, DT)
    plain.run(5, DT)
    assert sim.stats.method == "aba"
    np.testing.assert_array_equal(sim.configuration, plain.configuration)


@pytest.mark.parametrize("cheap", [True, False])
def test_auto_goes_where_it_is_cheaper_and_stays_within_the_error(cheap, monkeypatch):

    monkeypatch.setattr(SolverSelector, "took", lambda self, *counts: cheap)
    monkeypatch.setattr(SolverSelector, "wants_tree", lambda self, *counts: self.wait <= 0)
    _, sim, _ = start(2, error=relative_joint(1e-6), method="auto")
    _, plain, _ = start(2, method="aba")
    sim.run(12, DT)
    plain.run(12, DT)
    assert sim.selector.on_tree == cheap
    np.testing.assert_allclose(sim.configuration, plain.configuration, atol=1e-8)


def test_a_step_that_would_open_too_much_is_taken_in_full(monkeypatch):

    monkeypatch.setattr(SolverSelector, "budget", 3)
    monkeypatch.setattr(SolverSelector, "wants_tree", lambda self, *counts: self.wait <= 0)
    _, sim, _ = start(2, error=relative_joint(1e-6), method="auto")
    _, plain, _ = start(2, method="aba")
    sim.run(9, DT)
    plain.run(9, DT)
    assert sim.stats.method == "aba"
    np.testing.assert_array_equal(sim.configuration, plain.configuration)


# Checkpoints and recordings


@pytest.mark.parametrize("options", [dict(), dict(catch_up=True), dict(metric="lever")], ids=str)
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, options):
    twin, sim, _ = start(0, error=relative_joint(0.05), **options)
    sim.set_torque(None, np.linspace(-1, 1, twin.model.nv))
    sim.gravity = (1.0, 0.0, -3.0)
    sim.run(20, DT)
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(twin.model, tmp_path / "run.npz")
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    for s in (sim, again):
        s.change_force(1, [1.0, 0.0, 0.0])
        s.run(20, DT)
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    assert again.steps == sim.steps
    assert again.stats.certificate == pytest.approx(sim.stats.certificate, rel=1e-12)


def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path):
    twin, sim, _ = start(0, 8)
    path = tmp_path / "run.npz"
    sim.checkpoint(path)
    with pytest.raises(CheckpointError, match="another model"):
        QuasiStatics.resume(chain(5), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        QuasiStatics.resume(twin.model, path)
    path.write_bytes(content[:100])
    with pytest.raises(CheckpointError, match="damaged"):
        QuasiStatics.resume(twin.model, path)
    with pytest.raises(CheckpointError, match="cannot be read"):
        QuasiStatics.resume(twin.model, tmp_path / "none.npz")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_recordings_keep_what_was_there(tmp_path, ending):
    _, sim, _ = start(0, 12, error=relative_joint(0.1))
    recording = Recorder([3, "b5"], every=4, configuration=True)
    sim.run(10, DT, record=recording)
    assert recording.arrays()["step"].tolist() == [4, 8]
    path = tmp_path / f"run.{ending}"
    recording.save(path)
    if ending == "npz":
        saved = np.load(path)
        np.testing.assert_array_equal(saved["positions"][-1], recording.samples[-1]["positions"])
        np.testing.assert_array_equal(saved["q"], recording.arrays()["q"])
    else:
        from pyarrow import parquet

        table = parquet.read_table(path)
        assert table["b5.z"].to_pylist() == recording.arrays()["positions"][:, 1, 2].tolist()


def test_a_run_that_takes_long_shows_its_progress(capsys, monkeypatch):
    monkeypatch.setattr("bough.record.progress.PATIENCE", -1.0)
    _, sim, _ = start(0, 5)
    sim.run(3, DT, progress=True)
    assert "quasi-statics" in capsys.readouterr().err


def test_the_paper_s_millipede_runs():
    model = millipede(legs=40, geometry="random", floating=True)
    sim = QuasiStatics(model, relative_joint(2.0**-7), "adaptive", culled="zero", catch_up=False)
    sim.gravity = (0, 0, 0)
    sim.apply_force(model.body_names[-1], [0.0, 0.0, 1.0])
    sim.run(50, DT)
    assert 0 < sim.stats.joints < len(model.joints)
    assert sim.stats.bound <= 2.0**-7
