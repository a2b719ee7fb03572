"""Recordings for other viewers: what is in the file is what the scene shows."""

import json

import numpy as np
import pytest

import bough
from bough.errors import OptionError
from bough.spatial import quaternion_matrix
from bough.view import scene


@pytest.fixture
def moving():
    model = bough.zoo.quadruped()
    rng = np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(4)])
    return scene(model).playing([0.0, 0.1, 0.25, 1.5], q, {"height, m": q[:, 2]})


def test_an_mcap_file_has_poses_meshes_and_tracks(moving, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    path = moving.save_mcap(tmp_path / "run.mcap")
    with path.open("rb") as file:
        found = [(c.topic, m.log_time, json.loads(m.data)) for _, c, m in reader.make_reader(file).iter_messages()]
    poses = [message for topic, _, message in found if topic == "/tf"]
    assert [time for topic, time, _ in found if topic == "/tf"] == [0, 100_000_000, 250_000_000, 1_500_000_000]
    for k, q in enumerate(moving.motion.q):
        expected = dict(zip(moving.labels(), moving.placements(q), strict=True))
        for frame in poses[k]["transforms"]:
            T, turn = expected[frame["child_frame_id"]], frame["rotation"]
            np.testing.assert_allclose([frame["translation"][x] for x in "xyz"], T[:3, 3], atol=1e-12)
            np.testing.assert_allclose(quaternion_matrix(np.array([turn[x] for x in "xyzw"])), T[:3, :3], atol=1e-9)
    (robot,) = [message for topic, _, message in found if topic == "/robot"]
    assert len(robot["entities"]) == sum(map(len, moving.shapes))
    assert {entity["frame_id"] for entity in robot["entities"]} == set(moving.labels())
    plots = [message["height, m"] for topic, _, message in found if topic == "/plots"]
    np.testing.assert_allclose(plots, moving.motion.tracks["height, m"])


def test_a_recording_of_rerun_is_written(moving, tmp_path):
    pytest.importorskip("rerun")
    path = moving.save_rerun(tmp_path / "run.rrd")
    content = path.read_bytes()
    assert content[:4] == b"RRF2"
    assert b"lf_shank" in content


def test_other_endings_are_refused(moving, tmp_path):
    pytest.importorskip("mcap")
    with pytest.raises(OptionError, match=r"expected the name of a \.mcap file"):
        moving.save_mcap(tmp_path / "run.json")
