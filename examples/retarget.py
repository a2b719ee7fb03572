"""A motion clip is retargeted to G1: hands and feet follow a walker of other proportions, all frames at once.

The clip is synthetic: a person of 1.75 m who walks and swings the arms, as places of pelvis, hands and ankles over
time. Places are scaled to the robot's legs and arms. Feet come first, then the hands and the pelvis. Run:

    python examples/retarget.py [frames] [cuda]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from stand import FEET, robot, stance

import bough

HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")
PERSON = {"hip": 0.92, "step": 0.35, "lift": 0.12, "sway": 0.02, "width": 0.10, "hand": (0.02, 0.26, -0.02)}  # metres
PERIOD, RATE = 1.1, 120.0  # seconds a stride, frames a second


def clip(frames: int) -> dict[str, np.ndarray]:
    """Places (frames, 3) of the person, the pelvis over the origin."""
    phase = 2.0 * np.pi * np.arange(frames) / RATE / PERIOD
    pelvis = np.stack([0 * phase, PERSON["sway"] * np.cos(phase), 0.02 * np.cos(2 * phase)], axis=1)
    found = {"pelvis": pelvis + [0.0, 0.0, PERSON["hip"]]}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        swing = sign * np.sin(phase)
        forward, up = PERSON["step"] * swing / 2, PERSON["lift"] * np.clip(sign * np.cos(phase), 0.0, None) ** 2
        found[f"{side} ankle"] = np.stack([forward, sign * PERSON["width"] + 0 * phase, 0.08 + up], axis=1)
        x, y, z = PERSON["hand"]
        arm = np.stack([x - 0.2 * swing, sign * y + 0 * phase, PERSON["hip"] + z + 0.05 * swing**2], axis=1)
        found[f"{side} hand"] = arm
    return found


def targets(model: bough.Model, person: dict[str, np.ndarray], q: np.ndarray) -> dict[Any, np.ndarray]:
    """The places of the person about those of the robot's stance, scaled by the height of the hips."""
    dynamics = bough.Dynamics(model)
    hip = dynamics.placement(q, "pelvis")[2, 3]
    scale, found = hip / PERSON["hip"], {}
    for side, foot, hand in zip(("left", "right"), FEET, HANDS, strict=True):
        T = np.tile(np.eye(4), (len(person["pelvis"]), 1, 1))
        rest = dynamics.placement(q, foot)[:3, 3]
        T[:, :3, 3] = rest + scale * (person[f"{side} ankle"] - [0.0, np.sign(rest[1]) * PERSON["width"], 0.08])
        found[bough.pose(foot)] = T
        rest, middle = dynamics.placement(q, hand)[:3, 3], person[f"{side} hand"].mean(axis=0)
        found[bough.position(hand)] = rest + scale * (person[f"{side} hand"] - middle)
    base = np.tile(dynamics.placement(q, "pelvis"), (len(person["pelvis"]), 1, 1))
    base[:, :3, 3] += scale * (person["pelvis"] - person["pelvis"].mean(axis=0))
    found[bough.pose("pelvis")] = base
    return found


def main(frames: int = 1200, device: str = "cpu") -> int:
    model = robot()
    dynamics = bough.Dynamics(model)
    q = stance(model, dynamics)
    goals = targets(model, clip(frames), q)
    ranks = {task: 0 if task.name in {f"pose({foot})" for foot in FEET} else 1 for task in goals}
    solver = bough.ik.InverseKinematics(model, list(goals), priorities=ranks)
    start: Any = q
    if device == "cuda":
        import torch

        start, goals = (
            torch.as_tensor(q, device="cuda"),
            {t: torch.as_tensor(x, device="cuda") for t, x in goals.items()},
        )
    begun = time.perf_counter()
    found = solver.solve(goals, start, starts=1)
    spent = time.perf_counter() - begun
    host = [x.cpu().numpy() if device == "cuda" else x for x in (found.q, found.error)]
    error, speed = host[1], np.abs(model.difference(host[0][:-1], host[0][1:])[:, 6:]).max() * RATE
    print(f"{frames} frames in {spent:.2f} s on {device}, with compilation")
    print(f"feet within {1e3 * error[:, 0].max():.4f} mm, hands and pelvis within {1e3 * error[:, 1].max():.4f} mm")
    print(f"fastest joint {speed:.1f} rad/s")
    lower, upper = model.limits.lower[6:], model.limits.upper[6:]
    inside = bool(((host[0][:, 7:] >= lower) & (host[0][:, 7:] <= upper)).all())
    print("all joints within their limits" if inside else "a joint passed a limit")
    return 0 if inside and error[:, 0].max() < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main(*(int(x) if x.isdigit() else x for x in sys.argv[1:])))
