"""The example stands: hand and centre of mass on their paths, torques, cones and limits held, one foot lifted."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sizes import size

DEMO = Path(__file__).parents[1] / "examples" / "stand.py"


def test_the_humanoid_stands_lifts_a_foot_and_reaches(monkeypatch, tmp_path):
    pytest.importorskip("qpsolvers")
    pytest.importorskip("pinocchio")
    spec = importlib.util.spec_from_file_location("stand", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    monkeypatch.setattr(demo, "DT", size(4e-3, 1e-2))
    task = demo.Stand()
    motion, result = task.run(5.5)
    assert result.hand.max() < 1e-3
    assert result.center.max() < 1e-3
    assert result.torque.max() < 1.0
    assert result.cone.max() < 1e-9
    assert result.slip.max() < 1e-9
    assert result.foot.max() < 1e-3
    assert result.lifted.max() == pytest.approx(0.06, abs=2e-3)
    assert abs(result.lifted[-1]) < 1e-3
    assert not result.limits
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DEMO.parent)
    assert demo.draw(task, motion, result, tmp_path).stat().st_size > 10_000
