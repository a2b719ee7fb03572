"""Configurations and velocities in the layouts of other libraries.

Belongs here: maps of q and v to and from others' orders and conventions. Does not belong here: files (`io`).
"""

from __future__ import annotations

from bough.convert.layouts import from_drake, from_mujoco, to_drake, to_mujoco

__all__ = ["from_drake", "from_mujoco", "to_drake", "to_mujoco"]
