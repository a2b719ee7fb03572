"""MJCF into a description: compiled by the `mujoco` package, so that defaults, includes and angles are its business.

Belongs here: how large a file grows and which files it names, before it is compiled (`size`), and what of MuJoCo's
arrays are bodies and joints (`bodies`), equalities (`equality`), motors (`motors`), or noted (`notes`).
"""

from __future__ import annotations

from bough.io.mjcf.read import compiled, read

__all__ = ["compiled", "read"]
