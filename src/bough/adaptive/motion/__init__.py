"""Motion with velocities: sweeps of the articulated-body algorithm, steps in time, and the engines that take them.

Belongs here: what moves a linkage, whole or contracted to the joints that are active, and how these are chosen. Does
not belong here: what a user sets or asks for (`dynamics`), motion from rest (`engines`).
"""

from __future__ import annotations

from bough.adaptive.motion.active import ActiveRegion
from bough.adaptive.motion.engine import INTEGRATORS, MotionEngine
from bough.adaptive.motion.friction_watch import FrictionWatch
from bough.adaptive.motion.held import HeldLoops
from bough.adaptive.motion.layout import Effort, Moving, make_effort, make_moving
from bough.adaptive.motion.rules import BY_JOINT, EVERY, NO_LIMIT, Turns, make_rule, spaced

__all__ = [
    "BY_JOINT",
    "EVERY",
    "INTEGRATORS",
    "NO_LIMIT",
    "ActiveRegion",
    "Effort",
    "FrictionWatch",
    "HeldLoops",
    "MotionEngine",
    "Moving",
    "Turns",
    "make_effort",
    "make_moving",
    "make_rule",
    "spaced",
]
