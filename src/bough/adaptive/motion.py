"""Where bodies are: joint placements, cross-transforms of clusters, and joints that move by a finite step."""

from __future__ import annotations

import math
from typing import Any

from bough.adaptive.compiled import inlined
from bough.adaptive.nodes import CROSS, IDENTITY, ZERO3, placement, two_handled
from bough.compile.kernel import kernel
from bough.joints import BALL, PLANAR, SLIDE, freedom, motion_to_body, move_joint, origin_in_parent, turn_to_parent
from bough.spatial import add3, cross, get9, get_tail, matmul3, put6, put9, put_tail, rotate, scale3

# Poses: (R, p)


@kernel
def compose(a: Any, b: Any) -> Any:
    """The pose b seen through pose a."""
    return matmul3(a[0], b[0]), add3(a[1], rotate(a[0], b[1]))


@kernel
def put_pose(X: Any, i: int, pose: Any) -> None:
    put9(X, i, pose[0])
    put_tail(X, i, pose[1])


@kernel
def get_pose(X: Any, i: int) -> Any:
    return get9(X, i), get_tail(X, i)


@inlined
def primitive_pose(m: Any, X: Any, i: int) -> Any:
    """The pose of primitive i in its parent, from its motion in X."""
    x, y, z = (
        turn_to_parent(m, X, i, (1.0, 0.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 1.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 0.0, 1.0)),
    )
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), origin_in_parent(m, X, i)


@inlined
def place_body(m: Any, plan: Any, st: Any, b: int) -> None:
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
def cross_pose(plan: Any, st: Any, code: int) -> Any:
    """The far handle's body in the frame of the near one."""
    if two_handled(plan, code):
        r = st.record[plan.offset[code] : plan.offset[code + 1]]
        o = CROSS
        R = (r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5], r[o + 6], r[o + 7], r[o + 8])
        return R, (r[o + 9], r[o + 10], r[o + 11])
    return IDENTITY, ZERO3


@inlined
def far_pose(plan: Any, st: Any, n: int, pose: Any) -> Any:
    """The pose of B's near body, given the pose of node n's near body."""
    return compose(compose(pose, cross_pose(plan, st, plan.left[n])), placement(plan, st, plan.body[n]))


@inlined
def refresh_cross(plan: Any, st: Any, n: int) -> None:
    """Bring the cross-transform of a two-handle node up to date."""
    if plan.handles[n] == 2:
        pose = compose(far_pose(plan, st, n, (IDENTITY, ZERO3)), cross_pose(plan, st, plan.right[n]))
        r = st.record[plan.offset[n] : plan.offset[n + 1]]
        for k in range(9):
            r[CROSS + k] = pose[0][k]
        r[CROSS + 9], r[CROSS + 10], r[CROSS + 11] = pose[1][0], pose[1][1], pose[1][2]


# Finite motions of joints


@kernel
def screw_factors(t: float) -> Any:
    """(1 - cos t) / t^2 and (t - sin t) / t^3, by series near zero."""
    if t < 1e-3:
        return 0.5 - t * t / 24.0, 1.0 / 6.0 - t * t / 120.0
    return (1.0 - math.cos(t)) / (t * t), (t - math.sin(t)) / (t * t * t)


@kernel
def screw_step(w: Any, l: Any) -> Any:
    """Where a body goes that keeps the twist (w, l) of its own frame for unit time."""
    b, c = screw_factors(math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))
    wl = cross(w, l)
    return add3(l, add3(scale3(b, wl), scale3(c, cross(w, wl))))


@kernel
def turn_quaternion(q: Any, k: int, w: Any) -> None:
    """q[k:k + 4] turned by the rotation vector w of its own frame, and made a unit quaternion."""
    t = 0.5 * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    s = 0.5 * (math.sin(t) / t if t > 1e-8 else 1.0)
    x, y, z, c = s * w[0], s * w[1], s * w[2], math.cos(t)
    a, b, d, e = q[k], q[k + 1], q[k + 2], q[k + 3]
    i, j = e * x + a * c + b * z - d * y, e * y + b * c + d * x - a * z
    l, r = e * z + d * c + a * y - b * x, e * c - a * x - b * y - d * z
    size = math.sqrt(i * i + j * j + l * l + r * r)
    q[k], q[k + 1], q[k + 2], q[k + 3] = i / size, j / size, l / size, r / size


@kernel
def rotate_by_quaternion(q: Any, k: int, x: Any) -> Any:
    n = math.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
    v, w = (q[k] / n, q[k + 1] / n, q[k + 2] / n), q[k + 3] / n
    t = scale3(2.0, cross(v, x))
    return add3(x, add3(scale3(w, t), cross(v, t)))


@inlined
def advance(m: Any, i: int, q: Any, qdd: Any, h: float) -> None:
    """Move the joint of primitive i by h qdd, on its manifold."""
    k, kind, v = m.q_index[i], m.kind[i], m.dof[i]
    if kind <= SLIDE:
        q[k] += h * qdd[m.v_index[v]]
    elif kind == BALL:
        turn_quaternion(q, k, (h * qdd[m.v_index[v]], h * qdd[m.v_index[v + 1]], h * qdd[m.v_index[v + 2]]))
    elif kind == PLANAR:
        turn = h * qdd[m.v_index[v + 2]]
        step = screw_step((0.0, 0.0, turn), (h * qdd[m.v_index[v]], h * qdd[m.v_index[v + 1]], 0.0))
        c, s = math.cos(q[k + 2]), math.sin(q[k + 2])
        q[k] += c * step[0] - s * step[1]
        q[k + 1] += s * step[0] + c * step[1]
        q[k + 2] += turn
    else:
        l = (h * qdd[m.v_index[v]], h * qdd[m.v_index[v + 1]], h * qdd[m.v_index[v + 2]])
        w = (h * qdd[m.v_index[v + 3]], h * qdd[m.v_index[v + 4]], h * qdd[m.v_index[v + 5]])
        step = rotate_by_quaternion(q, k + 3, screw_step(w, l))
        q[k], q[k + 1], q[k + 2] = q[k] + step[0], q[k + 1] + step[1], q[k + 2] + step[2]
        turn_quaternion(q, k + 3, w)


@inlined
def advance_body(m: Any, plan: Any, st: Any, b: int, h: float) -> None:
    """Move the joint of body b by h qdd."""
    for i in range(plan.first[b], plan.last[b] + 1):
        advance(m, i, st.q, st.qdd, h)
