"""The comparison of one model in the terminal: one row a function, one column a library, within 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from bough.app.bench.timing import Timing

# What the labels of a library's calls begin with; in the order of the columns
LIBRARIES = {"bough float32": "float32", "bough": "Bough", "pin.": "Pinocchio", "mj_": "MuJoCo", "mujoco": "MuJoCo",
             "drake": "Drake", "dart": "DART", "CasADi": "CasADi"}  # fmt: skip
COLUMNS = ("Bough", "float32", "Pinocchio", "MuJoCo", "Drake", "DART", "CasADi")
MANY = ", all threads"


def library(label: str) -> str:
    """Whose call this is."""
    return next(name for begin, name in LIBRARIES.items() if label.startswith(begin))


def tables(rows: Iterable[Timing]) -> Iterator[Group]:
    """One for each group of rows, and one for its calls on all threads."""
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        for label, seconds in row.seconds.items():
            title = row.group + MANY * label.endswith(MANY)
            cells = groups.setdefault(title, {}).setdefault(row.case, {})
            cells[library(label)] = min(seconds, cells.get(library(label), seconds))
    for title, cases in groups.items():
        each = "" if title.startswith("single") else " per configuration"
        yield table(f"{title}: microseconds{each} (* fastest)", cases)


def table(title: str, cases: dict[str, dict[str, float]]) -> Group:
    """Microseconds; the fastest of those in double precision is marked."""
    names = [name for name in COLUMNS if any(name in cells for cells in cases.values())]
    shown = Table(box=None, padding=(0, 0, 0, 1))
    shown.add_column("", overflow="fold")
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    for case, cells in cases.items():
        rivals = {name: t for name, t in cells.items() if name != "float32"}
        best = min(rivals, key=rivals.__getitem__) if len(rivals) > 1 else ""
        texts = [micro(cells[name]) + (" " if name != best else "*") if name in cells else "" for name in names]
        shown.add_row(case, *(Text(x, style="bold" if x.endswith("*") else "") for x in texts))
    return Group(Text(title), shown)


def notes(rows: Iterable[Timing]) -> list[str]:
    """Why cells are empty, each reason once."""
    return list(dict.fromkeys(f"{row.case} ({row.group}): {row.note}" for row in rows if row.note))


def micro(seconds: float) -> str:
    """Microseconds with three digits, without an exponent."""
    x = 1e6 * seconds
    return f"{x:,.0f}" if x >= 100 else f"{x:#.3g}"
