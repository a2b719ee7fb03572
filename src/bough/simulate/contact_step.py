"""One step of a robot with contacts, stops, dry friction, loops and mimic joints as one kernel.

Time stepping at the level of velocities (Moreau 1988; Stewart & Trinkle 1996; Jean 1999). The free velocity u of
(H + dt B) u = H v + dt (tau - C - K x) and A = J M^-1 J' of all rows come from one LTDL factor of M = H + dt B
(Featherstone 2010, eq. 22). Joints that their stops push are locked in M or rows of their own (`stops`), loops and ties
of mimic joints are eliminated, and impulses of the other rows obey their laws:

    v' = u + M^-1 J' lam,  q' by dt v'.

A contact above the ground may close its distance within the step and no more, so that it lands without going in.
Neither contacts nor stops can raise the kinetic energy: zero is always an allowed velocity, and friction works against
sliding. What curved paths leave behind is corrected by moves that touch no velocity: loops by a Gauss-Newton step;
points in the ground by lifting them (`lift`), only as high as the energy pays for that contacts have just taken out.

`contact_step` is straight-line: it tries one way to the impulses (`solve_sticking`, or a fixed number of sweeps), and
`report` says whether it found them. Where the number of sweeps is the user's, it lifts points, too (`push_out`), and is
all of a step, on a CPU or a GPU; where other stops push than `start` says, it is to be repeated from `lam`. `row_step`
is the same step in general code, where solver and active set go on until all laws hold.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel, loop_kernel
from bough.compile.routine import Again, Routine
from bough.compile.scalar import clip, larger, positive, step, turn
from bough.dynamics.crba import WORK as CRBA_WORK
from bough.dynamics.crba import crba
from bough.dynamics.free_flight import FLIGHT_WORK, bend, is_free, move_flight, push_roots
from bough.dynamics.laws import LAW_WORK, JointLaws, StepNumbers, forces_and_rotors, take_drives, with_rotors
from bough.dynamics.rnea import RNEA, newton_euler
from bough.dynamics.stepping import stay_within_stops
from bough.joints import Mechanism, integrate_joint, joint_motion
from bough.opspace.sweeps.held import Proximal, add_row_impulses, factor_held, fit_held
from bough.opspace.sweeps.jacobian import (
    JACOBIAN_WORK,
    DofTree,
    JacobianPattern,
    jacobian_times,
    outer_product,
    packed_jacobian,
    solve_rows_unit,
)
from bough.opspace.sweeps.wrenches import Seeds, place_bodies
from bough.simulate.cone import (
    STICKING_WORK,
    SWEEP_WORK,
    Laws,
    largest_change,
    slipping,
    solve_sticking,
    start_sweeps,
    update_impulses,
    velocities,
)
from bough.simulate.newton import NEWTON_WORK, solve_impulses
from bough.simulate.stops import (
    LOCKED,
    ROWS,
    STOP_WORK,
    WATCHED,
    Stops,
    bound_rows,
    exchange_stops,
    judge_stops,
    lock_joints,
    push_locked,
    sum_descendants,
    watch_stops,
)
from bough.sparsity.ltdl import ltdl
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.spatial import add3, cross, dot3, get3, get9, get_tail, rotate, scale3, sub3
from bough.types import Rows, Scalar, Vector, Workspace

# Columns of a report. Impulses have been found where CHANGE is not above LARGEST and EXCESS is zero.
CHANGE, LARGEST, SPENT, EXCESS, DEPTH, SLIPS = range(6)
ALL, PASSES = 6, 20  # passes of the active set of stops that exchange all that change, and all passes


class RoughJoints(NamedTuple):
    """Joints with dry friction, a row for each of their degrees of freedom."""

    dof: Rows  # (joint rows,)


class Grounds(NamedTuple):
    """A point of a body and its plane for each contact, and the rows of tasks that the solver's rows combine.

    Points of a body that has few are tasks of three rows; of others the body is one of six.
    """

    body: Rows  # (contacts,)
    point: Rows  # (contacts, 3) in the kernel's frame of the body
    axes: Rows  # (contacts, 9) normal and two tangents
    height: Rows  # (contacts,) of the plane along its normal
    radius: Rows  # (contacts,) of the sphere around the point
    first: Rows  # (1,) row of the first contact
    is_soft: Rows  # (1,) whether contacts are springs
    soft: Rows  # (2,) their compliance, and that times their damping
    is_input: Rows  # (1,) whether axes and heights of planes are inputs
    arm: Rows  # (contacts, 3) from the origin of a task of six rows, in the kernel's frame of the body
    row: Rows  # (all,) the first row of tasks of each row of the solver and of loops
    width: Rows  # (all,) how many there are: 1, 3 or 6
    corrects: Rows  # (1,) whether steps themselves move points out of the ground


@kernel
def contact_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: RoughJoints,
    o: Stops, g: Grounds, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    start: Rows, lead: Rows, dt: Rows, axes: Rows, height: Rows, none: Rows,
    q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The state after dt, impulses lam (rows + stops,), and a `report` (6,).

    `axes` (contacts, 9), normal and two tangents, and `height` (contacts,) are planes that differ from state to state;
    `none` is an input fixed at zero.
    """
    take_drives(tau, target, kp, kd, lead, w)
    take_start(start, w)
    prepare_rows(m, t, p, f, x, j, c, e, o, g, k, q, v, friction, dt, axes, height, none, w)
    report[LARGEST] = k.tolerance[0] * start_sweeps(k, w.A, w.b, w.start, w.lam, w)
    for n in range(k.most[0]):
        turn(q[0])
        update_impulses(k, n, w.A, w.b, w.friction, w.lam, w)
    turn(q[0])
    if k.most[0] == 0:
        report[CHANGE] = solve_sticking(k, w.A, w.b, w.friction, w.start, w.lam, report[LARGEST], w)
    else:
        report[CHANGE] = largest_change(k, w.A, w.lam, w)
    finish_step(m, t, p, f, j, o, g, k, q, dt, axes, height, q_after, v_after, lam, report, w)


