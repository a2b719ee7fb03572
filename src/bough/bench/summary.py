"""What README and the top of `docs/performance.md` say, made from the recorded results: never typed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bough.bench.report import Timing

HUMANOID = "humanoid"
CASE = "forward dynamics"


def recorded(results: Path, section: str) -> list[Timing]:
    """The rows of a recorded section."""
    return [Timing(**row) for row in json.loads((results / f"{section}.json").read_text())["rows"]]


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
            ratio = row.ratio()
            if ratio is not None and ratio < 1:
                peer = min((t, name) for name, t in row.peers().items())[1]
                what = f"{row.model}, {row.case} ({row.group})"
                found.append((ratio, f"- {what}: `{peer}` is {1 / ratio:.2f} times faster"))
    return "\n".join(line for _, line in sorted(found)) or "- nothing in the recorded runs"


def _us(seconds: float) -> str:
    """Microseconds with two digits."""
    return f"{1e6 * seconds:.2g}"
