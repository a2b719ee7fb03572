"""One step of a robot with contacts, stops, dry friction, loops and mimic joints as one kernel.

Time stepping at the level of velocities (Moreau 1988; Stewart & Trinkle 1996; Jean 1999). The free velocity u of
(H + dt B) u = H v + dt (tau - C - K x) and A = J M^-1 J' of all rows come from one LTDL factor of M = H + dt B
(Featherstone 2010, eq. 22). Loops and ties of mimic joints are eliminated; impulses of the other rows obey their laws:

    v' = u + M^-1 J' lam,  q' by dt v'.

A contact above the ground may close its distance within the step and no more, so that it lands without going in.
Neither contacts nor stops can raise the kinetic energy: zero is always an allowed velocity, and friction works against
sliding. What curved paths leave behind is put right by moves that touch no velocity: loops by a Gauss-Newton step;
points in the ground by lifting them (`lift`), only as high as the energy pays for that contacts have just taken out.

`contact_step` is straight-line: it tries one way to the impulses (`hold`, or a fixed number of sweeps), and `report`
says whether it found them. Where the number of sweeps is the user's, it lifts points, too (`push_out`), and is all of a
step, on a CPU or a GPU. Joints at stops are then no rows: a joint that its stop pushes is locked to the velocity that
reaches it, as in steps without contacts (`dynamics.laws`). `start` says which stops push; where others turn out to, the
step is to be made again from `lam`. `row_step` is the same step in general code, where the solver goes on until it has
all impulses.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel, loop_kernel
from bough.compile.routine import Again, Routine
from bough.compile.scalar import larger, positive, size, step
from bough.dynamics.center_of_mass import WORK as MOMENT_WORK
from bough.dynamics.crba import WORK as CRBA_WORK
from bough.dynamics.crba import crba
from bough.dynamics.energy import potential_energy
from bough.dynamics.free_flight import FLIGHT_WORK, bend, is_free, move_flight, push_roots
from bough.dynamics.laws import LAW_WORK, JointLaws, StepNumbers, forces_and_rotors, take_drives, with_rotors
from bough.dynamics.rnea import RNEA, newton_euler
from bough.dynamics.stepping import stay_within_stops
from bough.joints import Mechanism, integrate_joint, joint_motion, tiny
from bough.opspace.sweeps.held import Proximal, factor_held, fit_held
from bough.opspace.sweeps.held_by_factor import add_row_impulses
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, jacobian_times, packed_jacobian
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.sparse import outer_product, solve_rows_unit
from bough.opspace.sweeps.wrenches import Seeds, place_bodies
from bough.simulate.cone import SWEEP_WORK, Laws, slipping, start_sweeps, sweep
from bough.simulate.hold import HOLD_WORK, hold_rows, velocities
from bough.simulate.newton import NEWTON_WORK, solve_impulses
from bough.sparsity.ltdl import ltdl
from bough.sparsity.products import divide_diagonal, unit_lsolve, unit_ltsolve
from bough.spatial import add3, cross, dot3, get3, get6, get9, get_tail, join, put6, rotate, scale3
from bough.types import Rows, Scalar, Workspace

# Columns of a report. Impulses have been found where CHANGE is not above LARGEST.
CHANGE, LARGEST, SPENT, EXCESS, DEPTH, SLIPS = range(6)


class JointRows(NamedTuple):
    """Stops and dry friction: of joints that are rows of the solver, and of those that are only watched."""

    coordinate: Rows  # (joint rows,) in q, -1 without limits
    lower: Rows  # (joint rows,)
    upper: Rows  # (joint rows,)
    friction: Rows  # (joint rows,)
    watched: Rows  # (watched,) freedoms with limits that are not rows
    watched_coordinate: Rows  # (watched,)
    watched_lower: Rows  # (watched,)
    watched_upper: Rows  # (watched,)
    place: Rows  # (rows,) of each row of the solver among the impulses that callers see


class Locks(NamedTuple):
    """Joints that their stops lock."""

    body: Rows  # (locks,)
    dof: Rows  # (locks,)
    v: Rows  # (locks,)
    coordinate: Rows  # (locks,)
    lower: Rows  # (locks,)
    upper: Rows  # (locks,)
    of_dof: Rows  # (dofs,) among the locks, -1


class Grounds(NamedTuple):
    """A point of a body and its ground for each contact: a plane, or what the caller finds there."""

    body: Rows  # (contacts,)
    point: Rows  # (contacts, 3) in the kernel's frame of the body
    normal: Rows  # (contacts, 3)
    offset: Rows  # (contacts,) height of the plane along its normal, and the radius of a sphere
    first: Rows  # (1,) row of the first contact
    is_soft: Rows  # (1,) whether contacts are springs
    soft: Rows  # (2,) their compliance, and that times their damping
    is_given: Rows  # (1,) whether axes and distances are inputs
    radius: Rows  # (contacts,)
    seed: Rows  # (3 contacts,) of each contact row
    corrects: Rows  # (1,) whether steps themselves move points out of the ground


@kernel
def contact_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: JointRows,
    o: Locks, g: Grounds, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    start: Rows, lead: Rows, dt: Rows, axes: Rows, distance: Rows, none: Rows,
    q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The state after dt, impulses lam (rows,), and how it went: `report` (6,).

    `axes` (contacts, 9), normal and two tangents, and `distance` (contacts,) are for grounds that are not planes;
    `none` is held at zero.
    """
    take_drives(tau, target, kp, kd, lead, w)
    prepare_rows(m, t, p, f, x, j, c, e, o, g, k, q, v, friction, start, dt, axes, distance, none, w)
    begin_rows(e, k, start, report, w)
    if k.most[0] == 0:
        report[CHANGE] = hold_rows(k, w.A, w.b, w.friction, w.lower, w.upper, w.start, w.lam, report[LARGEST], w)
    for n in range(k.most[0]):
        report[CHANGE] = sweep(k, (n, m.one[0]), w.A, w.b, w.friction, w.lower, w.upper, w.lam, w)
    finish_step(m, t, p, f, j, e, o, g, k, q, dt, q_after, v_after, lam, report, w)


