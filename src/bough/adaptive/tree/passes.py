"""The lazy update (Redon & Lin 2005, section 5): clusters whose joints moved in full, those with new forces linearly.

All others keep their equations, which are in frames of their own bodies and do not know where the world is.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.adaptive.potentials import Springs, spring
from bough.adaptive.tree.algebra import (
    full,
    hand_down,
    joint_acceleration,
    joint_force,
    joint_square,
    linear,
    total_acceleration,
)
from bough.adaptive.tree.blocks import ZERO6, leaf_acceleration, leaf_bias
from bough.adaptive.tree.bounded_pass import (
    DONE,
    FULL_TIER,
    LINEAR_TIER,
    LOADED,
    MET,
    MOVED,
    REFUSED,
    Queue,
    begin,
    conclude,
    forget,
    get_pair,
    put_pair,
    refine,
    waiting_sum,
)
from bough.adaptive.tree.contract import Loads, load_body
from bough.adaptive.tree.layout import (
    IDENTITY,
    ZERO3,
    Clock,
    Keeps,
    Layout,
    State,
    advance_body,
    far_pose,
    get_pose,
    place_body,
    put_pose,
    refresh_cross,
)
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import dot6, put6
from bough.types import Force, Rows, Scalar

# Coordinates beyond this (m or rad) are no place of a linkage, and no step leads so far.
FAR = 1e8


@loop_kernel
def turning(m: Mechanism, plan: Layout, st: State, b: int) -> Scalar:
    """The largest angular acceleration at the joint of body b."""
    fastest = 0.0
    for i in range(plan.dof[b], plan.dof[b + 1]):
        if m.axis[i] <= 2:
            fastest = max(fastest, abs(st.qdd[m.v_index[i]]))
    return fastest


@loop_kernel
def turns_too_far(m: Mechanism, plan: Layout, st: State, pq: Queue, clock: Clock, turn: float) -> bool:
    """Whether this step would turn an active joint by more than `turn`, or by what is no number."""
    for k in range(pq.count[DONE]):
        b = plan.body[pq.done[k]]
        if b >= 0:
            for i in range(plan.dof[b], plan.dof[b + 1]):
                x = clock.h[0] * abs(st.qdd[m.v_index[i]])
                if not (x <= (turn if m.axis[i] <= 2 else FAR)):
                    return True
    return False


@loop_kernel
def place_active(m: Mechanism, plan: Layout, st: State, pq: Queue) -> None:
    """Placements and cross-transforms of the active clusters, the joints of which have moved."""
    for k in range(pq.count[DONE]):
        b = plan.body[pq.done[k]]
        if b >= 0:
            place_body(m, plan, st, b)
    for k in range(pq.count[DONE] - 1, -1, -1):
        refresh_cross(plan, st, pq.done[k])


@loop_kernel
def follow(m: Mechanism, plan: Layout, st: State, pq: Queue) -> None:
    """The active joints were moved by another engine: their clusters must be done anew."""
    place_active(m, plan, st, pq)
    for k in range(pq.count[DONE]):
        pq.tier[pq.done[k]] = MOVED


@loop_kernel
def move_active(m: Mechanism, plan: Layout, st: State, pq: Queue, clock: Clock, turn: float, p: Springs) -> None:
    """Move the active joints; with catching up, by all the time since they moved last, as far as `turn` allows."""
    now = clock.time[0] + clock.h[0]
    for k in range(pq.count[DONE]):
        n = pq.done[k]
        b, h = plan.body[n], clock.h[0]
        st.stamp[n] = clock.step[0]
        if clock.catches_up[0] != 0.0:
            missed = now - st.last_move[n]
            h = missed
            if b >= 0:
                fastest = turning(m, plan, st, b)
                if fastest * missed > turn:
                    h = turn / fastest
            st.last_move[n] = now - (missed - h)
        if b >= 0:
            advance_body(m, plan, st, b, h)
            for i in range(plan.first[b], plan.last[b] + 1):
                spring(m, p, st.q, i)
    place_active(m, plan, st, pq)
    for k in range(pq.count[DONE] - 1, -1, -1):
        n = pq.done[k]
        pq.tier[n] = MOVED
        if clock.catches_up[0] != 0.0:
            oldest = st.last_move[n]
            if plan.left[n] >= 0:
                oldest = min(oldest, st.oldest[plan.left[n]])
            if plan.right[n] >= 0:
                oldest = min(oldest, st.oldest[plan.right[n]])
            st.oldest[n] = oldest


@kernel
def mark(plan: Layout, pq: Queue, n: int) -> None:
    """Forces may turn below node n: it and all above it need an update, on which poses are carried along."""
    while n >= 0 and pq.tier[n] < LOADED:
        pq.tier[n] += LOADED
        n = plan.up[n]


@kernel
def mark_loads(plan: Layout, pq: Queue, loads: Loads) -> None:
    """Bodies with forces in the world's frame turn under them: their leaves change with every motion."""
    for k in range(len(loads.body)):
        if loads.along[k] > loads.first[k]:
            mark(plan, pq, plan.leaf_up[plan.host[loads.body[k]]])


