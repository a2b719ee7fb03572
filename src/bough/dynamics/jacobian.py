"""Geometric Jacobian of a frame (Orin & Schrader 1984; Featherstone 2010, section 5): columns on its path only."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.kinematics import LOCAL, WORLD, Frame, frame_origin, frame_rotation, place_body, to_parent
from bough.joints import Mechanism, freedom, move_joint
from bough.spatial import add3, cross, fill, get9, get_tail, join, motion_out, rotate, sub3
from bough.types import Motion, Rows, Vector, Workspace


@kernel
def jacobian(m: Mechanism, f: Frame, q: Rows, J: Rows, w: Workspace) -> None:
    """J (6, nv) with velocity of frame f [linear, angular] = J v, in the reference of f; zero off the path.

    Mimic joints add to the columns of their leaders.
    """
    fill(J, m.zero[0])
    for s in range(len(f.path)):
        move_joint(m, q, f.path[s], w.X)
    if f.reference[0] == LOCAL:
        local_columns(m, f, J, w)
    else:
        world_columns(m, f, J, w)


@kernel
def local_columns(m: Mechanism, f: Frame, J: Rows, w: Workspace) -> None:
    """From the body to the root, with (R, p) the placement of the frame in the body at hand."""
    R, p = frame_rotation(f), frame_origin(f)
    for s in range(len(f.path) - 1, -1, -1):
        i = f.path[s]
        for k in range(m.dof[i], m.dof[i + 1]):
            add_column(m, k, motion_out(R, p, freedom(m, k, m.one[0])), J)
        if s > 0:
            R, p = to_parent(m, i, R, p, w)


@kernel
def world_columns(m: Mechanism, f: Frame, J: Rows, w: Workspace) -> None:
    """From the root to the body, with world placements; the reference point is the world's or the frame's origin."""
    zero = m.zero[0]
    point = (zero, zero, zero)
    for s in range(len(f.path)):
        place_body(m, f.path[s], w)
    if f.reference[0] != WORLD and len(f.path) > 0:
        last = f.path[len(f.path) - 1]
        point = add3(get_tail(w.P, last), rotate(get9(w.P, last), frame_origin(f)))
    for s in range(len(f.path)):
        i = f.path[s]
        for k in range(m.dof[i], m.dof[i + 1]):
            add_column(m, k, world_motion(m, i, k, point, w), J)


@kernel
def world_motion(m: Mechanism, i: int, k: int, point: Vector, w: Workspace) -> Motion:
    """The unit motion of degree of freedom k of body i, at `point`, in the world's axes."""
    zero, axis = m.zero[0], m.axis[k]
    a = axis % 3
    e = (w.P[i, a], w.P[i, 3 + a], w.P[i, 6 + a])
    if axis >= 3:
        return join((zero, zero, zero), e)
    l = cross(sub3(get_tail(w.P, i), point), e)
    if axis == 2:
        h = m.pitch[k]
        l = (l[0] + h * e[0], l[1] + h * e[1], l[2] + h * e[2])
    return join(e, l)


@kernel
def add_column(m: Mechanism, k: int, x: Motion, J: Rows) -> None:
    c, ratio = m.v_index[k], m.ratio[k]
    for r in range(3):
        J[r, c] = J[r, c] + ratio * x[3 + r]
        J[3 + r, c] = J[3 + r, c] + ratio * x[r]


JACOBIAN = Routine(
    "jacobian", jacobian, inputs={"q": "nq"}, outputs={"J": "6 nv"}, work={"X": "bodies 12", "P": "bodies 12"}
)
