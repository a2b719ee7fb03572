"""Models: bodies and joints, checked and laid out as axial screws.

Belongs here: `Builder`, the checks of what it is given, laid frames, mimic joints, base parameters, identical limbs.
Does not belong here: files (`io`), the papers' mechanisms (`zoo`), algorithms (`dynamics`).
"""

from __future__ import annotations

from bough.model.bodies import Mesh, Piece
from bough.model.builder import Builder, Mimic
from bough.model.contents import (
    WORLD,
    Coupling,
    Frames,
    Joint,
    JointLimits,
    Joints,
    Numbered,
    Passive,
    filled_names,
    unknown,
)
from bough.model.limbs import find_limbs, mark_limbs
from bough.model.loops import CLOSURE_KINDS, LoopClosure
from bough.model.model import Model
from bough.model.sole import Sole

__all__ = [
    "CLOSURE_KINDS",
    "WORLD",
    "Builder",
    "Coupling",
    "Frames",
    "Joint",
    "JointLimits",
    "Joints",
    "LoopClosure",
    "Mesh",
    "Mimic",
    "Model",
    "Numbered",
    "Passive",
    "Piece",
    "Sole",
    "filled_names",
    "find_limbs",
    "mark_limbs",
    "unknown",
]
