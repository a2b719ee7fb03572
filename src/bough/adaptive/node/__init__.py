"""The algebra of one node: a cluster of bodies made of two by closing one joint, its equations, forces and placement.

Belongs here: what one node needs of its two children or hands down to them, and the records in which it is kept. Does
not belong here: which nodes are visited, and in which order (`passes`).
"""

from __future__ import annotations

from bough.adaptive.node.algebra import full
from bough.adaptive.node.layout import (
    ETA,
    IDENTITY,
    KAPPA,
    RIGID,
    TOTAL,
    ZERO3,
    Blueprint,
    Shared,
    State,
    make_blueprint,
    make_shared,
    make_state,
)
from bough.adaptive.node.leaves import ZERO6, leaf_acceleration
from bough.adaptive.node.linear import linear
from bough.adaptive.node.locked import cluster_inertia, released_energy
from bough.adaptive.node.motion import (
    advance_body,
    compose,
    cross_pose,
    far_pose,
    get_pose,
    place_body,
    primitive_pose,
    put_pose,
    refresh_cross,
)
from bough.adaptive.node.springs import (
    BARRIER,
    COSINE,
    GIVEN,
    HARMONIC,
    Springs,
    no_springs,
    spring,
    spring_all,
    spring_energy,
    term,
)
from bough.adaptive.node.substitution import (
    hand_down,
    joint_acceleration,
    joint_force,
    joint_square,
    total_acceleration,
)

__all__ = [
    "BARRIER",
    "COSINE",
    "ETA",
    "GIVEN",
    "HARMONIC",
    "IDENTITY",
    "KAPPA",
    "RIGID",
    "TOTAL",
    "ZERO3",
    "ZERO6",
    "Blueprint",
    "Shared",
    "Springs",
    "State",
    "advance_body",
    "cluster_inertia",
    "compose",
    "cross_pose",
    "far_pose",
    "full",
    "get_pose",
    "hand_down",
    "joint_acceleration",
    "joint_force",
    "joint_square",
    "leaf_acceleration",
    "linear",
    "make_blueprint",
    "make_shared",
    "make_state",
    "no_springs",
    "place_body",
    "primitive_pose",
    "put_pose",
    "refresh_cross",
    "released_energy",
    "spring",
    "spring_all",
    "spring_energy",
    "term",
    "total_acceleration",
]
