"""Robots that stand: a quadruped of twelve motors, of plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.model import Builder, Model

LEGS = (("lf", 0.2, 0.1), ("rf", 0.2, -0.1), ("lh", -0.2, 0.1), ("rh", -0.2, -0.1))


def quadruped(stiffness: float = 0.0, damping: float = 0.5) -> Model:
    """A trunk of 8 kg on four legs of 0.4 m with three motors each; frames lf_foot, rf_foot, lh_foot and rh_foot.

    Springs of `stiffness` (N m / rad) about bent knees let it stand without a controller.
    """
    builder = Builder("quadruped")
    builder.add_body("trunk", joint="floating", mass=8.0, inertia=np.diag([0.1, 0.3, 0.35]))
    law: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "effort": 40.0, "velocity": 30.0}
    for leg, x, y in LEGS:
        side = 0.05 if y > 0 else -0.05
        builder.add_body(
            f"{leg}_hip", "trunk", placement=(x, y, 0), axis=(1, 0, 0), mass=0.5, inertia=0.001 * np.eye(3),
            lower=-0.9, upper=0.9, **law,
        )  # fmt: skip
        builder.add_body(
            f"{leg}_thigh", f"{leg}_hip", placement=(0, side, 0), axis=(0, 1, 0), mass=0.8, com=(0, 0, -0.1),
            inertia=np.diag([0.003, 0.003, 0.001]), rest=0.6, lower=-1.5, upper=2.5, **law,
        )  # fmt: skip
        builder.add_body(
            f"{leg}_shank", f"{leg}_thigh", placement=(0, 0, -0.2), axis=(0, 1, 0), mass=0.3, com=(0, 0, -0.1),
            inertia=np.diag([0.001, 0.001, 0.0003]), rest=-1.2, lower=-2.6, upper=-0.2, **law,
        )  # fmt: skip
        builder.add_frame(f"{leg}_foot", f"{leg}_shank", (0, 0, -0.2))
    return builder.build()
