"""Configurations, velocities, forces and matrices in the layouts of other libraries.

Belongs here: maps to and from others' orders and conventions. Does not belong here: files (`io`).
"""

from __future__ import annotations

import warnings
from typing import Any

from bough.arguments import explain_package
from bough.convert.engines import from_drake, from_mujoco, to_drake, to_mujoco, to_pinocchio
from bough.convert.maps import LayoutMap

__all__ = ["LayoutMap", "from_drake", "from_mujoco", "to_drake", "to_mujoco", "to_pinocchio"]

explain_package(__name__)


def __getattr__(name: str) -> Any:
    if name == "PinocchioMap":
        warnings.warn("convert.PinocchioMap is now convert.LayoutMap", DeprecationWarning, stacklevel=2)
        return LayoutMap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
