"""Plots and tables of the page, as markup that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

WIDE, HIGH, LEFT, BELOW = 520, 190, 52, 30
COLOURS = ("#2a7fba", "#d6562b", "#33a06f", "#8a6bb8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column is words, the others are numbers."""
    top = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table class='numbers'><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def bars(rows: Mapping[str, float], unit: str) -> str:
    """One bar for each number, on a logarithmic scale if they span more than a decade."""
    values = np.array(list(rows.values()))
    log = values.max() > 20 * values.min() > 0
    low = values.min() / 3
    share = np.log(values / low) / np.log(values.max() / low) if log else values / values.max()
    lines = [
        f"<div class='bar'><span>{escape(name)}</span><i style='width:{100 * part:.1f}%'></i>"
        f"<b>{three(value)} {escape(unit)}</b></div>"
        for (name, value), part in zip(rows.items(), share, strict=True)
    ]
    return f"<div class='bars'>{''.join(lines)}<p class='note'>{'logarithmic scale' if log else ''}</p></div>"


def plot(x: npt.ArrayLike, series: Mapping[str, npt.ArrayLike], across: str, up: str, *, log: bool = False) -> str:
    """Lines over x as SVG."""
    at, lines = np.asarray(x, float), {name: np.asarray(y, float) for name, y in series.items()}
    values = np.concatenate([y[np.isfinite(y) & ((y > 0) | (not log))] for y in lines.values()])
    ticks = decades(values) if log else round_ticks(min(values.min(), 0.0), values.max())
    scale = np.log10 if log else np.asarray
    low, high = scale(ticks[0]), scale(ticks[-1])

    def px(v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return LEFT + (WIDE - LEFT - 10) * (v - at[0]) / (at[-1] - at[0])

    def py(v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return HIGH - BELOW - (HIGH - BELOW - 24) * (scale(v) - low) / (high - low)

    drawn = [
        f"<line x1='{LEFT}' x2='{WIDE - 10}' y1='{y:.1f}' y2='{y:.1f}' class='grid'/>"
        f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{three(t)}</text>"
        for t, y in zip(ticks, py(np.array(ticks)), strict=True)
    ]
    for t in round_ticks(at[0], at[-1]):
        if at[0] <= t <= at[-1]:
            drawn.append(
                f"<text x='{px(np.array(t)):.1f}' y='{HIGH - BELOW + 15}' text-anchor='middle'>{three(t)}</text>"
            )
    for k, (name, y) in enumerate(lines.items()):
        good = np.isfinite(y) & ((y > 0) | (not log))
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px(at[good]), py(y[good]), strict=True))
        drawn.append(f"<polyline points='{points}' style='stroke:{COLOURS[k]}'/>")
        drawn.append(f"<text x='{LEFT + 8 + 190 * k}' y='13' style='fill:{COLOURS[k]}'>{escape(name)}</text>")
    drawn.append(f"<text x='{WIDE - 10}' y='{HIGH - 2}' text-anchor='end'>{escape(across)}</text>")
    picture = f"<svg viewBox='0 0 {WIDE} {HIGH}' class='chart'>{''.join(drawn)}</svg>"
    return f"<figure>{picture}<figcaption>{escape(up)}</figcaption></figure>"


def round_ticks(low: float, high: float) -> list[float]:
    """About four round numbers that hold what is between."""
    raw = max(high - low, 1e-12) / 4
    size = 10.0 ** np.floor(np.log10(raw))
    step = size * min((1, 2, 5, 10), key=lambda m: abs(m * size - raw))
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [float(step * k) for k in np.arange(first, last + 1)]


def decades(values: npt.NDArray[np.float64]) -> list[float]:
    """Powers of ten that hold these."""
    first, last = np.floor(np.log10(values.min())), np.ceil(np.log10(values.max()))
    return [float(10.0**k) for k in np.arange(first, max(last, first + 1) + 1)]


def three(x: float) -> str:
    """A number in three digits."""
    if x == 0.0:
        return "0"
    if not 1e-3 <= abs(x) < 1e6:
        return f"{x:.2e}"
    return f"{float(f'{x:.3g}'):,.10g}"
