"""A rope of 2,000 links, cracked like a whip: a fold runs along it and throws its end, beside the motion of all joints.

Half of the rope is at rest, the other half comes back above it at 10 m/s; the fold between them rolls towards the end,
and the energy goes into what is left of the moving half: it is ever shorter, and ever faster.
"""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.zoo import bicycle_chain

LINK, SPEED = 0.0127, 10.0


def scene(scale: float, steps: int) -> motion_common.Scene:
    n = max(20, int(2000 * scale))
    model, fold, first = bicycle_chain(links=n), max(6, n // 12), n // 2

    def begin(sim: adaptive.Dynamics) -> None:
        sim.gravity = np.zeros(3)
        q, v = np.zeros(n), np.zeros(n)
        q[first : first + fold] = np.pi / fold
        v[first] = -0.5 * SPEED * np.pi / (fold * LINK)  # links within the fold roll, all others do not turn
        v[first + fold] = -v[first]
        sim.configuration, sim.velocity = q, v

    instants = (0.05, 0.4, 0.7, 0.9, 1.0)
    return motion_common.Scene(
        model, begin, steps, 2.5e-4, "rk4", instants, (0.0, -0.19 * n * LINK / 2, 0.0), (-1.57, 1.25), 1.6
    )


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 5600, (30.0, 10.0, 3.0, 1.0), "motion_whip.png")
