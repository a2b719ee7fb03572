"""One step of a robot with contacts as one kernel: free velocity, Lambda^-1 of all rows, impulses, and the state after.

The scheme is that of `stepping`. The free velocity u of (H + dt B) u = H v + dt (tau - C - K x) and A = J M^-1 J' come
from one LTDL factor of M = H + dt B (Featherstone 2010, eq. 22); then a fixed number of sweeps (`cone`), v' = u + M^-1
J' lam, and q' by dt v'. Grounds are planes. Whoever calls looks at `report` and asks again where sweeps have not
converged, or joints would pass limits that are not among the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import larger, positive, step
from bough.dynamics.center_of_mass import WORK as MOMENT_WORK
from bough.dynamics.crba import WORK as CRBA_WORK
from bough.dynamics.crba import crba
from bough.dynamics.energy import potential_energy
from bough.dynamics.free_flight import FLIGHT_WORK, bend, is_free, move_flight, push_roots
from bough.dynamics.laws import LAW_WORK, JointLaws, StepNumbers, forces_and_rotors, take_drives, with_rotors
from bough.dynamics.rnea import RNEA, newton_euler
from bough.joints import Mechanism, integrate_joint, joint_motion, tiny
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, jacobian_times, jacobian_transpose_times, packed_jacobian
from bough.opspace.sweeps.patterns import DofTree, JacobianPattern
from bough.opspace.sweeps.sparse import outer_product, solve_rows_unit
from bough.opspace.sweeps.wrenches import Seeds, place_bodies
from bough.simulate.cone import SWEEP_WORK, Laws, slipping, start_sweeps, sweep
from bough.simulate.hold import HOLD_WORK, broken_laws, held_speed, hold, velocities
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.sparsity.products import unit_lsolve
from bough.spatial import add3, dot3, get3, get9, get_tail, rotate
from bough.types import Rows, Scalar, Workspace

# Columns of a report. Sweeps have converged where CHANGE is not above LARGEST.
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


class GroundPlanes(NamedTuple):
    """A point of a body and a plane for each contact."""

    body: Rows  # (contacts,)
    point: Rows  # (contacts, 3) in the kernel's frame of the body
    normal: Rows  # (contacts, 3)
    offset: Rows  # (contacts,) height of the plane along its normal, and the radius of a sphere
    first: Rows  # (1,) row of the first contact
    is_soft: Rows  # (1,) whether contacts are springs
    soft: Rows  # (2,) their compliance, and that times their damping


@kernel
def contact_step(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, c: StepNumbers, e: JointRows,
    g: GroundPlanes, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    start: Rows, dt: Rows, pace: Rows, none: Rows,
    q_after: Rows, v_after: Rows, lam: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The state after dt, impulses lam (rows,), and how it went: `report` (6,), with the depth of the deepest point.

    `none` is held at zero.
    """
    take_drives(tau, target, kp, kd, none, w)
    prepare_rows(m, t, p, f, j, c, e, g, k, q, v, friction, dt, none, w)
    report[LARGEST] = k.tolerance[0] * start_sweeps(k, w.A, w.b, start, lam, w)
    if k.most[0] == 0:
        hold(k, w.A, w.b, w.friction, w.lower, w.upper, start, lam, w)
    for n in range(k.most[0]):
        report[CHANGE] = sweep(k, (n, pace[0]), w.A, w.b, w.friction, w.lower, w.upper, lam, w)
    velocities(w.A, w.b, lam, w.after)
    if k.most[0] == 0:
        wrong = broken_laws(k, w.friction, w.lower, w.upper, start, lam, w)
        report[CHANGE] = held_speed(k, w) + wrong * (m.one[0] + report[LARGEST] + report[LARGEST])
    report[SLIPS] = slipping(k, w.friction, lam)
    report[SPENT] = energy_spent(m, g, lam, w)
    add_impulses(m, p, f, lam, v_after, w)
    report[EXCESS] = limit_excess(m, e, q, v_after, dt[0])
    for i in range(len(m.parent)):
        if is_free(m, i):
            move_flight(m, i, q, dt[0], q_after, v_after, w)
        else:
            integrate_joint(m, i, q, v_after, dt[0], q_after)
    report[DEPTH] = m.zero[0]
    if g.is_soft[0] == 0:
        joint_motion(m, q_after, w.X)
        place_bodies(m, t, w)
        place_points(m, t, g, w.ahead, w)
        for n in range(len(w.ahead)):
            report[DEPTH] = larger(report[DEPTH], -w.ahead[n])


