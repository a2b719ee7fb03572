"""Forward kinematics and velocities of frames (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 3 and 4).

A kernel about one frame takes a `Frame` as its second group of constants and touches only the path to that frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.errors import unknown_option
from bough.joints import (
    Mechanism,
    joint_velocity,
    motion_to_body,
    move_joint,
    orient_body,
    origin_in_parent,
    turn_to_parent,
)
from bough.model import Model
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    cross_motion,
    get6,
    get9,
    get_tail,
    join,
    linear,
    motion_in,
    motion_out,
    put6,
    put_tail,
    rotate,
)
from bough.types import Motion, Rotation, Rows, Vector, Workspace

LOCAL, WORLD, LOCAL_WORLD_ALIGNED = range(3)
REFERENCES = {"local": LOCAL, "world": WORLD, "local_world_aligned": LOCAL_WORLD_ALIGNED}


class Frame(NamedTuple):
    """A frame as kernels see it: its place on a body, the path to that body, and the frame results are given in."""

    path: Rows  # (length,) bodies from a root to the one that carries the frame; empty for a frame of the world
    R: Rows  # (9,) rotation in that body's frame, row by row
    p: Rows  # (3,)
    reference: Rows  # (1,)


def frame_of(model: Model, name: str, reference: str = "local_world_aligned") -> Frame:
    """The frame called `name`, with results in the `reference` "local", "world" or "local_world_aligned"."""
    if reference not in REFERENCES:
        raise unknown_option(f"there is no reference {reference!r}", reference, REFERENCES)
    k = model.frame(name)
    path, body = [], int(model.frames.body[k])
    while body >= 0:
        path.append(body)
        body = int(model.mechanism.parent[body])
    R, p = model.frames.R[k].ravel(), model.frames.p[k]
    return Frame(np.array(path[::-1], np.int64), R, p, np.array([REFERENCES[reference]]))


# All bodies


@kernel
def place_body(m: Mechanism, i: int, w: Workspace) -> None:
    """Row i of P: the world placement (R, p) of body i, from that of its parent."""
    up, p = m.parent[i], origin_in_parent(m, w.X, i)
    if up >= 0:
        p = add3(get_tail(w.P, up), rotate(get9(w.P, up), p))
    orient_body(m, i, w.X, w.P)
    put_tail(w.P, i, p)


@kernel
def body_velocities(m: Mechanism, v: Rows, X: Rows, out: Rows) -> None:
    """out (bodies, 6): the spatial velocity of every body in its own frame, angular part first; X is filled."""
    for i in range(len(m.parent)):
        vi = joint_velocity(m, i, v)
        if m.parent[i] >= 0:
            vi = add6(motion_to_body(m, X, i, get6(out, m.parent[i])), vi)
        put6(out, i, vi)


@kernel
def body_drifts(m: Mechanism, v: Rows, w: Workspace) -> None:
    """Fill w.v and w.a: velocities of bodies, and their spatial accelerations while v is constant; X is filled."""
    zero = m.zero[0]
    body_velocities(m, v, w.X, w.v)
    for i in range(len(m.parent)):
        a = (zero, zero, zero, zero, zero, zero)
        if m.parent[i] >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, m.parent[i]))
        put6(w.a, i, add6(a, cross_motion(get6(w.v, i), joint_velocity(m, i, v))))


# One frame


@kernel
def frame_rotation(f: Frame) -> Rotation:
    return (f.R[0], f.R[1], f.R[2], f.R[3], f.R[4], f.R[5], f.R[6], f.R[7], f.R[8])


@kernel
def frame_origin(f: Frame) -> Vector:
    return (f.p[0], f.p[1], f.p[2])


@kernel
def to_parent(m: Mechanism, i: int, R: Rotation, p: Vector, w: Workspace) -> tuple[Rotation, Vector]:
    """A placement (R, p) in body i's frame, seen from the parent's."""
    a, b = turn_to_parent(m, w.X, i, (R[0], R[3], R[6])), turn_to_parent(m, w.X, i, (R[1], R[4], R[7]))
    c = turn_to_parent(m, w.X, i, (R[2], R[5], R[8]))
    p = add3(origin_in_parent(m, w.X, i), turn_to_parent(m, w.X, i, p))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]), p


@kernel
def placed(m: Mechanism, f: Frame, w: Workspace) -> tuple[Rotation, Vector]:
    """The world placement (R, p) of frame f, carried from its body to the world."""
    R, p = frame_rotation(f), frame_origin(f)
    for s in range(len(f.path) - 1, -1, -1):
        R, p = to_parent(m, f.path[s], R, p, w)
    return R, p


@kernel
def placement(m: Mechanism, f: Frame, q: Rows, T: Rows, w: Workspace) -> None:
    """World placement of frame f as a homogeneous matrix (4, 4)."""
    for s in range(len(f.path)):
        move_joint(m, q, f.path[s], w.X)
    R, p = placed(m, f, w)
    put_homogeneous(m, R, p, T)


@kernel
def put_homogeneous(m: Mechanism, R: Rotation, p: Vector, T: Rows) -> None:
    """T (4, 4) from a rotation, row by row, and an origin."""
    for i in range(3):
        T[i, 0], T[i, 1], T[i, 2], T[i, 3] = R[3 * i], R[3 * i + 1], R[3 * i + 2], p[i]
        T[3, i] = m.zero[0]
    T[3, 3] = m.one[0]


@kernel
def path_velocities(m: Mechanism, f: Frame, q: Rows, v: Rows, w: Workspace) -> tuple[Motion, Motion]:
    """Spatial velocities and velocity-dependent accelerations of the bodies on the path; those of the last body."""
    zero = m.zero[0]
    rest = (zero, zero, zero, zero, zero, zero)
    vi, ai = rest, rest
    for s in range(len(f.path)):
        i = f.path[s]
        move_joint(m, q, i, w.X)
        vJ = joint_velocity(m, i, v)
        if s > 0:
            vi, ai = motion_to_body(m, w.X, i, vi), motion_to_body(m, w.X, i, ai)
        vi = add6(vi, vJ)
        ai = add6(ai, cross_motion(vi, vJ))
    return vi, ai


@kernel
def in_reference(m: Mechanism, f: Frame, x: Motion, w: Workspace) -> Motion:
    """A motion in the body's frame, given in the reference of f, linear part first."""
    x = motion_out(frame_rotation(f), frame_origin(f), x)
    if f.reference[0] != LOCAL:
        R, p = placed(m, f, w)
        if f.reference[0] == WORLD:
            x = motion_in(R, p, x)
        else:
            x = join(rotate(R, angular(x)), rotate(R, linear(x)))
    return join(linear(x), angular(x))


