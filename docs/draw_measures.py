"""Measures what each error measure leaves, writes the table of `adaptive.md` and draws `measures.svg`.

python docs/draw_measures.py
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bough import adaptive, zoo
from bough.adaptive import QuasiStatics

HERE = Path(__file__).parent
JOINTS, STEPS, FORCES, TURN = 5_000, 100, 10, 0.5  # the fastest joint turns by about so much (rad)
EPS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
PAPER = {"culled": "zero", "catch_up": False}
SPREAD = (1, 3, 10, 30, 100, 300, 1000, 5000)


class Kind(NamedTuple):
    """A measure as the table names it: made of eps and the scales of the motion, with options of the simulation."""

    name: str
    make: Callable[[float, dict[str, float]], adaptive.ErrorMeasure]
    options: dict[str, Any]
    style: str


relative, lever = lambda e, s: adaptive.relative_joint(e), {**PAPER, "metric": "lever"}
KINDS = (
    Kind('`relative_joint(eps)`, `culled="zero"`, `catch_up=False` (the paper)', relative, PAPER, "C0:"),
    Kind("`relative_linkage(eps)`, the same", lambda e, s: adaptive.relative_linkage(e), PAPER, "C1:"),
    Kind("`absolute_joint(eps` of the largest at first`)`, the same",
         lambda e, s: adaptive.absolute_joint(e * s["joint"]), PAPER, "C2:"),
    Kind("`absolute_linkage(eps` of the norm at first`)`, the same",
         lambda e, s: adaptive.absolute_linkage(e * s["linkage"]), PAPER, "C3:"),
    Kind('`relative_joint(eps)`, the same, `metric="lever"`', relative, lever, "C4:"),
    Kind("`relative_joint(eps)`", relative, {}, "C0-"),
    Kind('`relative_joint(eps)`, `culled="rigid"`', relative, {"culled": "rigid"}, "C1-"),
    Kind("`energy(eps)`", lambda e, s: adaptive.energy(e), {}, "k-"),
    Kind("`displacement(eps` of the motion of a step`)`", lambda e, s: adaptive.displacement(e * s["step"]), {}, "C5-"),
)  # fmt: skip


def begun(error: adaptive.ErrorMeasure | None, method: str, forces: int = FORCES, **options: Any) -> QuasiStatics:
    """Unit forces on neighbours in the middle, or on bodies anywhere where there are more."""
    model = zoo.molecule(JOINTS, seed=1).with_gravity((0.0, 0.0, 0.0))
    sim, rng = QuasiStatics(model, error, method, **options), np.random.default_rng(2)
    near = np.arange(JOINTS // 2, JOINTS // 2 + forces)
    load = sim.loads(near.tolist() if forces <= FORCES else rng.choice(JOINTS, forces, replace=False).tolist())
    direction = rng.normal(size=(forces, 3))
    load.values[:] = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    return sim


def measured() -> tuple[np.ndarray, np.ndarray]:
    """(kinds, eps): the largest error of a place over the largest motion, and joints computed a step."""
    exact = begun(None, "aba")
    start, qdd = exact.positions(), exact.accelerations()
    h = TURN / (STEPS * float(np.abs(qdd).max()))
    exact.run(STEPS, h=h)
    end = exact.positions()
    motion = float(np.linalg.norm(end - start, axis=1).max())
    scales = {"joint": float(np.abs(qdd).max()), "linkage": float(np.linalg.norm(qdd)), "step": motion / STEPS}
    errors, joints = np.zeros((2, len(KINDS), len(EPS)))
    for i, kind in enumerate(KINDS):
        for j, eps in enumerate(EPS):
            sim = begun(kind.make(eps, scales), "adaptive", **kind.options)
            for _ in range(STEPS):
                sim.run(1, h=h)
                joints[i, j] += sim.stats.joints / STEPS
            errors[i, j] = np.linalg.norm(sim.positions() - end, axis=1).max() / motion
    return errors, joints


def timed(eps: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """(forces,): the share of active joints, and the time of a step over that of a full one, in turns."""
    share, ratio = [], []
    for forces in SPREAD:
        sims = begun(adaptive.energy(eps), "adaptive", forces), begun(None, "aba", forces)
        h = 1e-2 / float(np.abs(sims[1].accelerations()).max())
        best = [np.inf, np.inf]
        for turn in range(20):
            for k, sim in enumerate(sims):
                began = time.perf_counter()
                sim.run(25, h=h)
                best[k] = min(best[k], time.perf_counter() - began) if turn else np.inf
        share.append(sims[0].stats.active / JOINTS)
        ratio.append(best[0] / best[1])
    return np.array(share), np.array(ratio)


def table(errors: np.ndarray, joints: np.ndarray) -> str:
    """The rows of the page."""
    lines = ["| measure | " + " | ".join(f"{eps:g}" for eps in EPS) + " |", "| --- |" + " --- |" * len(EPS)]
    for kind, error, count in zip(KINDS, errors, joints, strict=True):
        cells = (f"{e:.1e} ({n:.0f})" for e, n in zip(error, count, strict=True))
        lines.append(f"| {kind.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(errors: np.ndarray, joints: np.ndarray, share: np.ndarray, ratio: np.ndarray, path: Path) -> None:
    """Error against joints computed, of the paper's measures and of others, and when an adaptive step is faster."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ink = "#808080"  # legible on light and on dark pages
    plt.rcParams.update({"svg.hashsalt": "measures", **{f"{x}.color": ink for x in ("text", "xtick", "ytick")},
                         "axes.labelcolor": ink, "axes.edgecolor": ink, "axes.titlecolor": ink})  # fmt: skip
    figure, panels = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    panels[0].sharey(panels[1])
    for kind, error, count in zip(KINDS, errors, joints, strict=True):
        panel = panels[0] if kind.style.endswith(":") else panels[1]
        name = kind.name.replace("`", "").replace(", the same", "").split(', culled="zero", catch_up')[0]
        panel.loglog(count, error, kind.style.replace(":", "-").replace("k", "C7"), marker=".", label=name)
    panels[0].set(ylabel="largest position error / largest motion", title="as in the paper (zero, no catch-up)")
    panels[1].set(title='by default, or culled="rigid"')
    for panel in panels[:2]:
        panel.set_xlabel(f"joints computed a step, of {JOINTS:,}")
        panel.set_xticks([30, 100, 300], ["30", "100", "300"])
        panel.legend(fontsize=7, frameon=False, loc="lower left")
    panels[2].loglog(100 * share, ratio, "C0.-")
    panels[2].axhline(1.0, color=ink, lw=0.8)
    panels[2].set(xlabel="active joints, per cent", ylabel="time of a step / full step", title="when it is faster")
    panels[2].set_xticks([1, 10, 100], ["1", "10", "100"])
    panels[2].set_yticks([0.003, 0.01, 0.03, 0.1, 0.3, 1.0], ["0.003", "0.01", "0.03", "0.1", "0.3", "1"])
    for panel in panels:
        panel.minorticks_off()
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, transparent=True, metadata={"Date": None})


def main() -> None:
    share, ratio = timed()
    errors, joints = measured()
    page = HERE / "adaptive.md"
    rows = f"<!-- begin measures -->\n{table(errors, joints)}\n<!-- end measures -->"
    page.write_text(
        re.sub(r"<!-- begin measures -->.*?<!-- end measures -->", lambda _: rows, page.read_text(), flags=re.DOTALL)
    )
    draw(errors, joints, share, ratio, HERE / "measures.svg")
    print(rows)
    for forces, s, r in zip(SPREAD, share, ratio, strict=True):
        print(f"{forces:5d} forces: {100 * s:5.1f} % active, {r:.2f} of a full step")


if __name__ == "__main__":
    main()
