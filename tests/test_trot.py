"""The quadruped trots in place: trunk held, feet lifted in pairs, torques, friction and limits kept."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "trot.py"


def test_it_trots(monkeypatch, tmp_path):
    pytest.importorskip("qpsolvers")
    spec = importlib.util.spec_from_file_location("trot", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    task = demo.Trot()
    task.duration = 2.0
    motion, result = task.run()
    assert result.trunk.max() < 0.015
    assert result.tilt.max() < 0.01
    assert result.torque.max() < 1.0
    assert result.slip.max() < 1e-9
    assert not result.limits
    assert (result.lifted.max(axis=0) > 0.045).all()
    air = result.lifted > 0.01
    assert not (air[:, :2].any(axis=1) & air[:, 2:].any(axis=1)).any()
    assert result.lifted.min() > -1e-4
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DEMO.parent)
    assert demo.draw(task, motion, result, tmp_path).stat().st_size > 10_000