@loop_kernel
def row_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: RoughJoints,
    o: Stops, g: Grounds, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    start: Rows, lead: Rows, dt: Rows, axes: Rows, height: Rows, none: Rows,
    q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The same, repeated until the solver has all impulses and the active set of stops agrees with them."""
    take_drives(tau, target, kp, kd, lead, w)
    take_start(start, w)
    for n in range(PASSES):
        prepare_rows(m, t, p, f, x, j, c, e, o, g, k, q, v, friction, dt, axes, height, none, w)
        report[LARGEST] = k.tolerance[0] * start_sweeps(k, w.A, w.b, w.start, w.lam, w)
        report[CHANGE] = solve_impulses(k, w.A, w.b, w.friction, w.lam, report[LARGEST], w)
        finish_step(m, t, p, f, j, o, g, k, q, dt, axes, height, q_after, v_after, lam, report, w)
        if not report[EXCESS] > 0.0:
            return
        exchange_stops(lam, n < ALL, w)
        for r in range(len(w.lam)):
            w.start[r] = w.lam[r]


@kernel
def take_start(start: Rows, w: Workspace) -> None:
    """w.start of the rows, and w.stop of the stops that are none, the impulses to begin with."""
    for r in range(len(w.start)):
        w.start[r] = start[r]
    for n in range(len(start) - len(w.start)):
        w.stop[n] = start[len(w.start) + n]


@kernel
def prepare_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: RoughJoints,
    o: Stops, g: Grounds, k: Laws, q: Rows, v: Rows, friction: Rows, dt: Rows, axes: Rows, height: Rows, none: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """w.u, the factor in w.H, w.A and w.b of all rows with loops eliminated, and the friction of the others."""
    w.h[0] = dt[0]
    forces_and_rotors(m, j, c, q, v, w)
    for i in range(len(m.v_index)):
        if j.prescribed[i] == 1:
            w.rotor[i] = w.rotor[i] + c.lock[0]
    crba(with_rotors(m, w.rotor), q, w.H, w)
    newton_euler(m, v, none, w.C, w)
    lock_joints(m, f, c, o, q, dt[0], w)
    free_velocity(m, f, j, c, o, v, dt[0], w)
    packed_jacobian(m, t, p, w.J, w)
    mobility(m, p, f, w)
    jacobian_times(p, w.J, w.u, w.b_t)
    contact_rows(m, g, axes, w)
    combine_rows(m, g, w)
    eliminate_held(m, x, w)
    set_friction(m, j, e, o, friction, dt[0], w)
    if o.how[0] == ROWS:
        bound_rows(o, q, dt[0], w)
    place_points(m, t, g, axes, height, w.ahead, w)
    for n in range(len(w.ahead)):
        w.depth[n] = positive(-w.ahead[n])
    soften(m, g, dt[0], w)


@kernel
def finish_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, o: Stops, g: Grounds, k: Laws, q: Rows,
    dt: Rows, axes: Rows, height: Rows, q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The state after the impulses in w.lam, and the rest of the report."""
    for r in range(len(w.lam)):
        lam[r] = w.lam[r]
    report[SLIPS], report[SPENT], report[DEPTH] = m.zero[0], m.zero[0], m.zero[0]
    if g.corrects[0] == 0:  # what the next step and `lift` need to know
        velocities(w.A, w.b, w.lam, w.after)
        report[SLIPS] = slipping(k, w.friction, w.lam)
        report[SPENT] = energy_spent(m, g, w.lam, w)
    add_impulses(m, p, f, g, v_after, w)
    report[EXCESS] = m.zero[0]
    if len(o.dof) > 0:
        if o.how[0] == ROWS:
            for n in range(len(o.dof)):
                r = len(lam) - len(o.dof) + n
                v_after[o.v[n]] = clip(v_after[o.v[n]], w.lowest[r], w.highest[r])
        if o.how[0] == LOCKED:
            report[EXCESS] = positive(judge_stops(m, f, o, q, dt[0], v_after, lam, w) - report[LARGEST])
            report[CHANGE] = larger(report[CHANGE], report[EXCESS])
        if o.how[0] == WATCHED:
            report[EXCESS] = watch_stops(m, o, q, dt[0], report[LARGEST], v_after, lam, w)
    if g.corrects[0] == 1:
        integrate(m, j, q, dt[0], w.q_free, v_after, w)
        push_out(m, p, f, g, k, dt[0], w)
        for i in range(len(m.parent)):
            integrate_joint(m, i, w.q_free, w.move, m.one[0], q_after)
    else:
        integrate(m, j, q, dt[0], q_after, v_after, w)
    if g.corrects[0] == 1 or o.how[0] != WATCHED:  # a joint that is watched passes no stop, or the step is repeated
        stay_within_stops(m, j, q, q_after)
    if g.is_soft[0] == 0 and g.corrects[0] == 0:
        joint_motion(m, q_after, w.X)
        place_bodies(m, t, w)
        place_points(m, t, g, axes, height, w.ahead, w)
        for n in range(len(w.ahead)):
            report[DEPTH] = larger(report[DEPTH], -w.ahead[n])


