"""The comparison of one model in the terminal: one row a function, one column a library, within 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group
from rich.table import Table
from rich.text import Text

# Columns, and what the labels of a library's calls begin with
COLUMNS = {"Bough": "bough", "Pinocchio": "pin.", "MuJoCo": "mj_", "Drake": "drake", "DART": "dart", "CasADi": "CasADi",
           "in a batch": "bough, in a batch"}  # fmt: skip
TITLE = "Microseconds of a call from Python (* fastest); Bough's for each configuration of a batch"


def library(label: str) -> str:
    """The library of this call."""
    return next(name for name, begin in reversed(COLUMNS.items()) if label.startswith(begin))


def table(times: Mapping[str, Mapping[str, float]]) -> Group:
    """Microseconds; the fastest single call is marked."""
    cells = {case: {library(label): t for label, t in row.items()} for case, row in times.items()}
    names = [name for name in COLUMNS if any(name in row for row in cells.values())]
    shown = Table(box=None, padding=(0, 0, 0, 1))
    shown.add_column("", overflow="fold")
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    for case, found in cells.items():
        rivals = {name: t for name, t in found.items() if name != "in a batch"}
        best = min(rivals, key=rivals.__getitem__) if len(rivals) > 1 else ""
        texts = [micro(found[name]) + (" " if name != best else "*") if name in found else "" for name in names]
        shown.add_row(case, *(Text(x, style="bold" if x.endswith("*") else "") for x in texts))
    return Group(Text(TITLE), shown)


def micro(seconds: float) -> str:
    """Microseconds with three digits, without an exponent."""
    x = 1e6 * seconds
    return f"{x:,.0f}" if x >= 100 else f"{x:#.3g}"