@loop_kernel
def row_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: JointRows,
    o: Locks, g: Grounds, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    start: Rows, lead: Rows, dt: Rows, axes: Rows, distance: Rows, none: Rows,
    q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The same, with impulses that the solver seeks until it has them."""
    take_drives(tau, target, kp, kd, lead, w)
    prepare_rows(m, t, p, f, x, j, c, e, o, g, k, q, v, friction, start, dt, axes, distance, none, w)
    begin_rows(e, k, start, report, w)
    report[CHANGE] = solve_impulses(k, w.A, w.b, w.friction, w.lower, w.upper, w.lam, report[LARGEST], w)
    finish_step(m, t, p, f, j, e, o, g, k, q, dt, q_after, v_after, lam, report, w)


@kernel
def prepare_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: JointRows,
    o: Locks, g: Grounds, k: Laws, q: Rows, v: Rows, friction: Rows, start: Rows, dt: Rows, axes: Rows, distance: Rows,
    none: Rows, w: Workspace,
) -> None:  # fmt: skip
    """w.u, the factor in w.H, w.A and w.b of all rows with held ones eliminated, and the laws of the others."""
    w.h[0] = dt[0]
    forces_and_rotors(m, j, c, q, v, w)
    for i in range(len(m.v_index)):
        if j.prescribed[i] == 1:
            w.rotor[i] = w.rotor[i] + c.lock[0]
    crba(with_rotors(m, w.rotor), q, w.H, w)
    newton_euler(m, v, none, w.C, w)
    lock_joints(m, f, c, o, q, start, dt[0], w)
    free_velocity(m, f, j, c, o, v, dt[0], w)
    turn_rows(t, g, axes, w)
    packed_jacobian(m, with_wrenches(t, w.wrench), p, w.J, w)
    mobility(m, p, f, w)
    jacobian_times(p, w.J, w.u, w.b)
    eliminate_held(m, x, w)
    set_laws(m, e, k, q, friction, dt[0], w)
    place_points(m, t, g, distance, w.ahead, w)
    for n in range(len(w.ahead)):
        w.depth[n] = positive(-w.ahead[n])
    soften(m, g, dt[0], w)


@kernel
def begin_rows(e: JointRows, k: Laws, start: Rows, report: Rows, w: Workspace) -> None:
    """w.lam and w.start, the impulses to begin with, and what counts as a small velocity."""
    for r in range(len(w.lam)):
        w.start[r] = start[e.place[r]]
    report[LARGEST] = k.tolerance[0] * start_sweeps(k, w.A, w.b, w.start, w.lam, w)


@kernel
def finish_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, e: JointRows, o: Locks,
    g: Grounds, k: Laws, q: Rows, dt: Rows, q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The state after the impulses in w.lam, and the rest of the report."""
    for r in range(len(w.lam)):
        lam[e.place[r]] = w.lam[r]
    velocities(w.A, w.b, w.lam, w.after)
    report[SLIPS] = slipping(k, w.friction, w.lam)
    report[SPENT] = energy_spent(m, g, w.lam, w)
    add_impulses(m, p, f, v_after, w)
    report[EXCESS] = limit_excess(m, e, q, v_after, dt[0])
    if len(o.dof) > 0:
        report[EXCESS] = judge_locks(m, f, o, q, dt[0], v_after, lam, w)
        report[CHANGE] = larger(report[CHANGE], report[EXCESS])
    report[DEPTH] = m.zero[0]
    if g.corrects[0] == 1:
        integrate(m, j, q, dt[0], w.q_free, v_after, w)
        push_out(m, p, f, g, k, w)
        for i in range(len(m.parent)):
            integrate_joint(m, i, w.q_free, w.move, m.one[0], q_after)
        stay_within_stops(m, j, q, q_after)
        for c in range(len(w.depth)):
            report[DEPTH] = larger(report[DEPTH], w.depth[c])
    else:
        integrate(m, j, q, dt[0], q_after, v_after, w)
    if g.is_soft[0] == 0 and g.is_given[0] == 0 and g.corrects[0] == 0:
        joint_motion(m, q_after, w.X)
        place_bodies(m, t, w)
        place_points(m, t, g, w.ahead, w.ahead, w)
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
def push_out(m: Mechanism, p: JacobianPattern, f: DofTree, g: Grounds, k: Laws, w: Workspace) -> None:
    """w.move, which takes points that began the step in the ground out of it: normal impulses of a step of no time.

    It touches no velocity and reuses A, so that it costs little; `lift` is exact, and a step of its own.
    """
    for r in range(len(w.force)):
        w.force[r] = m.zero[0]
    for _ in range(k.most[0]):
        for c in range(len(w.depth)):
            r, z = g.first[0] + 3 * c, -w.depth[c]
            for d in range(len(w.depth)):
                if d != c:
                    z = z + w.A[r, g.first[0] + 3 * d] * w.force[g.first[0] + 3 * d]
            w.force[r] = positive(-w.own[g.first[0] + c, 0] * z)
    add_row_impulses(m, p, f, w.force, w.move, w)