@kernel
def integrate(m: Mechanism, j: JointLaws, q: Rows, dt: Scalar, q_after: Rows, v_after: Rows, w: Workspace) -> None:
    """q_after by dt v_after; velocities of free roots are turned into their new axes."""
    for i in range(len(m.parent)):
        if is_free(m, i) and j.prescribed[m.dof[i]] == 0:
            move_flight(m, i, q, dt, q_after, v_after, w)
        else:
            integrate_joint(m, i, q, v_after, dt, q_after)


@kernel
def push_out(m: Mechanism, p: JacobianPattern, f: DofTree, g: Grounds, k: Laws, dt: Scalar, w: Workspace) -> None:
    """w.move, the displacement of points that began the step in the ground: normal impulses without a duration.

    It touches no velocity and reuses A, so that it costs little; `lift` is exact, and a step of its own.
    """
    for r in range(len(w.force)):
        w.force[r] = m.zero[0]
    for _ in range(k.most[0]):
        turn(dt)
        for c in range(len(w.depth)):
            r, z = g.first[0] + 3 * c, -w.depth[c]
            for d in range(len(w.depth)):
                if d != c:
                    z = z + w.A[r, g.first[0] + 3 * d] * w.force[g.first[0] + 3 * d]
            w.force[r] = positive(-w.own[g.first[0] + c, 0] * z)
    turn(dt)
    push_rows(m, p, f, g, w.move, w)


