"""The lazy update (Redon & Lin 2005, section 5): clusters whose joints moved in full, those with new forces linearly.

All others keep their equations, which are in frames of their own bodies and do not know where the world is.
"""

from __future__ import annotations

from bough.adaptive.node import (
    IDENTITY,
    ZERO3,
    ZERO6,
    Blueprint,
    Springs,
    State,
    advance_body,
    far_pose,
    full,
    get_pose,
    hand_down,
    leaf_acceleration,
    linear,
    place_body,
    put_pose,
    refresh_cross,
    spring,
)
from bough.adaptive.passes.front import DONE, FULL_TIER, LINEAR_TIER, LOADED, MOVED, Front, get_far, stack_up
from bough.adaptive.passes.loads import Loads, load_body
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import get6, put6
from bough.types import Rows, Scalar

# Coordinates beyond this (m or rad) are no place of a linkage, and no step leads so far.
FAR = 1e8


@inlined
@loop_kernel
def turning(m: Mechanism, plan: Blueprint, st: State, b: int) -> Scalar:
    """The largest angular acceleration at the joint of body b."""
    fastest = 0.0
    for i in range(plan.dof[b], plan.dof[b + 1]):
        if m.axis[i] <= 2:
            fastest = max(fastest, abs(st.qdd[m.v_index[i]]))
    return fastest


@loop_kernel
def turns_too_far(m: Mechanism, plan: Blueprint, st: State, fr: Front, clock: Rows, turn: float) -> bool:
    """Whether this step would turn an opened joint by more than `turn`, or by what is no number."""
    for k in range(fr.count[DONE]):
        b = plan.body[fr.done[k]]
        if b >= 0:
            for i in range(plan.dof[b], plan.dof[b + 1]):
                x = clock[1] * abs(st.qdd[m.v_index[i]])
                if not (x <= (turn if m.axis[i] <= 2 else FAR)):
                    return True
    return False


@loop_kernel
def place_opened(m: Mechanism, plan: Blueprint, st: State, fr: Front) -> None:
    """Placements and cross-transforms of the opened clusters, the joints of which have moved."""
    for k in range(fr.count[DONE]):
        b = plan.body[fr.done[k]]
        if b >= 0:
            place_body(m, plan, st, b)
    for k in range(fr.count[DONE] - 1, -1, -1):
        refresh_cross(plan, st, fr.done[k])


@loop_kernel
def follow(m: Mechanism, plan: Blueprint, st: State, fr: Front) -> None:
    """The opened joints were moved by another engine: their clusters must be done anew."""
    place_opened(m, plan, st, fr)
    for k in range(fr.count[DONE]):
        fr.tier[fr.done[k]] = MOVED


@loop_kernel
def move_opened(m: Mechanism, plan: Blueprint, st: State, fr: Front, clock: Rows, turn: float, p: Springs) -> None:
    """Move the opened joints; with catching up, by all the time since they moved last, as far as `turn` allows."""
    now = clock[0] + clock[1]
    for k in range(fr.count[DONE]):
        n = fr.done[k]
        b, h = plan.body[n], clock[1]
        st.stamp[n] = clock[3]
        if clock[2] != 0.0:
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
    place_opened(m, plan, st, fr)
    for k in range(fr.count[DONE] - 1, -1, -1):
        n = fr.done[k]
        fr.tier[n] = MOVED
        if clock[2] != 0.0:
            oldest = st.last_move[n]
            if plan.left[n] >= 0:
                oldest = min(oldest, st.oldest[plan.left[n]])
            if plan.right[n] >= 0:
                oldest = min(oldest, st.oldest[plan.right[n]])
            st.oldest[n] = oldest


@inlined
@kernel
def mark(plan: Blueprint, fr: Front, n: int) -> None:
    """Forces may turn below node n: it and all above it need an update, on which poses are carried along."""
    while n >= 0 and fr.tier[n] < LOADED:
        fr.tier[n] += LOADED
        n = plan.up[n]


