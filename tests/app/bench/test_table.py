"""The table of one model: a row a function, a column a library, the fastest marked."""

from __future__ import annotations

from rich.console import Console

from bough.app.bench.table import notes, tables
from bough.app.bench.timing import Timing

ALIKE = dict.fromkeys(("bough", "pin.aba", "mj_forward", "drake f", "dart f", "CasADi C code"), 1e-6)
ROWS = [
    Timing("single call", "arm", "forward dynamics, external forces", ALIKE | {"dart f": 9e-7}),
    Timing("single call", "arm", "regressor", {"bough": 0.123}),
    Timing(
        "batch of 2", "arm", "forward dynamics",
        {"bough": 2e-6, "bough float32": 1e-6, "mujoco.batch forward, 1 thread": 3e-6, "bough, all threads": 1.5e-6,
         "pin.abaInParallel, all threads": 1e-6},
    ),
    Timing("batch of 2", "arm", "regressor", {}, "not measured: too large"),
]  # fmt: skip


def printed():
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        for table in tables(ROWS):
            console.print(table)
    return captured.get().splitlines()


def test_one_row_a_function_one_column_a_library():
    lines = printed()
    assert all(len(line) <= 80 for line in lines)
    head, row, alone = lines[1:4]
    assert head.split() == ["Bough", "Pinocchio", "MuJoCo", "Drake", "DART", "CasADi"]
    assert row.split()[-6:] == ["1.00", "1.00", "1.00", "1.00", "0.900*", "1.00"]
    assert row.startswith(" forward dynamics, external forces")
    assert alone.split() == ["regressor", "123,000"]


def test_single_precision_is_no_rival_and_threads_have_a_table_of_their_own():
    lines = printed()
    assert lines[4].startswith("batch of 2: microseconds per configuration")
    assert lines[6].split() == ["forward", "dynamics", "2.00*", "1.00", "3.00"]
    assert lines[9].split() == ["forward", "dynamics", "1.50", "1.00*"]
    assert notes(ROWS) == ["regressor (batch of 2): not measured: too large"]
