"""Recordings that no one recorded: every reader ends in one sentence."""

import numpy as np
import pytest

import bough
from bough.app.commands.identify import measurements
from bough.errors import BoughError, RecordingError
from bough.identification.equations import check_samples
from bough.record import write_arrays, write_table
from bough.simulate import Recording, rollout
from bough.view import dressed, read_motion

ARM = bough.zoo.arm(3)
N = 5


def arrays():
    motion = rollout(ARM, np.zeros(3), np.zeros(3), duration=4e-3, dt=1e-3)
    own = {name: getattr(motion, name) for name in ("time", "q", "v", "tau")}
    return own | {"model": np.array([ARM.name, ARM.hash])}


DAMAGE = {
    "one word as model": {"model": np.array(["arm"])},
    "a number as model": {"model": np.array(3.0)},
    "no model at all": {"model": np.array([], str)},
    "bytes as model": {"model": np.array([b"arm", ARM.hash.encode()])},
    "words as time": {"time": np.array(["soon"] * N)},
    "dates as time": {"time": np.array(["2020-01-01"] * N, "datetime64[D]")},
    "one time": {"time": np.array(0.0)},
    "no times": {"time": np.zeros(0)},
    "times in rows": {"time": np.zeros((N, 1))},
    "too few states": {"q": np.zeros((N - 1, 3))},
    "a state of another robot": {"q": np.zeros((N, 2))},
    "one state": {"q": np.zeros(3)},
    "many axes": {"q": np.zeros((N, 1, 1, 3))},
    "no coordinates": {"q": np.zeros((N, 0, 3))},
    "a batch of positions only": {"q": np.zeros((N, 2, 3))},
    "complex numbers": {"q": np.zeros((N, 3), complex)},
    "records": {"tau": np.zeros(N, [("a", float)])},
    "velocities in words": {"v": np.array([["fast"] * 3] * N)},
    "a number as velocity": {"v": np.array(1.0)},
    "failures in words": {"failed_at": np.array("late")},
    "failures of others": {"failed_at": np.zeros(7)},
    "forces of nothing": {"contact_force": np.zeros(2)},
}
ACCEPTED = {  # by readers that do not look at what was damaged
    "view": {"no model at all", "failures in words", "failures of others", "a batch of positions only"},
    "identify": {"one word as model", "a number as model", "no model at all", "bytes as model", "failures in words",
                 "failures of others", "forces of nothing"},
    "load": {"forces of nothing"},
}  # fmt: skip


def view(path):
    found = read_motion(path)
    found.check(ARM)
    dressed(ARM).playing(found.time, found.q, found.tracks)


def measured(path):
    check_samples(ARM, measurements(path), None)


READERS = {"load": lambda path: Recording.load(path, ARM), "view": view, "identify": measured}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_arrays(damage, reader, tmp_path):
    given = arrays() | DAMAGE[damage]
    given["qdd"] = np.zeros((N, 3))
    path = write_arrays(tmp_path / "run.npz", given)
    if damage in ACCEPTED[reader]:
        READERS[reader](path)
        return
    with pytest.raises(BoughError) as caught:
        READERS[reader](path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "columns",
    [
        {"time": ["soon"], "q0": [0.0], "q1": [0.0], "q2": [0.0]},
        {"time": [0.0, 1.0], "q": [[0.0, 0.0, 0.0], [0.0]]},
        {"time": [0.0], "q": ["straight"]},
        {"q0": [0.0]},
        {"time": [0.0], "q0": [0.0], "q1": [0.0], "q2": [0.0], "contact_force0": [1.0]},
        {"time": [None], "q0": [None], "q1": [None], "q2": [None]},
        {"time": [{"a": 1}], "q0": [0.0], "q1": [0.0], "q2": [0.0]},
    ],
)
def test_damaged_tables(columns, tmp_path):
    pytest.importorskip("pyarrow")
    path = write_table(tmp_path / "run.parquet", columns)
    for reader in (view, READERS["identify"]):
        with pytest.raises(BoughError):
            reader(path)


def test_extra_arrays_without_times(tmp_path):
    pytest.importorskip("pyarrow")
    own = arrays()
    odd = Recording(ARM, own["time"], own["q"], own["v"], own["tau"], {"mass": np.array(3.0)})
    with pytest.raises(RecordingError, match="'mass' must have a row for each time"):
        odd.save(tmp_path / "run.parquet")
    assert Recording.load(odd.save(tmp_path / "run.npz"), ARM).extra["mass"] == 3.0
    odd = Recording(ARM, own["time"], own["q"].astype(complex), own["v"], own["tau"])
    with pytest.raises(RecordingError, match="no place in a Parquet table"):
        odd.save(tmp_path / "run.parquet")
