"""The articulated-body algorithm (Featherstone 1983; McMillan & Orin 1995) on a linkage, whole or contracted, in O(n).

At rest there is no velocity bias, and loops may be held (`loops`). With velocities, the same sweeps find velocities
from momenta: with bodies at rest, without gravity, and momenta in place of forces, the accelerations that come out are
the velocities that these momenta give, (M + rotors) v = J' h. So joints are locked: internal impulses leave momenta as
they are, and the tree with fewer joints finds the velocities nearest to those before in the mass metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.engines.loops import (
    SINGULAR,
    add_row_forces,
    add_rows,
    begin_rows,
    close_loops,
    closing_forces,
    hand_rows,
)
from bough.adaptive.potentials import Springs, spring, spring_energy
from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.contract import Loads, load_body
from bough.adaptive.tree.layout import ZERO3, compose, get_pose, primitive_pose, put_pose
from bough.adaptive.tree.passes import FAR
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.dynamics.aba import accelerate, eliminate, start_body
from bough.dynamics.articulated import inertia_to_parent, split_freedom
from bough.dynamics.kinematics import body_velocities
from bough.joints import (
    Mechanism,
    along,
    articulated_freedom,
    by_freedom,
    force_to_parent,
    freedom,
    integrate_joint,
    motion_to_body,
    move_joint,
    orient_body,
    rigid_freedom,
    rigid_to_parent,
    turn_to_body,
)
from bough.model import Model
from bough.spatial import (
    add6,
    articulated,
    articulated_downdate,
    articulated_times,
    dot6,
    get3,
    get6,
    get9,
    get10,
    get21,
    join,
    put6,
    put10,
    put21,
    rigid_add,
    rigid_times,
    rotate,
    scale6,
    sub6,
)
from bough.types import ArticulatedInertia, FloatArray, Force, IntArray, Rows, Scalar, Workspace

# Where bodies are, and forces on them


@kernel
def mark_needs(m: Mechanism, loads: Loads, w: SweepWork) -> None:
    """Find the bodies whose orientation in the world a step must know."""
    w.needs[:] = 0
    for k in range(len(loads.body)):
        i = loads.body[k] if loads.along[k] > loads.first[k] else -1
        while i >= 0 and w.needs[i] == 0:
            w.needs[i] = 1
            i = m.parent[i]


@inlined
@loop_kernel
def place_body(m: Mechanism, q: Rows, loads: Loads, w: SweepWork, i: int) -> None:
    """The motion of joint i, and world forces on its body, in its frame."""
    move_joint(m, q, i, w.X)
    if w.needs[i] == 1:
        orient_body(m, i, w.X, w.E)
    k = loads.slot[i]
    if k >= 0:
        load_body(w.force, loads, k, get9(w.E, i))


@loop_kernel
def outward(m: Mechanism, q: Rows, loads: Loads, w: SweepWork) -> None:
    """Joint motions, and world forces in body frames."""
    for i in range(len(m.parent)):
        place_body(m, q, loads, w, i)


@loop_kernel
def world_poses(m: Mechanism, q: Rows, X: Rows, out: Rows) -> None:
    """The pose of every body's frame in the world."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, X)
        pose = primitive_pose(m, X, i)
        if m.parent[i] >= 0:
            pose = compose(get_pose(out, m.parent[i]), pose)
        put_pose(out, i, pose)


# At rest: `lp` are the rows of loops, or () where there are none, which the compiler leaves out. A locked degree of
# DoF has a known acceleration, and all others move as if struck by that, as in `dynamics.laws`; loops may move it
# a little, as if it had much more inertia: else forces of loops that contradict it would be unknown.


@loop_kernel
def outward_at_rest(m: Mechanism, q: Rows, loads: Loads, w: SweepWork) -> None:
    """Joint motions, world forces in body frames, and the inertias to begin with."""
    for i in range(len(m.parent)):
        place_body(m, q, loads, w, i)
        put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
        put6(w.pA, i, scale6(-1.0, get6(w.force, i)))


