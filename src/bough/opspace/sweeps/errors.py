"""Errors of task rows against their targets, in one sweep: positions, rotations, the centre of mass and joints.

A turn is the logarithm of R_target R', taken without a branch: with Q = x x' the outer product of its quaternion x,
which is linear in the entries of the rotation, Q u has the direction of x for any u that x is not orthogonal to.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import atan, sqrt
from bough.joints import Mechanism, difference_joint, joint_motion, tiny
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, place_bodies
from bough.spatial import add3, dot3, get3, get9, get_tail, matmul3, rotate, rotate_back, scale3, sub3, transpose3
from bough.types import Rotation, Rows, Vector, Workspace

# Kinds of aims
FRAME = 0  # placement of a frame, seen from a body or from the world
CENTER = 1  # centre of mass
JOINTS = 2  # coordinates of joints
DISTANCE = 3  # distance of a frame's origin from another's; the target is p[0]
# Axes of errors of frames
WORLD_AXES = 0
FRAME_AXES = 1
FREE_Z = 2  # those of the frame, which may turn about its z axis: the turn carries this axis to that of the target


class Aims(NamedTuple):
    """Where task rows should be; A aims at frames and the centre of mass, and P rows of joints."""

    kind: Rows  # (A,)
    of_aim: Rows  # (A + 1,) rows of aim a are row[of_aim[a]] .. row[of_aim[a + 1] - 1]
    row: Rows  # (rows of frames,)
    matrix: Rows  # (rows of frames, 6) on [linear, angular]
    body: Rows  # (A,) -1 for the world
    R: Rows  # (A, 9) the frame on its body
    p: Rows  # (A, 3)
    base: Rows  # (A,)
    base_R: Rows  # (A, 9)
    base_p: Rows  # (A, 3)
    axes: Rows  # (A,)
    joint_row: Rows  # (P,)
    joint_dof: Rows  # (P,)


@kernel
def task_errors(
    m: Mechanism, t: Seeds, g: Aims, q: Rows, target: Rows, posture: Rows, error: Rows, w: Workspace
) -> None:
    """error (rows): target less position, in the rows' own axes, from the placements in w.

    target (A, 12) holds R and p of each aim, posture (nq,) the coordinates of joints that are rows.
    """
    for r in range(len(error)):
        error[r] = m.zero[0]
    for i in range(len(m.parent)):
        difference_joint(m, i, q, posture, w.gap)
    for k in range(len(g.joint_row)):
        error[g.joint_row[k]] = w.gap[m.v_index[g.joint_dof[k]]]
    for a in range(len(g.kind)):
        gap, turn = aim_error(m, t, g, a, target, w)
        for k in range(g.of_aim[a], g.of_aim[a + 1]):
            x = m.zero[0]
            for c in range(3):
                x = x + g.matrix[k, c] * gap[c] + g.matrix[k, 3 + c] * turn[c]
            error[g.row[k]] = x


@kernel
def aim_error(m: Mechanism, t: Seeds, g: Aims, a: int, target: Rows, w: Workspace) -> tuple[Vector, Vector]:
    """(linear, angular) from where aim a is to its target."""
    zero, goal = m.zero[0], get_tail(target, a)
    if g.kind[a] == CENTER:
        return sub3(goal, get3(w.center, 0)), (zero, zero, zero)
    R, p = placed_on(t, g.body[a], get9(g.R, a), get3(g.p, a), w)
    B, b = placed_on(t, g.base[a], get9(g.base_R, a), get3(g.base_p, a), w)
    if g.kind[a] == DISTANCE:
        away = sub3(p, b)
        return (goal[0] - sqrt(dot3(away, away)), zero, zero), (zero, zero, zero)
    gap = sub3(add3(rotate(B, goal), b), p)
    there = matmul3(B, get9(target, a))
    if g.axes[a] == FREE_Z:
        return rotate_back(R, gap), turn_of_z(m, rotate_back(R, (there[2], there[5], there[8])))
    turn = turn_of(m, matmul3(there, transpose3(R)))
    if g.axes[a] == FRAME_AXES:
        return rotate_back(R, gap), rotate_back(R, turn)
    return gap, turn


@kernel
def placed_on(t: Seeds, i: int, R: Rotation, p: Vector, w: Workspace) -> tuple[Rotation, Vector]:
    """The world placement of what lies at (R, p) on body i, or in the world."""
    if i >= 0:
        P = get9(w.place, i)
        p = add3(add3(get3(w.origin, t.root[i]), get_tail(w.place, i)), rotate(P, p))
        R = matmul3(P, R)
    return R, p


@kernel
def turn_of(m: Mechanism, R: Rotation) -> Vector:
    """The rotation vector of R, at most half a turn long; u = (1/3, 1/5, 1/7, 1), which no turn in use is far from."""
    one = m.one[0]
    two = one + one
    three = two + one
    a, b, c = one / three, one / (three + two), one / (three + two + two)
    # 4 x x', the quaternion in the order x y z w
    xy, xz, yz = R[1] + R[3], R[2] + R[6], R[5] + R[7]
    xw, yw, zw = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    x = a * (one + R[0] - R[4] - R[8]) + b * xy + c * xz + xw
    y = a * xy + b * (one - R[0] + R[4] - R[8]) + c * yz + yw
    z = a * xz + b * yz + c * (one - R[0] - R[4] + R[8]) + zw
    s = a * xw + b * yw + c * zw + (one + R[0] + R[4] + R[8])
    scale = one / sqrt(x * x + y * y + z * z + s * s + tiny(one))
    v = scale3(scale, (x, y, z))
    sine = sqrt(dot3(v, v) + tiny(one))
    half = atan(sine / (scale * s + tiny(one))) / sine
    return scale3(half + half, v)


@kernel
def turn_of_z(m: Mechanism, z: Vector) -> Vector:
    """The rotation vector, across the z axis, that carries it to the unit vector z."""
    one = m.one[0]
    sine = sqrt(z[0] * z[0] + z[1] * z[1] + tiny(one))
    half = atan(sine / (one + z[2] + tiny(one))) / sine
    return (-(half + half) * z[1], (half + half) * z[0], m.zero[0])


@kernel
def errors(m: Mechanism, t: Seeds, g: Aims, q: Rows, target: Rows, posture: Rows, error: Rows, w: Workspace) -> None:
    """The errors of rows (rows,) from q."""
    joint_motion(m, q, w.X)
    place_bodies(m, t, w)
    task_errors(m, t, g, q, target, posture, error, w)


ERROR_WORK = {"gap": "nv"}
ERRORS = Routine(
    "task_errors",
    errors,
    inputs={"q": "nq", "target": "aims 12", "posture": "nq"},
    outputs={"error": "rows"},
    work=PLACEMENT_WORK | ERROR_WORK,
)