@kernel
def prepare_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, c: StepNumbers, e: JointRows,
    g: GroundPlanes, k: Laws, q: Rows, v: Rows, friction: Rows, dt: Rows, none: Rows, w: Workspace,
) -> None:  # fmt: skip
    """w.A and w.b of all rows, and their laws."""
    w.h[0] = dt[0]
    forces_and_rotors(m, j, c, q, v, w)
    crba(with_rotors(m, w.rotor), q, w.H, w)
    newton_euler(m, v, none, w.C, w)
    free_velocity(m, f, v, dt[0], w)
    packed_jacobian(m, t, p, w.J, w)
    mobility(m, p, f, w)
    jacobian_times(p, w.J, w.u, w.b)
    set_laws(m, e, k, q, friction, dt[0], w)
    place_points(m, t, g, w.ahead, w)
    soften(m, g, dt[0], w)


@kernel
def row_problem(
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, c: StepNumbers, e: JointRows,
    g: GroundPlanes, k: Laws, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows, friction: Rows,
    dt: Rows, none: Rows, A: Rows, b: Rows, bound: Rows, lower: Rows, upper: Rows, w: Workspace,
) -> None:  # fmt: skip
    """A, b and the laws of all rows: `bound` is friction, an impulse for joints and a coefficient for contacts."""
    take_drives(tau, target, kp, kd, none, w)
    prepare_rows(m, t, p, f, j, c, e, g, k, q, v, friction, dt, none, w)
    for r in range(len(b)):
        b[r] = w.b[r]
        for s in range(len(b)):
            A[r, s] = w.A[r, s]
    for i in range(len(k.row)):
        bound[i], lower[i], upper[i] = w.friction[i], w.lower[i], w.upper[i]


@kernel
def soften(m: Mechanism, g: GroundPlanes, dt: Scalar, w: Workspace) -> None:
    """What w.A and w.b must have so that contacts obey A lam + b >= 0: see `Contacts.softness`."""
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
def free_velocity(m: Mechanism, f: DofTree, v: Rows, dt: Scalar, w: Workspace) -> None:
    """w.u in the kernel's order, of free roots in the axes of the start (`free_flight`), and the factor of M in w.H."""
    for a in range(len(v)):
        w.push[a] = w.push[a] - w.C[a]
    push_roots(m, v, dt, w.push, w)
    for j in range(len(m.v_index)):
        w.column[j, 0] = dt * w.push[m.v_index[j]]
    ltdl(f.parent, f.rows, w.H)
    ltdl_solve(f.parent, f.rows, w.H, w.column)
    for i in range(len(m.parent)):
        for j in range(m.dof[i], m.dof[i + 1]):
            w.u[j] = v[m.v_index[j]] + w.column[j, 0]
            if is_free(m, i):
                w.u[j] = w.u[j] + bend(m, i, j, v, dt)


@kernel
def mobility(m: Mechanism, p: JacobianPattern, f: DofTree, w: Workspace) -> None:
    """w.A = J M^-1 J' from packed J and the factor."""
    for a in range(len(p.dof)):
        w.Y[a] = w.J[a]
    solve_rows_unit(p, f, w.H, w.Y, w.YD)
    outer_product(p, w.YD, w.Y, w.A, m.zero[0])


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
def place_points(m: Mechanism, t: Seeds, g: GroundPlanes, distance: Rows, w: Workspace) -> None:
    """Distances of all contacts from their planes, from the placements in w."""
    for c in range(len(distance)):
        i = g.body[c]
        x = add3(add3(get3(w.origin, t.root[i]), get_tail(w.place, i)), rotate(get9(w.place, i), get3(g.point, c)))
        distance[c] = dot3(get3(g.normal, c), x) - g.offset[c]


