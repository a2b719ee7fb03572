"""Free flight in a step of first order conserves momentum, whatever the spin (Simo & Wong 1991).

A joint that frees a body from the world (floating, planar, spherical) has velocities in axes that turn with it. An
Euler step of them changes the momentum of a free body. Here a step works in the axes at its start, and rotates its
result into those at its end. With the composite inertia of all bodies at the base (mass, centre c, moment J there), the
base alone would

    turn by h w_m,  w_m = (w + w') / 2,  J w' = R' J w,  R = exp(h w_m)      which conserves momentum and energy,
    have a centre of mass that moves straight on.

One step of Newton's method finds w_m. It takes some energy out, 3e-7 of it at 0.2 rad a step. Where it would add some,
beyond a radian, w' is scaled down; no step turns by more than four radians. The difference to the Euler step is a small
force on the base, so joints, stops and contacts act beside it.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import larger
from bough.joints import (
    BALL,
    LAST_SCREW,
    PLANAR,
    Mechanism,
    along,
    integrate_joint,
    joint_motion,
    joint_velocity,
    quaternion_rotation,
    rigid_to_parent,
    rotation_quaternion,
    tiny,
)
from bough.spatial import (
    add3,
    angular,
    cross,
    dot3,
    get9,
    get10,
    join,
    linear,
    put10,
    rigid_add,
    rotate,
    rotate_back,
    scale3,
    sub3,
    symmetric_times,
)
from bough.types import Rotation, Rows, Scalar, Symmetric, Vector, Workspace


@kernel
def is_free(m: Mechanism, i: int) -> int:
    """Whether joint i gives its body several DoF relative to the world."""
    return m.parent[i] < 0 and m.kind[i] > LAST_SCREW


@kernel
def composite_of_roots(m: Mechanism, w: Workspace) -> None:
    """w.Ic from the joint motions in w.X; of free roots it is the inertia of the whole mechanism."""
    for i in range(len(m.parent)):
        put10(w.Ic, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        p = m.parent[i]
        if p >= 0:
            put10(w.Ic, p, rigid_add(get10(w.Ic, p), rigid_to_parent(m, w.X, i, get10(w.Ic, i))))


@kernel
def has_free(m: Mechanism) -> int:
    count = 0
    for i in range(len(m.parent)):
        if m.parent[i] < 0 and m.kind[i] > LAST_SCREW:
            count = count + 1
    return count


@kernel
def push_flight(m: Mechanism, q: Rows, v: Rows, h: Scalar, push: Rows, w: Workspace) -> None:
    """Add to push (nv,) the force that conserves the momentum of free roots; w.flight is for `move_flight`."""
    if has_free(m) > 0:
        joint_motion(m, q, w.X)
        composite_of_roots(m, w)
        push_roots(m, v, h, push, w)


@kernel
def push_roots(m: Mechanism, v: Rows, h: Scalar, push: Rows, w: Workspace) -> None:
    """The same from w.Ic."""
    for i in range(len(m.parent)):
        if is_free(m, i):
            push_root(m, i, v, h, push, w)


@kernel
def turn_by(m: Mechanism, x: Vector) -> Rotation:
    """exp(x)."""
    a, b, c, d = rotation_quaternion(m, x)
    return quaternion_rotation(a, b, c, d, m.one[0])


@kernel
def rational_turn(m: Mechanism, x: Vector) -> tuple[Scalar, Scalar]:
    """(s, w): a quaternion s x, w of exp(x), of no certain length.

    The tangent of a sixteenth of the angle by a continued fraction (Lambert 1761), then doubled three times: right to
    3e-13 up to |x| = 4, much cheaper than a sine.
    """
    one = m.one[0]
    two, three = one + one, one + one + one
    four, five, nine = two + two, two + three, three * three
    seven, square = two + five, dot3(x, x)
    u = one / (four * four * four * four) * square
    s = one - u * (one / nine - one / (three * five * seven * nine) * u)
    w = one - u * (four / nine - one / (seven * nine) * u)
    s = one / (four * four) * s
    for _ in range(3):
        s, w = two * s * w, w * w - s * s * square
    return s, w


@kernel
def within_four(m: Mechanism, h: Scalar, x: Vector) -> Vector:
    """x, or less of it, so that h x is a rotation vector of at most four radians."""
    two = m.one[0] + m.one[0]
    most = two * two * two * two
    return scale3(most / larger(most, h * h * dot3(x, x)), x)


@kernel
def inverse_symmetric(J: Symmetric, one: Scalar) -> Symmetric:
    """J^-1 of xx yy zz xy xz yz, by cofactors."""
    xx, yy, zz = J[1] * J[2] - J[5] * J[5], J[0] * J[2] - J[4] * J[4], J[0] * J[1] - J[3] * J[3]
    xy, xz, yz = J[4] * J[5] - J[3] * J[2], J[3] * J[5] - J[4] * J[1], J[3] * J[4] - J[0] * J[5]
    over = one / (J[0] * xx + J[3] * xy + J[4] * xz)
    return (over * xx, over * yy, over * zz, over * xy, over * xz, over * yz)


@kernel
def middle_turn(m: Mechanism, J: Symmetric, turn: Vector, x: Vector, c: Scalar) -> Vector:
    """Newton's step from x for J (x - turn) + c x x J x = 0: x less A^-1 of that, A = J + c (x x J - (J x) x)."""
    zero, s = m.zero[0], symmetric_times(J, x)
    lack = add3(symmetric_times(J, sub3(x, turn)), scale3(c, cross(x, s)))
    one, two, three = (J[0], J[3], J[4]), (J[3], J[1], J[5]), (J[4], J[5], J[2])
    a = add3(one, scale3(c, add3(cross(x, one), (zero, -s[2], s[1]))))
    b = add3(two, scale3(c, add3(cross(x, two), (s[2], zero, -s[0]))))
    d = add3(three, scale3(c, add3(cross(x, three), (-s[1], s[0], zero))))
    normal = cross(b, d)  # A^-1 by Cramer's rule, with columns a, b, d
    change = (dot3(lack, normal), dot3(a, cross(lack, d)), dot3(a, cross(b, lack)))
    return sub3(x, scale3(m.one[0] / dot3(a, normal), change))


