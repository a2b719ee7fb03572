"""Passes over the whole assembly tree: placements, the exact down pass, the noise of total accelerations, poses."""

from __future__ import annotations

from bough.adaptive.node import (
    IDENTITY,
    ZERO3,
    ZERO6,
    Blueprint,
    State,
    far_pose,
    hand_down,
    joint_acceleration,
    joint_force,
    joint_square,
    place_body,
    put_pose,
    refresh_cross,
    total_acceleration,
)
from bough.adaptive.passes.front import Front, get_far, stack_up
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import get6, put6
from bough.types import Force, Rows, Scalar

COARSE = 1.0 / 16.0


@loop_kernel
def place_all(m: Mechanism, plan: Blueprint, st: State) -> None:
    """Placements and cross-transforms of everything from q."""
    for b in range(len(plan.parent)):
        place_body(m, plan, st, b)
    for n in range(len(plan.left)):
        refresh_cross(plan, st, n)


@loop_kernel
def push_children(plan: Blueprint, st: State, fr: Front, n: int, f1: Force, f2: Force, top: int) -> int:
    """Put the inner children of n with their forces on the stack of an exact down pass."""
    a1, a2, c1, c2 = hand_down(plan, st, n, f1, f2)
    if plan.right[n] >= 0:
        top = stack_up(fr, top, plan.right[n], c1, c2)
    if plan.left[n] >= 0:
        top = stack_up(fr, top, plan.left[n], a1, a2)
    return top


@loop_kernel
def down_all(m: Mechanism, plan: Blueprint, st: State, fr: Front) -> Scalar:
    """All joint accelerations, exactly; returns the sum of their weighted squares."""
    top, total = stack_up(fr, 0, len(plan.left) - 1, ZERO6, ZERO6), 0.0
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), get_far(fr.pose, top)
        total += joint_acceleration(m, plan, st, n, f1, f2)
        top = push_children(plan, st, fr, n, f1, f2, top)
    return total


@loop_kernel
def noise(
    m: Mechanism, plan: Blueprint, st: State, fr: Front, predicted: Rows, actual: Rows, truth: Rows, found: Rows
) -> Scalar:
    """How wrong the tree is beside the true accelerations `truth` (nv,), which become the errors of the tree's.

    found: the root's total acceleration; the largest square of a joint's; the largest total acceleration that is wrong
    by more than COARSE, below which a bound means nothing; the largest sum of those over clusters that may be closed
    together; the largest square of a joint's error; the sum of these; the largest error of a total acceleration.
    """
    top = stack_up(fr, 0, len(plan.left) - 1, ZERO6, ZERO6)
    while top > 0:
        top -= 1
        n, f1, f2 = fr.stack[top], get6(fr.pose, top), get_far(fr.pose, top)
        predicted[n] = total_acceleration(plan, st, n, f1, f2)
        joint_acceleration(m, plan, st, n, f1, f2)
        b = plan.body[n]
        actual[n] = joint_square(m, plan, st, b, truth)
        if b >= 0:
            for k in range(plan.dof[b], plan.dof[b + 1]):
                truth[m.v_index[k]] = st.qdd[m.v_index[k]] - truth[m.v_index[k]]
        wrong = joint_square(m, plan, st, b, truth)
        found[1], found[4] = max(found[1], actual[n]), max(found[4], wrong)
        found[5] += wrong
        top = push_children(plan, st, fr, n, f1, f2, top)
    for n in range(len(plan.left)):
        hidden = 0.0
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
    return 0.0


@kernel
def body_poses(plan: Blueprint, st: State, fr: Front, bodies: Rows, out: Rows) -> None:
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


@loop_kernel
def rigid_groups(plan: Blueprint, st: State, since: float, group: Rows) -> None:
    """By body: the one with which it has moved as one since a step, the first on the way to the ground whose joint has
    moved; -1 with the ground."""
    for b in range(len(plan.parent)):
        p = plan.parent[b]
        if st.stamp[plan.node_of[b]] > since:
            group[b] = b
        else:
            group[b] = group[p] if p >= 0 else -1


@loop_kernel
def transmit(plan: Blueprint, st: State, fr: Front, bodies: Rows, out: Rows) -> None:
    """Forces on some bodies through their joints, in their frames, each by one way down the tree."""
    for k in range(len(bodies)):
        n, top = plan.node_of[bodies[k]], 0
        while n >= 0:
            fr.stack[top] = n
            top += 1
            n = plan.up[n]
        f1, f2 = ZERO6, ZERO6
        for j in range(top - 1, 0, -1):
            a1, a2, c1, c2 = hand_down(plan, st, fr.stack[j], f1, f2)
            if plan.right[fr.stack[j]] == fr.stack[j - 1]:
                f1, f2 = c1, c2
            else:
                f1, f2 = a1, a2
        put6(out, k, joint_force(plan, st, fr.stack[0], f1, f2))
