"""A model as the kernels see it: arrays of bodies and of degrees of freedom.

A body's frame is reached from its parent's by a fixed part and the joint's own motion. The fixed part is a screw
about x (a Denavit-Hartenberg child), a screw about z then one about x, or a general placement. The joint's motion is
a screw about z (one degree of freedom) or a full placement (several degrees of freedom in one frame).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.types import Rows

# Joints of a kind up to this move along a screw about z, the others by a placement
LAST_SCREW = 1
# Kinds of fixed part
X_SCREW, ZX_SCREWS, PLACED = range(3)

# The fields of a model; those after them are of external wrenches
OWN_FIELDS = 18


class Mechanism(NamedTuple):
    """A model as the kernels see it, bodies in depth-first order. N bodies, n degrees of freedom."""

    parent: Rows  # (N,) parent body, -1 = world
    kind: Rows  # (N,) kind of joint motion
    fixed_kind: Rows  # (N,) kind of fixed part
    dof: Rows  # (N + 1,) degrees of freedom of body i are dof[i] .. dof[i + 1] - 1
    q_index: Rows  # (N,) where the joint's configuration starts in q
    v_index: Rows  # (n,) where the degree of freedom sits in v
    axis: Rows  # (n,) axis of the body's frame that it frees
    depth: Rows  # (n,) place in an ancestor row: number of degrees of freedom above it
    rows: Rows  # (n + 1,) offsets of the packed ancestor rows
    fixed: Rows  # (N, 12) cos psi, sin psi, e, cos alpha, sin alpha, a; or R and p
    offset: Rows  # (N, 5) theta, d, pitch, cos theta, sin theta of the joint's screw at q = 0
    pitch: Rows  # (n,) displacement per radian
    ratio: Rows  # (n,) mimic ratio, 1 for an ordinary joint
    inertia: Rows  # (N, 10) rigid inertia about the frame's origin
    armature: Rows  # (n,) rotor inertia, added to the diagonal of H
    gravity: Rows  # (3,)
    zero: Rows  # (1,) zero and one of the working precision: a literal would promote float32
    one: Rows  # (1,)
    # External wrenches, which are inputs of a function (`dynamics.external`) and no part of a model: by default none.
    first_push: Rows = np.zeros(0, np.int64)  # (N + 1,) where the numbers of each body start in `push`
    push: Rows = np.zeros(0, np.int64)  # rows of `wrench`, body by body
    push_at: Rows = np.zeros((0, 3))  # (count, 3) where each acts, in the frame of its body
    wrench: Rows = np.zeros((0, 6))  # (count, 6) [force, moment] in the world's axes
    world: Rows = np.zeros((0, 9))  # (N, 9) rotations from the bodies' axes to the world's, written as they are needed
