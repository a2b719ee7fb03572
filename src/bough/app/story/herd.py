"""Quadrupeds fall on the ground, all in one batch, each from another height and tilt, and stand on their springs."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bough import zoo
from bough.model import Model
from bough.simulate import Contacts, Ensemble
from bough.types import FloatArray
from bough.view import Scene, scene

BATCH, SIDE, APART = 512, 5, 1.1  # robots, those that are shown along a side, m between them
DT, STEPS, EVERY = 2e-3, 750, 15
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


class Fallen(NamedTuple):
    """What happened: samples of the robots that are shown, and the time of a step."""

    model: Model
    time: FloatArray
    q: FloatArray  # (T, shown, nq)
    seconds: float  # a step of one robot, the median
    robots: int
    residual: float  # m/s, the largest velocity that contacts leave


def fall(batch: int = BATCH) -> Fallen:
    """Drop them."""
    model, rng = zoo.quadruped(stiffness=60.0, damping=3.0), np.random.default_rng(2)
    q = np.tile(model.rest_configuration, (batch, 1))
    q[:, 2] = rng.uniform(0.4, 0.7, batch)
    turn = np.concatenate([rng.normal(0.0, 0.07, (batch, 2)), rng.uniform(-0.5, 0.5, (batch, 1))], axis=1)
    q[:, 3:7] = np.concatenate([turn, np.ones((batch, 1))], axis=1)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    runs = Ensemble(model, q, np.zeros((batch, model.nv)), dt=DT, contacts=Contacts(FEET), threads=1)
    shown = min(batch, SIDE * SIDE)
    samples, times, residual = [runs.q[:shown].copy()], [], 0.0
    for _ in range(STEPS // EVERY):
        began = perf_counter()
        runs.step(EVERY)
        times.append((perf_counter() - began) / EVERY / batch)
        residual = max(residual, float(np.max(runs.residual)))
        samples.append(runs.q[:shown].copy())
    time = DT * EVERY * np.arange(len(samples), dtype=float)
    return Fallen(model, time, np.array(samples), float(np.median(times)), batch, residual)


def shown(found: Fallen) -> Scene:
    """Those that are shown, side by side in one scene."""
    one = scene(found.model, title=f"{found.robots:,} quadrupeds fall, {found.q.shape[1]} of them shown")
    place = APART * (np.arange(SIDE) - (SIDE - 1) / 2)
    herd = [
        one.playing(found.time, found.q[:, k]).moved((place[k % SIDE], place[k // SIDE], 0.0))
        for k in range(found.q.shape[1])
    ]
    return replace(herd[0].beside(*herd[1:]), camera=(-0.8, 0.35))
