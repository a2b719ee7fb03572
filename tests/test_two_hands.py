"""Two hands as an augmented object: the box on its path, squeezed as wanted."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from sizes import size
from test_box_to_floor import DEMO


def test_the_box_follows_its_path_and_is_squeezed(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(DEMO.parent)
    demo = importlib.import_module("two_hands")
    monkeypatch.setattr(importlib.import_module("box_to_floor"), "DT", size(2e-3, 8e-3))
    task = demo.TwoHands()
    recording = task.run(progress=False)
    results = task.report(recording)
    assert 1e3 * results["error"].max() < 1.0
    assert results["turn"].max() < 0.1
    np.testing.assert_allclose(task.pressure(recording), demo.SQUEEZE, rtol=0.02)
    pytest.importorskip("matplotlib")
    assert demo.draw(task, recording, results, tmp_path).stat().st_size > 10_000