# Rows


@kernel
def contact_rows(m: Mechanism, g: Grounds, axes: Rows, w: Workspace) -> None:
    """w.combined: rows of the solver by rows of the tasks; a contact's from the velocity of its point, or of its body.

    The lowest point of a sphere moves by v + omega x arm, and n . (omega x arm) = omega . (arm x n).
    """
    for r in range(len(w.combined)):
        w.combined[r, 0] = m.one[0]
    for c in range(len(g.body)):
        for a in range(3):
            r, along = g.first[0] + 3 * c + a, axis_of(g, axes, c, a)
            w.combined[r, 0], w.combined[r, 1], w.combined[r, 2] = along
            if g.width[r] == 6:
                arm = rotate(get9(w.place, g.body[c]), get3(g.arm, c))
                arm = sub3(arm, scale3(g.radius[c], axis_of(g, axes, c, 0)))
                w.combined[r, 3], w.combined[r, 4], w.combined[r, 5] = cross(arm, along)


@kernel
def axis_of(g: Grounds, axes: Rows, c: int, a: int) -> Vector:
    """The normal (a = 0) or a tangent of contact c."""
    if g.is_input[0] == 1:
        return (axes[c, 3 * a], axes[c, 3 * a + 1], axes[c, 3 * a + 2])
    return (g.axes[c, 3 * a], g.axes[c, 3 * a + 1], g.axes[c, 3 * a + 2])


@kernel
def combine_rows(m: Mechanism, g: Grounds, w: Workspace) -> None:
    """w.A = G A_t G' and w.b = G b_t of the rows of tasks."""
    for s in range(len(w.b)):
        w.b[s] = m.zero[0]
        for k in range(g.width[s]):
            w.b[s] = w.b[s] + w.combined[s, k] * w.b_t[g.row[s] + k]
        for i in range(len(w.A_t)):
            w.M[i, s] = m.zero[0]
            for k in range(g.width[s]):
                w.M[i, s] = w.M[i, s] + w.A_t[i, g.row[s] + k] * w.combined[s, k]
        for r in range(s + 1):
            w.A[r, s] = m.zero[0]
            for k in range(g.width[r]):
                w.A[r, s] = w.A[r, s] + w.combined[r, k] * w.M[g.row[r] + k, s]
            w.A[s, r] = w.A[r, s]


@kernel
def push_rows(m: Mechanism, p: JacobianPattern, f: DofTree, g: Grounds, out: Rows, w: Workspace) -> None:
    """out (nv,) = M^-1 J' of the impulses in w.force, those of the rows of the solver and of loops."""
    for i in range(len(w.force_t)):
        w.force_t[i] = m.zero[0]
    for r in range(len(w.force)):
        for k in range(g.width[r]):
            w.force_t[g.row[r] + k] = w.force_t[g.row[r] + k] + w.combined[r, k] * w.force[r]
    add_row_impulses(m, p, f, w.force_t, out, w)


