"""A humanoid with a floating base, 36 degrees of freedom, made in code, and what it looks like."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.model import Builder
from bough.types import FloatArray
from bough.view import Piece

X, Y, Z = np.eye(3)
SIDES = (("left", 1.0), ("right", -1.0))
SOLE: dict[str, Any] = {"size": (0.20, 0.09), "point": (0.03, 0.0, -0.07), "friction": 0.7}
# joint, axis, place on the link before, mass of the link, its length downwards
LEG = (
    ("hip_yaw", Z, (0.0, 0.09, -0.06), 1.5, 0.03), ("hip_roll", X, (0.0, 0.0, -0.03), 1.5, 0.03),
    ("hip_pitch", Y, (0.0, 0.0, 0.0), 5.0, 0.38), ("knee", Y, (0.0, 0.0, -0.38), 3.0, 0.38),
    ("ankle_pitch", Y, (0.0, 0.0, -0.38), 0.5, 0.03), ("ankle_roll", X, (0.0, 0.0, 0.0), 1.2, 0.07),
)  # fmt: skip
ARM = (
    ("shoulder_pitch", Y, (0.0, 0.20, 0.27), 1.2, 0.03), ("shoulder_roll", X, (0.0, 0.0, 0.0), 1.2, 0.03),
    ("shoulder_yaw", Z, (0.0, 0.0, 0.0), 1.8, 0.27), ("elbow", Y, (0.0, 0.0, -0.27), 1.2, 0.24),
    ("wrist_yaw", Z, (0.0, 0.0, -0.12), 0.6, 0.12), ("wrist_roll", X, (0.0, 0.0, -0.12), 0.3, 0.03),
    ("wrist_pitch", Y, (0.0, 0.0, 0.0), 0.5, 0.08),
)  # fmt: skip
LIMITS = {"knee": (0.0, 2.5), "elbow": (-2.4, 0.0)}


def solid(mass: float, size: tuple[float, float, float]) -> FloatArray:
    """The inertia of a box about its centre."""
    square = np.array(size) ** 2
    return mass / 12 * np.diag(square.sum() - square)


def robot(name: str) -> Builder:
    """Pelvis, waist, chest, head, two legs of six joints and two arms of seven."""
    builder = Builder(name)
    builder.add_body("pelvis", "world", "floating", mass=7.0, inertia=solid(7.0, (0.16, 0.26, 0.16)))
    builder.add_body("waist", "pelvis", placement=(0, 0, 0.08), axis=Z, mass=2.0, inertia=solid(2.0, (0.14, 0.2, 0.1)),
                     effort=300.0, lower=-1.2, upper=1.2)  # fmt: skip
    builder.add_body("chest", "waist", placement=(0, 0, 0.06), axis=Y, mass=12.0, com=(0, 0, 0.18),
                     inertia=solid(12.0, (0.2, 0.32, 0.34)), effort=400.0, lower=-0.6, upper=1.4)  # fmt: skip
    builder.add_body("head", "chest", placement=(0, 0, 0.38), axis=Y, mass=3.0, com=(0, 0, 0.1),
                     inertia=solid(3.0, (0.16, 0.16, 0.22)), effort=50.0, lower=-0.8, upper=0.8)  # fmt: skip
    for side, sign in SIDES:
        for limb, start, effort in ((LEG, "pelvis", 300.0), (ARM, "chest", 120.0)):
            up = start
            for joint, axis, (x, y, z), mass, length in limb:
                lower, upper = LIMITS.get(joint, (-2.6, 2.6))
                up = builder.add_body(
                    f"{side}_{joint}", up, placement=(x, sign * y, z), axis=axis, mass=mass, com=(0, 0, -length / 2),
                    inertia=solid(mass, (0.09, 0.09, max(length, 0.08))), effort=effort, lower=lower, upper=upper,
                )  # fmt: skip
        builder.add_frame(f"{side}_hand", f"{side}_wrist_pitch", (0, 0, -0.09))
    return builder


def capsule(frame: str, wide: float, long: float) -> list[Piece]:
    """A limb that hangs from its joint: a rod with round ends."""
    return [
        Piece(frame, "cylinder", (wide, wide, long), (0, 0, -long / 2)),
        Piece(frame, "sphere", (wide, wide, wide)),
        Piece(frame, "sphere", (wide, wide, wide), (0, 0, -long)),
    ]


def looks() -> list[Piece]:
    """All pieces of the robot."""
    dark, shell = (0.22, 0.25, 0.30), (0.93, 0.93, 0.91)
    found = [
        Piece("pelvis", "sphere", (0.20, 0.28, 0.20)), Piece("waist", "cylinder", (0.15, 0.20, 0.12), (0, 0, 0.02)),
        Piece("chest", "sphere", (0.25, 0.40, 0.36), (0, 0, 0.19)),
        Piece("chest", "sphere", (0.20, 0.30, 0.20), (0, 0, 0.02)),
        Piece("chest", "sphere", (0.06, 0.10, 0.10), (0.10, 0, 0.23), colour=shell),
        Piece("chest", "cylinder", (0.09, 0.09, 0.14), (0, 0, 0.37), colour=dark),
        Piece("head", "sphere", (0.19, 0.17, 0.23), (0, 0, 0.11)),
        Piece("head", "sphere", (0.10, 0.14, 0.09), (0.055, 0, 0.125), colour=dark),
    ]  # fmt: skip
    for side, _ in SIDES:
        found += capsule(f"{side}_hip_pitch", 0.135, 0.38) + capsule(f"{side}_knee", 0.105, 0.38)
        found += [
            Piece(f"{side}_hip_pitch", "cylinder", (0.10, 0.10, 0.16), R=across(), colour=dark),
            Piece(f"{side}_knee", "cylinder", (0.09, 0.09, 0.125), R=across(), colour=dark),
            Piece(f"{side}_ankle_pitch", "cylinder", (0.07, 0.07, 0.11), R=across(), colour=dark),
            Piece(f"{side}_ankle_roll", "box", (0.22, 0.10, 0.035), (0.03, 0, -0.0525)),
            Piece(f"{side}_ankle_roll", "sphere", (0.15, 0.095, 0.09), (0.005, 0, -0.035)),
        ]
        found += capsule(f"{side}_shoulder_yaw", 0.095, 0.27) + capsule(f"{side}_elbow", 0.08, 0.23)
        found += [
            Piece(f"{side}_shoulder_roll", "sphere", (0.13, 0.13, 0.13), colour=dark),
            Piece(f"{side}_elbow", "cylinder", (0.075, 0.075, 0.095), R=across(), colour=dark),
            Piece(f"{side}_wrist_pitch", "sphere", (0.085, 0.05, 0.13), (0, 0, -0.06)),
        ]
    return found


def across() -> FloatArray:
    """z along y."""
    return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
