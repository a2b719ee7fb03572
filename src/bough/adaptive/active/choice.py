"""The choice of active clusters: locked where they hardly differ from rigid motion, activated where they would differ.

From the root down, with the figures of a bound evaluation. An active node closes where A / eps_a^2 + V / eps_v^2 <=
theta m; a closed one opens where E > eps_a^2 m, m being the mass that eps_a is meant for. Between both lies the
hysteresis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.active.evaluation import (
    H_SUM,
    K_SUM,
    SQUARE_A,
    SQUARE_V,
    MovingTree,
    build,
    climb,
    close_node,
    descend,
    is_active,
    is_solid,
    joint_pull,
    motion_of,
    rigid_sums,
)
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.tree.algebra import hand_down, put_acceleration, share_out
from bough.adaptive.tree.blocks import ZERO6, full_six, joint_terms, six
from bough.adaptive.tree.bounded_pass import DONE, get_pair, put_pair
from bough.adaptive.tree.layout import IDENTITY, T1, T2, ZERO3, far_pose, near_body
from bough.adaptive.tree.rigid import cluster_inertia, gap_of, is_ground, released_square
from bough.compile.kernel import loop_kernel
from bough.dynamics.newton_euler import squares
from bough.spatial import add6, cross, dot6, get6, join, motion_out, put6, rigid_solve, rigid_times, sub6
from bough.types import Force, Motion, Rows, Scalar

# What a choice counts
OPEN, FRONT, CLOSED, FRESH = range(4)


class Rule(NamedTuple):
    """When clusters open and close, as squares: A, E in kg (m/s^2)^2 and V in kg (m/s)^2."""

    opens: float  # E above this
    closes: float  # A / eps_a^2 + V / eps_v^2 up to this
    a: float  # eps_a^2
    v: float  # eps_v^2
    most: int  # clusters that may be open
    by_joint: int  # 1: sums of squares of joints (`evaluate.joint_sums`) stand for A, E and V


class Choice(NamedTuple):
    """A choice of active nodes."""

    node: Rows  # (nodes + 2,) active nodes, parents first
    code: Rows  # (nodes + 2,) inactive clusters below them
    square: Rows  # (nodes + 2,) what release would add there
    a: Rows  # (nodes + 2, 6) acceleration of each, if it alone were rigid
    momentum: Rows  # (nodes + 2, 6)
    count: Rows  # (5,)
    size: Rows  # (1,) the largest size of what E is a difference of: rounding of it is the noise of the choice


def make_choice(nodes: int) -> Choice:
    """Space for all clusters of a tree with so many nodes."""
    node, code = np.zeros((2, nodes + 2), np.int64)
    a, momentum = np.zeros((2, nodes + 2, 6))
    return Choice(node, code, np.zeros(nodes + 2), a, momentum, np.zeros(5, np.int64), np.zeros(1))


@loop_kernel
def _note_closed(t: MovingTree, x: Choice, code: int, square: Scalar, k: Force, h: Force) -> None:
    """Note a cluster that will be closed; a and v of its bodies sum up to k and h."""
    at = x.count[FRONT]
    x.count[FRONT] = at + 1
    x.code[at], x.square[at] = code, square
    put6(x.a, at, ZERO6)
    put6(x.momentum, at, h)
    if not is_ground(t.plan, code):
        I = cluster_inertia(t.m, t.plan, t.st, code)
        v, a = rigid_solve(I, h), rigid_solve(I, k)
        put6(x.a, at, add6(a, join(ZERO3, cross((v[0], v[1], v[2]), (v[3], v[4], v[5])))))


@loop_kernel
def _open_forces(t: MovingTree, n: int, v: Motion, f1: Force, f2: Force) -> tuple[Force, Force, Force, Force]:
    """Forces on the children of an inactive cluster that moves with v, all joints released; y.Q are its torques."""
    m, plan, st = t.m, t.plan, t.st
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    beta = gap_of(m, plan, st, n, squares((v[0], v[1], v[2])), 1.0)
    gamma, _, _ = joint_terms(plan, st, n, beta, t.y.Q, 0, 1.0)
    put_acceleration(m, plan, st, n, f1, f2, t.s.move)
    f = add6(gamma, full_six(r, T1, f1))
    if plan.handles[n] == 2:
        f = sub6(f, full_six(r, T2, f2))
    return share_out(plan, st, n, f, f1, f2)


@loop_kernel
def choose(t: MovingTree, rule: Rule, x: Choice) -> Scalar:
    """Fill x; returns 0 where more clusters than the rule allows would be open."""
    m, plan, st, pq, y = t.m, t.plan, t.st, t.pq, t.y
    x.count[:] = 0
    x.size[0] = 0.0
    top, root = 1, len(plan.left) - 1
    y.stack[0] = root
    put_pair(y.force, 0, ZERO6, ZERO6)
    put6(y.motion, 0, ZERO6)
    while top > 0:
        top -= 1
        code, (f1, f2), v = y.stack[top], get_pair(y.force, top), get6(y.motion, top)
        if is_active(y, code):
            r = st.record[plan.offset[code] : plan.offset[code + 1]]
            A, V = r[SQUARE_A], r[SQUARE_V]
            if rule.by_joint == 1:
                A, V = y.joint[code, 0], y.joint[code, 1]
            if pq.forced[code] == 0 and A / rule.a + V / rule.v <= rule.closes:
                _note_closed(t, x, code, r[SQUARE_A], six(r, K_SUM), six(r, H_SUM))
                x.count[CLOSED] += 1
                continue
            a1, a2, b1, b2 = hand_down(plan, st, code, f1, f2)
        else:
            E = 0.0
            if not is_solid(y, code):
                E, size = released_square(m, plan, st, code, squares((v[0], v[1], v[2])), f1, f2)
                x.size[0] = max(x.size[0], size)
            more = E
            if code >= 0 and rule.by_joint == 1:
                more = y.joint[code, 0]
            if code < 0 or (more <= rule.opens and pq.forced[code] == 0):
                k, h = rigid_sums(m, plan, st, code, v, f1, f2)
                _note_closed(t, x, code, E, k, h)
                continue
            joint_pull(t, code)
            a1, a2, b1, b2 = _open_forces(t, code, v, f1, f2)
            x.count[FRESH] += 1
        x.node[x.count[OPEN]] = code
        x.count[OPEN] += 1
        if x.count[OPEN] > rule.most:
            return 0.0
        for side in range(2):
            child, g1, g2 = (plan.left[code], a1, a2) if side == 1 else (plan.right[code], b1, b2)
            u = v
            if not is_active(y, child):
                if is_active(y, code):
                    u = motion_of(plan, y, child)
                elif side == 0:
                    R, p = far_pose(plan, st, code, (IDENTITY, ZERO3))
                    u = motion_out(R, p, v)
            y.stack[top] = child
            put_pair(y.force, top, g1, g2)
            put6(y.motion, top, u)
            top += 1
    return 1.0


@loop_kernel
def settle(t: MovingTree, x: Choice) -> None:
    """Apply the choice: locked joints stand still, inactive nodes get their records, active ones are listed."""
    plan, pq, y = t.plan, t.pq, t.y
    for k in range(x.count[OPEN]):
        y.active[x.node[k]] = 2
    for k in range(pq.count[DONE] - 1, -1, -1):
        n = pq.done[k]
        if y.active[n] == 1:
            y.active[n] = 0
            b = plan.body[n]
            if b >= 0:
                for j in range(plan.dof[b], plan.dof[b + 1]):
                    t.s.v[t.m.v_index[j]] = 0.0
            close_node(t, n)
    for k in range(x.count[OPEN]):
        y.active[x.node[k]] = 1
        pq.done[k] = x.node[k]
    pq.count[DONE] = x.count[OPEN]


@loop_kernel
def momenta(t: MovingTree, x: Choice) -> None:
    """y.momentum (P, 6): the momenta of the clusters of the contracted tree."""
    y = t.y
    y.momentum[:, :] = 0.0
    for k in range(x.count[FRONT]):
        at = y.cluster[near_body(t.plan, x.code[k])]
        if at >= 0:
            put6(y.momentum, at, add6(get6(y.momentum, at), get6(x.momentum, k)))


@loop_kernel
def lost(t: MovingTree, x: Choice) -> Scalar:
    """Delta = sum_i |a_i(whole) - a_i(locked)|^2 in I_i, with the accelerations of the clusters in y.velocity.

    Within a rigid cluster the two parts, beyond its own rigid motion and of that motion, are orthogonal. Rotors of
    active joints count, too.
    """
    m, plan, s, total = t.m, t.plan, t.s, 0.0
    for k in range(x.count[FRONT]):
        code = x.code[k]
        total += x.square[k]
        at = t.y.cluster[near_body(plan, code)]
        if at >= 0:
            d = sub6(get6(x.a, k), get6(t.y.velocity, at))
            total += dot6(d, rigid_times(cluster_inertia(m, plan, t.st, code), d))
    for j in range(x.count[OPEN]):
        b = plan.body[x.node[j]]
        if b >= 0:
            for k in range(plan.dof[b], plan.dof[b + 1]):
                if m.armature[k] != 0.0:
                    total += m.armature[k] * (s.move[m.v_index[k]] - s.qdd[m.v_index[k]]) ** 2
    return total


# One entry to all that is done with the assembly tree of a moving linkage: it is compiled once.


BUILD, EVALUATE, CHOOSE, SETTLE, MOMENTA, LOST = range(6)


@loop_kernel
def run_evaluation(t: MovingTree, x: Choice, rule: Rule, touched: Rows, what: int) -> Scalar:
    """BUILD: all records. EVALUATE: what active nodes do, then CHOOSE: the next region. SETTLE: make it so. MOMENTA: of
    its clusters, into y.momentum. LOST: Delta."""
    if what == BUILD:
        build(t)
    elif what == SETTLE:
        settle(t, x)
    elif what == MOMENTA:
        momenta(t, x)
    elif what == LOST:
        return lost(t, x)
    else:
        if what == EVALUATE:
            climb(t, touched)
            descend(t)
        return choose(t, rule, x)
    return 0.0


# When clusters open and close, from an error measure.


THETA = 0.25  # of the square at which clusters open, they close: hysteresis
TIME = 0.02  # s; velocities count as the accelerations that bring them about in this time
BY_JOINT = "joint_motion"  # the measure that goes by joints


def make_rule(error: ErrorMeasure, mass: float, share: float, most: int) -> Rule:
    """Clusters open where a body of this mass would gain more than a share of eps."""
    a, by_joint = (share * error.eps) ** 2, error.name == BY_JOINT
    mass = 1.0 if by_joint else mass
    return Rule(a * mass, THETA * mass, a, TIME**2 * a, most, int(by_joint))
