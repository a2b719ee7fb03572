"""Axial-screw frames: lay every joint axis on z, so that a transform is two or three screws.

Denavit & Hartenberg 1955, as used in Featherstone 1987 and McMillan & Orin 1995. All functions work on all bodies at
once: arrays of shape (N, ...). A "user" frame is the joint frame that a model file gives, a "laid" frame is ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.joints import LAST_SCREW, PLACED, X_SCREW, ZX_SCREWS
from bough.types import BoolArray, FloatArray, IntArray

# Axes whose angle has a sine below this are parallel to rounding; below the second, their common normal is too far
# away to be computed with, and the transform is kept as a general placement.
PARALLEL, NEARLY_PARALLEL = 1e-13, 0.05
ROUNDING = 1e-15
# A frame this many times a body's size away from it costs the square of that in digits of its inertia.
FAR = 30.0
BLOCK = 8192  # bodies


class Line(NamedTuple):
    """Joint axes as lines: points and unit directions, (N, 3) each."""

    point: FloatArray
    direction: FloatArray


class LaidFrames(NamedTuple):
    """The laid frames: their placement in the user's frames, and the constants of the transforms between them."""

    R: FloatArray  # (N, 3, 3) laid frame in the user's frame
    p: FloatArray  # (N, 3)
    fixed_kind: IntArray  # (N,)
    fixed: FloatArray  # (N, 12)
    offset: FloatArray  # (N, 2) theta, d


class Placement(NamedTuple):
    """Frames: rotations (N, 3, 3) and origins (N, 3)."""

    R: FloatArray
    p: FloatArray


def sizes(parent: IntArray, joint: Placement, inertia: FloatArray) -> FloatArray:
    """How far bodies reach from their joints' origins, (N,): radii of gyration, and where their children hang.

    Infinite where there is nothing that could lose digits: a body without mass that carries nothing.
    """
    mass = inertia[:, 9]
    size = np.sqrt(np.maximum(inertia[:, :3].sum(axis=1), 0.0) / np.where(mass > 1e-200, 2.0 * mass, 1.0))
    above = np.flatnonzero(parent >= 0)
    np.maximum.at(size, parent[above], size[above] + np.linalg.norm(joint.p[above], axis=1))
    carries = np.zeros(len(parent), bool)
    carries[parent[above]] = True
    return np.where((size > 0.0) | carries, size, np.inf)


def lay(
    parent: IntArray, kind: IntArray, joint: Placement, axis: FloatArray, dh_child: IntArray, size: FloatArray
) -> LaidFrames:
    """Lay the frames of a tree whose joint frames sit at `joint` in the parent's user frame; `size` is of `sizes`."""
    screw = kind <= LAST_SCREW
    frame = Placement(_first_frames(screw, axis), np.zeros((len(parent), 3)))

    # A body with a Denavit-Hartenberg child: x along the common normal of its own axis and that child's.
    dh = _usable_dh_child(screw, axis, joint.R, dh_child)
    for b in blocks(np.flatnonzero(dh >= 0)):
        c = dh[b]
        own = Line(np.zeros((len(b), 3)), axis[b])
        childs = Line(joint.p[c], np.einsum("nij,nj->ni", joint.R[c], axis[c]))
        normal, frame.p[b], _ = common_normal(own, childs, frame.R[b, :, 0])
        frame.R[b] = frame_of(axis[b], normal)

    # A body without one: its frame is free, so lay it where its own transform is cheapest, unless that is far away.
    free = [_cheapest(b, parent, joint, frame, axis, size) for b in blocks(np.flatnonzero(screw & (dh < 0)))]
    for b, R, p in free:
        frame.R[b], frame.p[b] = R, p

    # A file that gives the laid frames already keeps them exactly.
    is_dh, every = np.zeros(len(parent), bool), np.arange(len(parent))
    is_dh[dh[dh >= 0]] = True
    for b in blocks(every):
        frame.R[b], frame.p[b] = snap(frame.R[b]), np.where(np.abs(frame.p[b]) < ROUNDING, 0.0, frame.p[b])
    n = len(parent)
    laid = LaidFrames(frame.R, frame.p, np.empty(n, np.int64), np.empty((n, 12)), np.empty((n, 2)))
    for b in blocks(every):
        constants = _constants(screw[b], is_dh[b], _in_parent_frame(b, parent, joint, frame), frame, b)
        laid.fixed_kind[b], laid.fixed[b], laid.offset[b] = constants
    return laid


