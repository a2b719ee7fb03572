"""A tree of 20,000 twigs in a gust that hits one side of its crown, beside the motion of all joints."""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.model import Model
from bough.zoo import tree


def grown(scale: float) -> Model:
    levels = max(3, round(8 + np.log(max(scale, 1e-3)) / np.log(3.0)))
    return tree(levels, 3, 6)


def scene(scale: float, steps: int) -> motion_common.Scene:
    model = grown(scale)

    def begin(sim: adaptive.Dynamics) -> object:
        sim.gravity = np.zeros(3)
        places = sim.positions()
        lee = places[:, 0] - places[:, 0].max()
        hit = np.flatnonzero(lee > 0.15 * lee.min())
        load = sim.loads(hit.tolist())

        def gust(sim: adaptive.Dynamics) -> None:
            strength = np.sin(np.pi * min(sim.time / 0.05, 1.0)) ** 2
            load.values[:] = (0.0, 2e-3 * strength, 0.0)

        return gust

    return motion_common.Scene(model, begin, steps, 2.5e-4, "semi_implicit", (0, 2))  # type: ignore[arg-type]


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 400, (1.0, 0.3, 0.1, 0.03), "motion_tree.png")
