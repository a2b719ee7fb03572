"""Joints: what each primitive is made of, and the narrow waist through which every algorithm sees them.

Belongs here: what depends on the type of a joint, and `Mechanism`, the arrays of a model as kernels see them. Does not
belong here: how a model is built (`model`), and algorithms, which never ask for the type of a joint.
"""

from __future__ import annotations

from bough.joints.difference import DIFFERENCE
from bough.joints.integrate import INTEGRATE, integrate_joint
from bough.joints.manifold import quaternion_rotate
from bough.joints.mechanism import (
    BALL,
    FREE,
    JOINTS,
    PLACED,
    PLANAR,
    PRIMITIVES,
    SLIDE,
    TURN,
    X_SCREW,
    ZX_SCREWS,
    Mechanism,
)
from bough.joints.waist import (
    along,
    articulated_freedom,
    articulated_to_parent,
    by_freedom,
    force_to_parent,
    freedom,
    joint_motion,
    joint_rate,
    joint_velocity,
    motion_to_body,
    move_joint,
    origin_in_parent,
    quaternion_rotation,
    rigid_freedom,
    rigid_to_parent,
    turn_to_body,
    turn_to_parent,
)

__all__ = [
    "BALL",
    "DIFFERENCE",
    "FREE",
    "INTEGRATE",
    "JOINTS",
    "PLACED",
    "PLANAR",
    "PRIMITIVES",
    "SLIDE",
    "TURN",
    "X_SCREW",
    "ZX_SCREWS",
    "Mechanism",
    "along",
    "articulated_freedom",
    "articulated_to_parent",
    "by_freedom",
    "force_to_parent",
    "freedom",
    "integrate_joint",
    "joint_motion",
    "joint_rate",
    "joint_velocity",
    "motion_to_body",
    "move_joint",
    "origin_in_parent",
    "quaternion_rotate",
    "quaternion_rotation",
    "rigid_freedom",
    "rigid_to_parent",
    "turn_to_body",
    "turn_to_parent",
]