@loop_kernel
def split_stiffness(
    m: Mechanism, k: int, IA: ArticulatedInertia, N: Force
) -> tuple[Scalar, Force, ArticulatedInertia, Scalar]:
    """`split_freedom` of a stiffness with U = IA S + N, and the size of what D is a sum of."""
    U = articulated_freedom(m, k, IA)
    a, b, c = along(m, k, U), along(m, k, N), m.armature[k]
    D, U = a + b + c, add6(U, N)
    W = (U[0] / D, U[1] / D, U[2] / D, U[3] / D, U[4] / D, U[5] / D)
    return D, W, articulated_downdate(IA, W, U), abs(a) + abs(b) + abs(c)


@loop_kernel
def inward(m: Mechanism, tau: Rows, w: Workspace, lp: Workspace, geometric: Rows) -> Scalar:
    """Eliminate joints and loops from the tips to the ground.

    With the geometric stiffness (n, 6) of forces, or () in its place: see `newton`. Then the number of negative pivots
    of joints less that of rows is returned, or NaN where one is zero to rounding.
    """
    N, wrong = len(m.parent), 0.0
    if len(lp) > 0:
        begin_rows(lp)
    for i in range(N - 1, -1, -1):
        if len(lp) > 0:
            wrong -= close_loops(w, lp, i, i, ZERO6)
        IA, pA = get21(w.IA, i), get6(w.pA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            u = tau[k] - along(m, k, pA)
            if w.lock[k] == 1:
                U = articulated_freedom(m, k, IA)
                D = along(m, k, U) + m.armature[k]
                put6(w.W, k, U)
                w.u[k] = u - D * w.lead[k]
                if len(lp) > 0:
                    add_rows(m, lp, k, w.firm[k] * D * w.lead[k], w.firm[k] * D, ZERO6, i)
                pA = add6(pA, scale6(w.lead[k], U))
                continue
            if len(geometric) > 0:
                D, W, IA, size = split_stiffness(m, k, IA, get6(geometric, k))
                if not abs(D) > SINGULAR * size:
                    return np.nan
                wrong += 1.0 if D < 0.0 else 0.0
            else:
                D, W, IA = split_freedom(m, k, IA)
            put6(w.W, k, W)
            w.u[k] = u / D
            if len(lp) > 0:
                add_rows(m, lp, k, u, D, W, i)
            pA = add6(pA, scale6(u, W))
        inertia_to_parent(m, i, IA, w)
        p = m.parent[i]
        if p >= 0:
            put6(w.pA, p, add6(get6(w.pA, p), force_to_parent(m, w.X, i, pA)))
        if len(lp) > 0:
            hand_rows(m, w, lp, i)
    if len(lp) > 0:
        wrong -= close_loops(w, lp, N, -1, join(ZERO3, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))
    return wrong


@loop_kernel
def outward_accelerations(m: Mechanism, force: Rows, qdd: Rows, w: Workspace, lp: Workspace) -> None:
    """Joint accelerations, and forces of loops, which are added to `force`, from the ground to the tips."""
    g = (-m.gravity[0], -m.gravity[1], -m.gravity[2])
    if len(lp) > 0:
        closing_forces(lp, len(m.parent), -1, join(ZERO3, g))
    for i in range(len(m.parent)):
        p = m.parent[i]
        if p >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, p))
        else:
            a = join(ZERO3, turn_to_body(m, w.X, i, g))
        for k in range(m.dof[i], m.dof[i + 1]):
            x = w.u[k] - dot6(get6(w.W, k), a)
            if w.lock[k] == 1:
                w.hold[k], x = -x, w.lead[k]
            if len(lp) > 0:
                x = add_row_forces(lp, i, k, k - m.dof[i], x)
                if w.lock[k] == 1:
                    w.hold[k] -= lp.D[k] * (x - w.lead[k])
            qdd[m.v_index[k]] = x
            a = add6(a, freedom(m, k, x))
        put6(w.a, i, a)
        if len(lp) > 0:
            closing_forces(lp, i, i, a)
    if len(lp) > 0:
        for r in range(len(lp.loop)):
            for side in range(2):
                i = lp.body[lp.loop[r], side]
                if i >= 0:
                    put6(force, i, add6(get6(force, i), scale6(lp.lam[r], get6(lp.wrench, 2 * r + side))))


