"""Bound evaluation of a moving linkage: what clusters do, and would do, beyond rigid motion (in O(active clusters)).

Active nodes are an upper part of the assembly tree; all below are closed, each a rigid body. Up: equations of active
nodes with their true velocities, on top of closed ones with all joints released, so that forces f on the way down are
those of the whole linkage, no joint locked. With these, in the mass metric,

    A(C) = sum_i a_i' I_i a_i - k' I_C^-1 k,    k = sum X_i' I_i a_i      what accelerations exceed a rigid motion
    V(C) = sum_i v_i' I_i v_i - h' I_C^-1 h,    h = sum X_i' I_i v_i      the same of velocities

of every active node, by sums; of an inactive cluster V = 0 and A = E(f, s) (`tree.rigid`). Spatial accelerations here
are relative to free fall; clusters with the ground are compared with standing still.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.engines.sweeps import JointLaws, JointState, torque
from bough.adaptive.potentials import Springs, spring
from bough.adaptive.tree.algebra import WELDED, hand_down, matrices, put_acceleration
from bough.adaptive.tree.blocks import ZERO6, joint_terms, put_six, six
from bough.adaptive.tree.bounded_pass import DONE, Queue, get_pair, put_pair
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.layout import (
    GAMMA,
    IDENTITY,
    ZERO3,
    Layout,
    State,
    compose,
    cross_pose,
    far_pose,
    near_body,
    placement,
    primitive_pose,
    two_handled,
)
from bough.adaptive.tree.passes import follow, mark, mark_loads, place_all, visit_marked
from bough.adaptive.tree.rigid import (
    COLUMNS1,
    COLUMNS2,
    ZERO10,
    Columns,
    bias_of,
    cluster_force,
    cluster_inertia,
    columns,
    handle_force,
    is_ground,
    join_force,
    join_inertia,
    make_columns,
    released_square,
)
from bough.compile.kernel import kernel, loop_kernel
from bough.dynamics.coriolis import cross_force
from bough.dynamics.newton_euler import centripetal, squares
from bough.joints import Mechanism, freedom
from bough.spatial import (
    add3,
    add6,
    cross,
    dot6,
    force_in,
    get6,
    join,
    matmul3,
    motion_out,
    rigid_solve,
    rigid_times,
    rotate_back,
    scale6,
    sub3,
    sub6,
    transpose3,
)
from bough.types import Force, IntArray, Motion, RigidInertia, Rows, Scalar, Symmetric, Vector


class Evaluation(NamedTuple):
    """Arrays of a bound evaluation beside those of the tree."""

    active: Rows  # (nodes,) 1 where a node is active
    solid: Rows  # (nodes,) 1 where all joints of an inactive node are welded
    cluster: Rows  # (N + 1,) the primitive of the contracted tree that a near body is; -1 the ground
    velocity: Rows  # (P, 6) of these, spatial, in their frames; for `lost`, their accelerations
    momentum: Rows  # (P, 6) theirs
    Q: Rows  # (6,) torques of one joint
    columns: Columns  # scratch
    stack: Rows  # (depth + 3,)
    force: Rows  # (depth + 3, 12)
    motion: Rows  # (depth + 3, 6)
    lead: Rows  # (1,) step for which springs and dampers are implicit
    joint: Rows  # (nodes, 2) sums of squares of joint accelerations and rates; empty unless a rule goes by them


def make_evaluation(nodes: int, depth: int, cluster: IntArray) -> Evaluation:
    """Working space for bound evaluations of an assembly tree."""
    stack = np.zeros(depth + 3, np.int64), np.zeros((depth + 3, 12)), np.zeros((depth + 3, 6))
    active = np.zeros((2, nodes), np.int8)
    clusters = np.zeros((0, 6)), np.zeros((0, 6))
    rest = np.zeros(1), np.zeros((0, 2))
    return Evaluation._make([*active, cluster, *clusters, np.zeros(6), make_columns(), *stack, *rest])


class MovingTree(NamedTuple):
    """The assembly tree of a moving linkage, with all that an evaluation needs."""

    m: Mechanism  # with the armature of implicit steps and of welded joints
    plan: Layout
    st: State
    pq: Queue  # whose active nodes are the active ones
    loads: Loads
    e: JointLaws
    p: Springs
    s: JointState
    y: Evaluation


@kernel
def is_active(y: Evaluation, code: int) -> bool:
    return code >= 0 and y.active[code] == 1


@kernel
def is_solid(y: Evaluation, code: int) -> bool:
    return code < 0 or y.solid[code] == 1


@kernel
def motion_of(plan: Layout, y: Evaluation, code: int) -> Motion:
    """Velocity of the near frame of an inactive cluster."""
    at = y.cluster[near_body(plan, code)]
    return get6(y.velocity, at) if at >= 0 else ZERO6


@kernel
def products(plan: Layout, y: Evaluation, code: int) -> Symmetric:
    """The products of its angular velocity."""
    v = motion_of(plan, y, code)
    return squares((v[0], v[1], v[2]))


@loop_kernel
def joint_pull(t: MovingTree, n: int) -> None:
    """y.Q: torques of motors, potentials, dampers, and of friction or stops as before, at node n; its armature, too."""
    m, plan, e, s, y, b = t.m, t.plan, t.e, t.s, t.y, t.plan.body[n]
    if b < 0:
        return
    for i in range(plan.first[b], plan.last[b] + 1):
        spring(m, t.p, s.q, i)
        for k in range(m.dof[i], m.dof[i + 1]):
            y.Q[k - plan.dof[b]] = torque(e, t.p, k, s.v[m.v_index[k]], y.lead[0]) + e.stop_torque[k]
            m.armature[k] = t.p.armature[k] + e.weld_armature[k]


# Up


@kernel
def _far_turn(plan: Layout, st: State, y: Evaluation, n: int) -> Vector:
    """Angular velocity of the body that the joint of node n is on, at the parent's side, in its frame."""
    code, far = plan.left[n], True
    while is_active(y, code):
        far = far and plan.handles[code] == 2
        code = plan.right[code] if far else plan.left[code]
    v = motion_of(plan, y, code)
    w = (v[0], v[1], v[2])
    if far and two_handled(plan, code):
        R, _ = cross_pose(plan, st, code)
        w = rotate_back(R, w)
    return w


