"""The few functions through which every algorithm sees a joint: see `mechanism` for what joints are made of."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import ahead
from bough.joints.mechanism import LAST_SCREW, PLACED, ZX_SCREWS, Mechanism
from bough.joints.table import move_joint
from bough.joints.walks import Walk, inward, outward
from bough.spatial import (
    add3,
    add6,
    articulated_column,
    articulated_in,
    force_in,
    get9,
    get_tail,
    motion_out,
    put9,
    rigid_column,
    rigid_in,
    rotate,
    rotate_back,
    scale6,
    x_articulated_in,
    x_force_in,
    x_motion_out,
    x_rigid_in,
    x_turn_in,
    x_turn_out,
    z_articulated_in,
    z_force_in,
    z_motion_out,
    z_rigid_in,
    z_turn_in,
    z_turn_out,
)
from bough.types import ArticulatedInertia, Force, Motion, RigidInertia, Rotation, Rows, Scalar, Vector

SOON = 12  # bodies: what they take to compute is longer than memory takes to answer

# Configuration


@kernel
def fetch_joint(m: Mechanism, q: Rows, i: int) -> None:
    """Ask for the coordinates of a joint that comes soon: in a large tree in no order they lie anywhere."""
    ahead(q, m.q_index[min(i + SOON, len(m.q_index) - 1)])


@kernel
def fetch_freedom(m: Mechanism, x: Rows, k: int) -> None:
    """The same of a DoF in a vector such as v or tau."""
    ahead(x, m.v_index[min(k + SOON, len(m.v_index) - 1)])


@kernel
def joint_motion(m: Mechanism, q: Rows, X: Rows) -> None:
    """Fill X: (cos, sin, d) of each joint's screw, or the placement (R, p) of a joint of several DoF."""
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, X)


# Transforms between a body and its parent: each algorithm sees a joint through these


motion_to_body: Walk[Motion] = outward(
    "motion_to_body", "A motion from the parent's frame into body i's.", z_motion_out, x_motion_out, motion_out
)
force_to_parent: Walk[Force] = inward(
    "force_to_parent", "A force from body i's frame into the parent's.", z_force_in, x_force_in, force_in
)
rigid_to_parent: Walk[RigidInertia] = inward(
    "rigid_to_parent", "A rigid inertia from body i's frame into the parent's.", z_rigid_in, x_rigid_in, rigid_in
)
articulated_to_parent: Walk[ArticulatedInertia] = inward(
    "articulated_to_parent",
    "An articulated inertia from body i's frame into the parent's.",
    z_articulated_in,
    x_articulated_in,
    articulated_in,
)


@kernel
def turn_to_body(m: Mechanism, X: Rows, i: int, a: Vector) -> Vector:
    """A free vector from the parent's axes into body i's."""
    fixed = m.fixed_kind[i]
    if fixed == PLACED:
        a = rotate_back(get9(m.fixed, i), a)
    else:
        if fixed == ZX_SCREWS:
            a = z_turn_out(m.fixed[i, 0], m.fixed[i, 1], a)
        a = x_turn_out(m.fixed[i, 3], m.fixed[i, 4], a)
    if m.kind[i] <= LAST_SCREW:
        return z_turn_out(X[i, 0], X[i, 1], a)
    return rotate_back(get9(X, i), a)


