"""Two recorded runs are compared by rows that both have."""

from __future__ import annotations

import pytest

from benchmarks import __main__ as runner
from benchmarks.report import save, slower
from bough.app.bench.timing import Timing


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
    ]
    assert slower(new, new) == "0 slower by more than 10 %, of 3 rows that both have"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "compare takes two files"),
        (("ghost.json", "ghost.json"), "there is no file 'ghost.json'"),
        ((__file__, __file__), "is no recorded run of benchmarks"),
    ],
)
def test_what_cannot_be_compared_says_so(words, sentence):
    with pytest.raises(SystemExit, match=sentence):
        runner.main(["compare", *words])
