"""The table of targets: made from recorded rows, met or not, and never from anything else."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from bough.bench import plots, scale, targets
from bough.bench.__main__ import SECTIONS, run
from bough.bench.report import Timing, save
from bough.bench.targets import READERS, Cell, Target, listed, shown, table, value
from bough.errors import OptionError, UnknownNameError

G1 = "g1_29dof_rev_1_0"


def test_all_targets_can_be_read():
    found = listed()
    assert len(found) > 70
    assert len({target.what for target in found}) == len(found)
    for target in found:
        assert target.section in (*SECTIONS, "viewer")
        assert {place.kind for place in (target.place, target.over) if place} <= READERS.keys()


def test_met_or_not(tmp_path):
    rows = [
        Timing("regressor, single call", G1, "regressor", {"bough": 2e-6, "bough, packed": 4e-6}),
        Timing("bridges, single call", G1, "forward dynamics", {"bough": 1e-6, "bough.torch": 9e-6}),
    ]
    save(rows, tmp_path / "gradients.json")
    lines = table(tmp_path).splitlines()
    assert "| regressor of G1, one call | at most 3 us | 2 us | met | gradients |" in lines
    packed = "regressor of G1, rows that are not zero, one call"
    assert f"| {packed} | at most 3 us | 4 us | **not met** | gradients |" in lines
    assert "| what torch adds to a call | at most 15 us | 8 us | met | gradients |" in lines
    assert "| import of bough | at most 100 ms |  | not recorded | start |" in lines
    kinds = [line.split("|")[4].strip() for line in lines[4:]]
    assert kinds == sorted(kinds, key=targets.KINDS.index)
    not_met, unknown, met = (kinds.count(kind) for kind in targets.KINDS)
    assert lines[0] == f"{not_met} not met, {unknown} not recorded, {met} met."


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (Cell("a", "m", "c"), 2.0),
        (Cell("a", "m", "c", "", "peer"), 3.0),
        (Cell("a", "m", "c", "bough on", "best of"), 4.0),
        (Cell("a", "m", "c", "rea", "time beginning with"), 3.0),
        (Cell("a", "m", "c", "bough", "rate"), 5e-7),
        (Cell("a", "m", "c", r"reaches ([\d.]+) %", "note"), 99.5),
        (Cell("a", "m", "c", "MB", "number"), 7.0),
        (Cell("a", "other", "c"), None),
    ],
)
def test_places(place, found):
    row = Timing(
        "a b", "model", "case", {"bough": 2.0, "bough on 1": 4.0, "real": 3.0}, "reaches 99.5 %", numbers={"MB": 7}
    )
    assert value(Target("", "s", place, 0.0, True, "s", None), {"s": [row]}) == found


def test_numbers_with_their_units():
    assert [shown(*x) for x in ((3e-6, "s"), (0.15, "s"), (1234.5, "M/s"), (1.0, "x"), (1e-4, ""), (5e-10, "s"))] == [
        "3 us", "150 ms", "1,234 M/s", "1x", "0.0001", "0.5 ns",
    ]  # fmt: skip


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
    assert plots.scaling(rows, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_sections_that_cannot_run_here_are_left_out(monkeypatch, tmp_path):
    """Without names all others are measured, and a row says why; asked for by name it is an error."""
    from bough.errors import MissingExtraError

    def rows():
        raise MissingExtraError("no card")

    class Fake:
        pass

    fake = Fake()
    fake.rows = rows
    monkeypatch.setattr("bough.bench.__main__.SECTIONS", ("cuda",))
    monkeypatch.setattr("bough.bench.__main__.import_module", lambda name: fake)
    (tmp_path / "performance.md").touch()
    (row,) = run([], tmp_path, lambda rows: None)  # and nothing is recorded
    assert (row.model, row.note, row.seconds) == ("cuda", "not measured: no card", {})
    with pytest.raises(MissingExtraError):
        run(["cuda"], None, lambda rows: None)


def test_the_sections_are_there():
    for section in SECTIONS:
        assert hasattr(importlib.import_module(f"bough.bench.{section}"), "rows")
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    assert all(f"<!-- begin {section} -->" in page for section in (*SECTIONS, "targets", "losses"))


def test_what_cannot_be_measured_or_recorded_is_refused_before_anything_is(tmp_path):
    with pytest.raises(UnknownNameError, match="no section 'dynamcis'; did you mean 'dynamics'"):
        run(["dynamcis"], None, lambda rows: None)
    with pytest.raises(OptionError, match=r"has no performance\.md to renew"):
        run(["threads"], tmp_path, lambda rows: None)
