"""One style for all pictures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from bough.errors import required
from papers.result import Figure

# Distinct also in grey and for the colour-blind (Okabe & Ito); printed values are grey, ours coloured.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, FAINT = "#7a8088", "#9aa0a860"  # legible on light and on dark pages: the ground is transparent
PRINTED = {"color": INK, "marker": "x", "linestyle": "none", "markersize": 7, "markeredgewidth": 1.6}
SETTINGS: dict[Any, Any] = {
    "font.size": 10, "axes.titlesize": 10.5, "axes.grid": True, "grid.color": FAINT, "grid.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "lines.linewidth": 1.7,
    "lines.markersize": 4.5, "legend.frameon": False, "savefig.transparent": True,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK
    ),
    **{f"boxplot.{part}props.color": INK for part in ("box", "whisker", "cap")},
}  # fmt: skip


def drawn(figure: Figure) -> tuple[bytes, bytes]:
    """The picture as a PNG and as an SVG file, without a date or a version: the same numbers give the same files."""
    matplotlib = required("matplotlib", "plot", "a picture")
    matplotlib.use("Agg")
    from cycler import cycler
    from matplotlib.figure import Figure as Canvas
    from PIL import Image

    with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS), "svg.hashsalt": figure.name}):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        whole, buffer, lines = io.BytesIO(), io.BytesIO(), io.BytesIO()
        canvas.savefig(whole, dpi=130)
        canvas.savefig(lines, format="svg", metadata={"Date": None, "Creator": None})
    few = Image.open(whole).convert("RGBA").quantize(256, dither=Image.Dither.NONE)  # a third of the size
    few.save(buffer, "PNG", optimize=True)
    return buffer.getvalue(), lines.getvalue()


def legend_outside(canvas: Any, axes: Any, columns: int = 4) -> None:
    """A legend below the axes, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def plain_ticks(axis: Any, values: list[float]) -> None:
    """These ticks only, as plain numbers: for logarithmic axes over less than two decades."""
    axis.set_ticks(values, labels=[f"{x:g}" for x in values])
    axis.set_ticks([], minor=True)


def show_patterns(canvas: Any, patterns: Mapping[str, Any], label: str = "degree of freedom") -> None:
    """Matrices of zeros and ones side by side, each with its name and how many ones it has."""
    for axes, (name, matrix) in zip(canvas.subplots(1, len(patterns)), patterns.items(), strict=True):
        show_pattern(axes, matrix)
        axes.set_title(f"{name}: {int(matrix.sum())} of {matrix.size}")
        axes.set_xlabel(label)


def show_pattern(axes: Any, matrix: Any) -> None:
    """A matrix of zeros and ones, its rows and columns numbered from one as in the papers."""
    from matplotlib.colors import to_rgba

    rows, columns = matrix.shape
    extent = (0.5, columns + 0.5, rows + 0.5, 0.5)
    axes.imshow(np.where(matrix[..., None], to_rgba(INK), 0.0), extent=extent)
    for axis, size in ((axes.xaxis, columns), (axes.yaxis, rows)):
        axis.set_ticks([1, *range(10, size + 1, 10)] if size > 10 else range(1, size + 1))
    axes.grid(False)


def operations_axis(axes: Any, most: int) -> None:
    """The axis of bars that lie: operations from none to so many."""
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(0, most)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("operations (multiplications, additions and divisions)")