@kernel
def mark_loads(plan: Blueprint, fr: Front, loads: Loads) -> None:
    """Bodies with forces in the world's frame turn under them: their leaves change with every motion."""
    for k in range(len(loads.body)):
        if loads.along[k] > loads.first[k]:
            mark(plan, fr, plan.leaf_up[plan.host[loads.body[k]]])


@kernel
def visit_marked(plan: Blueprint, st: State, fr: Front, loads: Loads) -> int:
    """List the marked nodes, parents first, and turn world forces into body frames on the way. Returns their number."""
    root, count = len(plan.left) - 1, 0
    if fr.tier[root] == 0:
        return 0
    fr.stack[0] = root
    put_pose(fr.pose, 0, (IDENTITY, ZERO3))
    top = 1
    while top > 0:
        top -= 1
        n = fr.stack[top]
        fr.order[count] = n
        count += 1
        if fr.tier[n] >= LOADED:
            top = _visit_loaded(plan, st, fr, loads, n, top)
            continue
        for side in range(2):
            code = plan.left[n] if side == 1 else plan.right[n]
            if code >= 0 and fr.tier[code] > 0:
                fr.stack[top] = code
                top += 1
    return count


@inlined
@kernel
def _visit_loaded(plan: Blueprint, st: State, fr: Front, loads: Loads, n: int, top: int) -> int:
    """Put the marked children of n with their poses on the stack, which has height `top`, and load its leaves."""
    pose = get_pose(fr.pose, top)
    for side in range(2):
        code, child = (plan.left[n], pose) if side == 1 else (plan.right[n], far_pose(plan, st, n, pose))
        if code >= 0:
            if fr.tier[code] > 0:
                fr.stack[top] = code
                put_pose(fr.pose, top, child)
                top += 1
        elif ~code < len(plan.parent) and loads.slot[plan.last[~code]] >= 0:
            load_body(st.force, loads, loads.slot[plan.last[~code]], child[0])
    return top


@inlined
@loop_kernel
def equations(m: Mechanism, plan: Blueprint, st: State, fr: Front, count: int, keeps: int) -> None:
    """Redo the listed nodes, children first, each in full or for its forces only; with count < 0 all nodes, in full.

    What they keep beyond what divide and conquer needs is up to `keeps`. 1 to 2 us for a node in full.
    """
    whole = count < 0
    for k in range(len(plan.left) if whole else count):
        n = k if whole else fr.order[count - 1 - k]
        if whole or fr.tier[n] % LOADED == MOVED:
            full(m, plan, st, n, keeps)
            fr.count[FULL_TIER] += 1
        else:
            linear(m, plan, st, n, keeps)
            fr.count[LINEAR_TIER] += 1
        fr.tier[n] = 0


@loop_kernel
def respond(m: Mechanism, plan: Blueprint, st: State, fr: Front, loads: Loads, bodies: Rows, out: Rows) -> None:
    """Accelerations of some bodies in their own frames, exactly, after forces on them were written into `st.force`.

    Only the ways from these bodies to the root are redone and gone down: O(log n) for each.
    """
    for k in range(len(bodies)):
        mark(plan, fr, plan.leaf_up[bodies[k]])
    count = visit_marked(plan, st, fr, loads)
    for k in range(count - 1, -1, -1):
        linear(m, plan, st, fr.order[k], 0)
    top = stack_up(fr, 0, len(plan.left) - 1, ZERO6, ZERO6)
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), get_far(fr.pose, top)
        a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
        for side in range(2):
            code, near, far = (plan.left[n], a1, a2) if side == 0 else (plan.right[n], c1, c2)
            if code < 0:
                for k in range(len(bodies)):
                    if bodies[k] == ~code:
                        put6(out, k, leaf_acceleration(m, plan, st, ~code, near))
            elif fr.tier[code] > 0:
                top = stack_up(fr, top, code, near, far)
    for k in range(count):
        fr.tier[fr.order[k]] = 0
