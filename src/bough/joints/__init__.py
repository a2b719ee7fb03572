"""Joints: one file for each primitive, and the functions of `waist` by which every algorithm uses them.

Belongs here: what depends on the type of a joint, and `Mechanism`, the arrays of a model as kernels see them. Does not
belong here: how a model is built (`model`), and algorithms, which never ask for the type of a joint.

| file | what it holds |
| --- | --- |
| turn, slide, planar, ball, free | a primitive each: axes, q, four kernels, moves, words of files, foreign layouts |
| primitive | what a primitive is, its layouts in other engines, and `register` |
| table | the primitives, the joint types made of them, and the kernels that choose between them |
| walks | how a quantity goes over the screws between a body and its parent |
| waist | transforms between a body and its parent, and the motion subspace |
| manifold | whole configurations: neutral, random, integrate, difference |
| quaternion | turns and screws, as the primitives use them |
"""

from __future__ import annotations

from typing import Any
from warnings import warn

from bough.joints.manifold import DIFFERENCE, INTEGRATE, configuration_rate
from bough.joints.mechanism import LAST_SCREW, PLACED, X_SCREW, ZX_SCREWS, Mechanism
from bough.joints.primitive import JOINTS, PRIMITIVES, QUATERNION, ForeignLayout, Move, Primitive, close_table, register
from bough.joints.quaternion import quaternion_rotation, rotation_quaternion, tiny
from bough.joints.table import BALL, FREE, PLANAR, SLIDE, TURN, difference_joint, integrate_joint, move_joint
from bough.joints.waist import (
    along,
    along_axis,
    articulated_freedom,
    articulated_to_parent,
    by_freedom,
    fetch_freedom,
    fetch_joint,
    force_to_parent,
    freedom,
    joint_motion,
    joint_rate,
    joint_velocity,
    motion_to_body,
    orient_body,
    origin_in_parent,
    rigid_freedom,
    rigid_to_parent,
    turn_to_body,
    turn_to_parent,
)
from bough.joints.walks import Walk, inward, outward

__all__ = [
    "BALL",
    "DIFFERENCE",
    "FREE",
    "INTEGRATE",
    "JOINTS",
    "LAST_SCREW",
    "PLACED",
    "PLANAR",
    "PRIMITIVES",
    "QUATERNION",
    "SLIDE",
    "TURN",
    "X_SCREW",
    "ZX_SCREWS",
    "ForeignLayout",
    "Mechanism",
    "Move",
    "Primitive",
    "Walk",
    "along",
    "along_axis",
    "articulated_freedom",
    "articulated_to_parent",
    "by_freedom",
    "close_table",
    "configuration_rate",
    "difference_joint",
    "fetch_freedom",
    "fetch_joint",
    "force_to_parent",
    "freedom",
    "integrate_joint",
    "inward",
    "joint_motion",
    "joint_rate",
    "joint_velocity",
    "motion_to_body",
    "move_joint",
    "orient_body",
    "origin_in_parent",
    "outward",
    "quaternion_rotation",
    "register",
    "rigid_freedom",
    "rigid_to_parent",
    "rotation_quaternion",
    "tiny",
    "turn_to_body",
    "turn_to_parent",
]


def __getattr__(name: str) -> Any:
    if name != "Abroad":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn("bough.joints.Abroad is called ForeignLayout now", DeprecationWarning, stacklevel=2)
    return ForeignLayout
