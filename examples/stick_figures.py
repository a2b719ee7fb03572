"""Pictures of robots as lines between their joints, for the examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import bough


def segments(dynamics: bough.Dynamics, q: np.ndarray, tips: Sequence[str] = ()) -> np.ndarray:
    """(k, 2, 3): from each body's frame to its parent's, and from frames named `tips` to their bodies."""
    model, T = dynamics.model, dynamics.placements(q)
    at = lambda name: T[model.frame(name), :3, 3]  # noqa: E731
    names, found = model.body_names, []
    for name, up in zip(names, model.parent, strict=True):
        if up >= 0:
            found.append((at(names[up]), at(name)))
    bodies = model.frames.body
    for tip in tips:
        own = [n for n in names if bodies[model.frame(n)] == bodies[model.frame(tip)]]
        found.append((at(own[0]), at(tip)))
    return np.array(found)


def sequence(
    dynamics: bough.Dynamics,
    motion: Sequence[tuple[float, np.ndarray]],
    path: Path,
    *,
    tips: Sequence[str] = (),
    side: tuple[int, int] = (1, 2),
    curves: dict[str, tuple[np.ndarray, np.ndarray]] | None = None,
) -> Path:
    """Draw configurations at some times beside each other, and below them curves {label: (time, values)}."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(2.0 * len(motion), 6.5), constrained_layout=True)
    grid = figure.add_gridspec(2, len(motion), height_ratios=(2, 1))
    for k, (t, q) in enumerate(motion):
        ax = figure.add_subplot(grid[0, k])
        for a, b in segments(dynamics, q, tips):
            ax.plot([a[side[0]], b[side[0]]], [a[side[1]], b[side[1]]], "-o", color="C0", markersize=2, linewidth=1.5)
        ax.axhline(0.0, color="0.6")
        ax.set(aspect="equal", title=f"{t:.1f} s", xticks=[])
    ax = figure.add_subplot(grid[1, :])
    for label, (time, values) in (curves or {}).items():
        ax.plot(time, values, label=label, linewidth=1.0)
    ax.set(xlabel="time (s)")
    ax.legend(ncols=4, fontsize="small")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
