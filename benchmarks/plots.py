"""Pictures of recorded benchmarks for the docs: how times grow with the number of joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Timing

COLOURS = {
    "chain": "#0072B2",
    "binary tree": "#D55E00",
    "random tree": "#009E73",
    "random tree, any numbering": "#999999",
}
MARKERS = {"forward dynamics": "o", "inverse dynamics": "s", "LTDL": "^"}
Line = dict[int, float]  # seconds by the number of joints


def lines(rows: list[Timing]) -> dict[tuple[str, str], Line]:
    """Seconds in all by family and function."""
    found: dict[tuple[str, str], Line] = {}
    for row in rows:
        family, _, count = row.model.rpartition(" ")
        if row.group.startswith("large trees") and row.case in MARKERS:
            n = int(count.replace(",", ""))
            each = n if row.group.endswith("per joint") else 1
            found.setdefault((family, row.case), {})[n] = row.seconds["bough"] * each
    return found


def slopes(rows: list[Timing]) -> dict[tuple[str, str], tuple[float, float]]:
    """Fitted and predicted exponents by family and function."""
    named = (row for row in rows if row.case == "exponent")
    return {
        (family, function): (row.numbers["fitted"], row.numbers["predicted"])
        for row in named
        for family, _, function in [row.model.partition(": ")]
    }


def scaling(rows: list[Timing], path: Path) -> bool:
    """Draw times per joint against n with the slopes of the operation counts; False where matplotlib is missing."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return False
    canvas = Figure(figsize=(11.0, 4.4), layout="constrained")
    each, known = dict(zip(MARKERS, canvas.subplots(1, len(MARKERS)), strict=True)), slopes(rows)
    for key, line in lines(rows).items():
        draw(each[key[1]], key, line, known.get(key))
    for title, axes in each.items():
        axes.set_title(title)
        axes.set_xlabel("joints n")
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.has_data():
            axes.plot([], [], ":", color="#555555", linewidth=1.2, label="predicted, over the last decade")
            axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    each["forward dynamics"].set_ylabel("microseconds per joint")
    with rc_context({"svg.hashsalt": "bough"}):  # the same picture for the same numbers
        canvas.savefig(path, metadata={"Date": None})
    return True


def draw(axes: Any, key: tuple[str, str], line: Line, slope: tuple[float, float] | None) -> None:
    """Points as measured, and a dotted line of the predicted slope through the last."""
    n = np.array(sorted(line))
    each = 1e6 * np.array([line[k] for k in sorted(line)]) / n
    label = key[0]
    if slope is not None:
        label += f": n^{slope[0]:.2f}, predicted {slope[1]:.2f}"
        part = n[n * 10.5 >= n[-1]]
        axes.loglog(part, each[-1] * (part / n[-1]) ** (slope[1] - 1.0), ":", color="#555555", linewidth=1.2, zorder=3)
    axes.loglog(n, each, marker=MARKERS[key[1]], color=COLOURS[key[0]], markersize=4.5, linewidth=1.5, label=label)
