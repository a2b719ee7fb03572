"""`bough reproduce`: run the scripts, show what deviates, write the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bough.app.shell import watched
from bough.errors import OptionError, short
from bough.record import check_folder, progress_bar
from papers import SCRIPTS, Result, chosen, run, write
from papers.catalogue import title
from papers.report import deviations, summary


def titles(names: Sequence[str]) -> dict[str, str]:
    """Names and titles."""
    return {name: title(name) for name in chosen(names)}


def show_list(names: Sequence[str], out: Console) -> None:
    """The same, printed."""
    for name, words in titles(names).items():
        out.print(Text.assemble((f"{name:30}", "cyan"), words), soft_wrap=True)


def tour(names: Sequence[str], folder: Path, docs: Path | None, full: bool, out: Console | None) -> dict[str, Any]:
    """Run, print if there is a place to, and write; how many rows there are of each kind, what deviates, the files."""
    results: dict[str, Result] = {}
    wanted = chosen(names)
    if docs is not None:
        if len(wanted) < len(SCRIPTS):
            raise OptionError("--docs renews the page of all tables and figures: leave names out")
        check_folder(docs / "reproduction.md")
    make_folder(folder)
    with progress_bar("reproducing", len(wanted), watched()) as advance:
        for name in wanted:
            began = perf_counter()
            results[name] = run(name, full)
            if out:
                out.print(Text(f"{name:34} {len(results[name].rows):4} rows {perf_counter() - began:8.1f} s"))
            advance(1)
    table = Table("where", "what", "paper", "ours", "status", title="Deviations")
    for name, row in deviations(results):
        table.add_row(*(Text(x) for x in (name, row.what, row.paper, row.ours, row.status)))
    files, found = write(results, folder, docs)[:3], summary(results)
    if out:
        if table.row_count:
            out.print(table)
        for path in files:
            out.print(Text(f"wrote {path}"), soft_wrap=True)
        out.print(Text(", ".join(f"{number} {kind}" for kind, number in found.items())))
    listed = [{"where": name, **row.__dict__} for name, row in deviations(results)]
    return {"rows": found, "deviations": listed, "files": files}


def make_folder(path: Path) -> None:
    """A folder that is there, or is made, and may be written into."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{short(str(path))!r} cannot be made a folder: {error.strerror}") from None
    check_folder(path / "report")
