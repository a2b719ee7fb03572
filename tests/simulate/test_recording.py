"""Recordings survive the disk, a crash while they are written, and say when they are damaged."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import BoughError, ModelError, OptionError, RecordingError
from bough.simulate import Recording, rollout


def motion(model):
    return bough.Dynamics(model, general=True).forward_dynamics


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_recordings_are_saved(tmp_path, suffix):
    model = zoo.arm(3)
    recording = rollout(model, np.zeros(3), np.zeros(3), duration=0.02, dt=0.01, motion=motion(model))
    recording.extra["error"] = np.arange(3.0)
    path = recording.save(tmp_path / f"motion{suffix}")
    if suffix == ".npz":
        again = Recording.load(path, model)
        np.testing.assert_array_equal(again.q, recording.q)
        np.testing.assert_array_equal(again.extra["error"], recording.extra["error"])
        with pytest.raises(ModelError, match="not the same model"):
            Recording.load(path, zoo.arm(3, seed=1))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        assert table.num_rows == 3
        assert table.schema.metadata[b"model_hash"].decode() == model.hash
        np.testing.assert_array_equal(table["q2"], recording.q[:, 2])


@pytest.fixture
def recording():
    model = zoo.arm(3)
    return rollout(model, np.zeros((2, 3)), np.zeros((2, 3)), duration=0.02, dt=0.01, motion=motion(model))


def test_printing_gives_a_summary(recording):
    assert repr(recording) == f"Recording({recording.model.name!r}, 0 to 0.02 s, 3 samples, 2 states)"
    recording.extra["error"] = np.zeros(3)
    assert "extra: error" in str(recording)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_crash_while_saving_leaves_the_older_file(recording, tmp_path, suffix, monkeypatch):
    path = recording.save(tmp_path / f"motion{suffix}")
    before = path.read_bytes()

    def crash(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        recording.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_damaged_file_gives_one_error(recording, tmp_path):
    path = recording.save(tmp_path / "motion.npz")
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for k in range(150):
        damaged = bytearray(whole)
        if k % 3 == 0:
            damaged = damaged[: int(rng.integers(len(whole)))]
        else:
            damaged[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        try:
            again = Recording.load(path, recording.model)
        except BoughError:
            continue
        np.testing.assert_array_equal(again.q, recording.q)  # a bit that carries nothing


def test_wrong_files_are_refused(recording, tmp_path):
    with pytest.raises(OptionError, match="npz"):
        recording.save(tmp_path / "motion.csv")
    with pytest.raises(RecordingError, match="there is no file"):
        Recording.load(tmp_path / "none.npz", recording.model)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(RecordingError, match="no recording"):
        Recording.load(tmp_path / "other.npz", recording.model)
    recording.extra["q"] = np.zeros(3)
    with pytest.raises(RecordingError, match="'q'"):
        recording.save(tmp_path / "motion.npz")
