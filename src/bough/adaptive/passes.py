"""Passes over an assembly tree (Redon & Lin 2005, sections 3 to 5): up, down, error-bounded down, lazy update.

Up: equations of every node from the leaves to the root. Down: forces from the root to the leaves, with the acceleration
of each joint. The bounded down pass opens the cluster with the largest total acceleration first and stops by the rule of an
error measure; it can be taken up again. The lazy update redoes clusters whose joints moved in full, those whose forces
alone changed by matrix-vector products, and no others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.algebra import (
    IDENTITY,
    ZERO3,
    ZERO6,
    full,
    hand_down,
    joint_acceleration,
    leaf_acceleration,
    linear,
    total_acceleration,
)
from bough.adaptive.loads import load_body
from bough.adaptive.motion import advance_body, far_pose, get_pose, place_body, put_pose, refresh_cross
from bough.adaptive.nodes import ETA
from bough.compile.kernel import kernel
from bough.spatial import get6, put6

# Stopping rules
ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)
# Why a bounded pass ended
MET, SPENT, FULL = range(3)
# Places in Front.count and Front.value
WAITING, DONE, SLOTS, SPARE, FIXED, FULL_TIER, LINEAR_TIER, OPENED = 0, 1, 2, 3, 4, 4, 5, 6
SUM, LARGEST, ROOT, CERTIFICATE, STEP_SUM, STEP_TOP, STEP_LARGEST, STEP_ROOT = range(8)


class Front(NamedTuple):
    """The state of a bounded down pass: a heap of waiting clusters, and those opened so far, in order."""

    key: Any  # (capacity,) priority: total acceleration, by the age of the oldest pending motion
    node: Any  # (capacity,)
    slot: Any  # (capacity,) where the forces on a waiting cluster are
    force: Any  # (capacity, 12)
    spare: Any  # (capacity,) slots given back
    done: Any  # (capacity,) opened nodes
    order: Any  # (capacity,) nodes of the last update, parents first
    count: Any  # (8,)
    value: Any  # (8,)
    tier: Any  # (nodes,) what the next update must do
    forced: Any  # (nodes,) 1 where a floating base lies below: opened always
    stack: Any  # (depth + 3,)
    pose: Any  # (depth + 3, 12)


def make_front(nodes: int, depth: int, capacity: int, forced: Any) -> Front:
    """An empty front."""
    ints = [np.zeros(capacity, np.int64) for _ in range(2)]
    more = [np.zeros(capacity, np.int64) for _ in range(3)]
    return Front(
        np.zeros(capacity), *ints, np.zeros((capacity, 12)), *more, np.zeros(8, np.int64), np.zeros(8),
        np.zeros(nodes, np.int8), forced, np.zeros(depth + 3, np.int64), np.zeros((depth + 3, 12)),
    )  # fmt: skip


# Whole passes


@kernel
def place_all(m: Any, plan: Any, st: Any) -> None:
    """Placements and cross-transforms of everything from q."""
    for b in range(len(plan.parent)):
        place_body(m, plan, st, b)
    for n in range(len(plan.left)):
        refresh_cross(plan, st, n)


@kernel
def push_children(plan: Any, st: Any, fr: Any, n: int, f1: Any, f2: Any, top: int) -> int:
    """Put the inner children of n with their forces on the stack of an exact down pass."""
    a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
    if plan.right[n] >= 0:
        fr.stack[top] = plan.right[n]
        put6(fr.pose, top, c1)
        _put_far(fr.pose, top, c2)
        top += 1
    if plan.left[n] >= 0:
        fr.stack[top] = plan.left[n]
        put6(fr.pose, top, a1)
        _put_far(fr.pose, top, a2)
        top += 1
    return top


@kernel
def _put_far(a: Any, i: int, x: Any) -> None:
    a[i, 6], a[i, 7], a[i, 8], a[i, 9], a[i, 10], a[i, 11] = x[0], x[1], x[2], x[3], x[4], x[5]


@kernel
def _get_far(a: Any, i: int) -> Any:
    return (a[i, 6], a[i, 7], a[i, 8], a[i, 9], a[i, 10], a[i, 11])


@kernel
def down_all(m: Any, plan: Any, st: Any, fr: Any) -> float:
    """All joint accelerations, exactly; returns the sum of their weighted squares."""
    fr.stack[0] = len(plan.left) - 1
    put6(fr.pose, 0, ZERO6)
    _put_far(fr.pose, 0, ZERO6)
    top, total = 1, 0.0
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), _get_far(fr.pose, top)
        total += joint_acceleration(m, plan, st, n, f1, f2)
        top = push_children(plan, st, fr, n, f1, f2, top)
    return total


@kernel
def noise(m: Any, plan: Any, st: Any, fr: Any, predicted: Any, actual: Any) -> float:
    """The largest error of a total acceleration over all nodes, relative to the root's: the floor of eps^2."""
    fr.stack[0] = len(plan.left) - 1
    put6(fr.pose, 0, ZERO6)
    _put_far(fr.pose, 0, ZERO6)
    top = 1
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), _get_far(fr.pose, top)
        predicted[n] = total_acceleration(plan, st, n, f1, f2)
        actual[n] = joint_acceleration(m, plan, st, n, f1, f2)
        top = push_children(plan, st, fr, n, f1, f2, top)
    worst = 0.0
    for n in range(len(plan.left)):
        if plan.left[n] >= 0:
            actual[n] += actual[plan.left[n]]
        if plan.right[n] >= 0:
            actual[n] += actual[plan.right[n]]
        worst = max(worst, abs(actual[n] - predicted[n]))
    root = actual[len(plan.left) - 1]
    return worst / root if root > 0.0 else 0.0