@kernel
def free_velocity(
    m: Mechanism, f: DofTree, j: JointLaws, c: StepNumbers, o: Stops, v: Rows, dt: Scalar, w: Workspace
) -> None:
    """w.u in the kernel's order, of free roots in the axes of the start (`free_flight`), and the factor of M in w.H.

    Forces act on the joints that lead: what followers feel has been added to them. Joints whose motion is prescribed
    are so heavy that nothing moves them, and are pushed to their velocity.
    """
    for a in range(len(v)):
        w.push[a] = w.push[a] - w.C[a]
    push_roots(m, v, dt, w.push, w)
    for k in range(len(m.v_index)):
        w.column[k, 0] = m.zero[0]
    for a in range(len(v)):
        k = f.leader[a]
        w.column[k, 0] = dt * w.push[a]
        if j.prescribed[k] == 1:
            w.column[k, 0] = c.lock[0] * (w.lead[a] - v[a])
    push_locked(c, o, v, w)
    ltdl(f.parent, f.rows, w.H)
    unit_ltsolve(f.parent, f.rows, w.H, w.column)
    if len(o.dof) > 0 and o.how[0] == LOCKED:
        sum_descendants(f, o, w)
    divide_diagonal(f.parent, f.rows, w.H, w.column)
    unit_lsolve(f.parent, f.rows, w.H, w.column)
    for k in range(len(m.v_index)):
        w.change[k] = w.column[k, 0]
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.u[k] = w.rate[k] + w.column[k, 0]
            if is_free(m, i) and j.prescribed[k] == 0:
                w.u[k] = w.u[k] + bend(m, i, k, v, dt)


@kernel
def mobility(m: Mechanism, p: JacobianPattern, f: DofTree, w: Workspace) -> None:
    """w.A_t = J M^-1 J' of the rows of tasks, from packed J and the factor."""
    for a in range(len(p.dof)):
        w.Y[a] = w.J[a]
    solve_rows_unit(p, f, w.H, w.Y, w.YD)
    outer_product(p, w.YD, w.Y, w.A_t, m.zero[0])


@kernel
def eliminate_held(m: Mechanism, x: Proximal, w: Workspace) -> None:
    """w.A and w.b of the rows that have laws, where all rows behind them are held: their impulses are in w.fit.

    Column c of w.fit (held, solved + 1) undoes what a unit impulse of row c does to held rows, the last what w.u does.
    """
    n, held = len(w.lam), len(w.fit)
    if held > 0:
        for r in range(held):
            for s in range(held):
                w.E[r, s] = w.A[n + r, n + s]
        factor_held(m, x, w.E, x.weight[0], w)
        for c in range(n + 1):
            for r in range(held):
                w.gap[r] = w.b[n + r]
                if c < n:
                    w.gap[r] = w.A[n + r, c]
            fit_held(m, x, w.E, w.gap, w.found, w)
            for r in range(held):
                w.fit[r, c] = w.found[r]
        for r in range(n):
            for s in range(held):
                w.b[r] = w.b[r] - w.A[r, n + s] * w.fit[s, n]
                for c in range(n):
                    w.A[r, c] = w.A[r, c] - w.A[r, n + s] * w.fit[s, c]


@kernel
def soften(m: Mechanism, g: Grounds, dt: Scalar, w: Workspace) -> None:
    """Change w.A and w.b so that contacts obey A lam + b >= 0.

    Hard ones may close their distance. Soft ones push with (depth at the end) / compliance - damping w; the damping
    acts within the ground only.
    """
    for c in range(len(w.ahead)):
        r = g.first[0] + 3 * c
        if g.is_soft[0] == 1:
            time = dt + step(-w.ahead[c]) * g.soft[1]
            w.ahead[c] = w.ahead[c] / time
            w.A[r, r] = w.A[r, r] + g.soft[0] / (dt * time)
        else:
            w.ahead[c] = positive(w.ahead[c]) / dt
        w.b[r] = w.b[r] + w.ahead[c]


@kernel
def set_friction(
    m: Mechanism, j: JointLaws, e: RoughJoints, o: Stops, friction: Rows, dt: Scalar, w: Workspace
) -> None:
    """w.friction: impulses of joints, none where one is locked at its stop, and coefficients of contacts."""
    for i in range(len(e.dof)):
        w.friction[i], n = dt * j.friction[e.dof[i]], o.of_dof[e.dof[i]]
        if n >= 0 and o.how[0] == LOCKED:
            w.friction[i] = (m.one[0] - w.locked[n]) * w.friction[i]
    for c in range(len(friction)):
        w.friction[len(e.dof) + c] = friction[c]
    for n in range(len(e.dof) + len(friction), len(w.friction)):
        w.friction[n] = m.zero[0]


