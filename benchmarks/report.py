"""Results of benchmarks: printed as tables, kept as JSON with machine and versions, written into the docs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import Timing, machine
from bough.errors import OptionError, short


def show(rows: Iterable[Timing]) -> None:
    """Print the rows as one table for each group, those first in which something else was faster."""
    from rich.console import Console
    from rich.table import Table

    groups: dict[str, list[Timing]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    for group, members in groups.items():
        table = Table("model", "function", "microseconds (median)", "Bough is", "note", title=group)
        for row in sorted(members, key=lambda row: (ratio_of(row) or 1.0) >= 1.0):
            table.add_row(row.model, row.case, _times(row, "\n"), _ratio(row), _note(row), end_section=True)
        Console().print(table)


def _times(row: Timing, between: str = "; ") -> str:
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
    return words(ratio) if ratio else ""


def words(ratio: float) -> str:
    """How many times faster or slower Bough is, where another takes `ratio` times as long."""
    if 0.95 <= ratio <= 1.05:
        return "as fast"
    return f"{ratio:.1f}x faster" if ratio > 1.0 else f"{1 / ratio:.1f}x slower"


def save(rows: Iterable[Timing], path: Path) -> None:
    """Keep the rows with the machine and the versions they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


def join(files: Sequence[Path], path: Path) -> None:
    """Keep rows of several files, recorded on one machine and commit, as one; rows that all of them have stand once."""
    saved = [_read(file) for file in files]
    origin = {key: value for key, value in saved[0]["machine"].items() if key != "date"}
    for file, other in zip(files, saved, strict=True):
        if origin != {key: value for key, value in other["machine"].items() if key != "date"}:
            raise OptionError(f"{short(file.name)!r} was recorded elsewhere than {short(files[0].name)!r}")
    rows = {(row["group"], row["model"], row["case"]): row for x in saved for row in x["rows"]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": saved[0]["machine"], "rows": list(rows.values())}, indent=1) + "\n")


HEAD = ("| model, function | Bough is | microseconds (median) |", "| --- | --- | --- |")


def markdown(path: Path) -> str:
    """The saved rows as Markdown tables."""
    saved = json.loads(path.read_text())
    machine = saved["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    commit = f"; commit {machine['commit']}" if "commit" in machine else ""
    lines = [f"{origin(path)}, Python {machine['python']}, {versions}{commit}.", ""]
    groups: dict[str, list[Timing]] = {}
    for item in saved["rows"]:
        groups.setdefault(item["group"], []).append(Timing(**item))
    for group, members in groups.items():
        lines += [f"## {group[0].upper()}{group[1:]}", "", *HEAD]
        for x in members:
            name, text = ", ".join(filter(None, (x.model, x.case))), "<br>".join(filter(None, (_times(x), _note(x))))
            lines.append(f"| {name} | {_ratio(x)} | {text} |")
        lines.append("")
    return "\n".join(lines)


def origin(path: Path) -> str:
    """On what and when a section was recorded."""
    machine = _read(path)["machine"]
    cores = f", {machine['cores']} core{'s' * (machine['cores'] != 1)}" if "cores" in machine else ""
    day = f", {machine['date']}" if "date" in machine else ""
    card = f"{machine['card']}, " if "card" in machine else ""
    return f"{card}{machine['cpu']}{cores}{day}"


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
    """Every recorded row in which something else was faster, as a table; the worst first."""
    found = []
    for path in sorted(results.glob("*.json")):
        for row in recorded(results, path.stem):
            ratio = ratio_of(row)
            if ratio is not None and ratio < 1:
                peer = min((t, name) for name, t in peers_of(row).items())[1]
                what = f"| {row.model} | {row.case} ([{row.group}]({path.stem}.md))"
                found.append((ratio, f"{what} | {1 / ratio:.2f}x slower | `{peer}` |"))
    head = ["| model | function | Bough is | than |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *(line for _, line in sorted(found))]) if found else "Nothing in the recorded runs."


def _us(seconds: float) -> str:
    """Microseconds with two digits."""
    return f"{1e6 * seconds:.2g}"


# Two recorded runs


SLOWER = 1.1
RENAMED = {  # labels of earlier runs
    "forward dynamics, forces on all bodies": "forward dynamics, external forces",
    "forward dynamics, tips held": "constrained forward dynamics",
    "Lambda^-1 of the tips": "Lambda^-1 of end effectors",
    "J, beta, Lambda, Jbar, N of the tips": "J, beta, Lambda, Jbar, N",
    "one loop, a step": "one loop, an adaptive step",
    "250 loops, a plain step": "250 loops, a full step",
    "one force changed": "one force changed, without a step",
    "first call of every entry": "first call",
    "general code: forward_dynamics": "Dynamics.forward_dynamics, general code",
    "plain": "full step",
    "plain step": "full step",
    "plain aba": "full step, aba",
    "full dca": "full step, dca",
}
Key = tuple[str, str, str]


def slower(old: Path, new: Path) -> str:
    """Calls of ours that take over 10 % more in `new`, the worst first; then rows and calls that only one of them has.

    Between two machines, ours are compared beside the other libraries: by how much more those take in the same row, or
    in the median of all rows where it has none.
    """
    before, after = _by_label(old), _by_label(new)
    common = [key for key in after if key in before]
    elsewhere = _read(old)["machine"]["cpu"] != _read(new)["machine"]["cpu"]
    peers = {key: _growth(before[key], after[key]) for key in common} if elsewhere else {}
    usual = median([x for x in peers.values() if x] or [1.0])
    found, missing = [], [(key, "OLD") for key in before if key not in after]
    missing += [(key, "NEW") for key in after if key not in before]
    for key in common:
        was, row = before[key], after[key]
        for name in _ours(was) ^ _ours(row):
            missing.append(((*key[:2], f"{key[2]}: {name}"), "OLD" if name in was.seconds else "NEW"))
        for name in _ours(was) & _ours(row):
            ratio = row.seconds[name] / was.seconds[name] / (peers.get(key) or usual)
            if ratio > SLOWER:
                found.append((-ratio, f"{_words(key)}: {name} {_us(was.seconds[name])} -> "
                              f"{_us(row.seconds[name])} us, {ratio:.2f} times{_fastest(row)}"))  # fmt: skip
    lines = [f"{len(found)} slower by more than 10 %, of {len(common)} rows that both have"]
    if elsewhere:
        lines.append(f"two machines: ratios are beside other libraries, which take {usual:.2f} times as long in NEW")
    lines += [line for _, line in sorted(found)]
    return "\n".join(lines + [f"only in {which}: {_words(key)}" for key, which in missing])


def _by_label(path: Path) -> dict[Key, Timing]:
    """Measured rows by group, model and case, in the labels of today."""
    found = {}
    for row in read(path):
        if row.seconds:
            key = RENAMED.get(row.group, row.group), row.model, RENAMED.get(row.case, row.case)
            found[key] = replace(row, seconds={RENAMED.get(name, name): t for name, t in row.seconds.items()})
    return found


def _words(key: Key) -> str:
    group, model, case = key
    return f"{model}, {case} ({group})"


def _ours(row: Timing) -> set[str]:
    """Calls of Bough: its full steps stand beside adaptive ones as peers do."""
    return {name for name in row.seconds if name.startswith(("bough", "full step"))}


def _growth(before: Timing, after: Timing) -> float | None:
    """How much more the other libraries take that both have, in the median."""
    common = [name for name in peers_of(after) if name in before.seconds and name not in _ours(after)]
    return median(after.seconds[name] / before.seconds[name] for name in common) if common else None


def _fastest(row: Timing) -> str:
    peers = peers_of(row)
    if not peers:
        return ""
    name = min(peers, key=peers.__getitem__)
    return f"; the fastest peer, {name}, takes {_us(peers[name])} us"


def read(path: Path) -> list[Timing]:
    """The rows of a recorded run."""
    rows = _read(path)["rows"]
    try:
        return [Timing(**row) for row in rows]
    except TypeError:
        raise _not_recorded(path) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads(path.read_text())
        return {"machine": saved["machine"], "rows": saved["rows"]}
    except FileNotFoundError:
        raise OptionError(f"there is no file {short(str(path))!r}") from None
    except (ValueError, KeyError, TypeError):
        raise _not_recorded(path) from None


def _not_recorded(path: Path) -> OptionError:
    return OptionError(f"{short(str(path))!r} is no recorded run of benchmarks")
