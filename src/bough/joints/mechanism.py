"""Joints as data: what each type is made of, and a model as the kernels see it.

A body's frame is reached from its parent's by a fixed part and the joint's own motion. The fixed part is a screw
about x (a Denavit-Hartenberg child), a screw about z then one about x, or a general placement. The joint's motion is
a screw about z (one degree of freedom) or a full placement (several degrees of freedom in one frame).
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Kinds of joint motion
TURN, SLIDE, PLANAR, BALL, FREE = range(5)
# Kinds of fixed part
X_SCREW, ZX_SCREWS, PLACED = range(3)


class JointType(NamedTuple):
    """One primitive joint: its kind, the axes it frees (0-2 turn, 3-5 slide) and the length of its q."""

    kind: int
    axes: tuple[int, ...]
    nq: int


PRIMITIVES = {
    "turn": JointType(TURN, (2,), 1),
    "slide": JointType(SLIDE, (5,), 1),
    "planar": JointType(PLANAR, (3, 4, 2), 3),
    "ball": JointType(BALL, (0, 1, 2), 4),
    "free": JointType(FREE, (3, 4, 5, 0, 1, 2), 7),
}

# What a user may ask for, as a chain of primitives
JOINTS = {
    "revolute": ("turn",),
    "continuous": ("turn",),
    "prismatic": ("slide",),
    "helical": ("turn",),
    "cylindrical": ("turn", "slide"),
    "universal": ("turn", "turn"),
    "planar": ("planar",),
    "spherical": ("ball",),
    "floating": ("free",),
    "fixed": (),
}


class Mechanism(NamedTuple):
    """A model as the kernels see it, bodies in depth-first order. N bodies, n degrees of freedom."""

    parent: Any  # (N,) parent body, -1 = world
    kind: Any  # (N,) kind of joint motion
    fixed_kind: Any  # (N,) kind of fixed part
    dof: Any  # (N + 1,) degrees of freedom of body i are dof[i] .. dof[i + 1] - 1
    q_index: Any  # (N,) where the joint's configuration starts in q
    v_index: Any  # (n,) where the degree of freedom sits in v
    axis: Any  # (n,) axis of the body's frame that it frees
    depth: Any  # (n,) place in an ancestor row: number of degrees of freedom above it
    rows: Any  # (n + 1,) offsets of the packed ancestor rows
    fixed: Any  # (N, 12) cos psi, sin psi, e, cos alpha, sin alpha, a; or R and p
    offset: Any  # (N, 5) theta, d, pitch, cos theta, sin theta of the joint's screw at q = 0
    pitch: Any  # (n,) displacement per radian
    ratio: Any  # (n,) mimic ratio, 1 for an ordinary joint
    inertia: Any  # (N, 10) rigid inertia about the frame's origin
    armature: Any  # (n,) rotor inertia, added to the diagonal of H
    gravity: Any  # (3,)
    zero: Any  # (1,) zero and one of the working precision: a literal would promote float32
    one: Any  # (1,)
