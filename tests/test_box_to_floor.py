"""The demonstration reaches its figures: tracking, undisturbed hands, torques within limits."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sizes import size

DEMO = Path(__file__).parents[1] / "examples" / "box_to_floor.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("box_to_floor", DEMO)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_box_goes_to_the_floor_and_back(demo, monkeypatch):
    monkeypatch.setattr(demo, "DT", size(1e-3, 5e-3))
    task = demo.BoxToFloor()
    recording = task.run(progress=False)
    results = task.report(recording)
    assert len(task.robot.joints) == 24
    assert 1e3 * results["error"].max() < 1.0
    assert results["turn"].max() < 0.1
    assert results["coupling"].max() < 1e-8
    bottom = results["actual"][:, 2] - demo.BOX_SIZE[2] / 2
    assert abs(bottom.min()) < 1e-3
    np.testing.assert_allclose(results["actual"][-1], task.start[:3, 3], atol=1e-3)


def test_what_it_writes(demo, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DEMO.parent)
    task = demo.BoxToFloor()
    task.path = demo.PosePath([0.0, 0.03], [task.start, task.start])
    recording = task.run(progress=False)
    pictures = demo.draw(task, recording, task.report(recording), tmp_path)
    assert recording.save(tmp_path / "motion.npz").exists()
    assert all(p.stat().st_size > 10_000 for p in pictures)
