"""Results of benchmarks: printed as tables, kept as JSON with machine and versions, written into the docs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from bough.app.bench.timing import Timing, machine
from bough.errors import OptionError, short


def show(rows: Iterable[Timing]) -> None:
    """Print the rows as one table for each group, those first in which something else was faster."""
    from rich.console import Console
    from rich.table import Table

    groups: dict[str, list[Timing]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    for group, members in groups.items():
        table = Table("model", "function", "microseconds (median)", "times faster", "note", title=group)
        for row in sorted(members, key=lambda row: (ratio_of(row) or 1.0) >= 1.0):
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


def ratio_of(row: Timing) -> float | None:
    """How many times faster than the fastest peer on as many threads, if there is one."""
    peers = peers_of(row).values()
    return min(peers) / row.seconds["bough"] if peers and "bough" in row.seconds else None


def peers_of(row: Timing) -> dict[str, float]:
    """Seconds of others on one thread."""
    others = {name: t for name, t in row.seconds.items() if not name.startswith("bough")}
    return {name: t for name, t in others.items() if not name.endswith("all threads")}


def _ratio(row: Timing) -> str:
    ratio = ratio_of(row)
    return f"{ratio:.1f}" if ratio else ""


def save(rows: Iterable[Timing], path: Path) -> None:
    """Keep the rows with the machine and the versions they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


HEAD = ("| model | function | microseconds (median) | times faster | note |", "| --- | --- | --- | --- | --- |")


def markdown(path: Path) -> str:
    """The saved rows as Markdown tables."""
    saved = json.loads(path.read_text())
    versions = ", ".join(f"{name} {number}" for name, number in saved["machine"]["versions"].items())
    card = f"{saved['machine']['card']}, " if "card" in saved["machine"] else ""
    commit = f"; commit {saved['machine']['commit']}" if "commit" in saved["machine"] else ""
    day = f"; {saved['machine']['date']}" if "date" in saved["machine"] else ""
    lines = [f"{card}{saved['machine']['cpu']}, Python {saved['machine']['python']}, {versions}{commit}{day}.", ""]
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


# What README and the head of the page say of the recorded results

HUMANOID = "humanoid"
CASE = "forward dynamics"


def recorded(results: Path, section: str) -> list[Timing]:
    """The rows of a recorded section."""
    return read(results / f"{section}.json")


def front_table(results: Path) -> str:
    """Forward dynamics of the 30-DoF humanoid: one call and a batch, beside the other engines."""
    found = {
        row.group: row.seconds for row in recorded(results, "dynamics") if (row.model, row.case) == (HUMANOID, CASE)
    }
    one, many = found["single call"], found["batch of 4096"]
    lines = [
        ("Bough, one call", _us(one["bough"])),
        ("Pinocchio `aba`, one call", _us(one["pin.aba"])),
        ("MuJoCo `mj_forward`, one call", _us(one["mj_forward"])),
        ("Bough, batch of 4096, per configuration", f"{_us(many['bough'])} (float32: {_us(many['bough float32'])})"),
        (
            "Pinocchio `abaInParallel` / MuJoCo `batch`, per configuration",
            f"{_us(_named(many, 'pin.abaInParallel'))} / {_us(_named(many, 'mujoco.batch'))}",
        ),
    ]
    head = ["| forward dynamics | microseconds |", "| --- | --- |"]
    return "\n".join(head + [f"| {what} | {time} |" for what, time in lines])


def _named(seconds: Mapping[str, float], name: str) -> float:
    """The time of the call whose label begins so."""
    return next(t for label, t in seconds.items() if label.startswith(name))


def losses(results: Path) -> str:
    """Every recorded row in which something else was faster, as a list; the worst first."""
    found = []
    for path in sorted(results.glob("*.json")):
        for row in recorded(results, path.stem):
            ratio = ratio_of(row)
            if ratio is not None and ratio < 1:
                peer = min((t, name) for name, t in peers_of(row).items())[1]
                what = f"{row.model}, {row.case} ({row.group})"
                found.append((ratio, f"- {what}: `{peer}` is {1 / ratio:.2f} times faster"))
    return "\n".join(line for _, line in sorted(found)) or "- nothing in the recorded runs"


def _us(seconds: float) -> str:
    """Microseconds with two digits."""
    return f"{1e6 * seconds:.2g}"


# Two recorded runs


SLOWER = 1.1


def slower(old: Path, new: Path) -> str:
    """Rows in which a call of ours takes over 10 % more in `new`, the worst first, beside the fastest peer."""
    before = {(row.group, row.model, row.case): row for row in read(old)}
    found = []
    for row in read(new):
        was = before.get((row.group, row.model, row.case))
        for name, seconds in row.seconds.items() if was else ():
            if was and name.startswith("bough") and seconds > SLOWER * was.seconds.get(name, float("inf")):
                ratio = seconds / was.seconds[name]
                found.append((-ratio, f"{row.model}, {row.case} ({row.group}): {name} {_us(was.seconds[name])} -> "
                              f"{_us(seconds)} us, {ratio:.2f} times{_fastest(row)}"))  # fmt: skip
    common = sum((row.group, row.model, row.case) in before for row in read(new))
    head = f"{len(found)} slower by more than 10 %, of {common} rows that both have"
    return "\n".join([head, *(line for _, line in sorted(found))])


def _fastest(row: Timing) -> str:
    peers = peers_of(row)
    if not peers:
        return ""
    name = min(peers, key=peers.__getitem__)
    return f"; the fastest peer, {name}, takes {_us(peers[name])} us"


def read(path: Path) -> list[Timing]:
    """The rows of a recorded run."""
    try:
        return [Timing(**row) for row in json.loads(path.read_text())["rows"]]
    except FileNotFoundError:
        raise OptionError(f"there is no file {short(str(path))!r}") from None
    except (ValueError, KeyError, TypeError):
        raise OptionError(f"{short(str(path))!r} is no recorded run of benchmarks") from None
