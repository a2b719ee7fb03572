"""A rope of 2,000 links, cracked like a whip: a fold runs along it and throws its end, beside the motion of all joints.

Half of the rope is at rest, the other half comes back above it at 10 m/s; the fold between them rolls towards the end,
and the energy goes into what is left of the moving half: it is ever shorter, and ever faster, 67 m/s in the last step.
A moment later it cracks, at 120 m/s, for which steps of 0.05 ms would be needed.
"""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.zoo import bicycle_chain

LINK, SPEED, DT = 0.0127, 10.0, 2e-4


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

    long = n * LINK
    return motion_common.Scene(
        model, begin, steps, DT, "rk4", (0.03, 0.5, 0.85, 1.0), (0.0, -0.13 * long, 0.0), (0.0, -0.064 * long, 0.0),
        0.004 * long, (1300, 640), (-1.57, 1.55), 1.85,
    )  # fmt: skip


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 7700, (30.0, 10.0, 3.0, 1.0), "motion_whip.png")
