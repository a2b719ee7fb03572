"""Adenylate kinase is pulled from its open to its closed form by 214 springs; joints that move are coloured.

The linkage has the 982 bonds about which the molecule turns, and a free first body: 988 DoF, from the coordinates of
entries 4AKE and 1AKE of the Protein Data Bank. A spring leads each alpha carbon to its place in the closed form.
Energies of all steps are compared: none rises, however few joints are active.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shaded

from bough import adaptive
from bough.adaptive import QuasiStatics
from bough.model import Model
from bough.zoo import adenylate_kinase

STIFFNESS = 100.0  # kJ/mol/nm^2
H = 0.01  # ps^2
SHOWN = (0.0, 0.2, 1.0)  # instants of the picture, as shares of the steps


class Pull(NamedTuple):
    """One run, step by step."""

    eps: float | None
    energy: np.ndarray  # (steps + 1,) kJ/mol
    far: np.ndarray  # (steps + 1,) root mean square distance of alpha carbons from the closed form, A
    active: np.ndarray  # (steps,)
    shapes: list[tuple[int, np.ndarray, np.ndarray]]  # step, places of all bodies, whether each turns about its bond


def alpha_carbons(model: Model) -> list[str]:
    """Their frames, in order."""
    return sorted((name for name in model.frame_names if name.endswith(".CA")), key=lambda name: int(name[3:-3]))


def pull(model: Model, goal: np.ndarray, eps: float | None, steps: int) -> Pull:
    """All joints without eps, else those that it leaves active."""
    sim = QuasiStatics(model, None if eps is None else adaptive.energy(eps), "aba" if eps is None else "adaptive")
    carbons = alpha_carbons(model)
    springs = sim.restraints(carbons, targets=goal, stiffness=STIFFNESS)
    springs(sim)
    rows, shapes = [(springs.energy, distance(sim, carbons, goal), 0)], []
    for k in range(steps):
        before = sim.configuration
        sim.run(1, h=H, load=springs)
        rows.append((springs.energy, distance(sim, carbons, goal), sim.stats.active))
        if k in [round(share * (steps - 1)) for share in SHOWN]:
            turns = np.append(False, (sim.configuration != before)[7:])  # the first body is free
            shapes.append((k + 1, sim.positions(model.body_names), turns))
    energy, far, active = (np.array(column) for column in zip(*rows, strict=True))
    return Pull(eps, energy, far, active[1:], shapes)


def distance(sim: QuasiStatics, carbons: list[str], goal: np.ndarray) -> float:
    """Root mean square, A."""
    return float(10.0 * np.sqrt(((sim.positions(carbons) - goal) ** 2).sum(axis=1).mean()))


def draw(model: Model, goal: np.ndarray, runs: list[Pull], shown: Pull, where: Path) -> None:
    """The backbone on its way, and energy, distance and active joints over the steps."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 7.2), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.75, 1.0])
    above.suptitle(
        f"Adenylate kinase closes: {len(goal)} springs pull it to its closed form (yellow). A rod is a bond: red ones "
        f"turn in this step, grey ones are locked; eps = {shown.eps:g}", fontsize=10,
    )  # fmt: skip
    for panel, (step, at, turns) in zip(above.subplots(1, len(shown.shapes)), shown.shapes, strict=True):
        own = np.flatnonzero(model.parent >= 0)
        colours = np.where(turns[own, None], shaded.ACTIVE, shaded.LOCKED)
        bonds = shaded.rods_between(at[model.parent[own]], at[own], np.where(turns[own], 0.09, 0.06), colours)
        shapes = [bonds, *shaded.tube(goal, 0.04, (0.93, 0.72, 0.30))]
        panel.imshow(shaded.still(model, shapes, (520, 560), (-0.4, 0.1), 1.55))
        panel.set_title(f"step {step}: {shown.far[step]:.2f} Å away, {shown.active[step - 1]:.0f} joints active")
        panel.set_axis_off()
    panels = below.subplots(1, 3)
    for run in runs:
        style = {"label": "all joints" if run.eps is None else f"eps = {run.eps:g}", "lw": 1.4}
        style |= {"color": "k", "ls": ":"} if run.eps is None else {}
        panels[0].semilogy(run.energy, **style)
        panels[1].semilogy(run.far, **style)
        panels[2].plot(np.arange(1, len(run.energy)), run.active, **style)
    titles = "energy of the springs, kJ/mol: it never rises", "distance from the closed form, Å", "active joints"
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("step")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
        panel.minorticks_off()
    panels[1].set_yticks([8, 4, 2, 1, 0.5, 0.25], ["8", "4", "2", "1", "½", "¼"])
    panels[0].legend(frameon=False, fontsize=9)
    shaded.save(figure, where)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--eps", type=float, nargs="+", default=[0.5, 0.3, 0.1])
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    model, closed = adenylate_kinase(), adenylate_kinase("closed")
    goal = QuasiStatics(closed, method="aba").positions(alpha_carbons(closed))
    print(f"{len(model.joints)} joints, {model.nv} DoF, {len(goal)} springs, {options.steps} steps of h = {H:g} ps^2")
    print(f"{'eps':>6} {'active':>7} {'energy, kJ/mol':>22} {'from the closed form, A':>24} {'rises':>6}")
    runs = [pull(model, goal, eps, options.steps) for eps in (None, *options.eps)]
    for r in runs:
        name = "all" if r.eps is None else f"{r.eps:g}"
        print(f"{name:>6} {r.active.mean():7.0f} {r.energy[0]:11.1f} -> {r.energy[-1]:7.2f}", end="")
        print(f" {r.far[0]:15.2f} -> {r.far[-1]:5.2f} {(np.diff(r.energy) > 0.0).sum():6d}")
    draw(model, goal, runs, runs[1], options.out / "pull_protein_chain.png")


if __name__ == "__main__":
    main()
