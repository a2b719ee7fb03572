"""HTML of results in notebooks: tables, patterns of matrices, and plots, as text without scripts or style sheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

SIZE = 240  # pixels of a pattern
PLOT = (480, 200)
INKS = ("#2a7fba", "#ed7d31", "#33a172", "#c74a61", "#826bb8", "#d9ad33", "#3dabb8", "#b87099")


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table; cells after the first are right-aligned."""
    first = _row("th", head) if head else ""
    return f"<table>{first}{''.join(_row('td', row) for row in rows)}</table>"


def _row(kind: str, cells: Sequence[object]) -> str:
    sides = ["left", *["right"] * (len(cells) - 1)]
    shown = (f"<{kind} style='text-align:{a}'>{escape(str(x))}</{kind}>" for a, x in zip(sides, cells, strict=True))
    return f"<tr>{''.join(shown)}</tr>"


def pattern(share: npt.NDArray[np.float64], title: str) -> str:
    """Nonzeros of a square matrix from shares (n, n) of cells: dark where all of a cell is nonzero."""
    n = len(share)
    if n == 0:
        return ""
    cells = []
    for level in (0.25, 0.5, 0.75, 1.0):
        path = [
            f"M{j} {i}h1v1h-1z"
            for i, j in np.argwhere((share > level - 0.25) & (share <= level)).tolist()
        ]  # fmt: skip
        if path:
            cells.append(f"<path fill-opacity='{level}' d='{''.join(path)}'/>")
    return (
        f"<figure style='display:inline-block;margin:4px'><svg width='{SIZE}' height='{SIZE}' viewBox='0 0 {n} {n}' "
        f"fill='{INKS[0]}' style='border:1px solid #8888' shape-rendering='crispEdges'>{''.join(cells)}</svg>"
        f"<figcaption>{escape(title)}</figcaption></figure>"
    )


def plot(x: npt.NDArray[Any], lines: Mapping[str, npt.NDArray[Any]], unit: str) -> str:
    """Lines over x, with the range of both axes and a legend."""
    finite = [y[np.isfinite(y)] for y in lines.values()]
    values = np.concatenate([*finite, np.zeros(0)])
    if len(x) < 2 or not len(values):
        return ""
    low, high = float(values.min()), float(values.max())
    wide, tall = PLOT
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), 300)).astype(int))
    across = (x[kept] - x[0]) / max(float(x[-1] - x[0]), 1e-300) * wide
    drawn = []
    for k, y in enumerate(lines.values()):
        up = tall - (np.nan_to_num(y[kept], nan=low) - low) / max(high - low, 1e-300) * tall
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), up.tolist(), strict=True))
        drawn.append(f"<polyline points='{points}' fill='none' stroke='{INKS[k % len(INKS)]}' stroke-width='1.5'/>")
    inks = zip(lines, INKS * len(lines), strict=False)
    names = ", ".join(f"<span style='color:{ink}'>{escape(name)}</span>" for name, ink in inks)
    return (
        f"<figure style='display:inline-block;margin:4px'><svg width='{wide}' height='{tall}' style='border:1px solid "
        f"#8888'>{''.join(drawn)}</svg><figcaption>{names}: {low:.3g} to {high:.3g} over {x[0]:g} to {x[-1]:g} "
        f"{escape(unit)}</figcaption></figure>"
    )
