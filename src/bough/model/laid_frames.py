"""Axial-screw frames: lay every joint axis on z, so that a transform is two or three screws.

Denavit & Hartenberg 1955, as used in Featherstone 1987 and McMillan & Orin 1995. All functions work on many bodies at
once: frames as (N, 3, 3) and (N, 3), and inside, for speed, vectors as (3, N) and rotations as (3, 3, N). A "user"
frame is the joint frame that a model file gives, a "laid" frame is ours.
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
    """Joint axes as lines: points and unit directions, (3, N) each."""

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


class UserFrames(NamedTuple):
    """Joint frames in the user's order, of which the one of body b (numbered depth-first) is `order[b]`."""

    R: FloatArray
    p: FloatArray
    order: IntArray

    def at(self, b: IntArray | slice) -> Placement:
        """Those of bodies b."""
        return Placement(self.R.take(self.order[b], 0), self.p.take(self.order[b], 0))


def sizes(parent: IntArray, joint: UserFrames, inertia: FloatArray) -> FloatArray:
    """The extent of bodies from their joints' origins, (N,): radii of gyration, and places of children.

    Infinite for a body without mass and children, which loses no digits.
    """
    own, size = np.empty(len(parent)), np.zeros(len(parent))
    for b in slices(len(parent)):
        I = inertia.take(joint.order[b], 0)
        own[b] = np.sqrt(np.maximum(I[:, :3].sum(axis=1), 0.0) / np.where(I[:, 9] > 1e-200, 2.0 * I[:, 9], 1.0))
    above = np.flatnonzero(parent >= 0)
    for some in blocks(above):
        np.maximum.at(size, parent[some], own[some] + length(joint.at(some).p.T))
    size = np.maximum(own, size)
    carries = np.zeros(len(parent), bool)
    carries[parent[above]] = True
    return np.where((size > 0.0) | carries, size, np.inf)


def lay(
    parent: IntArray, kind: IntArray, joint: UserFrames, axis: FloatArray, dh_child: IntArray, size: FloatArray
) -> LaidFrames:
    """Lay the frames of a tree whose joint frames sit at `joint` in the parent's user frame; `size` is of `sizes`."""
    screw = kind <= LAST_SCREW
    frame = Placement(_first_frames(screw, axis), np.zeros((len(parent), 3)))

    # A body with a Denavit-Hartenberg child: x along the common normal of its own axis and that child's.
    dh = np.where(screw & (dh_child >= 0) & screw[dh_child], dh_child, -1)
    for b in blocks(np.flatnonzero(dh >= 0)):
        child, z = joint.at(dh[b]), columns(axis[b])
        own, childs = Line(np.zeros_like(z), z), Line(columns(child.p), rotated(columns(child.R), columns(axis[dh[b]])))
        usable = _well_separated(length(cross(z, childs.direction)))
        if not usable.all():
            dh[b[~usable]], b = -1, b[usable]
            own, childs = (Line(line.point[:, usable], line.direction[:, usable]) for line in (own, childs))
        normal, foot, _ = common_normal(own, childs, frame.R[b, :, 0].T)
        frame.R[b], frame.p[b] = rows(frame_of(own.direction, normal)), rows(foot)

    # A body without one: its frame is free, so lay it where its own transform is cheapest, unless that is far away.
    lone = blocks(np.flatnonzero(screw & (dh < 0)))
    for b, R, p in [_cheapest(b, parent, joint, frame, axis, size) for b in lone]:
        frame.R[b], frame.p[b] = R, p

    # A file that gives the laid frames already keeps them exactly.
    n = len(parent)
    is_dh = np.zeros(n, bool)
    is_dh[dh[dh >= 0]] = True
    for k in slices(n):
        frame.R[k], frame.p[k] = snap(frame.R[k]), np.where(np.abs(frame.p[k]) < ROUNDING, 0.0, frame.p[k])
    laid = LaidFrames(frame.R, frame.p, np.empty(n, np.int64), np.empty((n, 12)), np.empty((n, 2)))
    for k in slices(n):
        constants = _constants(screw[k], is_dh[k], _in_parent_frame(k, parent, joint, frame), frame, k)
        laid.fixed_kind[k], laid.fixed[k], laid.offset[k] = constants
    return laid


def blocks(bodies: IntArray) -> list[IntArray]:
    """Bodies, some at a time: what is found for them in between stays in the cache. At least one block."""
    return np.split(bodies, range(BLOCK, len(bodies), BLOCK))