@kernel
def orient_body(m: Mechanism, i: int, X: Rows, E: Rows) -> Rotation:
    """The rotation from body i's axes to the world's, also put into row i of E, which begins with those of parents."""
    up, zero, one = m.parent[i], m.zero[0], m.one[0]
    R = (one, zero, zero, zero, one, zero, zero, zero, one)
    if up >= 0:
        R = get9(E, up)
    a, b = turn_to_body(m, X, i, (R[0], R[1], R[2])), turn_to_body(m, X, i, (R[3], R[4], R[5]))
    c = turn_to_body(m, X, i, (R[6], R[7], R[8]))
    R = (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    put9(E, i, R)
    return R


@kernel
def turn_to_parent(m: Mechanism, X: Rows, i: int, a: Vector) -> Vector:
    """A free vector from body i's axes into the parent's."""
    if m.kind[i] <= LAST_SCREW:
        a = z_turn_in(X[i, 0], X[i, 1], a)
    else:
        a = rotate(get9(X, i), a)
    return _fixed_turn(m, i, a)


@kernel
def _fixed_turn(m: Mechanism, i: int, a: Vector) -> Vector:
    fixed = m.fixed_kind[i]
    if fixed == PLACED:
        return rotate(get9(m.fixed, i), a)
    a = x_turn_in(m.fixed[i, 3], m.fixed[i, 4], a)
    if fixed == ZX_SCREWS:
        a = z_turn_in(m.fixed[i, 0], m.fixed[i, 1], a)
    return a


@kernel
def origin_in_parent(m: Mechanism, X: Rows, i: int) -> Vector:
    """The origin of body i's frame in the parent's frame; constant for a revolute joint."""
    zero = m.zero[0]
    if m.kind[i] <= LAST_SCREW:
        p = (zero, zero, X[i, 2])
    else:
        p = get_tail(X, i)
    fixed = m.fixed_kind[i]
    if fixed == PLACED:
        return add3(rotate(get9(m.fixed, i), p), get_tail(m.fixed, i))
    p = _fixed_turn(m, i, (p[0] + m.fixed[i, 5], p[1], p[2]))
    if fixed == ZX_SCREWS:
        p = (p[0], p[1], p[2] + m.fixed[i, 2])
    return p


# The motion subspace


@kernel
def along(m: Mechanism, k: int, f: Force) -> Scalar:
    """S_k' f: the part of a force (or motion) along degree of freedom k."""
    axis = m.axis[k]
    if axis == 2:
        return f[2] + m.pitch[k] * f[5]
    if axis == 5:
        return f[5]
    if axis == 0:
        return f[0]
    if axis == 1:
        return f[1]
    if axis == 3:
        return f[3]
    return f[4]


@kernel
def freedom(m: Mechanism, k: int, x: Scalar) -> Motion:
    """S_k x: the motion of degree of freedom k at rate x."""
    zero, axis = m.zero[0], m.axis[k]
    if axis == 2:
        return (zero, zero, x, zero, zero, m.pitch[k] * x)
    return along_axis(axis, x, zero)


@kernel
def along_axis(axis: int, x: Scalar, zero: Scalar) -> Motion:
    """x times the unit motion with this number."""
    if axis == 5:
        return (zero, zero, zero, zero, zero, x)
    if axis == 0:
        return (x, zero, zero, zero, zero, zero)
    if axis == 1:
        return (zero, x, zero, zero, zero, zero)
    if axis == 2:
        return (zero, zero, x, zero, zero, zero)
    if axis == 3:
        return (zero, zero, zero, x, zero, zero)
    return (zero, zero, zero, zero, x, zero)


@kernel
def joint_velocity(m: Mechanism, i: int, v: Rows) -> Motion:
    """S v of joint i, from the vector of all velocities (or accelerations)."""
    zero = m.zero[0]
    total = (zero, zero, zero, zero, zero, zero)
    for k in range(m.dof[i], m.dof[i + 1]):
        total = add6(total, freedom(m, k, m.ratio[k] * v[m.v_index[k]]))
    return total


@kernel
def by_freedom(m: Mechanism, x: Rows, out: Rows) -> None:
    """A vector of the user's order in that of the kernels, mimic ratios applied.

    Done at once, because a large tree would otherwise wait for memory at every body.
    """
    for k in range(len(m.v_index)):
        out[k] = m.ratio[k] * x[m.v_index[k]]


@kernel
def joint_rate(m: Mechanism, i: int, x: Rows) -> Motion:
    """S x of joint i, from a vector that `by_freedom` made."""
    zero = m.zero[0]
    total = (zero, zero, zero, zero, zero, zero)
    for k in range(m.dof[i], m.dof[i + 1]):
        total = add6(total, freedom(m, k, x[k]))
    return total


@kernel
def rigid_freedom(m: Mechanism, k: int, I: RigidInertia) -> Force:
    """I S_k."""
    axis, zero = m.axis[k], m.zero[0]
    f = rigid_column(I, axis, zero)
    if axis == 2:
        f = add6(f, scale6(m.pitch[k], rigid_column(I, 5, zero)))
    return f


@kernel
def articulated_freedom(m: Mechanism, k: int, IA: ArticulatedInertia) -> Force:
    """IA S_k."""
    axis = m.axis[k]
    U = articulated_column(IA, axis)
    if axis == 2:
        U = add6(U, scale6(m.pitch[k], articulated_column(IA, 5)))
    return U
