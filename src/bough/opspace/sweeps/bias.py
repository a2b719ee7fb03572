"""Task accelerations without task forces: beta = Jdot v - J H^-1 C, from one run of the articulated-body algorithm.

No Jdot matrix is formed: the accelerations of the bodies go through the rows' wrenches, and each kind of row adds what
its own motion contributes (Featherstone 2010, eq. 8).
"""

from __future__ import annotations

from dataclasses import replace

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import sqrt
from bough.dynamics.aba import ABA, accelerate, eliminate, start_bodies
from bough.dynamics.kinematics import body_velocities
from bough.dynamics.newton_euler import gyroscopic_force, squares
from bough.joints import Mechanism, by_freedom, joint_motion, motion_to_body, turn_to_body
from bough.opspace.sweeps.wrenches import (
    ALIGNED,
    ALONG,
    CENTER,
    FOLLOWING,
    FOLLOWING_ALIGNED,
    JOINT,
    MOMENTUM,
    PLACEMENT_WORK,
    REACTION,
    Seeds,
    between_roots,
    from_other_point,
    momentum_motion,
    place_bodies,
    task_wrench,
)
from bough.spatial import (
    add3,
    add6,
    angular,
    cross,
    cross_motion,
    dot3,
    dot6,
    get3,
    get6,
    get9,
    get10,
    get_tail,
    join,
    linear,
    motion_in,
    motion_out,
    put3,
    put6,
    rotate,
    scale3,
    sub3,
    sub6,
)
from bough.types import Rows, Scalar, Workspace


@kernel
def task_acceleration(m: Mechanism, t: Seeds, q: Rows, v: Rows, tau: Rows, y: Rows, w: Workspace) -> None:
    """The acceleration of the task rows when the joint forces are tau: y = Jdot v + J qdd."""
    joint_motion(m, q, w.X)
    start_bodies(m, v, w)
    by_freedom(m, tau, w.u)
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, w.qdd, w)
    gravity_in_bodies(m, (m.gravity[0], m.gravity[1], m.gravity[2]), w)
    rows_acceleration(m, t, v, y, w)


@kernel
def drift(m: Mechanism, t: Seeds, q: Rows, v: Rows, y: Rows, w: Workspace) -> None:
    """Jdot v: the acceleration of the task rows while no joint accelerates."""
    zero = m.zero[0]
    joint_motion(m, q, w.X)
    start_bodies(m, v, w)
    for i in range(len(m.parent)):
        a = (zero, zero, zero, zero, zero, zero)
        p = m.parent[i]
        if p >= 0:
            b = join((zero, zero, zero), get3(w.b, i))
            a = motion_to_body(m, w.X, i, add6(get6(w.a, p), b))
        put6(w.a, i, add6(a, get6(w.c, i)))
    gravity_in_bodies(m, (zero, zero, zero), w)
    rows_acceleration(m, t, v, y, w)


@kernel
def gravity_in_bodies(m: Mechanism, gravity: Rows, w: Workspace) -> None:
    """Gravity in the axes of each body: the accelerations of the sweeps above are taken relative to it."""
    for i in range(len(m.parent)):
        g = gravity
        if m.parent[i] >= 0:
            g = get3(w.g, m.parent[i])
        put3(w.g, i, turn_to_body(m, w.X, i, g))


@kernel
def rows_velocity(m: Mechanism, t: Seeds, y: Rows, w: Workspace) -> None:
    """y = J v of all rows, from w.u6 and the placements of bodies."""
    for r in range(len(y)):
        y[r] = m.zero[0]
    for s in range(len(t.kind)):
        y[t.row[s]] = y[t.row[s]] + dot6(task_wrench(m, t, s, w), get6(w.u6, t.body[s]))


@kernel
def rows_acceleration(m: Mechanism, t: Seeds, v: Rows, y: Rows, w: Workspace) -> None:
    """y of all rows from w.a: angular acceleration and acceleration of the origin of each body."""
    body_velocities(m, v, w.X, w.u6)
    place_bodies(m, t, w)
    for r in range(len(y)):
        y[r] = m.zero[0]
    for s in range(len(t.kind)):
        y[t.row[s]] = y[t.row[s]] + seed_acceleration(m, t, s, w)


@kernel
def seed_acceleration(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Scalar:
    """The contribution of seed s to the acceleration of its row."""
    kind, i = t.kind[s], t.body[s]
    K, a = task_wrench(m, t, s, w), get6(w.a, i)
    a = join(angular(a), add3(linear(a), get3(w.g, i)))
    if kind == JOINT:
        return dot6(K, sub6(a, get6(w.c, i)))
    if kind == REACTION:
        return dot6(K, join(angular(a), add3(linear(a), get3(w.b, t.other[s]))))
    omega, u = get3(w.w, i), get6(w.u6, i)
    # a point of the body: centripetal acceleration
    centripetal = cross(omega, cross(omega, get3(t.point, s)))
    if kind == ALIGNED:
        return dot6(K, a) + dot3(linear(K), centripetal)
    if kind == ALONG:
        return dot6(K, a) + dot3(linear(K), centripetal) + turning_line(m, t, s, w)
    if MOMENTUM <= kind <= CENTER:
        return dot6(K, a) + dot6(momentum_motion(t, s, w), gyroscopic_force(get10(m.inertia, i), squares(omega)))
    # what follows is the spatial acceleration: of body-fixed components, or at a fixed point
    y = dot6(K, join(angular(a), sub3(linear(a), cross(omega, linear(u)))))
    if kind == FOLLOWING:
        o = t.other[s]
        p = add3(get_tail(w.place, o), between_roots(m, t, i, o, w))
        seen = motion_in(get9(w.place, o), p, get6(w.u6, o))
        return y + dot6(K, cross_motion(u, motion_out(get9(w.place, i), get_tail(w.place, i), seen)))
    if kind == FOLLOWING_ALIGNED:
        o = t.other[s]
        x = rotate(get9(w.place, o), add3(linear(get6(w.u6, o)), cross(get3(w.w, o), get3(t.point, s))))
        return y + dot3(linear(get6(t.wrench, s)), cross(rotate(get9(w.place, i), omega), x))
    return y


@kernel
def turning_line(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Scalar:
    """The velocity of a seed's point along the rate of the unit vector n = d / |d|: (d' - n (n . d')) / |d|."""
    i, b = t.body[s], t.other[s]
    x = rotate(get9(w.place, i), add3(linear(get6(w.u6, i)), cross(get3(w.w, i), get3(t.point, s))))
    away, moves = from_other_point(m, t, s, w), x
    if b >= 0:
        at = cross(get3(w.w, b), angular(get6(t.wrench, s)))
        moves = sub3(x, rotate(get9(w.place, b), add3(linear(get6(w.u6, b)), at)))
    inverse = m.one[0] / dot3(away, away)
    across = sub3(moves, scale3(dot3(away, moves) * inverse, away))
    return sqrt(inverse) * dot3(across, x)


BIAS_WORK = dict(ABA.work) | PLACEMENT_WORK | {"u6": "bodies 6", "g": "bodies 3", "qdd": "nv"}
TASK_ACCELERATION = Routine(
    "task_acceleration",
    task_acceleration,
    inputs={"q": "nq", "v": "nv", "tau": "nv"},
    outputs={"y": "rows"},
    work=BIAS_WORK,
)
BIAS = replace(TASK_ACCELERATION.without("tau", name="bias"), outputs={"bias": "rows"})
DRIFT = Routine("drift", drift, inputs={"q": "nq", "v": "nv"}, outputs={"drift": "rows"}, work=BIAS_WORK)
