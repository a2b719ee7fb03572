"""Down the active nodes of a survey: forces of the whole linkage, and what accelerations and velocities sum up to."""

from __future__ import annotations

from bough.adaptive.motion.layout import Effort, Moving
from bough.adaptive.motion.survey import Survey, climb, is_active, is_solid, motion_of, products
from bough.adaptive.node import (
    IDENTITY,
    ZERO3,
    ZERO6,
    ZERO10,
    Blueprint,
    State,
    cluster_force,
    cluster_inertia,
    cross_pose,
    far_pose,
    gyroscopic_wrench,
    hand_down,
    handle_force,
    is_ground,
    placement,
    put_six,
    released_square,
    rigid_solve,
    six,
    tail,
    twice_energy,
)
from bough.adaptive.passes import DONE, Front, Loads, get_far, put_far
from bough.compile.kernel import inlined, loop_kernel
from bough.joints import Mechanism
from bough.spatial import add6, dot6, force_in, get6, motion_out, put6, rigid_times, scale6, sub6
from bough.types import Force, RigidInertia, Rows, Scalar

# Where the record of an active node has its sums: of what a and v square to, of both beyond rigid motion, k and h
TOTAL_A, TOTAL_V, SQUARE_A, SQUARE_V, K_SUM, H_SUM = 6, 7, 8, 9, 19, 25


@inlined
@loop_kernel
def _add_sums(
    m: Mechanism,
    plan: Blueprint,
    st: State,
    n: int,
    code: int,
    I: RigidInertia,
    k: Force,
    h: Force,
    sums: tuple[Scalar, Scalar],
) -> None:
    """Add what a child sums up to, in its near frame, to the sums of active node n; sums are those of a and of v."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    r[TOTAL_A] += sums[0]
    r[TOTAL_V] += sums[1]
    if is_ground(plan, code):
        return
    if plan.near[n] == len(plan.parent):
        R, p = placement(plan, st, plan.body[n])
        a = motion_out(R, p, (0.0, 0.0, 0.0, -m.gravity[0], -m.gravity[1], -m.gravity[2]))
        r[TOTAL_A] += dot6(a, sub6(rigid_times(I, a), scale6(2.0, k)))
        return
    if plan.right[n] == code:
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        k, h = force_in(R, p, k), force_in(R, p, h)
    put_six(r, K_SUM, add6(six(r, K_SUM), k))
    put_six(r, H_SUM, add6(six(r, H_SUM), h))


@inlined
@loop_kernel
def _add_closed(m: Mechanism, plan: Blueprint, st: State, y: Survey, n: int, code: int, f1: Force, f2: Force) -> None:
    """Sums of a closed child of node n under forces on its handles."""
    E = 0.0
    if not is_solid(y, code):
        E, _ = released_square(m, plan, st, code, products(plan, y, code), f1, f2)
    if is_ground(plan, code):
        _add_sums(m, plan, st, n, code, ZERO10, ZERO6, ZERO6, (E, 0.0))
        return
    I, v = cluster_inertia(m, plan, st, code), motion_of(plan, y, code)
    R, p = cross_pose(plan, st, code)
    k = sub6(add6(handle_force(f1, f2, R, p), cluster_force(plan, st, code)), gyroscopic_wrench(I, v))
    _add_sums(m, plan, st, n, code, I, k, rigid_times(I, v), (E + dot6(k, rigid_solve(I, k)), twice_energy(I, v)))


@inlined
@loop_kernel
def descend(m: Mechanism, plan: Blueprint, st: State, fr: Front, e: Effort, s: Moving, y: Survey) -> None:
    """Forces of the whole linkage on active nodes and closed children, and the sums of both."""
    root, top = len(plan.left) - 1, 0
    if y.active[root] == 1:
        y.stack[0] = root
        put6(y.force, 0, ZERO6)
        put_far(y.force, 0, ZERO6)
        top = 1
    while top > 0:
        top -= 1
        n, f1, f2 = y.stack[top], get6(y.force, top), get_far(y.force, top)
        _begin_sums(m, plan, st, e, s, n, f1, f2)
        a1, a2, b1, b2 = hand_down(plan, st, n, f1, f2)
        for side in range(2):
            code, g1, g2 = (plan.left[n], a1, a2) if side == 1 else (plan.right[n], b1, b2)
            if is_active(y, code):
                y.stack[top] = code
                put6(y.force, top, g1)
                put_far(y.force, top, g2)
                top += 1
            else:
                _add_closed(m, plan, st, y, n, code, g1, g2)
    for j in range(fr.count[DONE] - 1, -1, -1):
        n = fr.done[j]
        r = st.record[plan.offset[n] : plan.offset[n + 1]]
        I, k, h = cluster_inertia(m, plan, st, n), six(r, K_SUM), six(r, H_SUM)
        A, V = r[TOTAL_A], r[TOTAL_V]
        if plan.near[n] != len(plan.parent):
            A, V = A - dot6(k, rigid_solve(I, k)), V - dot6(h, rigid_solve(I, h))
        r[SQUARE_A], r[SQUARE_V] = max(A, 0.0), max(V, 0.0)
        if plan.up[n] >= 0:
            _add_sums(m, plan, st, plan.up[n], n, I, k, h, (r[TOTAL_A], r[TOTAL_V]))


@inlined
@loop_kernel
def _begin_sums(m: Mechanism, plan: Blueprint, st: State, e: Effort, s: Moving, n: int, f1: Force, f2: Force) -> None:
    """Sums of node n with nothing but the rotors of its joint; their accelerations go into s.move."""
    r, b = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n]
    put_six(r, K_SUM, ZERO6)
    put_six(r, H_SUM, ZERO6)
    r[TOTAL_A], r[TOTAL_V] = 0.0, 0.0
    if b < 0:
        return
    o, d = tail(plan, n), plan.dof[b + 1] - plan.dof[b]
    for x in range(d):
        k = plan.dof[b] + x
        if m.armature[k] != 0.0:
            a = r[o + 6 * d + d * d + x] - dot6(six(r, o + (d + 7) * d + 6 * x), f1)
            if plan.handles[n] == 2:
                a += dot6(six(r, o + (d + 13) * d + 6 * x), f2)
            s.move[m.v_index[k]] = a
            r[TOTAL_A] += m.armature[k] * a * a
            r[TOTAL_V] += e.rotor[k] * s.v[m.v_index[k]] ** 2


@inlined
@loop_kernel
def survey(
    m: Mechanism, plan: Blueprint, st: State, fr: Front, loads: Loads, touched: Rows, e: Effort, s: Moving, y: Survey
) -> None:
    """Everything about the active nodes, which are `fr.done`, as the linkage is now."""
    climb(m, plan, st, fr, loads, touched, e, s, y)
    descend(m, plan, st, fr, e, s, y)