@kernel
def visit_marked(plan: Layout, st: State, pq: Queue, loads: Loads) -> int:
    """List the marked nodes, parents first, and turn world forces into body frames on the way. Returns their number."""
    root, count = len(plan.left) - 1, 0
    if pq.tier[root] == 0:
        return 0
    pq.stack[0] = root
    put_pose(pq.pose, 0, (IDENTITY, ZERO3))
    top = 1
    while top > 0:
        top -= 1
        n = pq.stack[top]
        pq.order[count] = n
        count += 1
        if pq.tier[n] >= LOADED:
            top = _visit_loaded(plan, st, pq, loads, n, top)
            continue
        for side in range(2):
            code = plan.left[n] if side == 1 else plan.right[n]
            if code >= 0 and pq.tier[code] > 0:
                pq.stack[top] = code
                top += 1
    return count


@kernel
def _visit_loaded(plan: Layout, st: State, pq: Queue, loads: Loads, n: int, top: int) -> int:
    """Put the marked children of n with their poses on the stack, which has height `top`, and load its leaves."""
    pose = get_pose(pq.pose, top)
    for side in range(2):
        code, child = (plan.left[n], pose) if side == 1 else (plan.right[n], far_pose(plan, st, n, pose))
        if code >= 0:
            if pq.tier[code] > 0:
                pq.stack[top] = code
                put_pose(pq.pose, top, child)
                top += 1
        elif ~code < len(plan.parent) and loads.slot[plan.last[~code]] >= 0:
            load_body(st.force, loads, loads.slot[plan.last[~code]], child[0])
    return top


@loop_kernel
def equations(m: Mechanism, plan: Layout, st: State, pq: Queue, count: int, keeps: Keeps) -> None:
    """Redo the listed nodes, children first, each in full or for its forces only; with count < 0 all nodes, in full.

    What they keep beyond what divide and conquer needs is up to `keeps`. 1 to 2 us for a node in full.
    """
    whole = count < 0
    for k in range(len(plan.left) if whole else count):
        n = k if whole else pq.order[count - 1 - k]
        if whole or pq.tier[n] % LOADED == MOVED:
            full(m, plan, st, n, keeps)
            pq.count[FULL_TIER] += 1
        else:
            linear(m, plan, st, n, keeps)
            pq.count[LINEAR_TIER] += 1
        pq.tier[n] = 0


# Passes over the whole assembly tree: placements, the exact down pass, the noise of total accelerations, poses.


COARSE = 1.0 / 16.0


@loop_kernel
def place_all(m: Mechanism, plan: Layout, st: State) -> None:
    """Placements and cross-transforms of everything from q."""
    for b in range(len(plan.parent)):
        place_body(m, plan, st, b)
    for n in range(len(plan.left)):
        refresh_cross(plan, st, n)


@loop_kernel
def down_all(m: Mechanism, plan: Layout, st: State, pq: Queue, totals: Rows) -> Scalar:
    """All joint accelerations, exactly, and in `totals` (nodes,), unless it is empty, the total accelerations.

    Returns the sum of the weighted squares of the joint accelerations.
    """
    top, sum_ = 1, 0.0
    pq.stack[0] = len(plan.left) - 1
    put_pair(pq.pose, 0, ZERO6, ZERO6)
    while top > 0:
        top -= 1
        n = pq.stack[top]
        f1, f2 = get_pair(pq.pose, top)
        sum_ += joint_acceleration(m, plan, st, n, f1, f2)
        if len(totals) > 0:
            totals[n] = total_acceleration(plan, st, n, f1, f2)
        a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
        for code, g1, g2 in ((plan.right[n], c1, c2), (plan.left[n], a1, a2)):
            if code >= 0:
                pq.stack[top] = code
                put_pair(pq.pose, top, g1, g2)
                top += 1
    return sum_


