"""Figs. 1, 4 and 6: the linkages drawn, the joints that are computed, and what a threshold does to a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bough.adaptive import QuasiStatics, relative_joint
from bough.model import Model
from bough.types import FloatArray
from bough.view import Shapes, balls, picture, rods, scene
from bough.zoo import bicycle_chain, millipede, molecule
from papers.redon_lin.protocol import DT, FULL, displacement_error, simulation, winding
from papers.result import MEASURED, Figure, Result, Row

STEPS = 10_000
THRESHOLDS = (2, 5, 10)  # exponents of Fig. 1 (c) to (e)
LEGS, ATOMS = 40, 600  # small enough to be seen
COMPUTED, LEFT_OUT, EXACT, START = (0.86, 0.16, 0.10), (0.55, 0.60, 0.67), (0.20, 0.22, 0.26), (0.80, 0.82, 0.84)
PUSH = (0.95, 0.62, 0.10)

Flags = np.ndarray[Any, np.dtype[np.bool_]]


def run(full: bool = False) -> Result:
    """A bicycle chain pulled at its last link, exactly and at three thresholds; a millipede and a molecule."""
    steps = STEPS
    model = bicycle_chain().with_gravity((0.0, 0.0, 0.0))
    plan = next(plan for plan in FULL if plan.linkage == "bicycle chain")
    paths, moving = {}, {}
    for exponent in (None, *THRESHOLDS):
        sim = simulation(model, plan, 1, exponent, "aba" if exponent is None else "adaptive")
        start = sim.positions()
        sim.run(steps, DT)
        paths[exponent], moving[exponent] = sim.positions(), sim.accelerations() != 0
    rows = tuple(
        Row(f"bicycle chain, {steps} steps, 2^-{e}: displacement error at the end", "", f"{error:.2g}", "", MEASURED)
        for e in THRESHOLDS
        for error in [displacement_error(paths[e] - start, paths[None] - start)]
    )
    return Result(rows, (_chain_figure(model, start, paths, moving), _millipede_figure(), _molecule_figure()))


def shapes(points: FloatArray, parent: Any, colour: FloatArray, width: float) -> list[Shapes]:
    """Balls at joints and rods between them, in the colours of the bodies' joints, (n, 3) or one for all."""
    own = np.broadcast_to(colour, points.shape)
    ends = np.flatnonzero(parent >= 0)
    up = parent[ends]
    links = rods(np.full(len(ends), -1), points[up], points[ends], np.full(len(ends), 0.62 * width), own[up])
    return [links, balls(np.full(len(points), -1), points, np.full(len(points), width), own)]


def force(at: FloatArray, along: FloatArray, length: float) -> list[Shapes]:
    """An arrow that pulls at a point."""
    way, one, colour = length * along / np.linalg.norm(along), np.full(1, -1), np.array([PUSH])
    neck, tip = (at + 0.7 * way)[None], (at + way)[None]
    head = replace(rods(one, neck, tip, np.array([0.32 * length]), colour), kind="cone")
    return [rods(one, at[None], neck, np.array([0.12 * length]), colour), head]


def coloured(computed: Flags) -> FloatArray:
    """(n, 3): joints that are computed are red."""
    return np.where(computed[:, None], COMPUTED, LEFT_OUT)


def _shown(
    axes: Any, model: Model, parts: list[Shapes], look: tuple[float, float], zoom: float, high: int = 400
) -> None:
    axes.imshow(picture(replace(scene(model, pieces=[]), shapes=parts), (640, high), direction=look, zoom=zoom))
    axes.set_axis_off()


def draw_chain(axes: Any, model: Model, start: FloatArray, exact: FloatArray, end: FloatArray, moving: Flags) -> None:
    """A planar chain on the floor: where it began, where it ends exactly, and where it ends, with joints that move."""
    flat, parent = _plane(start, exact), model.tree.parent
    lie = [
        np.column_stack([p @ flat, np.full(len(p), high)]) for p, high in ((start, 6e-3), (exact, 6e-3), (end, 8e-3))
    ]
    parts = shapes(lie[0], parent, np.array(START), 0.008) + shapes(lie[1], parent, np.array(EXACT), 0.008)
    parts += [] if end is exact else shapes(lie[2], parent, coloured(moving), 0.010)
    _shown(axes, model, parts, (-1.57, 1.0), 1.75, 260)