@kernel
def push_root(m: Mechanism, i: int, v: Rows, h: Scalar, push: Rows, w: Workspace) -> None:
    zero, one = m.zero[0], m.one[0]
    half, none = one / (one + one), (zero, zero, zero)
    V, I = joint_velocity(m, i, v), get10(w.Ic, i)
    turn, speed = angular(V), linear(V)
    mass, centre, J = one, none, I[0:6]
    if m.kind[i] != BALL:
        mass = I[9]
        centre = scale3(one / mass, (I[6], I[7], I[8]))
        x, y, z = centre
        J = (
            I[0] - mass * (y * y + z * z), I[1] - mass * (x * x + z * z), I[2] - mass * (x * x + y * y),
            I[3] + mass * x * y, I[4] + mass * x * z, I[5] + mass * y * z,
        )  # fmt: skip
    spin, after, middle, rate, inverse = symmetric_times(J, turn), turn, turn, none, J
    if m.kind[i] != PLANAR:
        inverse = inverse_symmetric(J, one)
        rate = scale3(-one, symmetric_times(inverse, cross(turn, spin)))
        middle = within_four(m, h, add3(turn, scale3(half * h, rate)))
        s, c = rational_turn(m, scale3(h, middle))
        middle = middle_turn(m, J, turn, middle, h * s / c)
    middle = within_four(m, h, middle)
    s, c = rational_turn(m, scale3(h, middle))
    x, y, z = scale3(s * h, middle)
    R = quaternion_rotation(x, y, z, c, one)  # exp(h middle)
    if m.kind[i] != PLANAR:
        spin_after = rotate_back(R, spin)
        end = symmetric_times(inverse, spin_after)
        energy = dot3(turn, spin) + tiny(one)
        # at most the root of energy / energy at the end
        share = (energy + energy) / (energy + larger(energy, dot3(end, spin_after)))
        after = scale3(share, rotate(R, end))
    # in the axes of the start: the velocities of the base at the end, and its displacement
    arm = rotate(R, centre)
    of_centre = add3(speed, cross(turn, centre))
    linear_after = sub3(of_centre, cross(after, arm))
    path = sub3(of_centre, scale3(one / h, sub3(arm, centre)))
    # less those of an Euler step
    more_turn = sub3(sub3(after, turn), scale3(h, rate))
    curve = add3(cross(rate, centre), cross(turn, cross(turn, centre)))
    more_speed = add3(sub3(linear_after, speed), scale3(h, curve))
    force = scale3(mass / h, add3(more_speed, cross(more_turn, centre)))
    d = join(add3(scale3(one / h, symmetric_times(J, more_turn)), cross(centre, force)), force)
    for k in range(m.dof[i], m.dof[i + 1]):
        push[m.v_index[k]] = push[m.v_index[k]] + along(m, k, d)
    for k in range(3):
        w.flight[i, k], w.flight[i, 3 + k] = middle[k] - after[k], path[k] - linear_after[k]


@kernel
def bend(m: Mechanism, i: int, k: int, v: Rows, h: Scalar) -> Scalar:
    """The gain of degree of freedom k of a free root by fixed axes: h w x l of the linear part."""
    V, zero = joint_velocity(m, i, v), m.zero[0]
    return h * along(m, k, join((zero, zero, zero), cross(angular(V), linear(V))))


@kernel
def move_flight(m: Mechanism, i: int, q: Rows, h: Scalar, q_next: Rows, v_next: Rows, w: Workspace) -> None:
    """q_next of a free root, and v_next out of the axes of the start into those of the end; w.X is at q."""
    zero = m.zero[0]
    V = joint_velocity(m, i, v_next)
    turn = add3(angular(V), (w.flight[i, 0], w.flight[i, 1], w.flight[i, 2]))
    path = add3(linear(V), (w.flight[i, 3], w.flight[i, 4], w.flight[i, 5]))
    R = turn_by(m, scale3(h, turn))
    after = join(rotate_back(R, angular(V)), rotate_back(R, linear(V)))
    only_turn = join(turn, (zero, zero, zero))
    for k in range(m.dof[i], m.dof[i + 1]):
        v_next[m.v_index[k]] = along(m, k, only_turn)
    integrate_joint(m, i, q, v_next, h, q_next)
    way = rotate(get9(w.X, i), scale3(h, path))
    for k in range(m.dof[i], m.dof[i + 1]):
        v_next[m.v_index[k]] = along(m, k, after)
        if m.axis[k] > 2:
            at = m.q_index[i] + k - m.dof[i]
            q_next[at] = q_next[at] + along(m, k, join((zero, zero, zero), way))


FLIGHT_WORK = {"X": "bodies 12", "Ic": "bodies 10", "flight": "bodies 6"}