@loop_kernel
def _drift(m: Mechanism, plan: Layout, st: State, s: JointState, b: int, w: Vector) -> Motion:
    """The acceleration of body b that velocities cause beyond its parent's, which turns with w; in b's frame."""
    acc, t = (IDENTITY, ZERO3), ZERO6
    for i in range(plan.first[b], plan.last[b] + 1):
        if i < plan.last[b]:
            pose = primitive_pose(m, st.X, i)
            acc = compose(acc, pose)
        else:
            R, p = placement(plan, st, b)
            pose = matmul3(transpose3(acc[0]), R), rotate_back(acc[0], sub3(p, acc[1]))
        v = ZERO6
        for k in range(m.dof[i], m.dof[i + 1]):
            v = add6(v, freedom(m, k, s.v[m.v_index[k]]))
        turn, slide = (v[0], v[1], v[2]), (v[3], v[4], v[5])
        t = motion_out(pose[0], pose[1], add6(t, join(ZERO3, centripetal(squares(w), pose[1]))))
        before = rotate_back(pose[0], w)
        w = add3(before, turn)
        t = add6(t, join(cross(before, turn), cross(add3(before, w), slide)))
    return t


@loop_kernel
def _bias_now(m: Mechanism, plan: Layout, st: State, y: Evaluation, code: int, far: bool) -> Motion:
    """b of a child, closed or active, as it is now."""
    if is_active(y, code):
        r = st.record[plan.offset[code] : plan.offset[code + 1]]
        return six(r, COLUMNS2[6] if far and plan.handles[code] == 2 else COLUMNS1[6])
    return bias_of(m, plan, st, code, far, products(plan, y, code), 1.0)