def _chain_figure(
    model: Model, start: FloatArray, paths: dict[int | None, FloatArray], moving: dict[int | None, Flags]
) -> Figure:
    def draw(canvas: Any) -> None:
        for axes, (exponent, end) in zip(canvas.subplots(2, 2).flat, paths.items(), strict=True):
            draw_chain(axes, model, start, paths[None], end, moving[exponent])
            axes.set_title(
                "exact" if exponent is None else f"eps = 2^-{exponent}: {moving[exponent].sum()} of 30 joints"
            )

    caption = (
        f"Fig. 1: a bicycle chain of 30 links before (pale) and after {STEPS:,} steps under a constant force on its "
        "last link: computed exactly (dark), and with bounded relative errors of the joint accelerations, joints "
        "computed in the last step red. At 2^-2 the end is off visibly, at 2^-5 hardly, at 2^-10 not at all."
    )
    return Figure("figure1", caption, draw, (9.5, 4.4))


def _plane(start: FloatArray, end: FloatArray) -> FloatArray:
    """The plane in which a planar chain lies, as (3, 2)."""
    both = np.concatenate([start, end])
    _, _, axes = np.linalg.svd(both - both.mean(axis=0))
    return axes[:2].T


def computed(model: Model, q: FloatArray, body: int, pull: FloatArray, exponent: int) -> tuple[FloatArray, Flags]:
    """Positions, and which joints are computed under a force on a body."""
    sim = QuasiStatics(model, relative_joint(2.0**-exponent), "adaptive", culled="zero", catch_up=False)
    sim.configuration = q
    sim.apply_force(body, pull)
    moving = sim.accelerations() != 0
    return sim.positions(), np.array([bool(moving[joint.v].any()) for joint in model.joints])


def draw_millipede(canvas: Any, legs: int = LEGS, exponents: Sequence[int] = (3, 11)) -> None:
    """A millipede that winds its way, with a force on one foot."""
    model = millipede(legs=legs, geometry="straight", floating=True).with_gravity((0.0, 0.0, 0.0))
    q, spine = winding(legs), 3 * legs
    foot, pull = spine + 10 * (legs // 2) + 9, np.array([1.0, 0.0, 0.0])
    for axes, exponent in zip(canvas.subplots(1, len(exponents)), exponents, strict=True):
        points, active = computed(model, q, foot, pull, exponent)
        lie = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # its legs leave it along z
        at = points @ lie + (0.0, 0.0, 0.8)
        parts = shapes(at[:spine], model.tree.parent[:spine], coloured(active[:spine]), 0.62)
        parts += shapes(at, np.where(np.arange(len(at)) < spine, -1, model.tree.parent), coloured(active), 0.36)
        _shown(axes, model, parts + force(at[foot], pull @ lie, 3.0), (-1.35, 0.6), 2.3, 270)
        axes.set_title(f"eps = 2^-{exponent}: {int(active.sum())} of {len(active)} joints")


def draw_molecule(canvas: Any, atoms: int = ATOMS, exponents: Sequence[int] = (3, 11)) -> None:
    """A molecule-like linkage with a force on one atom."""
    model = molecule(atoms, window=2).with_gravity((0.0, 0.0, 0.0))
    q, pull = model.random_configuration(np.random.default_rng(1)), np.array([0.0, 0.0, 1.0])
    for axes, exponent in zip(canvas.subplots(1, len(exponents)), exponents, strict=True):
        points, active = computed(model, q, atoms - 1, pull, exponent)
        parts = shapes(points, model.tree.parent, coloured(active), 0.085)
        _shown(axes, model, parts + force(points[-1], pull, 0.5), (-0.7, 0.25), 1.9, 330)
        axes.set_title(f"eps = 2^-{exponent}: {int(active.sum())} of {len(active)} joints")


def _millipede_figure() -> Figure:
    caption = (
        f"Fig. 4: a millipede with {LEGS} legs of ten links (the paper's has 1,000), with a force on the foot that the "
        "arrow pulls. Joints that are computed are red: at a coarse threshold those of its leg, at a fine one those of "
        "its surroundings. Single ones far away join the sub-assemblies that were opened on the way down the "
        "assembly tree."
    )
    return Figure("figure4", caption, draw_millipede, (9.5, 2.25))


def _molecule_figure() -> Figure:
    caption = (
        f"Fig. 6: a random molecule-like linkage with {ATOMS} rotatable bonds (the paper's has 50,000), with a force "
        "on the atom that the arrow pulls. Red joints are computed: how many depends on the threshold."
    )
    return Figure("figure6", caption, draw_molecule, (9.5, 2.8))