@kernel
def place_points(m: Mechanism, t: Seeds, g: Grounds, axes: Rows, height: Rows, distance: Rows, w: Workspace) -> None:
    """Distances of all contacts from their planes, by the placements in w."""
    for c in range(len(distance)):
        i, plane = g.body[c], g.height[c]
        if g.is_input[0] == 1:
            plane = height[c]
        x = add3(add3(get3(w.origin, t.root[i]), get_tail(w.place, i)), rotate(get9(w.place, i), get3(g.point, c)))
        distance[c] = dot3(axis_of(g, axes, c, 0), x) - (plane + g.radius[c])


@kernel
def energy_spent(m: Mechanism, g: Grounds, lam: Rows, w: Workspace) -> Scalar:
    """The kinetic energy that impulses took out, those of stops aside.

    It is -lam (J u + A lam / 2) = -lam (b + after) / 2, less the distances.
    """
    half = m.one[0] / (m.one[0] + m.one[0])
    spent = m.zero[0]
    for r in range(g.first[0] + 3 * len(w.ahead)):
        spent = spent - half * lam[r] * (w.b[r] + w.after[r])
    for c in range(len(w.ahead)):
        spent = spent + lam[g.first[0] + 3 * c] * w.ahead[c]
    return spent


@kernel
def add_impulses(m: Mechanism, p: JacobianPattern, f: DofTree, g: Grounds, v_after: Rows, w: Workspace) -> None:
    """v_after = u + M^-1 J' lam, with the impulses of held rows."""
    n = len(w.lam)
    for r in range(n):
        w.force[r] = w.lam[r]
    for r in range(len(w.fit)):
        w.force[n + r] = -w.fit[r, n]
        for c in range(n):
            w.force[n + r] = w.force[n + r] - w.fit[r, c] * w.lam[c]
    push_rows(m, p, f, g, v_after, w)
    for a in range(len(f.leader)):
        v_after[a] = v_after[a] + w.u[f.leader[a]]


WORK = (
    dict(RNEA.work) | CRBA_WORK | JACOBIAN_WORK | SWEEP_WORK | STICKING_WORK | STOP_WORK
    | {"H": "packed", "J": "entries", "Y": "entries", "YD": "entries", "A_t": "rows rows", "b_t": "rows"}
    | FLIGHT_WORK
    | {name: LAW_WORK[name] for name in ("tau", "target", "kp", "kd", "lead", "push", "x", "rotor")}
    | {"depth": "contacts", "q_free": "nq", "move": "nv"}
    | {"h": "1", "C": "nv", "u": "dofs", "z": "dofs", "column": "dofs 1", "ahead": "contacts"}
    | {"friction": "laws", "lam": "solved", "start": "solved", "force": "all", "force_t": "rows"}
    | {"A": "all all", "b": "all", "combined": "all 6", "M": "rows all"}
    | {"E": "held held", "fit": "held columns", "L": "dense dense", "U": "dense", "pivot": "dense"}
    | {name: "held" for name in ("left", "gap", "found")}
)  # fmt: skip
_INPUTS = {"q": "nq"} | {name: "nv" for name in ("v", "tau", "target", "kp", "kd")}
_INPUTS |= {"friction": "contacts", "start": "seen", "lead": "nv", "dt": "1", "axes": "contacts 9"}
_INPUTS |= {"height": "contacts", "none": "nv"}
_OUTPUTS = {"q_after": "nq", "v_after": "nv", "lam": "seen", "report": "6"}
AGAIN = Again(("report", EXCESS), "start", "lam", times=3)
CONTACT_STEP = Routine("contact_step", contact_step, _INPUTS, _OUTPUTS, WORK, again=AGAIN).without("none")
ROW_STEP = Routine("row_step", row_step, _INPUTS, _OUTPUTS, WORK | NEWTON_WORK).without("none")
