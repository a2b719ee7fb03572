"""A millipede and a cable bridge give way to a force: adaptive steps beside plain ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bough import adaptive, zoo
from bough.adaptive import QuasiStatics, Recorder
from bough.model import LoopClosure, Model
from bough.types import FloatArray
from bough.view import Scene, Shapes, arrows, scene
from bough.view.shapes import balls, rods

PAIRS_OF_LEGS, LEG = 500, 10
PULL = (0.0, 3.0, 3.0)  # N
WEIGHT, BETWEEN, SPANS = (0.0, 0.0, -1.5), 0.82, 5  # N, m


class SettlingCase(NamedTuple):
    """A linkage, how it starts, what is done to it, and for how long."""

    title: str
    model: Model
    start: FloatArray
    load: Callable[[QuasiStatics], object]
    forces: tuple[tuple[str, tuple[float, float, float]], ...]  # those that are drawn
    eps: float  # of the energy that a step sets free, the part that may be missed
    steps: int
    dt: float
    every: int
    camera: tuple[float, float]
    around: tuple[Shapes, ...] = ()  # what does not move


class Beside(NamedTuple):
    """What adaptive steps and plain ones took, and how far apart they end."""

    case: SettlingCase
    seconds: float  # an adaptive step
    plain: float  # a plain step
    joints: float  # computed, an adaptive step on average
    apart: float  # largest distance of a body between both ends, over the largest displacement
    recorder: Recorder


def millipede(pairs: int = PAIRS_OF_LEGS) -> SettlingCase:
    """A coiled millipede (Redon & Lin 2005, section 6.2), pulled at the tip of a leg; no gravity."""
    model = zoo.millipede(legs=2 * pairs, leg_links=LEG)
    pulled = model.body_names[6 * pairs + LEG * (2 * (3 * pairs // 4)) - 1]

    def load(sim: QuasiStatics) -> None:
        sim.gravity = np.zeros(3)
        sim.apply_force(pulled, PULL)

    return SettlingCase(
        "A millipede is pulled at a leg", model, model.neutral, load, ((pulled, PULL),), 0.1, 400, 0.12, 8, (-0.9, 0.75)
    )


def bridge(joints: int = 1500) -> SettlingCase:
    """One cable over six posts, at rest under its own weight; then something heavy hangs in one of its five spans."""
    each = joints // SPANS
    model = zoo.cable(SPANS * each, SPANS, 2e-4, mass=0.1 * SPANS, planar=True, clamped=False, span=SPANS * BETWEEN)
    loops = list(model.closures)
    for k in range(1, SPANS):
        model = model.with_frame(f"post{k}", "world", (k * BETWEEN, 0.0, 0.0))
        loops.append(LoopClosure(f"over{k}", "connect", f"post{k}", model.body_names[k * each]))
    model = replace(model, closures=tuple(loops))
    one = at_rest(zoo.cable(each, EI=2e-4, planar=True, clamped=False, span=BETWEEN))
    start = np.tile(one, SPANS)
    start[each::each] -= one.sum()  # every span begins as steep as the first
    hung = model.body_names[SPANS // 2 * each + each // 4]
    return SettlingCase(
        "A weight hangs in one of five spans of a cable bridge", model, at_rest(model, start),
        lambda sim: sim.apply_force(hung, WEIGHT), ((hung, WEIGHT),), 0.1, 600, 0.004, 10, (-1.2, 0.2), posts(),
    )  # fmt: skip


def at_rest(model: Model, start: FloatArray | None = None) -> FloatArray:
    """Where a linkage settles under its own weight."""
    sim = QuasiStatics(model, method="aba")
    if start is not None:
        sim.configuration = start
    sim.minimize(tol=1e-8)
    return sim.configuration


def posts() -> tuple[Shapes, ...]:
    """What the cable hangs between."""
    ends = np.stack([BETWEEN * np.arange(SPANS + 1), np.zeros(SPANS + 1), np.full(SPANS + 1, 0.012)], axis=1)
    world, wide, grey = np.full(len(ends), -1), np.full(len(ends), 0.03), np.full((len(ends), 3), 0.38)
    return (rods(world, ends - [0.0, 0.0, 1.1], ends, wide, grey), balls(world, ends, 1.5 * wide, grey))


def beside(case: SettlingCase) -> Beside:
    """Both runs, in turn, so that what slows the machine slows both; their first steps compile, and are not timed."""
    recorder = Recorder(every=case.every, configuration=True)
    sims = [QuasiStatics(case.model, adaptive.energy(case.eps), "adaptive"), QuasiStatics(case.model, method="aba")]
    for sim in sims:
        sim.configuration = case.start
    start = sims[1].positions()
    for sim in sims:
        case.load(sim)
        sim.step(case.dt)
    times, joints = [], []
    for _ in range(case.steps // case.every):
        for sim in sims:
            began = perf_counter()
            sim.run(case.every, case.dt)
            times.append((perf_counter() - began) / case.every)
        joints.append(sims[0].stats.joints)
        recorder.take(sims[0])
    ends = [sim.positions() for sim in sims]
    moved = np.linalg.norm(ends[1] - start, axis=1).max()
    apart = np.linalg.norm(ends[0] - ends[1], axis=1).max() / moved
    took, plain = np.median(np.reshape(times, (-1, 2)), axis=0).tolist()
    return Beside(case, took, plain, float(np.mean(joints)), float(apart), recorder)


def shown(found: Beside) -> Scene:
    """The adaptive run as a scene, with the joints that move, and the numbers along it."""
    samples, case = found.recorder.arrays(), found.case
    count = len(samples["step"])
    tracks = {
        "joints computed": samples["joints"], "error bound": samples["bound"],
        "microseconds a step": 1e6 * samples["seconds"],
    }  # fmt: skip
    bare = scene(case.model, case.start, title=case.title)
    looked = replace(bare, camera=case.camera, shapes=[*bare.shapes, *case.around])
    names, forces = zip(*case.forces, strict=True)
    pull = arrows(case.model, names, np.array(forces))
    return looked.playing(np.arange(count) / 12.0, samples["q"], tracks, arrows=pull, adaptive=True)
