"""A rope of 2,000 links, cracked like a whip: a pulse of torque at its handle, beside the motion of all joints."""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.zoo import bicycle_chain


def scene(scale: float, steps: int) -> motion_common.Scene:
    model = bicycle_chain(links=max(20, int(2000 * scale)))

    def begin(sim: adaptive.Dynamics) -> object:
        sim.gravity = np.zeros(3)
        handle = model.joint_names[0]

        def swing(sim: adaptive.Dynamics) -> None:
            sim.set_torque(handle, 0.05 if sim.time < 0.05 else -0.05 if sim.time < 0.1 else 0.0)

        return swing

    return motion_common.Scene(model, begin, steps, 1e-4, "rk4", (0, 1))  # type: ignore[arg-type]


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 2000, (3.0, 0.3, 0.03, 0.01), "motion_whip.png")