@loop_kernel
def noise(
    m: Mechanism, plan: Layout, st: State, pq: Queue, predicted: Rows, actual: Rows, truth: Rows, found: Rows
) -> None:
    """How wrong the tree is beside the true accelerations `truth` (nv,), which become the errors of the tree's.

    found: the root's total acceleration; the largest square of a joint's; the largest total acceleration that is wrong
    by more than COARSE, below which a bound means nothing; the largest sum of those over clusters that may be closed
    together; the largest square of a joint's error; the sum of these; the largest error of a total acceleration.
    """
    down_all(m, plan, st, pq, predicted)
    for n in range(len(plan.left)):
        b, hidden = plan.body[n], 0.0
        actual[n] = joint_square(m, plan, st, b, truth)
        found[1] = max(found[1], actual[n])
        if b >= 0:
            for k in range(plan.dof[b], plan.dof[b + 1]):
                truth[m.v_index[k]] = st.qdd[m.v_index[k]] - truth[m.v_index[k]]
        wrong = joint_square(m, plan, st, b, truth)
        found[4] = max(found[4], wrong)
        found[5] += wrong
        for code in (plan.left[n], plan.right[n]):
            if code >= 0:
                actual[n] += actual[code]
                hidden += predicted[code]
        larger, wrong = max(actual[n], predicted[n]), abs(actual[n] - predicted[n])
        found[6] = max(found[6], wrong)
        if wrong > COARSE * larger:
            found[2] = max(found[2], larger)
            hidden = max(hidden, larger)
        predicted[n] = hidden
    found[0], found[3] = actual[len(plan.left) - 1], predicted[len(plan.left) - 1]


@loop_kernel
def free_acceleration(plan: Layout, st: State) -> Scalar:
    """The largest square of the acceleration that a body would have by itself under the forces on it.

    Joint accelerations are differences of these (`algebra`, beta), so their rounding is a share of it.
    """
    most = 0.0
    for leaf in range(len(plan.parent)):
        b = leaf_bias(plan, st, ZERO3, leaf)
        most = max(most, dot6(b, b))
    return most


@kernel
def _climb(plan: Layout, pq: Queue, code: int) -> int:
    """Put a cluster and all nodes above it on the stack, the root last; returns the height."""
    pq.stack[0], top = code, 1
    n = plan.up[code] if code >= 0 else plan.leaf_up[~code]
    while n >= 0:
        pq.stack[top] = n
        top += 1
        n = plan.up[n]
    return top


@kernel
def body_poses(plan: Layout, st: State, pq: Queue, bodies: Rows, out: Rows) -> None:
    """World poses of some bodies, each by one way down the tree."""
    for k in range(len(bodies)):
        pose = (IDENTITY, ZERO3)
        for j in range(_climb(plan, pq, ~bodies[k]) - 1, 0, -1):
            n = pq.stack[j]
            if plan.right[n] == pq.stack[j - 1]:
                pose = far_pose(plan, st, n, pose)
        put_pose(out, k, pose)


@loop_kernel
def rigid_groups(plan: Layout, st: State, since: float, group: Rows) -> None:
    """By body: the one with which it has moved as one since a step, the first on the way to the ground whose joint has
    moved; -1 with the ground."""
    for b in range(len(plan.parent)):
        p = plan.parent[b]
        if st.stamp[plan.node_of[b]] > since:
            group[b] = b
        else:
            group[b] = group[p] if p >= 0 else -1


@loop_kernel
def forces_on(plan: Layout, st: State, pq: Queue, code: int) -> tuple[Force, Force]:
    """Forces on the handles of a cluster, all joints free, by the way down from the root. O(log n)."""
    f1, f2 = ZERO6, ZERO6
    for j in range(_climb(plan, pq, code) - 1, 0, -1):
        a1, a2, c1, c2 = hand_down(plan, st, pq.stack[j], f1, f2)
        if plan.right[pq.stack[j]] == pq.stack[j - 1]:
            f1, f2 = c1, c2
        else:
            f1, f2 = a1, a2
    return f1, f2


@loop_kernel
def transmit(plan: Layout, st: State, pq: Queue, bodies: Rows, out: Rows) -> None:
    """Forces on some bodies through their joints, in their frames."""
    for k in range(len(bodies)):
        n = plan.node_of[bodies[k]]
        f1, f2 = forces_on(plan, st, pq, n)
        put6(out, k, joint_force(plan, st, n, f1, f2))


@loop_kernel
def respond(m: Mechanism, plan: Layout, st: State, pq: Queue, bodies: Rows, out: Rows) -> None:
    """Accelerations of some bodies in their own frames, exactly."""
    for k in range(len(bodies)):
        f1, _ = forces_on(plan, st, pq, ~bodies[k])
        put6(out, k, leaf_acceleration(m, plan, st, bodies[k], f1))


