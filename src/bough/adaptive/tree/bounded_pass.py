"""The bounded down pass (Redon & Lin 2005, section 4): open the cluster with the largest total acceleration first.

It stops by the rule of an error measure or when a budget is spent, and can be taken up again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.tree.algebra import hand_down, joint_acceleration, total_acceleration
from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.layout import ETA, KAPPA, Clock, Keeps, Layout, State
from bough.adaptive.tree.rigid import released_energy
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import get6, put6
from bough.types import Force, Rows, Scalar

# What an error measure goes over: the sum over all joints, or the largest of them
OVER_LINKAGE, OVER_JOINT = range(2)
# Why a bounded pass ended
MET, SPENT = range(2)
# What an update must do at a node, added up: all equations, since its joint moved; new forces, since they may turn
MOVED, LOADED = 1, 2
# Places in Queue.count and Queue.value
WAITING, DONE, JOINTS, FULL_TIER, LINEAR_TIER, OPENED, REFUSED = range(7)
SUM, LARGEST, ROOT, CERTIFICATE, STEP_SUM, STEP_TOP, STEP_LARGEST, STEP_ROOT = range(8)


class Queue(NamedTuple):
    """The state of a bounded down pass: a heap of waiting clusters, and those active so far, in order."""

    key: Rows  # (nodes,) priority: total acceleration by the age of the oldest pending motion, or energy
    node: Rows  # (nodes,)
    force: Rows  # (nodes, 12) on the handles of waiting clusters
    done: Rows  # (nodes,) active nodes
    order: Rows  # (nodes,) nodes of the last update, parents first
    count: Rows  # (7,)
    value: Rows  # (8,)
    tier: Rows  # (nodes,) what the next update must do: MOVED, LOADED, both or nothing
    forced: Rows  # (nodes,) 1 where a floating base or a prescribed joint lies below: activated always
    stack: Rows  # (depth + 3,)
    pose: Rows  # (depth + 3, 12)


def make_queue(nodes: int, depth: int, forced: Any) -> Queue:
    """An empty queue. Memory that no pass reaches is never touched."""
    node, done, order = np.zeros((3, nodes), np.int64)
    return Queue(
        np.zeros(nodes), node, np.zeros((nodes, 12)), done, order, np.zeros(7, np.int64), np.zeros(8),
        np.zeros(nodes, np.int8), forced, np.zeros(depth + 3, np.int64), np.zeros((depth + 3, 12)),
    )  # fmt: skip


@kernel
def put_pair(a: Rows, i: int, f1: Force, f2: Force) -> None:
    """Forces on both handles into row i of a (k, 12)."""
    put6(a, i, f1)
    a[i, 6], a[i, 7], a[i, 8], a[i, 9], a[i, 10], a[i, 11] = f2[0], f2[1], f2[2], f2[3], f2[4], f2[5]


@kernel
def get_pair(a: Rows, i: int) -> tuple[Force, Force]:
    return get6(a, i), (a[i, 6], a[i, 7], a[i, 8], a[i, 9], a[i, 10], a[i, 11])


@loop_kernel
def _age(st: State, n: int, clock: Clock) -> Scalar:
    """The number of steps for which the oldest motion in the cluster is pending; 1 without catching up."""
    if clock.catches_up[0] == 0.0:
        return 1.0
    return (clock.time[0] + clock.h[0] - st.oldest[n]) / clock.h[0]


@loop_kernel
def importance(plan: Layout, st: State, n: int, f1: Force, f2: Force, clock: Clock, keeps: Keeps) -> Scalar:
    """The importance of cluster n: what it omits while it is inactive."""
    if len(keeps.total) > 0:
        return total_acceleration(plan, st, n, f1, f2) * _age(st, n, clock) ** 2
    if len(keeps.rigid) > 0:
        return released_energy(plan, st, n, f1, f2)
    return 0.0


@loop_kernel
def _push(plan: Layout, st: State, pq: Queue, n: int, f1: Force, f2: Force, clock: Clock, keeps: Keeps) -> None:
    """Put a cluster on the heap, to wait."""
    key = importance(plan, st, n, f1, f2, clock, keeps)
    pq.value[SUM] += key
    if pq.forced[n] == 1:
        key = np.inf
    put_pair(pq.force, n, f1, f2)
    i = pq.count[WAITING]
    pq.count[WAITING] = i + 1
    while i > 0 and pq.key[(i - 1) // 2] < key:
        above = (i - 1) // 2
        pq.key[i], pq.node[i] = pq.key[above], pq.node[above]
        i = above
    pq.key[i], pq.node[i] = key, n


@loop_kernel
def _pop(pq: Queue) -> None:
    """Take the first cluster off the heap."""
    last = pq.count[WAITING] - 1
    pq.count[WAITING] = last
    key, node = pq.key[last], pq.node[last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and pq.key[child + 1] > pq.key[child]:
            child += 1
        if pq.key[child] <= key:
            break
        pq.key[i], pq.node[i] = pq.key[child], pq.node[child]
        i = child
    pq.key[i], pq.node[i] = key, node


@loop_kernel
def begin(plan: Layout, st: State, pq: Queue, clock: Clock, keeps: Keeps) -> None:
    """Start a bounded pass: nothing is activated, the root waits. Accelerations found last are forgotten."""
    pq.count[:FULL_TIER] = 0
    pq.value[:CERTIFICATE] = 0.0
    root = len(plan.left) - 1
    _push(plan, st, pq, root, ZERO6, ZERO6, clock, keeps)
    pq.value[ROOT] = max(st.record[plan.offset[root] + (ETA if len(keeps.total) > 0 else KAPPA)], 0.0)


@loop_kernel
def forget(m: Mechanism, plan: Layout, st: State, pq: Queue) -> None:
    """Zero the accelerations of all active joints."""
    for k in range(pq.count[DONE]):
        b = plan.body[pq.done[k]]
        if b >= 0:
            for i in range(plan.dof[b], plan.dof[b + 1]):
                st.qdd[m.v_index[i]] = 0.0


@loop_kernel
def waiting_sum(plan: Layout, st: State, pq: Queue, clock: Clock, keeps: Keeps) -> Scalar:
    """The sum over waiting clusters, without the cancellation of a running one."""
    total = 0.0
    for k in range(pq.count[WAITING]):
        n = pq.node[k]
        if pq.forced[n] == 1:
            f1, f2 = get_pair(pq.force, n)
            total += importance(plan, st, n, f1, f2, clock, keeps)
        else:
            total += pq.key[k]
    return total


@loop_kernel
def is_met(plan: Layout, st: State, pq: Queue, over: int, limits: Rows, clock: Clock, keeps: Keeps) -> bool:
    """Whether the waiting clusters may be inactive; the square of the error allowed is made of `limits`."""
    if pq.count[WAITING] == 0:
        return True
    if pq.key[0] == np.inf:
        return False
    limit = limits[0] + limits[1] * pq.value[ROOT] + limits[2] * pq.value[LARGEST]
    if over == OVER_JOINT:
        return pq.key[0] <= limit
    if pq.value[SUM] > limit:
        return False
    pq.value[SUM] = waiting_sum(plan, st, pq, clock, keeps)
    return pq.value[SUM] <= limit


@loop_kernel
def _activate_first(m: Mechanism, plan: Layout, st: State, pq: Queue, clock: Clock, keeps: Keeps) -> Scalar:
    """Activate the cluster that waits first; returns the weighted square of its joint's acceleration."""
    n, key = pq.node[0], pq.key[0]
    f1, f2 = get_pair(pq.force, n)
    if key == np.inf:
        key = importance(plan, st, n, f1, f2, clock, keeps)
    pq.value[SUM] -= key
    _pop(pq)
    square = joint_acceleration(m, plan, st, n, f1, f2)
    pq.value[LARGEST] = max(pq.value[LARGEST], square)
    pq.done[pq.count[DONE]] = n
    pq.count[DONE] += 1
    pq.count[JOINTS] += plan.body[n] >= 0
    a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
    if plan.left[n] >= 0:
        _push(plan, st, pq, plan.left[n], a1, a2, clock, keeps)
    if plan.right[n] >= 0:
        _push(plan, st, pq, plan.right[n], c1, c2, clock, keeps)
    return square


@loop_kernel
def refine(
    m: Mechanism,
    plan: Layout,
    st: State,
    pq: Queue,
    over: int,
    limits: Rows,
    budget: int,
    clock: Clock,
    keeps: Keeps,
) -> int:
    """Activate clusters, largest first, until the rule is met or `budget` clusters are activated."""
    while not is_met(plan, st, pq, over, limits, clock, keeps):
        if budget == 0:
            return SPENT
        budget -= 1
        _activate_first(m, plan, st, pq, clock, keeps)
    return MET


@loop_kernel
def conclude(plan: Layout, st: State, pq: Queue, clock: Clock, keeps: Keeps) -> None:
    """Note how good the solution of this step is, before it is acted upon."""
    left = waiting_sum(plan, st, pq, clock, keeps)
    pq.value[CERTIFICATE] += clock.h[0] * np.sqrt(left)
    pq.value[STEP_SUM], pq.value[STEP_LARGEST], pq.value[STEP_ROOT] = left, pq.value[LARGEST], pq.value[ROOT]
    pq.value[STEP_TOP] = pq.key[0] if pq.count[WAITING] > 0 else 0.0
    pq.count[OPENED] += pq.count[JOINTS]