# Rows


@kernel
def turn_rows(t: Seeds, g: Grounds, axes: Rows, w: Workspace) -> None:
    """w.wrench: those of all seeds, of contacts along `axes` where these are given."""
    for s in range(len(t.kind)):
        put6(w.wrench, s, get6(t.wrench, s))
    if g.is_given[0] == 1:
        for c in range(len(g.radius)):
            normal = (axes[c, 0], axes[c, 1], axes[c, 2])
            for a in range(3):
                # the lowest point of a sphere moves by v + omega x (-r n)
                along = (axes[c, 3 * a], axes[c, 3 * a + 1], axes[c, 3 * a + 2])
                put6(w.wrench, g.seed[3 * c + a], join(scale3(-g.radius[c], cross(normal, along)), along))


@kernel
def with_wrenches(t: Seeds, wrench: Rows) -> Seeds:
    """The same rows along other wrenches."""
    return Seeds(t.kind, t.body, t.other, t.row, wrench, t.point, t.of_body, t.placed, t.root, t.central)


@kernel
def lock_joints(
    m: Mechanism, f: DofTree, c: StepNumbers, o: Locks, q: Rows, start: Rows, dt: Scalar, w: Workspace
) -> None:
    """w.locked and w.end of joints that a stop pushes in `start`; a rotor in w.H so heavy that they do not yield."""
    for n in range(len(o.dof)):
        last, x, push = f.rows[o.dof[n] + 1] - 1, q[o.coordinate[n]], start[len(w.lam) + n]
        at_low, at_high = m.one[0] - step(-push), m.one[0] - step(push)
        w.low[n], w.locked[n] = at_low, at_low + at_high
        w.end[n] = at_high * positive(o.upper[n] - x) / dt - at_low * positive(x - o.lower[n]) / dt
        w.articulated[n] = w.H[last]
        w.H[last] = w.H[last] + w.locked[n] * c.lock[0]


