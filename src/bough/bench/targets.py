"""What was asked of the library in figures, beside what the recorded runs say: met or not. Nothing is typed by hand."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bough.bench.report import Timing

LIST = Path(__file__).with_name("targets.toml")
Sections = dict[str, list[Timing]]


class Cell(NamedTuple):
    """Where a number stands: the first row whose group, model and case begin so."""

    group: str = ""
    model: str = ""
    case: str = ""
    name: str = "bough"
    kind: str = "time"  # one of READERS


class Target(NamedTuple):
    """A limit, and the number that it is for: that of `place`, beside that of `over`."""

    what: str
    section: str
    place: Cell
    limit: float
    at_most: bool
    unit: str
    over: Cell | None


def listed() -> list[Target]:
    """All of them, from the file beside this one."""
    return [_target(**item) for item in tomllib.loads(LIST.read_text())["target"]]


def _target(what: str, section: str, place: Any, over: Any = None, unit: str = "s", **limit: float) -> Target:
    ((sense, amount),) = limit.items()
    below = None if over is None else Cell(**over)
    return Target(what, section, Cell(**place), amount, sense == "at_most", unit, below)


class Answer(NamedTuple):
    """A target and what was found."""

    target: Target
    found: float | None

    @property
    def met(self) -> str:
        if self.found is None:
            return "not recorded"
        t = self.target
        return "met" if (self.found <= t.limit if t.at_most else self.found >= t.limit) else "**not met**"


def table(results: Path) -> str:
    """All targets as Markdown, those that are not met first."""
    found = answers(read(results))
    counts = ", ".join(f"{sum(a.met == kind for a in found)} {kind.strip('*')}" for kind in KINDS)
    lines = [f"{counts}.", "", "| what | asked | measured | | section |", "| --- | --- | --- | --- | --- |"]
    for answer in sorted(found, key=lambda a: KINDS.index(a.met)):
        t = answer.target
        asked = f"at {'most' if t.at_most else 'least'} {shown(t.limit, t.unit)}"
        measured = "" if answer.found is None else shown(answer.found, t.unit)
        lines.append(f"| {t.what} | {asked} | {measured} | {answer.met} | {t.section} |")
    return "\n".join(lines)


KINDS = ("**not met**", "not recorded", "met")


def shown(x: float, unit: str) -> str:
    """A number with its unit, times in one that suits them."""
    if unit == "s":
        size, unit = next(((a, name) for a, name in UNITS if abs(x) >= a), UNITS[-1])
        x /= size
    number = f"{x:,.3g}" if abs(x) < 1000 else f"{x:,.0f}"
    return f"{number}{'' if unit in ('', 'x') else ' '}{unit}"


UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def read(results: Path) -> Sections:
    """All recorded sections."""
    kept = {path.stem: json.loads(path.read_text())["rows"] for path in sorted(results.glob("*.json"))}
    return {section: [Timing(**row) for row in rows] for section, rows in kept.items()}


def answers(sections: Sections) -> list[Answer]:
    return [Answer(target, value(target, sections)) for target in listed()]


def value(target: Target, sections: Sections) -> float | None:
    """The number of a target: of one place; or the ratio of two, of times in seconds their difference."""
    first = at(target.section, target.place, sections)
    if target.over is None or first is None:
        return first
    second = at(target.section, target.over, sections)
    if not second:
        return None
    return first - second if target.unit == "s" else first / second


def at(section: str, place: Cell, sections: Sections) -> float | None:
    """A number of the first row that fits; of a time as it is, of a note by the pattern that is looked for."""
    for row in sections.get(section, []):
        if row.group.startswith(place.group) and row.model.startswith(place.model) and row.case.startswith(place.case):
            found = READERS[place.kind](row, place.name)
            if found is not None:
                return found
    return None


def _time(row: Timing, name: str) -> float | None:
    return next((t for key, t in row.seconds.items() if key.startswith(name)), None)


def _exact_time(row: Timing, name: str) -> float | None:
    return row.seconds.get(name)


def _rate(row: Timing, name: str) -> float | None:
    t = row.seconds.get(name)
    return None if t is None else 1e-6 / t


def _noted(row: Timing, pattern: str) -> float | None:
    match = re.search(pattern, row.note)
    return None if match is None else float(match.group(1).replace(",", ""))


def _number(row: Timing, name: str) -> float | None:
    return row.numbers.get(name)


def _peer(row: Timing, name: str) -> float | None:
    """The fastest of the others."""
    return min((t for key, t in row.seconds.items() if not key.startswith("bough")), default=None)


READERS: dict[str, Callable[[Timing, str], float | None]] = {
    "time": _exact_time, "time beginning with": _time, "rate": _rate, "note": _noted, "number": _number, "peer": _peer,
    "best of": lambda row, name: min((t for key, t in row.seconds.items() if key.startswith(name)), default=None),
}  # fmt: skip
