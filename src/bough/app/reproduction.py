"""`bough reproduce`: run the scripts, show what deviates, write the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bough.reproduce import Result, chosen, run, write
from bough.reproduce.catalogue import title
from bough.reproduce.report import deviations, summary


def show_list(names: Sequence[str], out: Console) -> None:
    """Names and titles."""
    for name in chosen(names):
        out.print(Text.assemble((f"{name:30}", "cyan"), title(name)), soft_wrap=True)


def tour(names: Sequence[str], folder: Path, docs: Path | None, full: bool, out: Console) -> bool:
    """Run and write; whether every row is as it should be."""
    results: dict[str, Result] = {}
    for name in chosen(names):
        began = perf_counter()
        results[name] = run(name, full)
        out.print(Text(f"{name:34} {len(results[name].rows):4} rows {perf_counter() - began:8.1f} s"))
    table = Table("where", "what", "paper", "ours", "status", title="Deviations")
    for name, row in deviations(results):
        table.add_row(*(Text(x) for x in (name, row.what, row.paper, row.ours, row.status)))
    if table.row_count:
        out.print(table)
    for path in write(results, folder, docs)[:3]:
        out.print(Text(f"wrote {path}"), soft_wrap=True)
    found = summary(results)
    out.print(Text(", ".join(f"{number} {kind}" for kind, number in found.items())))
    return "differs" not in found
