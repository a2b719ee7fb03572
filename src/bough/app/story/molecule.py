"""A molecule of 50,000 joints is pulled at one atom: a step computes the few joints whose motion matters."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bough import adaptive, zoo
from bough.adaptive import QuasiStatics
from bough.dynamics import Dynamics
from bough.model import Model
from bough.types import FloatArray
from bough.view import Scene, arrows, scene

JOINTS, EPS = 50_000, 0.01  # a step may miss this part of the energy that it could release
PULL, DT, SAMPLES, STEPS = 30.0, 0.2, 40, 5  # N, s, samples of the motion, and steps between them
FULL = 5  # steps of all joints that are timed
HIGH = 0.35  # rad of the camera


class Pulled(NamedTuple):
    """What happened: samples of the motion, and times of a step."""

    model: Model
    atom: str
    force: FloatArray
    q: FloatArray  # (T, joints)
    joints: FloatArray  # (T,) computed in a step
    bound: FloatArray  # (T,) of the error
    seconds: float  # a step, the median
    full: float  # a step that computes all joints, the median


def pull(joints: int = JOINTS) -> Pulled:
    """Pull at the atom that is farthest from the middle, outwards; adaptive and full steps."""
    model = zoo.molecule(joints, seed=1).with_gravity((0.0, 0.0, 0.0))
    at = Dynamics(model, general=True).placements(model.neutral)[model.body_frames, :3, 3]
    away = at - at.mean(axis=0)
    far = int(np.linalg.norm(away, axis=1).argmax())
    atom, force = model.body_names[far], PULL * away[far] / np.linalg.norm(away[far])
    sims = [QuasiStatics(model, adaptive.energy(EPS), "adaptive"), QuasiStatics(model, method="aba")]
    for sim in sims:
        sim.apply_force(atom, force)
        sim.step(DT)  # the first step compiles
    rows, times, full = [], [], []
    for _ in range(SAMPLES):
        rows.append((sims[0].configuration, sims[0].stats.joints, sims[0].stats.bound))
        began = perf_counter()
        sims[0].run(STEPS, DT)
        times.append((perf_counter() - began) / STEPS)
    for _ in range(FULL):
        began = perf_counter()
        sims[1].step(DT)
        full.append(perf_counter() - began)
    q, computed, bound = (np.array(column, float) for column in zip(*rows, strict=True))
    return Pulled(model, atom, force, q, computed, bound, float(np.median(times)), float(np.median(full)))


def shown(found: Pulled) -> Scene:
    """The motion as a scene, seen from where the pull goes across; joints that move are lit."""
    looked = scene(
        found.model, found.q[0], title=f"One atom of a molecule of {len(found.model.joints):,} joints is pulled"
    )
    across = float(np.arctan2(found.force[1], found.force[0])) - np.pi / 2
    tracks = {"joints computed": found.joints, "error bound": found.bound}
    return replace(looked, camera=(across, HIGH)).playing(
        np.arange(len(found.q)) / 10.0, found.q, tracks, adaptive=True,
        arrows=arrows(found.model, [found.atom], found.force[None]),
    )  # fmt: skip