@loop_kernel
def instant(t: MovingTree, n: int) -> None:
    """b, gamma and R of an active node with its true velocities; y.Q are the torques of its joint."""
    m, plan, st, y = t.m, t.plan, t.st, t.y
    r, b, two = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n], plan.handles[n] == 2
    A, B = plan.left[n], plan.right[n]
    R, p = placement(plan, st, b)
    beta = sub6(motion_out(R, p, _bias_now(m, plan, st, y, A, True)), _bias_now(m, plan, st, y, B, False))
    if b >= 0:
        beta = add6(beta, _drift(m, plan, st, t.s, b, _far_turn(plan, st, y, n)))
    gamma, e1, e2 = joint_terms(plan, st, n, beta, y.Q, 0, 1.0)
    near = sub6(_bias_now(m, plan, st, y, A, False), e1)
    far = add6(_bias_now(m, plan, st, y, B, True), e2)
    put_six(r, GAMMA, gamma)
    put_six(r, COLUMNS1[6], near)
    if two:
        put_six(r, COLUMNS2[6], far)


@loop_kernel
def close_node(t: MovingTree, n: int) -> None:
    """Columns of a node whose matrices are known, and whose joints stand still."""
    m, plan, st, y, b = t.m, t.plan, t.st, t.y, t.plan.body[n]
    join_inertia(m, plan, st, n)
    joint_pull(t, n)
    columns(m, plan, st, n, y.Q, y.columns)
    y.solid[n] = 1 if is_solid(y, plan.left[n]) and is_solid(y, plan.right[n]) else 0
    if b >= 0:
        for k in range(plan.dof[b], plan.dof[b + 1]):
            if m.armature[k] < WELDED:
                y.solid[n] = 0


@loop_kernel
def renew(t: MovingTree, n: int, anew: bool) -> None:
    """The record of a node: active, with its true velocities; closed, and with other matrices perhaps (`anew`)."""
    m, plan, st, active = t.m, t.plan, t.st, is_active(t.y, n)
    joint_pull(t, n)
    if active or anew:
        matrices(m, plan, st, n)
    if active:
        join_inertia(m, plan, st, n)
        join_force(plan, st, n)
        instant(t, n)
    else:
        close_node(t, n)


@loop_kernel
def build(t: MovingTree) -> None:
    """Records of all inactive nodes from q. O(n)."""
    plan, pq = t.plan, t.pq
    place_all(t.m, plan, t.st)
    for k in range(len(t.loads.body)):
        mark(plan, pq, plan.leaf_up[plan.host[t.loads.body[k]]])
    for k in range(visit_marked(plan, t.st, pq, t.loads)):
        pq.tier[pq.order[k]] = 0
    for n in range(len(plan.left)):
        if not is_active(t.y, n):
            renew(t, n, True)


@loop_kernel
def climb(t: MovingTree, touched: Rows) -> None:
    """Bring active nodes up to date, and closed ones below which forces or torques are others; `touched` are nodes."""
    plan, pq = t.plan, t.pq
    follow(t.m, plan, t.st, pq)
    mark_loads(plan, pq, t.loads)
    for k in range(len(touched)):
        mark(plan, pq, touched[k])
    count = visit_marked(plan, t.st, pq, t.loads)
    for k in range(count - 1, -1, -1):
        renew(t, pq.order[k], t.e.stops[0] == 1)  # joints may be welded that were not
        pq.tier[pq.order[k]] = 0


@loop_kernel
def joint_sums(m: Mechanism, plan: Layout, s: JointState, out: Rows) -> None:
    """The papers' metrics: sums of qdd^2 and qd^2 over the joints of each node; s.qdd are those of all joints. O(n)."""
    for n in range(len(plan.left)):
        out[n, 0], out[n, 1] = 0.0, 0.0
        b = plan.body[n]
        if b >= 0:
            for k in range(plan.dof[b], plan.dof[b + 1]):
                j = m.v_index[k]
                out[n, 0] += s.qdd[j] ** 2
                out[n, 1] += s.v[j] ** 2
        for code in (plan.left[n], plan.right[n]):
            if code >= 0:
                out[n, 0] += out[code, 0]
                out[n, 1] += out[code, 1]


# Down the active nodes: forces of the whole linkage, and what accelerations and velocities sum up to.


# Where the record of an active node has its sums: of what a and v square to, of both beyond rigid motion, k and h
TOTAL_A, TOTAL_V, SQUARE_A, SQUARE_V, K_SUM, H_SUM = 6, 7, 8, 9, 19, 25


