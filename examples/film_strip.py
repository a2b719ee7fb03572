"""Pictures of a motion at some times beside each other, drawn by `bough.view`, with curves below, for the examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import shaded

import bough
from bough.model import Piece
from bough.view import picture, scene


def film_strip(
    model: bough.Model,
    motion: Sequence[tuple[float, np.ndarray]],
    path: Path,
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    *,
    pieces: Sequence[Piece] = (),
    direction: tuple[float, float] = (-1.2, 0.12),
) -> Path:
    """Draw configurations at some times, all in one scale, and below them curves {label: (time, values)}.

    `pieces` are drawn beside the links of the model; `direction` is where the camera stands.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    times, states = np.array([t for t, _ in motion]), np.array([q for _, q in motion])
    shown = scene(model)
    if pieces:
        shown = replace(shown, shapes=[*shown.shapes, *scene(model, pieces=pieces).shapes])
    shown = shown.playing(times, states)
    figure = plt.figure(figsize=(2.0 * len(motion), 6.0), constrained_layout=True)
    grid = figure.add_gridspec(2, len(motion), height_ratios=(2, 1))
    for k, t in enumerate(times):
        panel = figure.add_subplot(grid[0, k])
        panel.imshow(picture(shown, (360, 640), sample=k, direction=direction, zoom=1.05))
        panel.set_title(f"{t:.1f} s")
        panel.set_axis_off()
    below = figure.add_subplot(grid[1, :])
    for label, (time, values) in curves.items():
        below.plot(time, values, label=label, linewidth=1.0)
    below.set(xlabel="time (s)")
    below.legend(ncols=4, fontsize="small", frameon=False)
    return shaded.save(figure, path)
