"""The table of one model: a row a function, a column a library, the fastest marked."""

from __future__ import annotations

from rich.console import Console

from bough.app.bench.table import table

ALIKE = dict.fromkeys(("bough", "pin.aba", "mj_forward", "drake f", "dart f", "CasADi C code"), 1e-6)
ROWS = {
    "forward dynamics, external forces": ALIKE | {"dart f": 9e-7, "bough, in a batch": 1e-7},
    "regressor": {"bough": 0.123},
}


def test_one_row_a_function_one_column_a_library():
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(table(ROWS))
    lines = captured.get().splitlines()
    assert all(len(line) <= 80 for line in lines)
    head, row, rest, alone = lines[-4:]
    assert head.split() == ["Bough", "Pinocchio", "MuJoCo", "Drake", "DART", "CasADi", "in", "a", "batch"]
    assert row.split()[-7:] == ["1.00", "1.00", "1.00", "1.00", "0.900*", "1.00", "0.100"]
    assert (row[:18].strip(), rest.strip()) == ("forward dynamics,", "external forces")
    assert alone.split() == ["regressor", "123,000"]
