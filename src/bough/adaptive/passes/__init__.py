"""Sweeps over nodes: the exact pass, the bounded pass, the lazy update, and the loads they write into leaves.

Belongs here: in which order nodes are visited and when to stop. Does not belong here: what a node does (`node`); who
asks for a pass, and when (`engines`).
"""

from __future__ import annotations

from bough.adaptive.passes.command import (
    CHANGED,
    FOLLOW,
    LEFT,
    MARCH,
    NOISE,
    PLACE,
    POSES,
    REBUILD,
    REFINE,
    RESPOND,
    SOLVE,
    Order,
    command,
    query,
)
from bough.adaptive.passes.contract import Pieces, contract
from bough.adaptive.passes.front import (
    BY_ENERGY,
    CERTIFICATE,
    DONE,
    FULL,
    FULL_TIER,
    JOINTS,
    LARGEST,
    LINEAR_TIER,
    MET,
    OPENED,
    OVER_JOINT,
    OVER_LINKAGE,
    REFUSED,
    ROOT,
    STEP_LARGEST,
    STEP_ROOT,
    STEP_SUM,
    STEP_TOP,
    WAITING,
    Front,
    make_front,
)
from bough.adaptive.passes.lazy import FAR
from bough.adaptive.passes.loads import Applied, Loads, gather, load_body, no_force, no_forces
from bough.adaptive.passes.whole import COARSE

__all__ = [
    "BY_ENERGY",
    "CERTIFICATE",
    "CHANGED",
    "COARSE",
    "DONE",
    "FAR",
    "FOLLOW",
    "FULL",
    "FULL_TIER",
    "JOINTS",
    "LARGEST",
    "LEFT",
    "LINEAR_TIER",
    "MARCH",
    "MET",
    "NOISE",
    "OPENED",
    "OVER_JOINT",
    "OVER_LINKAGE",
    "PLACE",
    "POSES",
    "REBUILD",
    "REFINE",
    "REFUSED",
    "RESPOND",
    "ROOT",
    "SOLVE",
    "STEP_LARGEST",
    "STEP_ROOT",
    "STEP_SUM",
    "STEP_TOP",
    "WAITING",
    "Applied",
    "Front",
    "Loads",
    "Order",
    "Pieces",
    "command",
    "contract",
    "gather",
    "load_body",
    "make_front",
    "no_force",
    "no_forces",
    "query",
]
