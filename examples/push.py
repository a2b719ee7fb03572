"""G1 humanoids are pushed at the torso: which feet hold is measured, and no torque leaves its limit.

A row of robots, each pushed for 0.1 s by another force. An `Ensemble` gives the forces under the corners of the soles;
a detector for each robot says which feet touch, and one whole-body controller commands all. Run:

    python examples/push.py [newtons ...]
"""

from __future__ import annotations

import sys

import numpy as np
from stand import DT, FEET, SOLE, robot, stance

import bough
from bough.control import Contact, ContactDetector, Gains, WholeBody
from bough.simulate import Contacts, Ensemble

PUSH = (0.2, 0.3)
UPRIGHT = ("torso_link", "pelvis")


def main(newtons: list[float], duration: float = 1.5) -> int:
    model = robot()
    dynamics = bough.Dynamics(model)
    start = stance(model, dynamics)
    controller = WholeBody(
        model,
        [bough.center_of_mass(), *map(bough.orientation, UPRIGHT)],
        [Contact(foot, **SOLE) for foot in FEET],
        references={"center_of_mass": dynamics.center_of_mass(start)}
        | {f"orientation({name})": dynamics.placement(start, name) for name in UPRIGHT},
        weights={"center_of_mass": 10.0},
        gains=Gains(400.0),
        posture=start,
        dt=DT,
    )
    count = len(newtons)
    robots = Ensemble(
        model, np.tile(start, (count, 1)), np.zeros((count, model.nv)), dt=DT,
        contacts=Contacts.from_soles(model, FEET, **SOLE),
    )  # fmt: skip
    detectors, touching = [ContactDetector(FEET) for _ in newtons], [FEET] * count
    push, largest, gave = np.zeros((count, 3)), np.zeros(count), np.zeros(count, int)
    push[:, 0] = newtons
    for _ in range(round(duration / DT)):
        command = controller(robots.time, robots.q, robots.v, touching)
        largest = np.maximum(largest, (np.abs(command.tau) / model.limits.effort)[:, 6:].max(axis=1))
        gave += ~command.success
        tau = command.tau
        if PUSH[0] <= robots.time < PUSH[1]:
            J = dynamics.jacobian(robots.q, "torso_link")[:, :3]
            tau = tau + np.einsum("kij,ki->kj", J, push)
        robots.step(tau=tau)
        normal = robots.force[:, :, 2].reshape(count, len(FEET), 4).sum(axis=2)  # four corners a sole
        touching = [detect(dict(zip(FEET, f, strict=True))) for detect, f in zip(detectors, normal, strict=True)]
    for force, height, ratio, steps in zip(newtons, robots.q[:, 2] - start[2], largest, gave, strict=True):
        fate = "stands" if abs(height) < 0.05 else "fell"
        print(
            f"{force:6.0f} N: {fate}, largest torque {100 * ratio:.0f} % of its limit, limits gave way in {steps} steps"
        )
    return 0 if largest.max() <= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main([float(x) for x in sys.argv[1:]] or [40.0, 60.0, 80.0, 120.0, 300.0]))
