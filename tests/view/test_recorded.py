"""Recordings are played as they were recorded, from both kinds of file."""

import numpy as np
import pytest

import bough
from bough.adaptive import QuasiStatics, Recorder, energy
from bough.errors import ModelError, RecordingError
from bough.simulate import ContactPoint, Contacts, Plane, rollout
from bough.view import played, read_motion


@pytest.fixture(scope="module")
def motion():
    model = bough.zoo.arm(3)
    return rollout(model, np.zeros(3), np.zeros(3), duration=0.02, dt=0.005)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_motion(motion, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    found = read_motion(motion.save(tmp_path / f"run.{ending}", "here"))
    np.testing.assert_array_equal(found.q, motion.q)
    np.testing.assert_array_equal(found.time, motion.time)
    np.testing.assert_array_equal(found.tracks["fastest joint, rad/s or m/s"], np.abs(motion.v).max(axis=1))
    assert (found.source, found.digest, found.adaptive) == ("here", motion.model.hash, False)
    found.check(motion.model)
    with pytest.raises(ModelError, match="another model"):
        found.check(bough.zoo.arm(4))


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_one_of_many_states(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    model = bough.zoo.arm(2)
    many = rollout(model, np.eye(2), np.zeros((2, 2)), duration=0.01, dt=0.005)
    path = many.save(tmp_path / f"many.{ending}")
    np.testing.assert_array_equal(read_motion(path, 1).q, many.q[:, 1])
    with pytest.raises(RecordingError, match="state"):
        read_motion(path, 2)


def test_a_state_that_is_not_there(tmp_path):
    arm = bough.zoo.arm(2)
    rollout(arm, arm.neutral, np.zeros(2), duration=0.01, dt=1e-3).save(tmp_path / "run.npz")
    with pytest.raises(RecordingError, match=r"has no state 1: it has 1, numbered from 0"):
        read_motion(tmp_path / "run.npz", 1)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_linkage_that_settles(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    sim = QuasiStatics(bough.zoo.chain(20), energy(0.1), "adaptive")
    sim.apply_force("link19", [1.0, 0.0, 0.0])
    recorder = Recorder(configuration=True)
    sim.run(5, 1e-2, record=recorder)
    recorder.save(tmp_path / f"settle.{ending}", "there")
    found = read_motion(tmp_path / f"settle.{ending}")
    assert found.adaptive
    assert found.source == "there"
    np.testing.assert_array_equal(found.q[-1], sim.configuration)
    assert set(found.tracks) == {"joints computed", "error bound", "microseconds a step"}


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    with pytest.raises(RecordingError, match="no times and configurations"):
        read_motion(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_text("no zip")
    with pytest.raises(RecordingError, match="damaged"):
        read_motion(tmp_path / "b.npz")
    pytest.importorskip("pyarrow")
    (tmp_path / "c.parquet").write_text("no parquet")
    with pytest.raises(RecordingError, match="damaged"):
        read_motion(tmp_path / "c.parquet")


def test_contact_forces_are_drawn_where_they_act():
    builder = bough.Builder("block")
    builder.add_body("block", joint="floating", mass=2.0, inertia=np.eye(3) * 0.0133)
    model = builder.build()
    corners = [ContactPoint("block", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    q, contacts = model.neutral.copy(), Contacts(corners, Plane(), friction=0.5)
    q[2] = 0.1
    motion = rollout(model, q, np.zeros(6), duration=0.05, dt=5e-3, contacts=contacts)
    found = played(motion, contacts)
    assert found.arrows.force[-1, :, 2].sum() == pytest.approx(2.0 * 9.81, rel=1e-3)
    T = found.placements(motion.q[-1])[found.arrows.body]
    at = np.einsum("kij,kj->ki", T[:, :3, :3], found.arrows.point) + T[:, :3, 3]
    np.testing.assert_allclose(at[:, 2], 0.0, atol=1e-6)
    assert played(motion).arrows is None


def test_one_state_of_a_batch_is_played():
    many = rollout(bough.zoo.arm(2), np.eye(2), np.zeros((2, 2)), duration=0.01, dt=0.005)
    np.testing.assert_array_equal(played(many, state=1).motion.q, many.q[:, 1])
    with pytest.raises(RecordingError, match="no state 2: it has 2"):
        played(many, state=2)
