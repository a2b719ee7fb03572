"""Two recorded runs are compared by rows that both have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import benchmarks
from benchmarks import __main__ as runner
from benchmarks.report import RENAMED, join, read, save, slower
from benchmarks.timing import Timing
from bough.app import bench
from bough.errors import OptionError, UnknownNameError

BENCHMARKS, ENGINES = Path(benchmarks.__file__).parent, Path(bench.__file__).parent
REPORT = BENCHMARKS / "report.py"


def test_rows_that_got_slower_stand_beside_the_fastest_peer(tmp_path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    save(
        [
            Timing("single call", "arm", "aba", {"bough": 1e-6, "pin.aba": 3e-6}),
            Timing("single call", "arm", "rnea", {"bough": 1e-6}),
            Timing("single call", "arm", "gone", {"bough": 1e-6}),
        ],
        old,
    )
    save(
        [
            Timing("single call", "arm", "aba", {"bough": 1.2e-6, "bough float32": 9.0, "pin.aba": 4e-6, "mj": 3.5e-6}),
            Timing("single call", "arm", "rnea", {"bough": 2e-6}),
            Timing("single call", "arm", "new", {"bough": 1.0}),
        ],
        new,
    )
    assert slower(old, new).splitlines() == [
        "2 slower by more than 10 %, of 2 rows that both have",
        "arm, rnea (single call): bough 1 -> 2 us, 2.00 times",
        "arm, aba (single call): bough 1 -> 1.2 us, 1.20 times; the fastest peer, mj, takes 3.5 us",
        "only in OLD: arm, gone (single call)",
        "only in NEW: arm, new (single call)",
        "only in NEW: arm, aba: bough float32 (single call)",
    ]
    assert slower(new, new) == "0 slower by more than 10 %, of 3 rows that both have"


def test_renamed_rows_are_compared_by_their_new_labels(tmp_path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    save([Timing("single call", "arm", "forward dynamics, tips held", {"bough": 1e-6, "plain": 2e-6})], old)
    save([Timing("single call", "arm", "constrained forward dynamics", {"bough": 2e-6, "full step": 3e-6})], new)
    head, *found = slower(old, new).splitlines()
    assert head == "2 slower by more than 10 %, of 1 rows that both have"
    peer, row = "; the fastest peer, full step, takes 3 us", "arm, constrained forward dynamics (single call)"
    assert found == [f"{row}: bough 1 -> 2 us, 2.00 times{peer}", f"{row}: full step 2 -> 3 us, 1.50 times{peer}"]


def test_renamed_labels_are_those_of_today():
    """What a label was renamed to is made by some section."""
    source = "".join(path.read_text() for path in (*BENCHMARKS.glob("*.py"), *ENGINES.glob("*.py")) if path != REPORT)
    for label in RENAMED.values():
        words = re.sub(r"^250 loops", "loops", label).removeprefix("Dynamics.")
        assert f'{words}"' in source or f"{words}'" in source, label


def test_two_machines_are_compared_by_the_other_libraries(tmp_path):
    """A machine of half the speed: what grew like the others did not get slower."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    save(
        [
            Timing("single call", "arm", "aba", {"bough": 1e-6, "pin.aba": 3e-6}),
            Timing("single call", "arm", "alone", {"bough": 1e-6}),
            Timing("single call", "arm", "rnea", {"bough": 1e-6, "pin.rnea": 3e-6}),
        ],
        old,
    )
    save(
        [
            Timing("single call", "arm", "aba", {"bough": 2e-6, "pin.aba": 6e-6}),
            Timing("single call", "arm", "alone", {"bough": 2e-6}),
            Timing("single call", "arm", "rnea", {"bough": 3e-6, "pin.rnea": 6e-6}),
        ],
        new,
    )
    saved = json.loads(new.read_text())
    saved["machine"]["cpu"] = "another"
    new.write_text(json.dumps(saved))
    assert slower(old, new).splitlines() == [
        "1 slower by more than 10 %, of 3 rows that both have",
        "two machines: ratios are beside other libraries, which take 2.00 times as long in NEW",
        "arm, rnea (single call): bough 1 -> 3 us, 1.50 times; the fastest peer, pin.rnea, takes 6 us",
    ]


def test_parts_are_joined_and_taken(tmp_path, monkeypatch):
    """Rows recorded elsewhere, in parts, stand in the docs in the order of the section; what all parts have, once."""
    docs, folder = tmp_path / "docs", tmp_path / "recorded"
    page = docs / "benchmarks" / "scale.md"
    page.parent.mkdir(parents=True)
    page.write_text("<!-- begin scale -->\nold\n<!-- end scale -->")
    made = {name: Timing("single call", name, "aba", {"bough": 1e-6}) for name in ("b", "a")}
    absent = Timing("not measured", "g1", "", {}, "not measured")
    monkeypatch.setattr(
        "benchmarks.scale.PARTS", {name: lambda n=name: [made[n], absent] for name in made}, raising=False
    )
    monkeypatch.setattr(runner, "summarise", lambda docs: None)
    runner.run(["scale.a", "scale.b"], None, lambda rows: None, to=folder)
    assert runner.take(folder, docs) == ["scale"]
    assert [row.model for row in read(tmp_path / "benchmarks" / "results" / "scale.json")] == ["b", "g1", "a"]
    assert page.read_text().count("| g1 |") == 1
    (folder / "scale.a.json").unlink()
    with pytest.raises(OptionError, match=r"there is no file .*scale\.a\.json"):
        runner.take(folder, docs)
    with pytest.raises(OptionError, match=r"'scale\.a' is a part of a section"):
        runner.run(["scale.a"], docs, lambda rows: None)
    with pytest.raises(UnknownNameError, match="section scale has no part 'c'"):
        runner.run(["scale.c"], None, lambda rows: None)


def test_parts_of_two_machines_are_refused(tmp_path):
    files = [tmp_path / "scale.a.json", tmp_path / "scale.b.json"]
    for file in files:
        save([], file)
    saved = json.loads(files[1].read_text())
    saved["machine"]["cores"] = -1
    files[1].write_text(json.dumps(saved))
    with pytest.raises(OptionError, match=r"'scale\.b\.json' was recorded elsewhere than 'scale\.a\.json'"):
        join(files, tmp_path / "scale.json")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("compare",), "compare takes two files"),
        (("take",), "take needs the folder"),
        (("take", "ghost"), "has no recorded section"),
        (("scale", "--to"), "--to needs a folder"),
        (("compare", "ghost.json", "ghost.json"), "there is no file 'ghost.json'"),
        (("compare", __file__, __file__), "is no recorded run of benchmarks"),
    ],
)
def test_what_cannot_be_done_says_so(words, sentence):
    with pytest.raises(SystemExit, match=sentence):
        runner.main(list(words))
