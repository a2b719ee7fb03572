"""Sections run, are recorded, and say what they do without."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks import factor, plots, scale, sweeps
from benchmarks.__main__ import SECTIONS, run
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.timing import contest
from bough.errors import OptionError, UnknownNameError


def test_exponents_over_the_last_decade():
    """A time that is quadratic beside a count that is linear, both bent before the last decade."""
    points = {n: (1e-9 * n**2 if n >= 100 else 1.0, float(n)) for n in (1, 10, 100, 300, 1000)}
    (row,) = scale.exponents({"chain: LTDL": points})
    assert row.numbers["fitted"] == pytest.approx(2.0)
    assert row.numbers["off the predicted"] == pytest.approx(1.0)
    assert row.note == "n = 100 to 1,000"


def test_a_picture_of_scaling(tmp_path):
    rows = [Timing("large trees: per joint", f"chain {n:,}", "forward dynamics", {"bough": 1e-7}) for n in (100, 1000)]
    rows += [
        Timing(
            "scaling: exponents", "chain: forward dynamics", "exponent", {}, numbers={"fitted": 1.0, "predicted": 1.0}
        )
    ]
    assert plots.lines(rows) == {("chain", "forward dynamics"): {100: pytest.approx(1e-5), 1000: pytest.approx(1e-4)}}
    pytest.importorskip("matplotlib")
    assert plots.scaling(rows, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_sections_that_cannot_run_here_are_left_out(monkeypatch, tmp_path):
    """Without names all others are measured, and a row says why; asked for by name it is an error."""
    from bough.errors import MissingExtraError

    def rows():
        raise MissingExtraError("no card")

    class Fake:
        pass

    fake = Fake()
    fake.rows = rows
    monkeypatch.setattr("benchmarks.__main__.SECTIONS", ("cuda",))
    monkeypatch.setattr("benchmarks.__main__.import_module", lambda name: fake)
    (tmp_path / "benchmarks").mkdir()
    (row,) = run([], tmp_path, lambda rows: None)  # and nothing is recorded
    assert (row.model, row.note, row.seconds) == ("cuda", "not measured: no card", {})
    with pytest.raises(MissingExtraError):
        run(["cuda"], None, lambda rows: None)


def test_the_sections_are_there():
    for section in SECTIONS:
        assert hasattr(importlib.import_module(f"benchmarks.{section}"), "rows")
    pages = Path(__file__).parents[2] / "docs" / "benchmarks"
    for section in SECTIONS:
        assert f"<!-- begin {section} -->" in (pages / f"{section}.md").read_text()
        assert f"]({section}.md)" in (pages / "index.md").read_text()


def test_what_cannot_be_measured_or_recorded_is_refused_before_anything_is(tmp_path):
    with pytest.raises(UnknownNameError, match="no section 'dynamcis'; did you mean 'dynamics'"):
        run(["dynamcis"], None, lambda rows: None)
    with pytest.raises(OptionError, match="has no folder benchmarks to renew"):
        run(["threads"], tmp_path, lambda rows: None)


def test_factorizations_agree(monkeypatch):
    """All that take a matrix are found to solve the same system; those that are not here are named."""
    monkeypatch.setattr(factor, "SECONDS", 0.0)
    row = factor.one(zoo.binary(3), "binary 7")
    assert {"bough", "mj_factorM", "dpotrf (scipy)"} <= row.seconds.keys()
    assert ("cholmod.numeric (cvxopt)" in row.seconds) != ("without cholmod" in row.note)


def test_trees_beside_other_engines(monkeypatch):
    """Those that take part give the same; those that cannot are named."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    monkeypatch.setattr(scale, "contest", lambda calls: contest(calls, 0.0))
    rows = list(scale.beside(zoo.binary(2), "binary tree 3"))
    assert [row.case for row in rows] == ["forward dynamics", "inverse dynamics", "mass matrix"]
    assert all(len(row.seconds) == 3 and not row.note for row in rows)
    monkeypatch.setattr("bough.app.bench.engines.pinocchio.LARGEST", 2)
    rows = list(scale.beside(zoo.binary(2), "binary tree 3"))
    assert {row.note for row in rows} == {"without pinocchio: its data has four tensors of 3^3 numbers, 0 GB"}


def test_sweeps_are_measured_by_all_kinds_of_workers():
    pytest.importorskip("pyarrow")
    row = sweeps.measured(sweeps.CASES[0], size=1e-4, rounds=1)
    assert set(row.seconds) == {f"bough {k} {kind}" for k in (1, 2) for kind in ("thread", "process", "plain")}
    assert min(row.seconds.values()) > 0.0
