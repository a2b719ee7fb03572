"""Models: from bodies and joints, checked and laid out as axial screws, to a frozen `Model`.

Belongs here: `Builder`, the checks of what it is given, laid frames, mimic joints, base parameters, twin limbs.
Does not belong here: files (`io`), the papers' mechanisms (`zoo`), algorithms (`dynamics`).
"""

from __future__ import annotations

from bough.model.assemble import Parts, assemble
from bough.model.bodies import (
    EYE,
    LARGEST,
    MICRON_SQUARED,
    TRIANGLE,
    finite,
    negative,
    placement,
    planar_frame,
    principal_moments,
    rigid,
)
from bough.model.builder import GRAVITY, Builder, Mimic
from bough.model.contents import WORLD, Coupling, Frames, Joint, JointLimits, Joints, Numbered, Passive, unknown
from bough.model.coupling import parents_of_dofs
from bough.model.laid_frames import NEARLY_PARALLEL, PARALLEL, slices
from bough.model.limbs import find_limbs, mark_limbs, twin_limbs
from bough.model.loops import CLOSURE_KINDS, FREED, ClosureKind, LoopClosure
from bough.model.model import Model
from bough.model.parameters import (
    body_frames,
    carriers,
    check_physical,
    inertias,
    joint_frames,
    moving_frames,
    own_freedoms,
    standard,
    steps,
)
from bough.model.sole import Sole
from bough.model.visuals import Mesh, Piece

__all__ = [
    "CLOSURE_KINDS",
    "EYE",
    "FREED",
    "GRAVITY",
    "LARGEST",
    "MICRON_SQUARED",
    "NEARLY_PARALLEL",
    "PARALLEL",
    "TRIANGLE",
    "WORLD",
    "Builder",
    "ClosureKind",
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
    "Parts",
    "Passive",
    "Piece",
    "Sole",
    "assemble",
    "body_frames",
    "carriers",
    "check_physical",
    "find_limbs",
    "finite",
    "inertias",
    "joint_frames",
    "mark_limbs",
    "moving_frames",
    "negative",
    "own_freedoms",
    "parents_of_dofs",
    "placement",
    "planar_frame",
    "principal_moments",
    "rigid",
    "slices",
    "standard",
    "steps",
    "twin_limbs",
    "unknown",
]