@kernel
def energy_spent(m: Mechanism, g: GroundPlanes, lam: Rows, w: Workspace) -> Scalar:
    """The kinetic energy that impulses took out: -lam (J u + A lam / 2) = -lam (b + after) / 2, less the distances."""
    half = m.one[0] / (m.one[0] + m.one[0])
    spent = m.zero[0]
    for r in range(len(lam)):
        spent = spent - half * lam[r] * (w.b[r] + w.after[r])
    for c in range(len(w.ahead)):
        spent = spent + lam[g.first[0] + 3 * c] * w.ahead[c]
    return spent


@kernel
def add_impulses(m: Mechanism, p: JacobianPattern, f: DofTree, lam: Rows, v_after: Rows, w: Workspace) -> None:
    """v_after = u + M^-1 J' lam = u + L^-1 (D^-1 Y' lam)."""
    jacobian_transpose_times(p, w.YD, lam, w.z, m.zero[0])
    for j in range(len(m.v_index)):
        w.column[j, 0] = w.z[j]
    unit_lsolve(f.parent, f.rows, w.H, w.column)
    for j in range(len(m.v_index)):
        v_after[m.v_index[j]] = w.u[j] + w.column[j, 0]


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
    m: Mechanism, t: Seeds, p: JacobianPattern, f: DofTree, j: JointLaws, c: StepNumbers, e: JointRows,
    g: GroundPlanes, k: Laws, q: Rows, spent: Rows, friction: Rows, start: Rows, q_after: Rows, w: Workspace,
) -> None:  # fmt: skip
    """q moved so that points leave the ground, as far as the energy `spent` pays for.

    `friction` and `start` are held at zero: what is found are moves, not impulses.
    """
    one = m.one[0]
    crba(m, q, w.H, w)
    ltdl(f.parent, f.rows, w.H)
    packed_jacobian(m, t, p, w.J, w)
    mobility(m, p, f, w)
    set_laws(m, e, k, q, friction, one, w)
    place_points(m, t, g, w.ahead, w)
    for r in range(len(w.b)):
        w.b[r] = m.zero[0]
    for n in range(len(w.ahead)):
        w.b[g.first[0] + 3 * n] = w.ahead[n]
    for i in range(len(e.friction)):
        w.friction[i] = m.zero[0]
    for i in range(len(w.u)):
        w.u[i] = m.zero[0]
    start_sweeps(k, w.A, w.b, start, w.lam, w)
    for n in range(k.most[0]):
        sweep(k, (n, one), w.A, w.b, w.friction, w.lower, w.upper, w.lam, w)
    add_impulses(m, p, f, w.lam, w.move, w)
    move_within(m, q, spent[0], q_after, w)


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
    | {"h": "1", "C": "nv", "u": "dofs", "z": "dofs", "column": "dofs 1", "ahead": "contacts"}
    | {"friction": "laws", "lower": "laws", "upper": "laws"}
)  # fmt: skip
CONTACT_STEP = Routine(
    "contact_step",
    contact_step,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "nv", "kp": "nv", "kd": "nv",
        "friction": "contacts", "start": "rows", "dt": "1", "pace": "1",
        "none": "nv",
    },
    outputs={"q_after": "nq", "v_after": "nv", "lam": "rows", "report": "6"},
    work=WORK,
).without("none")  # fmt: skip
ROW_PROBLEM = Routine(
    "row_problem",
    row_problem,
    inputs={
        "q": "nq", "v": "nv", "tau": "nv", "target": "nv", "kp": "nv", "kd": "nv",
        "friction": "contacts", "dt": "1", "none": "nv",
    },
    outputs={"A": "rows rows", "b": "rows", "bound": "laws", "lower": "laws", "upper": "laws"},
    work=WORK,
).without("none")  # fmt: skip
LIFT = Routine(
    "lift_contacts",
    lift,
    inputs={"q": "nq", "spent": "1", "friction": "contacts", "start": "rows"},
    outputs={"q_after": "nq"},
    work=WORK | MOMENT_WORK | {"lam": "rows", "move": "nv", "V": "1"},
).without("friction", "start")
