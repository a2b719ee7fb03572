"""Two runs of the demonstration: a molecule that is pulled at one atom, and a batch of quadrupeds that fall."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from bough import adaptive, zoo
from bough.dynamics import Dynamics
from bough.simulate import Contacts, Ensemble
from bough.view import Scene, arrows, scene

JOINTS, EPS = 50_000, 0.01  # a step may miss this fraction of the energy that it could release
PULL, PULL_DT, SAMPLES, PULL_STEPS = 30.0, 0.2, 40, 5  # N, s, samples of the motion, and steps between them
FULL = 5  # steps of all joints that are timed
ROBOTS, SIDE, APART = 512, 5, 1.1  # robots, robots in the scene along a side, m between them
DT, STEPS, EVERY = 2e-3, 750, 15
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


Result = tuple[Scene, dict[str, Any]]  # the motion, and numbers about it


def pull(joints: int = JOINTS) -> Result:
    """Pull outwards at the atom that is farthest from the middle, with adaptive steps; time full steps beside them."""
    model = zoo.molecule(joints, seed=1).with_gravity((0.0, 0.0, 0.0))
    at = Dynamics(model, general=True).placements(model.neutral)[model.body_frames, :3, 3]
    away = at - at.mean(axis=0)
    far = int(np.linalg.norm(away, axis=1).argmax())
    atom, force = model.body_names[far], PULL * away[far] / np.linalg.norm(away[far])
    sim = adaptive.QuasiStatics(model, adaptive.energy(EPS), "adaptive")
    full = adaptive.QuasiStatics(model, method="aba")
    for each in (sim, full):
        each.apply_force(atom, force)
        each.step(PULL_DT)  # the first step compiles
    rows, times = [], []
    for _ in range(SAMPLES):
        rows.append((sim.configuration, sim.stats.joints, sim.stats.bound))
        times.append(seconds(sim.run, PULL_STEPS, PULL_DT) / PULL_STEPS)
    q, computed, bound = (np.array(column, float) for column in zip(*rows, strict=True))
    looked = scene(model, q[0], title=f"One atom of a molecule of {joints:,} joints is pulled")
    across = float(np.arctan2(force[1], force[0])) - np.pi / 2
    shown = replace(looked, camera=(across, 0.35)).playing(
        np.arange(SAMPLES) / 10.0, q, {"joints computed": computed, "error bound": bound}, adaptive=True,
        arrows=arrows(model, [atom], force[None]),
    )  # fmt: skip
    slow = float(np.median([seconds(full.step, PULL_DT) for _ in range(FULL)]))
    numbers = {"joints": joints, "computed": float(computed.mean()), "seconds": float(np.median(times)), "full": slow}
    return shown, numbers


def fall(robots: int = ROBOTS) -> Result:
    """Drop quadrupeds with springs in their joints, each from another height and tilt."""
    model, rng = zoo.quadruped(stiffness=60.0, damping=3.0), np.random.default_rng(2)
    q = np.tile(model.rest_configuration, (robots, 1))
    q[:, 2] = rng.uniform(0.4, 0.7, robots)
    q[:, 3:5], q[:, 5], q[:, 6] = rng.normal(0.0, 0.07, (robots, 2)), rng.uniform(-0.5, 0.5, robots), 1.0
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    runs = Ensemble(model, q, np.zeros((robots, model.nv)), dt=DT, contacts=Contacts(FEET), threads=1)
    samples, times, residual = [runs.q.copy()], [], 0.0
    for _ in range(STEPS // EVERY):
        times.append(seconds(runs.step, EVERY) / EVERY / robots)
        residual = max(residual, float(np.max(runs.residual)))
        samples.append(runs.q.copy())
    time, states = DT * EVERY * np.arange(len(samples), dtype=float), np.array(samples)
    count, place = min(robots, SIDE * SIDE), APART * (np.arange(SIDE) - (SIDE - 1) / 2)
    one = scene(model, title=f"{robots:,} quadrupeds fall, {count} of them shown")
    all_shown = [one.playing(time, states[:, k]).moved((place[k % SIDE], place[k // SIDE], 0.0)) for k in range(count)]
    shown = replace(all_shown[0].beside(*all_shown[1:]), camera=(-0.8, 0.35))
    return shown, {"robots": robots, "seconds": float(np.median(times)), "residual": residual}


def seconds(run: Any, *arguments: Any) -> float:
    """The time of a call."""
    began = perf_counter()
    run(*arguments)
    return perf_counter() - began