def blocks(bodies: IntArray) -> list[IntArray]:
    """Bodies, some at a time: what is found for them in between stays in the cache. At least one block."""
    return np.split(bodies, range(BLOCK, len(bodies), BLOCK))


def _cheapest(
    b: IntArray, parent: IntArray, joint: Placement, frame: Placement, axis: FloatArray, size: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Bodies whose frames are free, and frames on the common normals with their parents' axes, unless too far away."""
    user = _in_parent_frame(b, parent, joint, frame)
    z, x = np.tile(np.eye(3)[2], (len(b), 1)), np.tile(np.eye(3)[0], (len(b), 1))
    own = Line(user.p, np.einsum("nij,nj->ni", user.R, axis[b]))
    normal, _, foot = common_normal(Line(np.zeros((len(b), 3)), z), own, x)
    usable = _well_separated(np.linalg.norm(np.cross(z, own.direction), axis=1))
    b, normal, foot, R = b[usable], normal[usable], foot[usable], user.R[usable]
    laid = np.swapaxes(R, 1, 2) @ frame_of(own.direction[usable], normal)
    away = np.einsum("nji,nj->ni", R, foot - user.p[usable])
    near = np.linalg.norm(away, axis=1) <= FAR * size[b]
    return b, laid, np.where(near[:, None], away, 0.0)


def common_normal(a: Line, b: Line, default: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit common normals from lines a to lines b, and their feet on a and on b.

    For parallel lines the foot on a is a's own point; for coincident ones the normal is `default`, made
    perpendicular to the lines.
    """
    n = np.cross(a.direction, b.direction)
    sine = np.linalg.norm(n, axis=1)
    gap = b.point - a.point
    skew = sine > PARALLEL
    safe = np.where(skew, sine, 1.0)[:, None]
    # Feet of skew lines: solve for the two parameters along the lines.
    s = np.einsum("ni,ni->n", np.cross(gap, b.direction), n / safe) / safe[:, 0]
    t = np.einsum("ni,ni->n", np.cross(gap, a.direction), n / safe) / safe[:, 0]
    # Parallel lines: the perpendicular part of the gap is the normal.
    along = np.einsum("ni,ni->n", gap, a.direction)
    across = gap - along[:, None] * a.direction
    distance = np.linalg.norm(across, axis=1)
    apart = distance > ROUNDING * (1.0 + np.linalg.norm(gap, axis=1))
    default = default - np.einsum("ni,ni->n", default, a.direction)[:, None] * a.direction
    default /= np.linalg.norm(default, axis=1)[:, None]
    parallel_normal = np.where(apart[:, None], across / np.where(apart, distance, 1.0)[:, None], default)
    turn = np.einsum("ni,ni->n", a.direction, b.direction)
    normal = np.where(skew[:, None], n / safe, parallel_normal)
    s, t = np.where(skew, s, 0.0), np.where(skew, t, -along * turn)
    return normal, a.point + s[:, None] * a.direction, b.point + t[:, None] * b.direction


def frame_of(z: FloatArray, x: FloatArray) -> FloatArray:
    """Rotations with the given z and x axes (x is made exactly perpendicular)."""
    x = x - np.einsum("ni,ni->n", x, z)[:, None] * z
    x = x / np.linalg.norm(x, axis=1)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=2)


def snap(x: Any) -> FloatArray:
    """Directions and cosines that are 0 or +-1 to rounding become exactly so: exact constants cost nothing."""
    x = np.asarray(x, dtype=float)
    nearest = np.round(x)
    close = (np.abs(x - nearest) < 4e-16) | ((np.abs(x) < 1e-15) & (nearest == 0.0))
    return np.where(close & (np.abs(nearest) <= 1.0), nearest, x)


def _well_separated(sine: FloatArray) -> Any:
    return (sine <= PARALLEL) | (sine >= NEARLY_PARALLEL)


def _first_frames(screw: BoolArray, axis: FloatArray) -> FloatArray:
    """Frames with z on the axis (screw joints), x along whichever user axis is most nearly perpendicular."""
    R = np.tile(np.eye(3), (len(axis), 1, 1))
    b = np.flatnonzero(screw & (axis[:, 2] <= 1.0 - 1e-15))
    R[b] = frame_of(axis[b], np.eye(3)[np.argmin(np.abs(axis[b]), axis=1)])
    return R


def _usable_dh_child(screw: BoolArray, axis: FloatArray, R: FloatArray, dh_child: IntArray) -> IntArray:
    found = np.full(len(dh_child), -1, np.int64)
    for b in blocks(np.flatnonzero(dh_child >= 0)):
        c = dh_child[b]
        sine = np.linalg.norm(np.cross(axis[b], np.einsum("nij,nj->ni", R[c], axis[c])), axis=1)
        found[b] = np.where(screw[b] & screw[c] & _well_separated(sine), c, -1)
    return found


def _in_parent_frame(b: IntArray, parent: IntArray, joint: Placement, frame: Placement) -> Placement:
    """Where the user's joint frames of bodies b sit in the laid frames of the parents (the world is laid as given)."""
    up, roots = np.maximum(parent[b], 0), np.flatnonzero(parent[b] < 0)
    parent_R, parent_p = frame.R[up], frame.p[up]
    parent_R[roots], parent_p[roots] = np.eye(3), 0.0
    return Placement(np.swapaxes(parent_R, 1, 2) @ joint.R[b], np.einsum("nji,nj->ni", parent_R, joint.p[b] - parent_p))


def _constants(
    screw: BoolArray, is_dh: BoolArray, user: Placement, frame: Placement, b: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Write the laid frames of bodies b, seen from those of the parents, as screws z (psi, e), x (alpha, a), z (theta,
    d); user frames and what is known of the bodies are theirs alone."""
    n = len(screw)
    R = snap(user.R @ frame.R[b])
    p = user.p + np.einsum("nij,nj->ni", user.R, frame.p[b])
    x, z = np.tile(np.eye(3)[0], (n, 1)), np.tile(np.eye(3)[2], (n, 1))
    normal, foot, far_foot = common_normal(Line(np.zeros((n, 3)), z), Line(p, R[:, :, 2]), x)
    # By construction the frame of a body with a DH child already lies on that child's normal.
    normal, foot = np.where(is_dh[:, None], x, normal), np.where(is_dh[:, None], 0.0, foot)
    sin_alpha = np.einsum("ni,ni->n", np.cross(z, R[:, :, 2]), normal)
    joint_x = np.einsum("nji,nj->ni", R, normal)  # the normal in the laid frame: (cos theta, -sin theta, 0)
    theta = np.arctan2(-joint_x[:, 1], joint_x[:, 0])
    reach = np.einsum("ni,ni->n", far_foot - foot, normal)
    d = np.einsum("ni,ni->n", p - far_foot, R[:, :, 2])
    placed = ~screw | ~_well_separated(np.abs(sin_alpha))

    scale = ROUNDING * (1.0 + np.abs(p).max(axis=1, initial=0.0))
    lengths = [np.where(np.abs(x) < scale, 0.0, x) for x in (foot[:, 2], reach, d)]
    zero = np.zeros(n)
    screws = np.stack(
        [snap(normal[:, 0]), snap(normal[:, 1]), lengths[0], snap(R[:, 2, 2]), snap(sin_alpha), lengths[1]]
    )
    fixed = np.concatenate([screws, np.tile(zero, (6, 1))]).T
    fixed_kind = np.where((fixed[:, :3] == [1.0, 0.0, 0.0]).all(axis=1), X_SCREW, ZX_SCREWS)
    fixed_kind[placed] = PLACED
    fixed[placed] = np.concatenate([R.reshape(n, 9), p], axis=1)[placed]
    offset = np.stack([np.where(np.abs(theta) < ROUNDING, 0.0, theta), lengths[2]], axis=1)
    offset[placed] = 0.0
    return fixed_kind.astype(np.int64), fixed, offset
