"""The table of primitives: a joint of one's own is one file and one call, and every algorithm knows it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bough.errors import ModelError
from bough.joints import JOINTS, LAST_SCREW, PRIMITIVES, register
from bough.joints.slide import SLIDE


def test_a_joint_from_outside():
    """In a fresh process: interpreted, traced and general, beside the same mechanism of known joints."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    script = Path(__file__).with_name("outside.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "joint 'late': register joints before the first model is built\n"


def test_the_former_name_of_layouts_warns():
    slide = PRIMITIVES["slide"]
    with pytest.warns(DeprecationWarning, match="called layouts"):
        found = replace(slide, abroad={"drake": PRIMITIVES["planar"].layouts["drake"]})
    assert list(found.layouts) == ["drake"]


def test_kinds():
    assert len({p.kind for p in PRIMITIVES.values()}) == len(PRIMITIVES)
    assert {name for name, p in PRIMITIVES.items() if p.kind <= LAST_SCREW} == {
        n for n, p in PRIMITIVES.items() if p.screw
    }
    assert {part for chain in JOINTS.values() for part in chain} == PRIMITIVES.keys()


def test_registered_once(monkeypatch):
    monkeypatch.setattr("bough.joints.primitive._closed", False)
    with pytest.raises(ModelError, match="'slide' exists already"):
        register(SLIDE, "rail")