def slices(n: int) -> list[slice]:
    """All of n bodies, some at a time, as `blocks` has some of them; slices are not copied."""
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def _cheapest(
    b: IntArray, parent: IntArray, joint: UserFrames, frame: Placement, axis: FloatArray, size: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Bodies whose frames are free, and frames on the common normals with their parents' axes, unless too far away."""
    R, p = _in_parent_frame(b, parent, joint, frame)
    z = np.tile(np.eye(3)[2][:, None], len(b))
    own = Line(p, rotated(columns(R), columns(axis[b])))
    normal, _, foot = common_normal(Line(np.zeros_like(z), z), own, np.eye(3)[0][:, None])
    usable = np.flatnonzero(_well_separated(length(cross(z, own.direction))))
    b, R = b[usable], R[usable]
    laid = np.swapaxes(R, 1, 2) @ rows(frame_of(own.direction[:, usable], normal[:, usable]))
    away = rotated_back(columns(R), (foot - p)[:, usable])
    near = length(away) <= FAR * size[b]
    return b, laid, rows(np.where(near, away, 0.0))


def common_normal(a: Line, b: Line, default: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit common normals from lines a to lines b, and their feet on a and on b.

    For parallel lines the foot on a is a's own point; for coincident ones the normal is `default`, made
    perpendicular to the lines.
    """
    n = cross(a.direction, b.direction)
    sine = length(n)
    gap = b.point - a.point
    skew = sine > PARALLEL
    safe = np.where(skew, sine, 1.0)
    # Feet of skew lines: solve for the two parameters along the lines.
    s = dot(cross(gap, b.direction), n / safe) / safe
    t = dot(cross(gap, a.direction), n / safe) / safe
    along = dot(gap, a.direction)
    normal, t = n / safe, np.where(skew, t, -along * dot(a.direction, b.direction))
    k = np.flatnonzero(~skew)
    if k.size:
        # Parallel lines: the perpendicular part of the gap is the normal.
        direction, gap = a.direction[:, k], gap[:, k]
        across = gap - along[k] * direction
        distance = length(across)
        apart = distance > ROUNDING * (1.0 + length(gap))
        default = default if default.shape[1] == 1 else default[:, k]
        default = default - dot(default, direction) * direction
        default /= length(default)
        normal[:, k] = np.where(apart, across / np.where(apart, distance, 1.0), default)
    return normal, a.point + np.where(skew, s, 0.0) * a.direction, b.point + t * b.direction


def frame_of(z: FloatArray, x: FloatArray) -> FloatArray:
    """Rotations (3, 3, N) with the given z and x axes (x is made exactly perpendicular)."""
    x = x - dot(x, z) * z
    x = x / length(x)
    return np.stack([x, cross(z, x), z], axis=1)


def columns(x: FloatArray) -> FloatArray:
    """(N, ...) as (..., N), in one piece."""
    return np.ascontiguousarray(np.moveaxis(x, 0, -1))


def rows(x: FloatArray) -> FloatArray:
    """(..., N) as (N, ...), in one piece."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 0))


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """(N,) of vectors (3, N); never -0, whose angle is not that of 0."""
    return np.asarray(0.0 + a[0] * b[0] + a[2] * b[2] + a[1] * b[1])


def length(a: FloatArray) -> FloatArray:
    """(N,) of vectors (3, N)."""
    return np.asarray(np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]))


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """(3, N) of vectors (3, N)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rotated(R: FloatArray, x: FloatArray) -> FloatArray:
    """R x, of rotations (3, 3, N) and vectors (3, N); never -0."""
    return np.asarray(0.0 + R[:, 0] * x[0] + R[:, 2] * x[2] + R[:, 1] * x[1])


def rotated_back(R: FloatArray, x: FloatArray) -> FloatArray:
    """R' x, of rotations (3, 3, N) and vectors (3, N); never -0."""
    return np.asarray(0.0 + R[0] * x[0] + R[1] * x[1] + R[2] * x[2])


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
    R[b] = rows(frame_of(columns(axis[b]), columns(np.eye(3)[np.argmin(np.abs(axis[b]), axis=1)])))
    return R


def _in_parent_frame(b: IntArray | slice, parent: IntArray, joint: UserFrames, frame: Placement) -> Placement:
    """Where the user's joint frames of bodies b sit in the laid frames of the parents (the world is laid as given).

    Rotations (N, 3, 3), origins (3, N).
    """
    up, roots = np.maximum(parent[b], 0), np.flatnonzero(parent[b] < 0)
    R, p = frame.R.take(up, 0), frame.p.take(up, 0)
    R[roots], p[roots] = np.eye(3), 0.0
    user = joint.at(b)
    return Placement(np.swapaxes(R, 1, 2) @ user.R, rotated_back(columns(R), columns(user.p - p)))


def _constants(
    screw: BoolArray, is_dh: BoolArray, user: Placement, frame: Placement, b: slice
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Write the laid frames of bodies b, seen from those of the parents, as screws z (psi, e), x (alpha, a), z (theta,
    d); user frames and what is known of the bodies are theirs alone."""
    n = len(screw)
    R = columns(snap(user.R @ frame.R[b]))
    p = user.p + rotated(columns(user.R), columns(frame.p[b]))
    x, z = (np.tile(np.eye(3)[k][:, None], n) for k in (0, 2))
    normal, foot, far_foot = common_normal(Line(np.zeros_like(z), z), Line(p, R[:, 2]), x)
    # By construction the frame of a body with a DH child already lies on that child's normal.
    normal, foot = np.where(is_dh, x, normal), np.where(is_dh, 0.0, foot)
    sin_alpha = dot(cross(z, R[:, 2]), normal)
    joint_x = rotated_back(R, normal)  # the normal in the laid frame: (cos theta, -sin theta, 0)
    theta = np.arctan2(-joint_x[1], joint_x[0])
    reach, d = dot(far_foot - foot, normal), rotated_back(R[:, 2:], p - far_foot)[0]
    placed = ~screw | ~_well_separated(np.abs(sin_alpha))

    scale = ROUNDING * (1.0 + np.abs(p).max(axis=0, initial=0.0))
    lengths = [np.where(np.abs(x) < scale, 0.0, x) for x in (foot[2], reach, d)]
    fixed = np.zeros((n, 12))
    screws = (snap(normal[0]), snap(normal[1]), lengths[0], snap(R[2, 2]), snap(sin_alpha), lengths[1])
    for k, column in enumerate(screws):
        fixed[:, k] = column
    in_line = (screws[0] == 1.0) & (screws[1] == 0.0) & (lengths[0] == 0.0)
    fixed_kind = np.where(placed, PLACED, np.where(in_line, X_SCREW, ZX_SCREWS))
    fixed[placed] = np.concatenate([rows(R[:, :, placed]).reshape(-1, 9), p[:, placed].T], axis=1)
    offset = np.stack([np.where(np.abs(theta) < ROUNDING, 0.0, theta), lengths[2]], axis=1)
    offset[placed] = 0.0
    return fixed_kind.astype(np.int64), fixed, offset
