"""Where bodies are: joint placements, cross-transforms of clusters, and joints that move by a finite step."""

from __future__ import annotations

from bough.adaptive.node.layout import CROSS, IDENTITY, ZERO3, Blueprint, State, placement, two_handled
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import (
    Mechanism,
    freedom,
    integrate_joint,
    motion_to_body,
    move_joint,
    origin_in_parent,
    turn_to_parent,
)
from bough.spatial import add3, get9, get_tail, matmul3, put6, put9, put_tail, rotate
from bough.types import Pose, Rotation, Rows, Vector

# Poses: (R, p)


@kernel
def compose(a: Pose, b: Pose) -> Pose:
    """The pose b seen through pose a."""
    return matmul3(a[0], b[0]), add3(a[1], rotate(a[0], b[1]))


@kernel
def put_pose(X: Rows, i: int, pose: Pose) -> None:
    put9(X, i, pose[0])
    put_tail(X, i, pose[1])


@kernel
def get_pose(X: Rows, i: int) -> tuple[Rotation, Vector]:
    return get9(X, i), get_tail(X, i)


@inlined
@loop_kernel
def primitive_pose(m: Mechanism, X: Rows, i: int) -> tuple[Rotation, Vector]:
    """The pose of primitive i in its parent, from its motion in X."""
    x, y, z = (
        turn_to_parent(m, X, i, (1.0, 0.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 1.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 0.0, 1.0)),
    )
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), origin_in_parent(m, X, i)


@inlined
@loop_kernel
def place_body(m: Mechanism, plan: Blueprint, st: State, b: int) -> None:
    """Refresh the placement of body b in its parent's frame, and the axes of a compound joint, from q."""
    first, last = plan.first[b], plan.last[b]
    for i in range(first, last + 1):
        move_joint(m, st.q, i, st.X)
    pose = primitive_pose(m, st.X, first)
    if first < last:
        for i in range(first, last + 1):
            for k in range(m.dof[i], m.dof[i + 1]):
                s = freedom(m, k, 1.0)
                for j in range(i + 1, last + 1):
                    s = motion_to_body(m, st.X, j, s)
                put6(st.freedoms, k, s)
        for i in range(first + 1, last + 1):
            pose = compose(pose, primitive_pose(m, st.X, i))
    put_pose(st.X, last, pose)


@inlined
@kernel
def cross_pose(plan: Blueprint, st: State, code: int) -> tuple[Rotation, Vector]:
    """The far handle's body in the frame of the near one."""
    if two_handled(plan, code):
        r = st.record[plan.offset[code] : plan.offset[code + 1]]
        o = CROSS
        R = (r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5], r[o + 6], r[o + 7], r[o + 8])
        return R, (r[o + 9], r[o + 10], r[o + 11])
    return IDENTITY, ZERO3


@inlined
@kernel
def far_pose(plan: Blueprint, st: State, n: int, pose: Pose) -> Pose:
    """The pose of B's near body, given the pose of node n's near body."""
    return compose(compose(pose, cross_pose(plan, st, plan.left[n])), placement(plan, st, plan.body[n]))


@inlined
@kernel
def refresh_cross(plan: Blueprint, st: State, n: int) -> None:
    """Bring the cross-transform of a two-handle node up to date."""
    if plan.handles[n] == 2:
        pose = compose(far_pose(plan, st, n, (IDENTITY, ZERO3)), cross_pose(plan, st, plan.right[n]))
        r = st.record[plan.offset[n] : plan.offset[n + 1]]
        for k in range(9):
            r[CROSS + k] = pose[0][k]
        r[CROSS + 9], r[CROSS + 10], r[CROSS + 11] = pose[1][0], pose[1][1], pose[1][2]


@inlined
@kernel
def advance_body(m: Mechanism, plan: Blueprint, st: State, b: int, h: float) -> None:
    """Move the joint of body b by h qdd."""
    for i in range(plan.first[b], plan.last[b] + 1):
        integrate_joint(m, i, st.q, st.qdd, h, st.q)
