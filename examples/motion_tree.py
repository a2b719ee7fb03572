"""A tree of 20,000 twigs in a gust that hits one side of its crown, beside the motion of all joints."""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.model import Model
from bough.zoo import tree

GUST, STRENGTH = 0.05, 0.05  # s, N on each piece that is hit


def grown(scale: float) -> Model:
    levels = max(3, round(8 + np.log(max(scale, 1e-3)) / np.log(3.0)))
    return tree(levels, 3, 6)


def scene(scale: float, steps: int) -> motion_common.Scene:
    model = grown(scale)

    def begin(sim: adaptive.Dynamics) -> motion_common.Load:
        sim.gravity = np.zeros(3)
        places = sim.positions()
        lee = places[:, 0] - places[:, 0].max()
        hit = np.flatnonzero(lee > 0.06 * lee.min())
        load = sim.loads(hit.tolist())

        def gust(sim: adaptive.Dynamics) -> None:
            strength = np.sin(np.pi * min(sim.time / GUST, 1.0)) ** 2
            load.values[:] = (0.0, STRENGTH * strength, 0.0)

        return gust

    mass, length = model.inertias[:, 0], 2.0 * np.linalg.norm(model.inertias[:, 1:4], axis=1) / model.inertias[:, 0]
    width = 2.0 * np.sqrt(mass / (600.0 * np.pi * length))  # of green wood, 600 kg/m^3
    return motion_common.Scene(
        model, begin, steps, 5e-4, "semi_implicit", (0.25, 0.9), (3.6, 0.0, 0.0), (7.2, 0.0, 0.0),
        np.maximum(width, 0.006), (1200, 380), (-1.45, 0.1), 2.75,
    )  # fmt: skip


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 240, (10.0, 3.0, 1.0), "motion_tree.png")