@kernel
def joint_forces(w: SweepWork, bodies: Rows, out: Rows) -> None:
    """IA a + pA of some bodies: what their joints exert on them."""
    for k in range(len(bodies)):
        i = bodies[k]
        put6(out, k, add6(articulated_times(get21(w.IA, i), get6(w.a, i)), get6(w.pA, i)))


@inlined
@kernel
def move_joints(m: Mechanism, q: Rows, v: Rows, h: Scalar, out: Rows) -> None:
    """q moved by h v, into out."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, v, h, out)


@loop_kernel
def turn_of(m: Mechanism, qdd: Rows, turn: float) -> Scalar:
    """The largest joint acceleration, by the largest turn or distance that a step may have."""
    most = 0.0
    for k in range(len(m.axis)):
        x = abs(qdd[m.v_index[k]]) / (turn if m.axis[k] <= 2 else FAR)
        most = x if not x <= most else most
    return most


@loop_kernel
def motion_product(m: Mechanism, x: Rows, y: Rows, X: Rows, a: Rows, b: Rows) -> Scalar:
    """x' M y: the sum over bodies of a' I b, relative to the ground, and that of the rotors; a and b are scratch."""
    total = 0.0
    for i in range(len(m.parent)):
        s, t = ZERO6, ZERO6
        if m.parent[i] >= 0:
            s = motion_to_body(m, X, i, get6(a, m.parent[i]))
            t = motion_to_body(m, X, i, get6(b, m.parent[i]))
        for k in range(m.dof[i], m.dof[i + 1]):
            v = m.v_index[k]
            total += m.armature[k] * x[v] * y[v]
            s, t = add6(s, freedom(m, k, x[v])), add6(t, freedom(m, k, y[v]))
        put6(a, i, s)
        put6(b, i, t)
        total += dot6(s, rigid_times(get10(m.inertia, i), t))
    return total


@kernel
def joint_energies(m: Mechanism, qdd: Rows, X: Rows, Ic: Rows, out: Rows) -> None:
    """M_kk qdd_k^2 of each degree of freedom k; Ic is scratch: what each body carries, as one rigid body."""
    for i in range(len(m.parent)):
        put10(Ic, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        I, p = get10(Ic, i), m.parent[i]
        for k in range(m.dof[i], m.dof[i + 1]):
            out[k] = (along(m, k, rigid_freedom(m, k, I)) + m.armature[k]) * qdd[m.v_index[k]] ** 2
        if p >= 0:
            put10(Ic, p, rigid_add(get10(Ic, p), rigid_to_parent(m, X, i, I)))


# With velocities


@inlined
@loop_kernel
def torque(e: JointLaws, p: Springs, k: int, rate: Scalar, lead: float) -> Scalar:
    """Of degree of freedom k: a motor's, of potentials as they will be after `lead` at this rate, and of a damper."""
    if p.begin[k] < p.end[k]:
        return p.tau[k] - (e.damping[k] + lead * p.curve[k]) * rate
    return e.tau[k] - e.damping[k] * rate


@loop_kernel
def effort(m: Mechanism, s: JointState, e: JointLaws, p: Springs, w: SweepWork, lead: float) -> None:
    """w.u: torques of motors, potentials and dampers, and those of friction and stops as before."""
    for i in range(len(m.parent)):
        spring(m, p, s.q, i)
        for k in range(m.dof[i], m.dof[i + 1]):
            w.u[k] = torque(e, p, k, w.rate[k], lead)
            if e.stops[0] == 1:
                w.u[k] += w.stop_torque[k]