@loop_kernel
def _add_sums(
    m: Mechanism,
    plan: Layout,
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


@loop_kernel
def rigid_sums(
    m: Mechanism, plan: Layout, st: State, code: int, v: Motion, f1: Force, f2: Force
) -> tuple[Force, Force]:
    """k and h of an inactive cluster that moves with v under forces on its handles; zero with the ground."""
    if is_ground(plan, code):
        return ZERO6, ZERO6
    I = cluster_inertia(m, plan, st, code)
    R, p = cross_pose(plan, st, code)
    k = sub6(add6(handle_force(f1, f2, R, p), cluster_force(plan, st, code)), cross_force(v, rigid_times(I, v)))
    return k, rigid_times(I, v)


@loop_kernel
def _add_closed(t: MovingTree, n: int, code: int, f1: Force, f2: Force) -> None:
    """Sums of an inactive child of node n under forces on its handles."""
    m, plan, st, y, E = t.m, t.plan, t.st, t.y, 0.0
    if not is_solid(y, code):
        E, _ = released_square(m, plan, st, code, products(plan, y, code), f1, f2)
    if is_ground(plan, code):
        _add_sums(m, plan, st, n, code, ZERO10, ZERO6, ZERO6, (E, 0.0))
        return
    I, v = cluster_inertia(m, plan, st, code), motion_of(plan, y, code)
    k, h = rigid_sums(m, plan, st, code, v, f1, f2)
    _add_sums(m, plan, st, n, code, I, k, h, (E + dot6(k, rigid_solve(I, k)), dot6(v, h)))


@loop_kernel
def descend(t: MovingTree) -> None:
    """Forces of the whole linkage on active nodes and inactive children, and the sums of both."""
    m, plan, st, pq, y = t.m, t.plan, t.st, t.pq, t.y
    root, top = len(plan.left) - 1, 0
    if y.active[root] == 1:
        y.stack[0] = root
        put_pair(y.force, 0, ZERO6, ZERO6)
        top = 1
    while top > 0:
        top -= 1
        n, (f1, f2) = y.stack[top], get_pair(y.force, top)
        _begin_sums(t, n, f1, f2)
        a1, a2, b1, b2 = hand_down(plan, st, n, f1, f2)
        for side in range(2):
            code, g1, g2 = (plan.left[n], a1, a2) if side == 1 else (plan.right[n], b1, b2)
            if is_active(y, code):
                y.stack[top] = code
                put_pair(y.force, top, g1, g2)
                top += 1
            else:
                _add_closed(t, n, code, g1, g2)
    for j in range(pq.count[DONE] - 1, -1, -1):
        n = pq.done[j]
        r = st.record[plan.offset[n] : plan.offset[n + 1]]
        I, k, h = cluster_inertia(m, plan, st, n), six(r, K_SUM), six(r, H_SUM)
        A, V = r[TOTAL_A], r[TOTAL_V]
        if plan.near[n] != len(plan.parent):
            A, V = A - dot6(k, rigid_solve(I, k)), V - dot6(h, rigid_solve(I, h))
        r[SQUARE_A], r[SQUARE_V] = max(A, 0.0), max(V, 0.0)
        if plan.up[n] >= 0:
            _add_sums(m, plan, st, plan.up[n], n, I, k, h, (r[TOTAL_A], r[TOTAL_V]))


@loop_kernel
def _begin_sums(t: MovingTree, n: int, f1: Force, f2: Force) -> None:
    """Sums of node n with nothing but the rotors of its joint; their accelerations go into s.move."""
    m, plan, st, s = t.m, t.plan, t.st, t.s
    r, b = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n]
    put_six(r, K_SUM, ZERO6)
    put_six(r, H_SUM, ZERO6)
    r[TOTAL_A], r[TOTAL_V] = 0.0, 0.0
    if b < 0:
        return
    put_acceleration(m, plan, st, n, f1, f2, s.move)
    for k in range(plan.dof[b], plan.dof[b + 1]):
        r[TOTAL_A] += m.armature[k] * s.move[m.v_index[k]] ** 2
        r[TOTAL_V] += t.e.rotor[k] * s.v[m.v_index[k]] ** 2
