"""A millipede and a cable bridge give way to a force: adaptive steps beside plain ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bough import adaptive, zoo
from bough.adaptive import QuasiStatics, Recorder
from bough.model import Model
from bough.types import FloatArray
from bough.view import Scene, arrows, scene

PAIRS_OF_LEGS, LEG = 500, 10
PULL = (0.0, 3.0, 3.0)  # N
COUNTERWEIGHT, WEIGHT = (0.9, 0.0, 0.49), (0.0, 0.0, -0.4)
COIL, INNERMOST = 5.0, 4.0  # m from one turn of the spine to the next, and of the first one from the middle


class SettlingCase(NamedTuple):
    """A linkage, how it starts, what is done to it, and for how long."""

    title: str
    model: Model
    start: FloatArray
    load: Callable[[QuasiStatics], None]
    forces: tuple[tuple[str, tuple[float, float, float]], ...]  # those that are drawn
    eps: float  # of the energy that a step sets free, the part that may be missed
    steps: int
    dt: float
    every: int
    camera: tuple[float, float]


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
    model = zoo.millipede(legs=2 * pairs, geometry="straight", leg_links=LEG)
    start = coiled(model, pairs)
    pulled = model.body_names[6 * pairs + LEG * (2 * (3 * pairs // 4)) - 1]

    def load(sim: QuasiStatics) -> None:
        sim.gravity = np.zeros(3)
        sim.apply_force(pulled, PULL)

    return SettlingCase(
        "A millipede is pulled at a leg", model, start, load, ((pulled, PULL),), 0.1, 400, 0.12, 8, (-0.9, 0.75)
    )


def coiled(model: Model, pairs: int) -> FloatArray:
    """The spine as a flat spiral, the legs bent down to both sides."""
    q, spine = np.array(model.neutral), 6 * pairs
    place = np.arange(1, spine, 2)  # joints whose axis is upright, up and down in turn
    way = 0.6 * np.arange(len(place))
    radius = np.sqrt(INNERMOST**2 + COIL / np.pi * way[::-1])
    q[place] = np.where(place % 4 == 1, -1.0, 1.0) * 0.6 / radius
    roots = spine + LEG * np.arange(2 * pairs)
    side = np.where(np.arange(2 * pairs) % 2 == 0, 1.0, -1.0)
    q[roots] = 1.25 * side
    for k in range(2, LEG, 2):
        q[roots + k] = (-1.0 if k % 4 == 2 else 1.0) * 0.42 * side
    return q


def bridge(joints: int = 1500) -> SettlingCase:
    """A cable from a post over a pulley with a counterweight, at rest; then a weight hangs on it."""
    model = zoo.cable(joints, length=1.0, EI=2e-4, planar=True, clamped=False)
    sim = QuasiStatics(model, method="aba")
    sim.apply_force("end", COUNTERWEIGHT)
    sim.minimize(tol=1e-8)
    hung = model.body_names[joints // 4]

    def load(sim: QuasiStatics) -> None:
        sim.apply_force("end", COUNTERWEIGHT)
        sim.apply_force(hung, WEIGHT)

    pulls = (("end", COUNTERWEIGHT), (hung, WEIGHT))
    return SettlingCase(
        "A weight hangs on a cable bridge", model, sim.configuration, load, pulls, 0.3, 600, 0.004, 10, (-1.35, 0.16)
    )


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
    looked = replace(scene(case.model, case.start, title=case.title), camera=case.camera)
    names, forces = zip(*case.forces, strict=True)
    pull = arrows(case.model, names, np.array(forces))
    return looked.playing(np.arange(count) / 12.0, samples["q"], tracks, arrows=pull, adaptive=True)
