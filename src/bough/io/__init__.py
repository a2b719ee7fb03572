"""Robot descriptions into models: URDF and MJCF."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from bough.io import description
from bough.io.describe import describe
from bough.io.doctor import Finding, doctor
from bough.model import Mimic, Model

__all__ = ["Finding", "describe", "doctor", "load"]


def load(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    mimic: Mimic = "honour",
    gravity: Sequence[float] | None = None,
    weld: Collection[str] = (),
) -> Model:
    """The model in a URDF or MJCF file (or in XML text); what is read and dropped is in its `notes`.

    The root link of a URDF is welded to the world, or with `floating_base` free on a joint called "root_joint" (a root
    link called "world" is the world itself: the one link welded to it floats). Joints
    come in depth-first file order: a link, then the subtrees of its child joints as the file lists them; use
    `model.joint(name)` to map from other orders. Mimic joints are tied to their leaders, or "independent". Joints
    named in `weld` are fixed at zero. Gravity is the file's if it has one (MJCF), else (0, 0, -9.81) m/s^2.
    """
    found = description.welded(describe(source), weld)
    if floating_base:
        found = description.floated(found)
    return description.build(found, mimic, gravity)