@kernel
def free_velocity(
    m: Mechanism, f: DofTree, j: JointLaws, c: StepNumbers, o: Locks, v: Rows, dt: Scalar, w: Workspace
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
    for n in range(len(o.dof)):
        k = o.dof[n]
        w.load[n] = w.column[k, 0]
        w.column[k, 0] = w.column[k, 0] + w.locked[n] * c.lock[0] * (w.end[n] - v[o.v[n]])
    ltdl(f.parent, f.rows, w.H)
    unit_ltsolve(f.parent, f.rows, w.H, w.column)
    if len(o.dof) > 0:
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
def sum_descendants(f: DofTree, o: Locks, w: Workspace) -> None:
    """w.load and w.articulated of locks: force and articulated inertia there, with those of all joints behind them.

    Of a locked joint, w.H has none of its own but the heavy rotor.
    """
    for k in range(len(f.parent)):
        i, b, D = f.parent[k], f.rows[k + 1] - 2, w.H[f.rows[k + 1] - 1]
        while i >= 0:
            n = o.of_dof[i]
            if n >= 0:
                w.load[n] = w.load[n] - w.H[b] * w.column[k, 0]
                w.articulated[n] = w.articulated[n] - w.H[b] * (w.H[b] * D)
            i = f.parent[i]
            b = b - 1


@kernel
def judge_locks(
    m: Mechanism, f: DofTree, o: Locks, q: Rows, dt: Scalar, v_after: Rows, lam: Rows, w: Workspace
) -> Scalar:
    """Impulses of stops in `lam`, zero where one would pull, and what it takes where a free joint passes one.

    Returns by how much velocities contradict the locks. w.z and w.column are those of the impulses of all rows.
    """
    one, total = m.one[0], m.zero[0]
    for n in range(len(o.dof)):
        k, a, x = o.dof[n], o.v[n], q[o.coordinate[n]]
        D, i, b = w.H[f.rows[k + 1] - 1], f.parent[k], f.rows[k + 1] - 2
        pull = w.articulated[n] * (w.change[k] + w.column[k, 0]) - w.load[n] - w.z[k] * D
        while i >= 0:
            pull = pull + w.H[b] * D * (w.change[i] + w.column[i, 0])
            i = f.parent[i]
            b = b - 1
        at_low = w.low[n]
        keeps = at_low * step(pull) + (w.locked[n] - at_low) * step(-pull)
        below = positive(-positive(x - o.lower[n]) / dt - v_after[a])
        above = positive(v_after[a] - positive(o.upper[n] - x) / dt)
        free = one - w.locked[n]
        lam[len(w.lam) + n] = keeps * pull + free * w.articulated[n] * (below - above)
        total = total + free * (below + above) + (w.locked[n] - keeps) * size(pull) / w.articulated[n]
        v_after[a] = free * v_after[a] + w.locked[n] * w.end[n]
    return total


@kernel
def mobility(m: Mechanism, p: JacobianPattern, f: DofTree, w: Workspace) -> None:
    """w.A = J M^-1 J' from packed J and the factor."""
    for a in range(len(p.dof)):
        w.Y[a] = w.J[a]
    solve_rows_unit(p, f, w.H, w.Y, w.YD)
    outer_product(p, w.YD, w.Y, w.A, m.zero[0])


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
    """What w.A and w.b must have so that contacts obey A lam + b >= 0.

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
def set_laws(m: Mechanism, e: JointRows, k: Laws, q: Rows, friction: Rows, dt: Scalar, w: Workspace) -> None:
    """Friction and bounds of every law: velocities that keep joints within their limits."""
    joints = len(e.friction)
    for i in range(joints):
        w.friction[i] = dt * e.friction[i]
        w.lower[i], w.upper[i] = e.lower[i], e.upper[i]
        if e.coordinate[i] >= 0:
            w.lower[i] = -positive((q[e.coordinate[i]] - e.lower[i]) / dt)
            w.upper[i] = positive((e.upper[i] - q[e.coordinate[i]]) / dt)
    for c in range(len(friction)):
        w.friction[joints + c] = friction[c]
        w.lower[joints + c], w.upper[joints + c] = m.zero[0], m.zero[0]


@kernel
def place_points(m: Mechanism, t: Seeds, g: Grounds, given: Rows, distance: Rows, w: Workspace) -> None:
    """Distances of all contacts from their grounds: those given, or from planes by the placements in w."""
    for c in range(len(distance)):
        if g.is_given[0] == 1:
            distance[c] = given[c]
        else:
            i = g.body[c]
            x = add3(add3(get3(w.origin, t.root[i]), get_tail(w.place, i)), rotate(get9(w.place, i), get3(g.point, c)))
            distance[c] = dot3(get3(g.normal, c), x) - g.offset[c]


@kernel
def energy_spent(m: Mechanism, g: Grounds, lam: Rows, w: Workspace) -> Scalar:
    """The kinetic energy that impulses took out: -lam (J u + A lam / 2) = -lam (b + after) / 2, less the distances."""
    half = m.one[0] / (m.one[0] + m.one[0])
    spent = m.zero[0]
    for r in range(len(lam)):
        spent = spent - half * lam[r] * (w.b[r] + w.after[r])
    for c in range(len(w.ahead)):
        spent = spent + lam[g.first[0] + 3 * c] * w.ahead[c]
    return spent


@kernel
def add_impulses(m: Mechanism, p: JacobianPattern, f: DofTree, v_after: Rows, w: Workspace) -> None:
    """v_after = u + M^-1 J' lam, with the impulses of held rows."""
    n = len(w.lam)
    for r in range(n):
        w.force[r] = w.lam[r]
    for r in range(len(w.fit)):
        w.force[n + r] = -w.fit[r, n]
        for c in range(n):
            w.force[n + r] = w.force[n + r] - w.fit[r, c] * w.lam[c]
    add_row_impulses(m, p, f, w.force, v_after, w)
    for a in range(len(f.leader)):
        v_after[a] = v_after[a] + w.u[f.leader[a]]


@kernel
def limit_excess(m: Mechanism, e: JointRows, q: Rows, v: Rows, dt: Scalar) -> Scalar:
    """By how much watched joints would pass their limits, all together; none is pushed back that is beyond already."""
    total = m.zero[0]
    for i in range(len(e.watched)):
        x, rate = q[e.watched_coordinate[i]], dt * v[e.watched[i]]
        total = total + positive(-positive(x - e.watched_lower[i]) - rate)
        total = total + positive(rate - positive(e.watched_upper[i] - x))
    return total


@kernel
def lift(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, x: Proximal, j: JointLaws, c: StepNumbers, e: JointRows,
    o: Locks, g: Grounds, k: Laws, q: Rows, spent: Rows, axes: Rows, distance: Rows, friction: Rows, q_after: Rows,
    w: Workspace,
) -> None:  # fmt: skip
    """q moved so that points leave the ground, as far as the energy `spent` pays for.

    `friction` is held at zero: what is found are moves, not impulses.
    """
    one, zero = m.one[0], m.zero[0]
    for i in range(len(m.v_index)):
        w.rotor[i] = m.armature[i]
        if j.prescribed[i] == 1:
            w.rotor[i] = m.armature[i] + c.lock[0]
    crba(with_rotors(m, w.rotor), q, w.H, w)
    ltdl(f.parent, f.rows, w.H)
    turn_rows(t, g, axes, w)
    packed_jacobian(m, with_wrenches(t, w.wrench), p, w.J, w)
    mobility(m, p, f, w)
    set_laws(m, e, k, q, friction, one, w)
    place_points(m, t, g, distance, w.ahead, w)
    for r in range(len(w.b)):
        w.b[r] = zero
    eliminate_held(m, x, w)
    for n in range(len(w.ahead)):
        w.b[g.first[0] + 3 * n] = w.ahead[n]
    for i in range(len(e.friction)):
        w.friction[i] = zero
    for i in range(len(w.u)):
        w.u[i] = zero
    for r in range(len(w.lam)):
        w.start[r] = zero
    start_sweeps(k, w.A, w.b, w.start, w.lam, w)
    for n in range(k.most[0]):
        sweep(k, (n, one), w.A, w.b, w.friction, w.lower, w.upper, w.lam, w)
    add_impulses(m, p, f, w.move, w)
    move_within(m, q, spent[0], q_after, w)
    stay_within_stops(m, j, q, q_after)


@kernel
def move_within(m: Mechanism, q: Rows, spent: Scalar, q_after: Rows, w: Workspace) -> None:
    """q_after = q moved by w.move, or by the share of it whose rise `spent` pays for."""
    one = m.one[0]
    potential_energy(m, q, w.V, w)
    before = w.V[0]
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.move, one, q_after)
    potential_energy(m, q_after, w.V, w)
    share = spent / (spent + positive(w.V[0] - before - spent) + tiny(one) * tiny(one))
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.move, share, q_after)


