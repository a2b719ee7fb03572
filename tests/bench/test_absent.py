"""Nothing is missing in a table without a word."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from benchmarks import batches
from benchmarks.__main__ import SECTIONS, measured
from benchmarks.absent import Requirements, installed, robot_file
from bough import zoo
from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError

WITH_ROBOTS = ("dynamics", "gradients", "compile", "opspace", "robots", "start", "cuda")


def test_what_is_not_here_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_BENCH_ROBOTS", str(tmp_path))
    (tmp_path / "here.urdf").touch()
    rows = Requirements(
        ("here.urdf", "talos.urdf"), ("numpy", "no_such_engine", "numpy.no_such_part", "no_such.part")
    ).absent()
    assert {row.model: row.note for row in rows} == {
        "talos.urdf": "not measured: this file of example-robot-data is not installed",
        "no_such_engine": "not measured: it is not installed",
        "numpy.no_such_part": "not measured: it is not installed",
        "no_such.part": "not measured: it is not installed",
    }
    assert robot_file("here.urdf") == tmp_path / "here.urdf"


@pytest.mark.parametrize("section", SECTIONS)
def test_sections_say_what_they_look_for(section, monkeypatch, tmp_path):
    """Every robot file that a section's source names is one that it would report."""
    module = import_module(f"benchmarks.{section}")
    monkeypatch.setenv("BOUGH_BENCH_ROBOTS", str(tmp_path))
    monkeypatch.setattr(module, "rows", list)
    found = {row.model for row in measured(section)}
    assert bool(found) == (section in WITH_ROBOTS)
    if section in WITH_ROBOTS:
        assert "g1_29dof_rev_1_0.urdf" in found
    if section == "dynamics":
        assert found == {"panda.urdf", "allegro_right_hand.urdf", "go1.urdf", "g1_29dof_rev_1_0.urdf"}


def test_a_section_without_its_library_says_how_to_get_it(monkeypatch):
    def rows():
        import no_such_library  # noqa: F401

    monkeypatch.setattr("benchmarks.factor.rows", rows)
    with pytest.raises(MissingExtraError, match=r"section factor needs no_such_library: pip install 'bough\[bench\]'"):
        measured("factor")


def test_engines_without_batches_are_named(monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)
    monkeypatch.setattr(batches, "installed", lambda name: installed(name) and name != "mujoco.batch")
    monkeypatch.setattr(batches, "ends_of", lambda model, dyn: None)
    model = zoo.arm(2)
    rows = {row.case: row for row in batches.batch(model, Dynamics(model), 2, 0.0, ["mujoco"])}
    assert rows["forward dynamics"].note == "without mujoco.batch: it is not installed"
    assert rows["inverse dynamics"].note == ""