# The bounded down pass


@kernel
def _age(st: Any, n: int, clock: Any) -> float:
    """How many steps the oldest motion in the cluster is pending; 1 without catching up."""
    if clock[2] == 0.0:
        return 1.0
    return (clock[0] + clock[1] - st.oldest[n]) / clock[1]


@kernel
def _push(plan: Any, st: Any, fr: Any, n: int, f1: Any, f2: Any, clock: Any) -> None:
    """Let a cluster wait."""
    A = total_acceleration(plan, st, n, f1, f2)
    key = A * _age(st, n, clock) ** 2
    fr.value[SUM] += key
    if fr.forced[n] == 1:
        key = np.inf
    if fr.count[SPARE] > 0:
        fr.count[SPARE] -= 1
        slot = fr.spare[fr.count[SPARE]]
    else:
        slot = fr.count[SLOTS]
        fr.count[SLOTS] += 1
    put6(fr.force, slot, f1)
    _put_far(fr.force, slot, f2)
    i = fr.count[WAITING]
    fr.count[WAITING] = i + 1
    while i > 0 and fr.key[(i - 1) // 2] < key:
        above = (i - 1) // 2
        fr.key[i], fr.node[i], fr.slot[i] = fr.key[above], fr.node[above], fr.slot[above]
        i = above
    fr.key[i], fr.node[i], fr.slot[i] = key, n, slot


@kernel
def _pop(fr: Any) -> None:
    """Take the first cluster off the heap."""
    last = fr.count[WAITING] - 1
    fr.count[WAITING] = last
    key, node, slot = fr.key[last], fr.node[last], fr.slot[last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and fr.key[child + 1] > fr.key[child]:
            child += 1
        if fr.key[child] <= key:
            break
        fr.key[i], fr.node[i], fr.slot[i] = fr.key[child], fr.node[child], fr.slot[child]
        i = child
    fr.key[i], fr.node[i], fr.slot[i] = key, node, slot


@kernel
def begin(plan: Any, st: Any, fr: Any, clock: Any) -> None:
    """Start a bounded pass: nothing is opened, the root waits. Accelerations found last are forgotten."""
    fr.count[:FIXED] = 0
    fr.value[:CERTIFICATE] = 0.0
    root = len(plan.left) - 1
    _push(plan, st, fr, root, ZERO6, ZERO6, clock)
    fr.value[ROOT] = max(st.record[plan.offset[root] + ETA], 0.0)


@kernel
def forget(m: Any, plan: Any, st: Any, fr: Any) -> None:
    """Zero the accelerations of all opened joints."""
    for k in range(fr.count[DONE]):
        b = plan.body[fr.done[k]]
        if b >= 0:
            for i in range(plan.dof[b], plan.dof[b + 1]):
                st.qdd[m.v_index[i]] = 0.0


@kernel
def waiting_sum(plan: Any, st: Any, fr: Any, clock: Any) -> float:
    """The sum over waiting clusters, without the cancellation of a running one."""
    total = 0.0
    for k in range(fr.count[WAITING]):
        if fr.forced[fr.node[k]] == 1:
            s = fr.slot[k]
            A = total_acceleration(plan, st, fr.node[k], get6(fr.force, s), _get_far(fr.force, s))
            total += A * _age(st, fr.node[k], clock) ** 2
        else:
            total += fr.key[k]
    return total


@kernel
def is_met(plan: Any, st: Any, fr: Any, rule: int, limit: float, clock: Any) -> bool:
    """Whether the waiting clusters may be left closed; `limit` is the square of the error allowed."""
    if fr.count[WAITING] == 0:
        return True
    if fr.key[0] == np.inf:
        return False
    if rule == ABSOLUTE_JOINT:
        return fr.key[0] <= limit
    if rule == RELATIVE_JOINT:
        return fr.key[0] <= limit * fr.value[LARGEST]
    if rule == RELATIVE_LINKAGE:
        limit *= fr.value[ROOT]
    if fr.value[SUM] > limit:
        return False
    fr.value[SUM] = waiting_sum(plan, st, fr, clock)
    return fr.value[SUM] <= limit


@kernel
def refine(m: Any, plan: Any, st: Any, fr: Any, rule: int, limit: float, budget: int, clock: Any) -> int:
    """Open clusters, largest first, until the rule is met, `budget` clusters are opened, or memory must grow."""
    while not is_met(plan, st, fr, rule, limit, clock):
        if budget == 0:
            return SPENT
        if fr.count[WAITING] + 2 >= len(fr.key) or fr.count[DONE] + 2 >= len(fr.done):
            return FULL
        budget -= 1
        n, slot, key = fr.node[0], fr.slot[0], fr.key[0]
        f1, f2 = get6(fr.force, slot), _get_far(fr.force, slot)
        if key == np.inf:
            key = total_acceleration(plan, st, n, f1, f2) * _age(st, n, clock) ** 2
        fr.value[SUM] -= key
        _pop(fr)
        fr.spare[fr.count[SPARE]] = slot
        fr.count[SPARE] += 1
        square = joint_acceleration(m, plan, st, n, f1, f2)
        fr.value[LARGEST] = max(fr.value[LARGEST], square)
        fr.done[fr.count[DONE]] = n
        fr.count[DONE] += 1
        a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
        if plan.left[n] >= 0:
            _push(plan, st, fr, plan.left[n], a1, a2, clock)
        if plan.right[n] >= 0:
            _push(plan, st, fr, plan.right[n], c1, c2, clock)
    return MET


# Motion and lazy update


@kernel
def move_opened(m: Any, plan: Any, st: Any, fr: Any, clock: Any) -> None:
    """Move the opened joints; with catching up, by all the time since they moved last."""
    now = clock[0] + clock[1]
    for k in range(fr.count[DONE]):
        n = fr.done[k]
        b = plan.body[n]
        if b >= 0:
            advance_body(m, plan, st, b, clock[1] if clock[2] == 0.0 else now - st.last_move[n])
            place_body(m, plan, st, b)
    for k in range(fr.count[DONE] - 1, -1, -1):
        n = fr.done[k]
        refresh_cross(plan, st, n)
        fr.tier[n] = 2
        if clock[2] != 0.0:
            st.last_move[n] = now
            oldest = now
            if plan.left[n] >= 0:
                oldest = min(oldest, st.oldest[plan.left[n]])
            if plan.right[n] >= 0:
                oldest = min(oldest, st.oldest[plan.right[n]])
            st.oldest[n] = oldest


@kernel
def mark(plan: Any, fr: Any, n: int) -> None:
    """Node n and all above it need an update."""
    while n >= 0 and fr.tier[n] == 0:
        fr.tier[n] = 1
        n = plan.up[n]


@kernel
def mark_loads(plan: Any, fr: Any, loads: Any) -> None:
    """Bodies with forces in the world's frame turn under them: their leaves change with every motion."""
    for k in range(len(loads.body)):
        if loads.first[k + 1] > loads.first[k]:
            mark(plan, fr, plan.leaf_up[plan.host[loads.body[k]]])


@kernel
def visit_marked(plan: Any, st: Any, fr: Any, loads: Any) -> int:
    """List the marked nodes, parents first, and turn world forces into body frames on the way. Returns their number."""
    root, count = len(plan.left) - 1, 0
    if fr.tier[root] == 0:
        return 0
    fr.stack[0] = root
    put_pose(fr.pose, 0, (IDENTITY, ZERO3))
    top = 1
    while top > 0:
        top -= 1
        n, pose = fr.stack[top], get_pose(fr.pose, top)
        fr.order[count] = n
        count += 1
        for side in range(2):
            code = plan.left[n] if side == 1 else plan.right[n]
            if code >= 0 and fr.tier[code] == 0:
                continue
            child = pose
            if side == 0:
                child = far_pose(plan, st, n, pose)
            if code >= 0:
                fr.stack[top] = code
                put_pose(fr.pose, top, child)
                top += 1
            elif ~code < len(plan.parent) and loads.slot[plan.last[~code]] >= 0:
                load_body(st.force, loads, loads.slot[plan.last[~code]], child[0])
    return count


@kernel
def equations(m: Any, plan: Any, st: Any, fr: Any, count: int) -> None:
    """Redo the listed nodes, children first, each in full or for its forces only; with count < 0 all nodes, in full.

    1 to 2 us for a node in full.
    """
    whole = count < 0
    for k in range(len(plan.left) if whole else count):
        n = k if whole else fr.order[count - 1 - k]
        if whole or fr.tier[n] == 2:
            full(m, plan, st, n)
            fr.count[FULL_TIER] += 1
        else:
            linear(m, plan, st, n)
            fr.count[LINEAR_TIER] += 1
        fr.tier[n] = 0


@kernel
def conclude(plan: Any, st: Any, fr: Any, clock: Any) -> None:
    """Note how good the solution of this step is, before it is acted upon."""
    left = waiting_sum(plan, st, fr, clock)
    fr.value[CERTIFICATE] += clock[1] * np.sqrt(left)
    fr.value[STEP_SUM], fr.value[STEP_LARGEST], fr.value[STEP_ROOT] = left, fr.value[LARGEST], fr.value[ROOT]
    fr.value[STEP_TOP] = fr.key[0] if fr.count[WAITING] > 0 else 0.0
    fr.count[OPENED] += fr.count[DONE]


@kernel
def body_poses(plan: Any, st: Any, fr: Any, bodies: Any, out: Any) -> None:
    """World poses of some bodies, each by one way down the tree."""
    for k in range(len(bodies)):
        code, top = ~bodies[k], 0
        n = plan.leaf_up[bodies[k]]
        while n >= 0:
            fr.stack[top] = n
            top += 1
            n = plan.up[n]
        pose = (IDENTITY, ZERO3)
        for j in range(top - 1, -1, -1):
            n = fr.stack[j]
            below = fr.stack[j - 1] if j > 0 else code
            if plan.right[n] == below:
                pose = far_pose(plan, st, n, pose)
        put_pose(out, k, pose)


@kernel
def respond(m: Any, plan: Any, st: Any, fr: Any, loads: Any, bodies: Any, out: Any) -> None:
    """Accelerations of some bodies in their own frames, exactly, after forces on them were written into `st.force`.

    Only the ways from these bodies to the root are redone and gone down: O(log n) for each.
    """
    for k in range(len(bodies)):
        mark(plan, fr, plan.leaf_up[bodies[k]])
    count = visit_marked(plan, st, fr, loads)
    for k in range(count - 1, -1, -1):
        linear(m, plan, st, fr.order[k])
    fr.stack[0] = len(plan.left) - 1
    put6(fr.pose, 0, ZERO6)
    _put_far(fr.pose, 0, ZERO6)
    top = 1
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), _get_far(fr.pose, top)
        a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
        for side in range(2):
            code, near, far = (plan.left[n], a1, a2) if side == 0 else (plan.right[n], c1, c2)
            if code < 0:
                for k in range(len(bodies)):
                    if bodies[k] == ~code:
                        put6(out, k, leaf_acceleration(m, plan, st, ~code, near))
            elif fr.tier[code] > 0:
                fr.stack[top] = code
                put6(fr.pose, top, near)
                _put_far(fr.pose, top, far)
                top += 1
    for k in range(count):
        fr.tier[fr.order[k]] = 0


# One entry, so that the node algebra is compiled once

REBUILD, CHANGED, MARCH, REFINE, SOLVE, NOISE, LEFT, POSES, RESPOND = range(9)


@kernel
def command(
    what: int,
    m: Any,
    plan: Any,
    st: Any,
    fr: Any,
    loads: Any,
    clock: Any,
    rule: int,
    limit: float,
    number: Any,
    out: Any,
) -> float:
    """Do one thing with the tree.

    REBUILD: everything anew from q. CHANGED: forces or torques were changed below the nodes `number`. MARCH: number[1] time steps
    that open at most number[0] clusters each; returns how many are left when one could not be finished. These three leave a
    front newly begun. REFINE: go on opening at most number[0] clusters; returns why it ended. SOLVE: all accelerations. NOISE: of total
    accelerations. LEFT: their sum over waiting clusters. POSES, RESPOND: poses or accelerations of the bodies `number`, into `out`.
    """
    if what == REFINE:
        return float(refine(m, plan, st, fr, rule, limit, number[0], clock))
    if what == SOLVE:
        return down_all(m, plan, st, fr)
    if what == NOISE:
        return noise(m, plan, st, fr, out[0], out[1])
    if what == LEFT:
        return waiting_sum(plan, st, fr, clock)
    if what == POSES:
        body_poses(plan, st, fr, number, out)
        return 0.0
    if what == RESPOND:
        respond(m, plan, st, fr, loads, number, out)
        return 0.0
    steps = number[1] if what == MARCH else 1
    while steps > 0:
        if what == MARCH:
            if refine(m, plan, st, fr, rule, limit, number[0], clock) != MET:
                return float(steps)
            conclude(plan, st, fr, clock)
            move_opened(m, plan, st, fr, clock)
            mark_loads(plan, fr, loads)
            clock[0] += clock[1]
        elif what == CHANGED:
            for k in range(len(number)):
                mark(plan, fr, number[k])
        else:
            place_all(m, plan, st)
            for k in range(len(loads.body)):
                mark(plan, fr, plan.leaf_up[plan.host[loads.body[k]]])
        count = visit_marked(plan, st, fr, loads)
        equations(m, plan, st, fr, -1 if what == REBUILD else count)
        forget(m, plan, st, fr)
        begin(plan, st, fr, clock)
        steps -= 1
    return 0.0
