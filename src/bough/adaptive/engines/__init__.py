"""Engines that solve a linkage here and now: over the assembly tree, plainly in O(n), and the switch between the two.

Belongs here: arrays and compiled passes behind one object each. Does not belong here: what a user sets or asks for.
"""

from __future__ import annotations

from bough.adaptive.engines.noise import Noise
from bough.adaptive.engines.plain import PlainEngine
from bough.adaptive.engines.switch import CHUNK, Switch
from bough.adaptive.engines.tree import NO_LIMIT, TreeEngine

__all__ = ["CHUNK", "NO_LIMIT", "Noise", "PlainEngine", "Switch", "TreeEngine"]
