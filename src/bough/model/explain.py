"""Why a function of a model has no finite result at some configuration, as far as the numbers tell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bough.joints import JOINTS, PRIMITIVES
from bough.model.contents import Joints
from bough.types import FloatArray

CONFIGURATIONS = ("q", "q0", "q1")


def explain(joints: Joints, inputs: Mapping[str, FloatArray]) -> str | None:
    """The first quaternion among the inputs of one row that has no direction, by name of its joint; else None."""
    for name in CONFIGURATIONS:
        q = inputs.get(name)
        for joint in joints if q is not None else ():
            if any(PRIMITIVES[part].quaternion for part in JOINTS[joint.type]):
                x = q[joint.q][-4:]  # type: ignore[index]
                if np.abs(x).max() < np.sqrt(np.finfo(x.dtype).tiny):
                    short = "" if not x.any() else f" up to rounding ({np.abs(x).max():.2g})"
                    return f"the quaternion of joint {joint.name!r} is zero{short}"
    return None
