"""Figs. 1, 4 and 6: the linkages drawn, the joints that are computed, and what a threshold does to a chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive import QuasiStatics, relative_joint
from bough.model import Model
from bough.reproduce.redon_lin.protocol import DT, FULL, displacement_error, simulation
from bough.reproduce.result import MEASURED, Figure, Result, Row
from bough.reproduce.style import COLOURS, legend_outside
from bough.types import FloatArray
from bough.zoo import bicycle_chain, millipede, molecule

STEPS = 10_000
THRESHOLDS = (2, 5, 10)  # exponents of Fig. 1 (c) to (e)
LEGS, ATOMS = 40, 600  # small enough to be seen


def run(full: bool = False) -> Result:
    """A bicycle chain pulled at its last link, exactly and at three thresholds; a millipede and a molecule."""
    steps = STEPS
    model = bicycle_chain().with_gravity((0.0, 0.0, 0.0))
    plan = next(plan for plan in FULL if plan.linkage == "bicycle chain")
    paths = {}
    for exponent in (None, *THRESHOLDS):
        sim = simulation(model, plan, 1, exponent, "aba" if exponent is None else "adaptive")
        start = _points(sim)
        sim.run(steps, DT)
        paths[exponent] = _points(sim)
    rows = tuple(
        Row(f"bicycle chain, {steps} steps, 2^-{e}: displacement error at the end", "", f"{error:.2g}", "", MEASURED)
        for e in THRESHOLDS
        for error in [displacement_error(paths[e] - start, paths[None] - start)]
    )
    return Result(rows, (_chain_figure(start, paths, steps), _millipede_figure(), _molecule_figure()))


def _points(sim: QuasiStatics) -> FloatArray:
    return sim.positions()


def _chain_figure(start: FloatArray, paths: dict[int | None, FloatArray], steps: int) -> Figure:
    def draw(canvas: Any) -> None:
        all_axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for axes, (exponent, end) in zip(all_axes.flat, paths.items(), strict=True):
            plane = _plane(start, paths[None])
            for points, colour, label in ((start, "#aaaaaa", "start"), (paths[None], "#555555", "end, exact")):
                axes.plot(*(points @ plane).T, marker=".", markersize=3, color=colour, label=label)
            if exponent is not None:
                axes.plot(*(end @ plane).T, marker=".", markersize=3, color=COLOURS[1], label="end, bounded error")
            axes.set_title("exact" if exponent is None else f"eps = 2^-{exponent}")
            axes.set_aspect("equal")
        for axes in all_axes[1]:
            axes.set_xlabel("m")
        for axes in all_axes[:, 0]:
            axes.set_ylabel("m")
        legend_outside(canvas, all_axes[0][1])

    caption = (
        f"Fig. 1: a bicycle chain of 30 links before and after {steps:,} steps under a constant force on its last "
        "link: computed exactly (left), and with bounded relative errors of the joint accelerations. At 2^-2 the end "
        "is off visibly, at 2^-5 hardly, at 2^-10 not at all."
    )
    return Figure("figure1", caption, draw, (9.0, 4.8))


def _plane(start: FloatArray, end: FloatArray) -> FloatArray:
    """The plane in which a planar chain lies, as (3, 2)."""
    both = np.concatenate([start, end])
    _, _, axes = np.linalg.svd(both - both.mean(axis=0))
    return axes[:2].T


def _active(model: Model, exponent: int) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.bool_]], int]:
    """Positions, which joints are computed under a force on the last body, and that body."""
    sim = QuasiStatics(model, relative_joint(2.0**-exponent), "adaptive", culled="zero", catch_up=False)
    sim.configuration = model.random_configuration(np.random.default_rng(1))
    body = len(model.joints) - 1
    sim.apply_force(body, (0.0, 0.0, 1.0))
    moving = sim.accelerations() != 0
    active = np.array([bool(moving[joint.v].any()) for joint in model.joints])
    return sim.positions(), active, body


def _draw_tree(canvas: Any, model: Model, exponents: tuple[int, ...]) -> None:
    parent = model.tree.parent
    both = canvas.subplots(1, len(exponents))
    both[0].set_ylabel("m")
    for axes, exponent in zip(both, exponents, strict=True):
        points, active, body = _active(model, exponent)
        flat = (points - points.mean(axis=0)) @ _plane(points, points)
        for group, colour, width, order in ((~active, "#bbbbbb", 0.7, 1), (active, COLOURS[1], 2.0, 2)):
            ends = np.flatnonzero(group & (parent >= 0))
            lines = np.stack([flat[ends], flat[parent[ends]], np.full((len(ends), 2), np.nan)], axis=1).reshape(-1, 2)
            axes.plot(*lines.T, color=colour, linewidth=width, zorder=order)
        axes.plot(*flat[body], "o", color="black", markersize=5, zorder=3)
        axes.set_title(f"eps = 2^-{exponent}: {int(active.sum())} of {len(active)} joints")
        axes.set_aspect("equal")
        axes.set_xlabel("m")


def _millipede_figure() -> Figure:
    model = millipede(legs=LEGS, geometry="straight", floating=True).with_gravity((0.0, 0.0, 0.0))
    caption = (
        f"Fig. 4: a millipede with {LEGS} legs of ten links (the paper's has 1,000), in a random configuration, with a "
        "force on the foot marked by the dot. Joints that are computed are coloured: at a coarse threshold some near "
        "the foot, at a fine one those of its surroundings. Single ones far away join the sub-assemblies that were "
        "opened on the way down the assembly tree."
    )
    return Figure("figure4", caption, lambda canvas: _draw_tree(canvas, model, (3, 11)), (9.5, 4.4))


def _molecule_figure() -> Figure:
    model = molecule(ATOMS).with_gravity((0.0, 0.0, 0.0))
    caption = (
        f"Fig. 6: a random molecule-like linkage with {ATOMS} rotatable bonds (the paper's has 50,000), with a force "
        "on the atom marked by the dot. Coloured bonds are computed: how many depends on the threshold."
    )
    return Figure("figure6", caption, lambda canvas: _draw_tree(canvas, model, (3, 11)), (9.5, 4.6))
