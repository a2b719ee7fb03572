"""The first page of the benchmarks: six functions of five robots, a column for each library; the demo's figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import report
from benchmarks.timing import Timing

ROBOTS = {
    "panda": "Panda arm", "allegro_hand_right": "Allegro hand", "go1": "Go1", "humanoid": "humanoid, 30 DoF",
    "g1_29dof_rev_1_0": "G1",
}  # fmt: skip
FUNCTIONS = {
    "forward dynamics": "forward dynamics", "inverse dynamics": "inverse dynamics",
    "forward dynamics derivatives": "derivatives of forward dynamics",
    "Lambda^-1 of end effectors": "Lambda^-1 of hands and feet",
    "constrained forward dynamics": "constrained forward dynamics", "Jacobian of one frame": "Jacobian of one frame",
}  # fmt: skip
LIBRARIES = {  # how labels of their calls begin, and their colours
    "Bough": ("bough", "#d6562b"), "Pinocchio": ("pin.", "#2a7fba"), "MuJoCo": ("mj_", "#33a06f"),
    "CasADi C": ("CasADi", "#8a6bb8"), "Drake": ("drake", "#b08a2e"), "DART": ("dart", "#7a7f87"),
}  # fmt: skip
WIDE, PANEL, BAR, LEFT = 520, 112, 14, 34  # pixels: a screen of a laptop, and as wide as a phone


class Cell(NamedTuple):
    """One function of one robot: seconds of each library."""

    function: str
    robot: str
    seconds: Mapping[str, float]


def cells(results: Path) -> Iterator[Cell]:
    """All cells of the first page that are recorded, function by function."""
    rows = {(x.case, x.model): x for x in report.recorded(results, "dynamics") if x.group == "single call"}
    for function, words in FUNCTIONS.items():
        for robot, name in ROBOTS.items():
            if (function, robot) in rows:
                yield Cell(words, name, _by_library(rows[function, robot]))


def _by_library(row: Timing) -> dict[str, float]:
    """The time of each library that was measured; of Bough, that of a single call."""
    single = {label: t for label, t in row.seconds.items() if label == "bough" or not label.startswith("bough")}
    found = {}
    for library, (start, _) in LIBRARIES.items():
        times = [t for label, t in single.items() if label.startswith(start)]
        if times:
            found[library] = min(times)
    return found


def table(results: Path) -> str:
    """Microseconds as Markdown, a table for each function: the best in bold, and Bough beside the fastest other."""
    lines: list[str] = []
    for function, own in groupby(cells(results), lambda cell: cell.function):
        rows = list(own)
        shown = [name for name in LIBRARIES if any(name in cell.seconds for cell in rows)]
        head = f"| robot | {' | '.join(shown)} | Bough is |", f"| --- |{' ---: |' * len(shown)} --- |"
        lines += ["", f"**{function[0].upper()}{function[1:]}**", "", *head]
        for cell in rows:
            best = min(cell.seconds.values())
            times = " | ".join(_time(cell.seconds.get(name), best) for name in shown)
            other = min(t for name, t in cell.seconds.items() if name != "Bough")
            lines.append(f"| {cell.robot} | {times} | {report.words(other / cell.seconds['Bough'])} |")
    return "\n".join(lines[1:])


def _time(seconds: float | None, best: float) -> str:
    if seconds is None:
        return ""
    text = f"{1e6 * seconds:.2f}" if seconds < 1e-5 else f"{1e6 * seconds:.1f}"
    return f"**{text}**" if seconds == best else text


def charts(results: Path) -> str:
    """The same as SVG: a panel for each function, times over that of Bough, on a linear scale."""
    found = list(cells(results))
    shown = [name for name in LIBRARIES if any(name in cell.seconds for cell in found)]
    drawn, high = [], 30
    for k, name in enumerate(shown):
        x = LEFT + (WIDE - LEFT) // len(shown) * k
        drawn.append(f"<rect x='{x}' y='10' width='11' height='11' rx='2' fill='{LIBRARIES[name][1]}'/>")
        drawn.append(f"<text x='{x + 16}' y='20'>{escape(name)}</text>")
    for function in FUNCTIONS.values():
        own = [cell for cell in found if cell.function == function]
        if own:
            drawn += _panel(function, own, high)
            high += PANEL
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDE}' viewBox='0 0 {WIDE} {high}'"
    font = "font-family='system-ui, sans-serif' font-size='12' fill='#6b7683'"
    return f"{head} {font}>\n" + "\n".join(drawn) + "\n</svg>\n"


def _panel(function: str, own: list[Cell], top: int) -> list[str]:
    """Bars of one function: as high as the time of a library over Bough's."""
    most = max(t / cell.seconds["Bough"] for cell in own for t in cell.seconds.values())
    height, floor = PANEL - 46, top + PANEL - 22
    step = next(s for s in (1, 2, 5, 10, 20, 50) if most / s <= 4)
    drawn = [f"<text x='{LEFT}' y='{top + 14}' font-size='13' font-weight='600'>{escape(function)}</text>"]
    for tick in range(0, int(most) + 1, step):
        y = floor - height * tick / most
        drawn.append(
            f"<line x1='{LEFT}' x2='{WIDE - 8}' y1='{y:.1f}' y2='{y:.1f}' stroke='#9aa3ad' stroke-opacity='0.35'/>"
        )
        drawn.append(f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{tick}x</text>")
    each = (WIDE - LEFT - 8) / len(own)
    for k, cell in enumerate(own):
        middle = LEFT + each * (k + 0.5)
        drawn.append(
            f"<text x='{middle:.1f}' y='{floor + 16}' text-anchor='middle' font-size='11'>{escape(cell.robot)}</text>"
        )
        bar = min(BAR, 0.85 * each / len(cell.seconds) - 2)
        start = middle - (bar + 2) * len(cell.seconds) / 2
        for place, (name, seconds) in enumerate(cell.seconds.items()):
            ratio = seconds / cell.seconds["Bough"]
            x, size = start + (bar + 2) * place, height * ratio / most
            words = f"<title>{escape(name)} {1e6 * seconds:.3g} us</title>"
            drawn.append(f"<rect x='{x:.1f}' y='{floor - size:.1f}' width='{bar:.1f}' height='{size:.1f}' rx='2' "
                         f"fill='{LIBRARIES[name][1]}'>{words}</rect>")  # fmt: skip
    return drawn


# What the demonstration shows of the records: the wheel holds a copy


def story(results: Path) -> dict[str, Any]:
    """Seconds by contestant of the three acts, as `bough.app.story` shows them."""

    def seconds(section: str, group: str, model: str, case: str) -> Timing:
        return next(x for x in report.recorded(results, section) if (x.group, x.model, x.case) == (group, model, case))

    one = seconds("dynamics", "single call", "humanoid", "forward dynamics").seconds
    molecule = seconds("adaptive", "quasi-statics, one step", "molecule 50,000", "1 force, end, eps = 2^-19")
    many = seconds("robots", "steps with contacts, batch of 4096", "quadruped", "four feet, 2 ms").seconds
    joints = re.search(r"([\d,]+) joints", molecule.note)
    assert joints
    return {
        "machine": report.origin(results / "dynamics.json"),
        "humanoid": {
            "Bough": one["bough"], "CasADi C code": one["CasADi C code of our forward_dynamics"],
            "MuJoCo": one["mj_forward"], "Pinocchio": one["pin.aba"],
        },
        "molecule": {
            "Bough, adaptive": molecule.seconds["bough"], "all joints, ABA": molecule.seconds["full step, aba"],
            "all joints, DCA": molecule.seconds["full step, dca"],
        },
        "molecule_joints": int(joints[1].replace(",", "")),
        "quadruped": {
            "Bough": many["bough"], "MuJoCo, pyramidal": many["mujoco.rollout, pyramidal cone"],
            "MuJoCo, elliptic": many["mujoco.rollout, elliptic cone"],
        },
    }  # fmt: skip