WORK = (
    dict(RNEA.work) | CRBA_WORK | JACOBIAN_WORK | SWEEP_WORK | HOLD_WORK
    | {"H": "packed", "J": "entries", "Y": "entries", "YD": "entries", "A": "rows rows", "b": "rows"}
    | FLIGHT_WORK
    | {name: LAW_WORK[name] for name in ("tau", "target", "kp", "kd", "lead", "push", "x", "rotor")}
    | {"depth": "contacts", "q_free": "nq", "move": "nv"}
    | {"h": "1", "C": "nv", "u": "dofs", "z": "dofs", "column": "dofs 1", "ahead": "contacts"}
    | {"friction": "laws", "lower": "laws", "upper": "laws", "lam": "solved", "start": "solved", "force": "rows"}
    | {name: "locks" for name in ("locked", "low", "end", "articulated", "load")} | {"change": "dofs"}
    | {"wrench": "seeds 6", "E": "held held", "fit": "held columns", "L": "held held"}
    | {name: "held" for name in ("U", "pivot", "left", "gap", "found")}
)  # fmt: skip
_INPUTS = {"q": "nq"} | {name: "nv" for name in ("v", "tau", "target", "kp", "kd")}
_INPUTS |= {"friction": "contacts", "start": "seen", "lead": "nv", "dt": "1", "axes": "contacts 9"}
_INPUTS |= {"distance": "contacts", "none": "nv"}
_OUTPUTS = {"q_after": "nq", "v_after": "nv", "lam": "seen", "report": "6"}
AGAIN = Again(("report", EXCESS), "start", "lam", times=2)
CONTACT_STEP = Routine("contact_step", contact_step, _INPUTS, _OUTPUTS, WORK, again=AGAIN).without("none")
ROW_STEP = Routine("row_step", row_step, _INPUTS, _OUTPUTS, WORK | NEWTON_WORK).without("none")
LIFT = Routine(
    "lift_contacts",
    lift,
    inputs={"q": "nq", "spent": "1", "axes": "contacts 9", "distance": "contacts", "friction": "contacts"},
    outputs={"q_after": "nq"},
    work=WORK | MOMENT_WORK | {"V": "1"},
).without("friction")