# One entry to all passes: what they share is compiled once.


REBUILD, CHANGED, MARCH, FOLLOW, REFINE, SOLVE, NOISE, LEFT, FREE, POSES, RESPOND, PLACE, TRANSMIT = range(13)


class Order(NamedTuple):
    """A command and its arguments: see `command`."""

    what: int
    over: int  # what the error measure goes over
    limits: Rows  # the square of the error allowed is limits[0] + limits[1] sum of squares + limits[2] largest square
    turn: float  # the largest angle by which a step may turn a joint
    number: Rows  # (k,) budget and steps, or nodes, or bodies
    out: Rows  # (k, 12) poses or accelerations, or working space
    keeps: Keeps  # what clusters keep beyond their equations


@loop_kernel
def command(
    m: Mechanism, plan: Layout, st: State, pq: Queue, loads: Loads, clock: Clock, order: Order, p: Springs
) -> Scalar:
    """Do one thing with the tree.

    Updates, after which a new bounded pass has begun:
    - REBUILD: everything anew from q.
    - CHANGED: forces or torques were changed below the nodes `number`.
    - FOLLOW: the active joints have moved, too.
    - MARCH: number[1] time steps that open at most number[0] clusters each; returns how many are left when one could
      not be finished, or would turn a joint by more than `turn` (then REFUSED is 1).

    Solutions: REFINE opens at most number[0] more clusters and returns why it ended; SOLVE finds all accelerations;
    LEFT returns the sum over waiting clusters, FREE `free_acceleration`; NOISE measures how wrong the tree is.

    Bodies `number`, into `out`: POSES, RESPOND (accelerations), TRANSMIT (joint forces). PLACE: where the active
    clusters are, and nothing else.
    """
    what, number, out = order.what, order.number, order.out
    if what == MARCH:
        return march(m, plan, st, pq, loads, clock, order, p)
    if what == REFINE:
        return float(refine(m, plan, st, pq, order.over, order.limits, number[0], clock, order.keeps))
    if what == SOLVE:
        return down_all(m, plan, st, pq, pq.key[:0])
    if what == LEFT:
        return waiting_sum(plan, st, pq, clock, order.keeps)
    if what == FREE:
        return free_acceleration(plan, st)
    if what == NOISE:
        noise(m, plan, st, pq, out[0], out[1], out[2], out[3])
    elif what == POSES:
        body_poses(plan, st, pq, number, out)
    elif what == PLACE:
        place_active(m, plan, st, pq)
    elif what == TRANSMIT:
        transmit(plan, st, pq, number, out)
    elif what == RESPOND:
        respond(m, plan, st, pq, number, out)
    else:
        if what == REBUILD:
            place_all(m, plan, st)
            for k in range(len(loads.body)):
                mark(plan, pq, plan.leaf_up[plan.host[loads.body[k]]])
        if what == FOLLOW:
            follow(m, plan, st, pq)
            mark_loads(plan, pq, loads)
        for k in range(len(number)):
            mark(plan, pq, number[k])
        update(m, plan, st, pq, loads, clock, order)
    return 0.0


@loop_kernel
def update(m: Mechanism, plan: Layout, st: State, pq: Queue, loads: Loads, clock: Clock, order: Order) -> None:
    """Redo the marked nodes, and begin a bounded pass."""
    count = visit_marked(plan, st, pq, loads)
    equations(m, plan, st, pq, -1 if order.what == REBUILD else count, order.keeps)
    forget(m, plan, st, pq)
    begin(plan, st, pq, clock, order.keeps)


@loop_kernel
def march(
    m: Mechanism, plan: Layout, st: State, pq: Queue, loads: Loads, clock: Clock, order: Order, p: Springs
) -> Scalar:
    """Take error-bounded steps; returns how many are left."""
    budget, steps = order.number[0], order.number[1]
    while steps > 0:
        if refine(m, plan, st, pq, order.over, order.limits, budget, clock, order.keeps) != MET:
            return float(steps)
        if turns_too_far(m, plan, st, pq, clock, order.turn):
            pq.count[REFUSED] = 1
            return float(steps)
        conclude(plan, st, pq, clock, order.keeps)
        clock.step[0] += 1.0
        move_active(m, plan, st, pq, clock, order.turn, p)
        mark_loads(plan, pq, loads)
        clock.time[0] += clock.h[0]
        update(m, plan, st, pq, loads, clock, order)
        steps -= 1
    return 0.0
