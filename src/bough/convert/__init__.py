"""Configurations, velocities, forces and matrices in the layouts of other libraries.

Belongs here: maps to and from others' orders and conventions. Does not belong here: files (`io`).
"""

from __future__ import annotations

from bough.arguments import explain_room
from bough.convert.layouts import from_drake, from_mujoco, to_drake, to_mujoco
from bough.convert.pinocchio import PinocchioMap, to_pinocchio

__all__ = ["PinocchioMap", "from_drake", "from_mujoco", "to_drake", "to_mujoco", "to_pinocchio"]

explain_room(__name__)