@kernel
def velocity(m: Mechanism, f: Frame, q: Rows, v: Rows, nu: Rows, w: Workspace) -> None:
    """nu = J v: the velocity of frame f [linear, angular] in its reference.

    "local": of the frame's origin, in the frame's axes. "world": of the body's point at the world's origin, in the
    world's axes. "local_world_aligned": of the frame's origin, in the world's axes.
    """
    x, _ = path_velocities(m, f, q, v, w)
    x = in_reference(m, f, x, w)
    for k in range(6):
        nu[k] = x[k]


@kernel
def bias_acceleration(m: Mechanism, f: Frame, q: Rows, v: Rows, a: Rows, w: Workspace) -> None:
    """a = Jdot v: the rate of change of `velocity` while v is constant, without gravity.

    In "local" and "world" that is the spatial acceleration; in "local_world_aligned" it is the classical one, the
    second derivative of the origin's position and the derivative of the angular velocity.
    """
    x, y = path_velocities(m, f, q, v, w)
    y = in_reference(m, f, y, w)
    if f.reference[0] == LOCAL_WORLD_ALIGNED:
        nu = in_reference(m, f, x, w)
        # the origin moves through the field of spatial accelerations: + omega x velocity
        turn = cross((nu[3], nu[4], nu[5]), (nu[0], nu[1], nu[2]))
        y = (y[0] + turn[0], y[1] + turn[1], y[2] + turn[2], y[3], y[4], y[5])
    for k in range(6):
        a[k] = y[k]


PLACEMENT = Routine("placement", placement, inputs={"q": "nq"}, outputs={"T": "4 4"}, work={"X": "bodies 12"})
VELOCITY = Routine("velocity", velocity, inputs={"q": "nq", "v": "nv"}, outputs={"nu": "6"}, work={"X": "bodies 12"})
BIAS_ACCELERATION = Routine(
    "bias_acceleration", bias_acceleration, inputs={"q": "nq", "v": "nv"}, outputs={"a": "6"}, work={"X": "bodies 12"}
)
