"""Results of benchmarks: printed as tables, kept as JSON with machine and versions, written into the docs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bough import record
from bough.bench.timing import Times

PACKAGES = (
    "bough",
    "numpy",
    "llvmlite",
    "scipy",
    "pin",
    "mujoco",
    "drake",
    "dartpy",
    "cvxopt",
    "casadi",
    "torch",
    "jax",
)


@dataclass(frozen=True)
class Timing:
    """One comparison: seconds per call of each contestant, Bough's own ones named "bough ..."."""

    group: str
    model: str
    case: str
    seconds: Mapping[str, float]
    note: str = field(default="")
    median: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)  # what else was found, by a name that says its unit

    def __post_init__(self) -> None:
        """Times bring their medians along."""
        if isinstance(self.seconds, Times):
            object.__setattr__(self, "median", self.seconds.median)
            object.__setattr__(self, "seconds", dict(self.seconds))

    def noted(self, left_out: Mapping[str, str]) -> Timing:
        """The same row, saying which engines do not take part and why."""
        why = "; ".join([self.note] * bool(self.note) + [f"without {name}: {text}" for name, text in left_out.items()])
        return replace(self, note=why)

    def ratio(self) -> float | None:
        """How many times faster than the fastest peer on as many threads, if there is one."""
        peers = self.peers().values()
        return min(peers) / self.seconds["bough"] if peers and "bough" in self.seconds else None

    def peers(self) -> dict[str, float]:
        """Seconds of others on one thread."""
        ours, many = "bough", "all threads"
        return {name: t for name, t in self.seconds.items() if not name.startswith(ours) and not name.endswith(many)}


def show(rows: Iterable[Timing]) -> None:
    """Print the rows as one table for each group, those first in which something else was faster."""
    from rich.console import Console
    from rich.table import Table

    groups: dict[str, list[Timing]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    for group, members in groups.items():
        table = Table("model", "function", "microseconds (median)", "times faster", "note", title=group)
        for row in sorted(members, key=lambda row: (row.ratio() or 1.0) >= 1.0):
            table.add_row(row.model, row.case, _times(row, "\n"), _ratio(row), _note(row), end_section=True)
        Console().print(table)


def _times(row: Timing, between: str = ", ") -> str:
    """Microseconds, the best; the median in brackets where it is known."""
    middle = {name: f" ({_rounded(1e6 * t)})" for name, t in row.median.items()}
    return between.join(f"{name} {_rounded(1e6 * t)}{middle.get(name, '')}" for name, t in row.seconds.items())


def _note(row: Timing) -> str:
    """Numbers that are no times, and the note."""
    return "; ".join([f"{_rounded(x)} {unit}" for unit, x in row.numbers.items()] + [row.note] * bool(row.note))


def _rounded(x: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _ratio(row: Timing) -> str:
    ratio = row.ratio()
    return f"{ratio:.1f}" if ratio else ""


def save(rows: Iterable[Timing], path: Path) -> None:
    """Keep the rows with the machine and the versions they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """CPU, Python, commit and the versions of everything that takes part."""
    return card() | record.machine(PACKAGES)


def card() -> dict[str, str]:
    """The CUDA card, where one was used."""
    used = sys.modules.get("bough.compile.run.cuda.card")
    return {"card": used.the_card().name} if used and used.the_card.cache_info().currsize else {}


HEAD = ("| model | function | microseconds (median) | times faster | note |", "| --- | --- | --- | --- | --- |")


def markdown(path: Path) -> str:
    """The saved rows as Markdown tables."""
    saved = json.loads(path.read_text())
    versions = ", ".join(f"{name} {number}" for name, number in saved["machine"]["versions"].items())
    card = f"{saved['machine']['card']}, " if "card" in saved["machine"] else ""
    commit = f"; commit {saved['machine']['commit']}" if "commit" in saved["machine"] else ""
    lines = [f"{card}{saved['machine']['cpu']}, Python {saved['machine']['python']}, {versions}{commit}.", ""]
    groups: dict[str, list[Timing]] = {}
    for item in saved["rows"]:
        groups.setdefault(item["group"], []).append(Timing(**item))
    for group, members in groups.items():
        lines += [f"### {group[0].upper()}{group[1:]}", "", *HEAD]
        lines += [f"| {x.model} | {x.case} | {_times(x)} | {_ratio(x)} | {_note(x)} |" for x in members] + [""]
    return "\n".join(lines)


def write_into(page: Path, section: str, text: str) -> None:
    """Replace what stands between the marks of `section` in a Markdown page."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    before, rest = page.read_text().split(begin, 1)
    _, after = rest.split(end, 1)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
