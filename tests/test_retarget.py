"""The examples that need G1 and a while to compile: a clip is retargeted, and robots are pushed."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from robots import urdfs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not any(p.name == "g1_29dof_rev_1_0.urdf" for p in urdfs().values()), reason="needs G1"),
]


@pytest.mark.parametrize(("name", "arguments"), [("retarget", (60,)), ("push", ([60.0, 500.0], 0.6))])
def test_the_example_succeeds(monkeypatch, name, arguments):
    pytest.importorskip("qpsolvers")
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[1] / "examples"), *sys.path])
    assert import_module(name).main(*arguments) == 0