@kernel
def accelerations(m: Mechanism, s: Workspace, force: Rows, w: SweepWork) -> None:
    """s.qdd from w.u, w.rate, w.X and forces on bodies in their frames."""
    for i in range(len(m.parent)):
        start_body(m, i, w)
        put6(w.pA, i, sub6(get6(w.pA, i), get6(force, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, s.qdd, w)


@inlined
@loop_kernel
def solve(m: Mechanism, s: JointState, e: JointLaws, p: Springs, loads: Loads, w: SweepWork, lead: float) -> None:
    """Joint accelerations; with `lead` those of a step in which potentials and dampers are implicit."""
    by_freedom(m, s.v, w.rate)
    outward(m, s.q, loads, w)
    effort(m, s, e, p, w, lead)
    accelerations(m, s, w.force, w)


@loop_kernel
def from_momenta(m: Mechanism, s: JointState, w: SweepWork) -> None:
    """s.qdd: the velocities that w.momentum, and those of rotors w.u, give. m has no gravity."""
    for k in range(len(m.axis)):
        w.rate[k] = 0.0
    for i in range(len(m.parent)):
        move_joint(m, s.q, i, w.X)
    accelerations(m, s, w.momentum, w)


@kernel
def velocities(m: Mechanism, s: JointState, w: SweepWork) -> None:
    """w.a: the velocity of each body in its frame; w.X is filled."""
    by_freedom(m, s.v, w.rate)
    for i in range(len(m.parent)):
        move_joint(m, s.q, i, w.X)
    body_velocities(m, s.v, w.X, w.a)


@loop_kernel
def kinetic_energy(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork) -> Scalar:
    """Of bodies and rotors; w.a is filled."""
    velocities(m, s, w)
    total = 0.0
    for i in range(len(m.parent)):
        v = get6(w.a, i)
        total += dot6(v, rigid_times(get10(m.inertia, i), v))
    for k in range(len(m.axis)):
        total += e.rotor[k] * w.rate[k] * w.rate[k]
    return 0.5 * total


@loop_kernel
def tally(m: Mechanism, s: JointState, e: JointLaws, p: Springs, w: SweepWork, out: Rows) -> None:
    """out (9,): kinetic, gravity's and potentials' energy, then momentum [linear, angular] about the world's origin."""
    out[0] = kinetic_energy(m, s, e, w)
    out[2] = spring_energy(m, p, s.q)
    world_poses(m, s.q, w.X, w.P)
    g = m.gravity
    for i in range(len(m.parent)):
        I = get10(m.inertia, i)
        R, at = get_pose(w.P, i)
        h = rotate(R, (I[6], I[7], I[8]))
        for j in range(3):
            out[1] -= g[j] * (I[9] * at[j] + h[j])
        put6(w.pA, i, rigid_times(I, get6(w.a, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        f, above = force_to_parent(m, w.X, i, get6(w.pA, i)), m.parent[i]
        if above >= 0:
            put6(w.pA, above, add6(get6(w.pA, above), f))
        else:
            for j in range(3):
                out[3 + j] += f[3 + j]
                out[6 + j] += f[j]


@loop_kernel
def transmit(m: Mechanism, s: JointState, loads: Loads, w: SweepWork, out: Rows) -> None:
    """out (N, 6): the force on each body through its joint, in its frame, at accelerations s.qdd (inverse dynamics)."""
    by_freedom(m, s.v, w.rate)
    outward(m, s.q, loads, w)
    g = m.gravity
    for i in range(len(m.parent)):
        start_body(m, i, w)
        put6(w.pA, i, sub6(get6(w.pA, i), get6(w.force, i)))
        if m.parent[i] >= 0:
            a = add6(get6(w.a, m.parent[i]), join((0.0, 0.0, 0.0), get3(w.b, i)))
            a = motion_to_body(m, w.X, i, a)
        else:
            a = join((0.0, 0.0, 0.0), turn_to_body(m, w.X, i, (-g[0], -g[1], -g[2])))
        a = add6(a, get6(w.c, i))
        for k in range(m.dof[i], m.dof[i + 1]):
            a = add6(a, freedom(m, k, s.qdd[m.v_index[k]]))
        put6(w.a, i, a)
        put6(out, i, add6(rigid_times(get10(m.inertia, i), a), get6(w.pA, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        above = m.parent[i]
        if above >= 0:
            put6(out, above, add6(get6(out, above), force_to_parent(m, w.X, i, get6(out, i))))


class JointState(NamedTuple):
    """State of a linkage and scratch of the same shapes, all in the user's order; shared by all engines."""

    q: Rows  # (nq,)
    v: Rows  # (nv,)
    qdd: Rows  # (nv,) accelerations of the last solution
    response: Rows  # (nv,) accelerations by loops, friction and limits
    q0: Rows  # (nq,) beginning of a step of several stages
    v0: Rows  # (nv,)
    u: Rows  # (nv,) tangent vector from q0
    move: Rows  # (nv,) sums over the stages
    gain: Rows  # (nv,)


class JointLaws(NamedTuple):
    """Laws of joints, by degree of freedom of a mechanism; springs are potentials."""

    tau: Rows  # (n,) applied torques
    damping: Rows  # (n,)
    rotor: Rows  # (n,) armature without what an implicit step adds to it
    friction: Rows  # (n,)
    lower: Rows  # (n,) limits of the coordinate, infinite where there is none
    upper: Rows  # (n,)
    place: Rows  # (n,) where that coordinate is in q, -1 = nowhere
    prescribed: Rows  # (n,) 1 where the motion is prescribed: no friction, no limits
    led: Rows  # (n,) the acceleration that it prescribes
    stop_torque: Rows  # (n,) of friction and stops lately; bound evaluations take it for a load
    weld_armature: Rows  # (n,) armature by which bound evaluations lock joints that stick with friction to spare
    stops: Rows  # (1,) whether there is friction, a limit or a prescribed motion at all


class SweepWork(NamedTuple):
    """Working space of the articulated-body algorithm, by primitive N or degree of freedom n."""

    X: Rows  # (N, 12)
    E: Rows  # (N, 9) orientation in the world, where forces need it
    needs: Rows  # (N,) 1 on the way from the ground to a force given in the world's frame
    rate: Rows  # (n,)
    w: Rows  # (N, 3)
    ww: Rows  # (N, 6)
    b: Rows  # (N, 3)
    c: Rows  # (N, 6)
    pA: Rows  # (N, 6)
    IA: Rows  # (N, 21)
    V: Rows  # (n, 6)
    u: Rows  # (n,)
    a: Rows  # (N, 6)
    force: Rows  # (N, 6) on each body in its frame
    momentum: Rows  # (N, 6) of each body in its frame, or in the world's
    P: Rows  # (N, 12) poses in the world; only where momenta are carried along
    W: Rows  # (n, 6) the memory of V, as loops are eliminated
    loop: Rows  # (N, 6) forces of loops on bodies in their frames; empty where there are none
    tau: Rows  # (n,) torques to which a linkage at rest answers
    previous: Rows  # (n,) what friction and stops did before, undone
    mode_rate: Rows  # (n,) the rate of a locked degree of freedom
    lock: Rows  # (n,) 1 where an acceleration is known in this sweep
    lead: Rows  # (n,) that acceleration
    firm: Rows  # (n,) inertia by which loops move it all the same, by its own
    hold: Rows  # (n,) torque that it takes beside w.tau
    mode: Rows  # (n,) what friction and limits do to a joint; see `modes`
    releases: Rows  # (n,) how often friction let go in this step
    weight: Rows  # (n,) inertia of a degree of freedom, all others beyond free
    inner: Rows  # (n, 21) of `interior_point`; empty without friction and limits
    stop_torque: Rows  # (n,) torques of friction and stops in this step


class LinkageArrays(NamedTuple):
    """A mechanism that is solved and stepped, and all that kernels need for it."""

    m: Mechanism  # with the armature of implicit springs and dampers
    still: Mechanism  # the same without gravity
    s: JointState
    e: JointLaws
    p: Springs
    loads: Loads
    w: SweepWork
    lp: Any  # `LoopRows`, or () where there are no loops, friction and limits: the compiler leaves out what they need


def make_joint_state(model: Model, q: FloatArray, qdd: FloatArray) -> JointState:
    """A linkage at rest, around arrays that others share."""
    nv = model.nv
    return JointState(q, np.zeros(nv), qdd, np.zeros(nv), np.zeros(model.nq), *(np.zeros(nv) for _ in range(4)))


AT_REST = {"X": 12, "E": 9, "pA": 6, "IA": 21, "a": 6}  # numbers by body
IN_MOTION = {"w": 3, "ww": 6, "b": 3, "c": 6, "P": 12, "momentum": 6}


def make_work(
    bodies: int, dofs: int, moves: bool, loops: bool, stops: bool, force: FloatArray | None = None
) -> SweepWork:
    """Working space for a mechanism of so many primitives and degrees of freedom, around forces that others share.

    Without velocities, friction and limits, what only they need is empty.
    """
    arrays: dict[str, Any] = {name: np.zeros((bodies, size)) for name, size in AT_REST.items()}
    arrays |= {name: np.zeros((bodies if moves else 0, size)) for name, size in IN_MOTION.items()}
    arrays |= {"needs": np.zeros(bodies, np.int8), "lock": np.zeros(dofs, np.int8)}
    arrays |= {"V": np.zeros((dofs, 6)), "u": np.zeros(dofs)}
    arrays |= {
        name: np.zeros(dofs if moves else 0)
        for name in ("rate", "tau", "previous", "mode_rate", "lead", "firm", "hold", "stop_torque", "weight")
    }
    arrays |= {name: np.zeros(dofs if moves else 0, np.int8) for name in ("mode", "releases")}
    arrays |= {"inner": np.zeros((dofs if stops else 0, 21))}
    arrays |= {"W": arrays["V"], "loop": np.zeros((bodies if moves and loops else 0, 6))}
    return SweepWork(force=np.zeros((bodies, 6)) if force is None else force, **arrays)


def make_laws(model: Model, m: Mechanism, tau: FloatArray, prescribed: Sequence[int] = ()) -> JointLaws:
    """The joints of a model, in the order of its mechanism; entries of v in `prescribed` follow a motion."""
    v = m.v_index
    led = np.isin(v, prescribed)
    lower, upper, place = _limits(model, m)
    friction = np.where(led, 0.0, model.friction[v])
    lower, upper, place = np.where(led, -np.inf, lower), np.where(led, np.inf, upper), np.where(led, -1, place)
    given = (model.damping[v], np.array(m.armature), friction, lower, upper, place, led.astype(np.int8))
    zeros = (np.zeros(len(v)) for _ in range(3))
    return with_stops(JointLaws._make([tau, *map(np.ascontiguousarray, given), *zeros, np.zeros(1, np.int8)]))


def with_stops(e: JointLaws) -> JointLaws:
    """The same, with notice of whether friction, limits or a prescribed motion may lock a joint."""
    any_ = (e.friction > 0.0) | np.isfinite(e.lower) | np.isfinite(e.upper) | (e.prescribed == 1)
    return e._replace(stops=np.array([int(any_.any())], np.int8))


def _limits(model: Model, m: Mechanism) -> tuple[FloatArray, FloatArray, IntArray]:
    """Limits of joints of one DoF, and where their coordinates are; of all others, none."""
    count = np.diff(m.dof)
    body = np.repeat(np.arange(len(m.parent)), count)
    single = count[body] == 1
    lower = np.where(single, model.limits.lower[m.v_index], -np.inf)
    upper = np.where(single, model.limits.upper[m.v_index], np.inf)
    return lower, upper, np.where(single, m.q_index[body], -1).astype(np.int64)


def laws_of(laws: JointLaws, dofs: IntArray) -> JointLaws:
    """Those of some degrees of freedom."""
    return with_stops(JointLaws._make([*(x.take(dofs) for x in laws[:-1]), laws.stops]))
