"""A millipede of 13,000 links that walks through a pulse of torques, beside the motion of all joints."""

from __future__ import annotations

import motion_common
import numpy as np

from bough import adaptive
from bough.zoo import millipede

TORQUE, DT = 30.0, 1e-3  # N m, s


def scene(scale: float, steps: int) -> motion_common.Scene:
    legs = max(4, int(1000 * scale))
    model = millipede(legs=legs, floating=True, geometry="straight")
    hips = [model.joint_names[3 * legs + 10 * k] for k in range(legs)]
    duration = DT * steps

    def begin(sim: adaptive.Dynamics) -> motion_common.Load:
        sim.gravity = np.zeros(3)

        def step(sim: adaptive.Dynamics) -> None:
            # a pulse runs along the body: hips within it push one way, then the other
            front = 0.1 + 0.1 * sim.time / duration
            for k, hip in enumerate(hips):
                x = (k / legs - front) * 100.0
                if abs(x) < 1.5:
                    sim.set_torque(hip, TORQUE * np.sin(np.pi * x) if abs(x) < 1.0 else 0.0)

        return step

    return motion_common.Scene(
        model, begin, steps, DT, "rk4", (0.1, 0.55, 1.0), (0.0, 14.0, 0.0), (-1.57, 0.9), 1.7, (0.09, 0.16)
    )


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 400, (3.0, 0.3, 0.03), "motion_millipede.png")
