"""A millipede of 13,000 links that walks through a pulse of torques, beside the motion of all joints."""

from __future__ import annotations

from dataclasses import replace

import motion_common
import numpy as np

from bough import adaptive
from bough.model import Model, Passive
from bough.zoo import millipede
from papers.redon_lin.linkages import winding

TORQUE, DT = 250.0, 4e-3  # N m, s
STIFF, DAMPED = 3000.0, 60.0  # N m/rad and N m s of joints in legs
SHOWN = 90  # legs


def walker(legs: int) -> Model:
    """A millipede with springs in its legs, which are arched, and dampers everywhere."""
    model = millipede(legs=legs, floating=True, geometry="straight")
    joint = np.arange(-6, model.nv - 6)
    in_leg, damping = joint >= 3 * legs - 1, np.where(joint >= 0, DAMPED, 0.0)
    stiffness, rest = np.where(in_leg, STIFF, 0.0), np.append(np.zeros(6), winding(legs)[7:])
    stiffness[knees(legs) + 5] = 0.0
    return replace(model, passive=Passive(damping, 0.0 * damping, stiffness, rest))


def knees(legs: int) -> np.ndarray:
    """Second joints of legs, which swing them along the body."""
    return 3 * legs + 10 * np.arange(legs) + 1


def scene(scale: float, steps: int) -> motion_common.Scene:
    legs = max(4, int(1000 * scale))
    model, spine, seen, duration = walker(legs), 3 * legs, min(SHOWN, legs), DT * steps
    tau = np.zeros(model.nv)

    def begin(sim: adaptive.Dynamics) -> motion_common.Load:
        sim.gravity = np.zeros(3)
        sim.configuration = winding(legs)

        def step(sim: adaptive.Dynamics) -> None:
            # a pulse runs along the body: legs within it swing one way and are stopped again, those of a pair in turn
            front, reach = (0.25 + 0.5 * sim.time / duration) * seen, 0.15 * seen
            x = np.clip((np.arange(legs) - front) / reach, -1.0, 1.0)
            tau[knees(legs) + 5] = np.where(np.arange(legs) % 2, TORQUE, -TORQUE) * np.sin(np.pi * x)
            sim.set_torque(None, tau)

        return step

    bodies = np.concatenate([np.arange(3 * seen), spine + np.arange(10 * seen)])
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # legs leave along z
    return motion_common.Scene(
        model, begin, steps, DT, "momentum", (0.1, 0.95), (0.0, -14.0, 0.0), (0.0, -7.0, 0.0),
        np.where(np.arange(13 * legs) < spine, 0.5, 0.25), (1300, 700), (-1.57, 0.9), 1.9, bodies, lying,
    )  # fmt: skip


if __name__ == "__main__":
    motion_common.main(__doc__, scene, 400, (3.0, 1.0, 0.3, 0.1), "motion_millipede.png")
