"""Two entries to all passes over an assembly tree: what every step needs, and questions; each is compiled once."""

from __future__ import annotations

from typing import NamedTuple

from bough.adaptive.node import Blueprint, Springs, State
from bough.adaptive.passes.front import MET, REFUSED, Front, begin, conclude, forget, refine, waiting_sum
from bough.adaptive.passes.lazy import (
    equations,
    follow,
    mark,
    mark_loads,
    move_opened,
    place_opened,
    respond,
    turns_too_far,
    visit_marked,
)
from bough.adaptive.passes.loads import Loads
from bough.adaptive.passes.whole import body_poses, down_all, noise, place_all, transmit
from bough.compile.kernel import loop_kernel
from bough.joints import Mechanism
from bough.types import Rows, Scalar

REBUILD, CHANGED, MARCH, FOLLOW, REFINE, SOLVE, NOISE, LEFT, POSES, RESPOND, PLACE, TRANSMIT = range(12)


class Order(NamedTuple):
    """What to do, and with what: see `command`."""

    what: int
    over: int  # what the error measure goes over
    limits: Rows  # the square of the error allowed is limits[0] + limits[1] sum of squares + limits[2] largest square
    turn: float  # the largest angle by which a step may turn a joint
    number: Rows  # (k,) budget and steps, or nodes, or bodies
    out: Rows  # (k, 12) poses or accelerations, or working space
    keeps: int  # what clusters keep beyond their equations: TOTAL, RIGID


@loop_kernel
def command(
    m: Mechanism, plan: Blueprint, st: State, fr: Front, loads: Loads, clock: Rows, order: Order, p: Springs
) -> Scalar:
    """Do one thing with the tree.

    REBUILD: everything anew from q. CHANGED: forces or torques were changed below the nodes `number`. MARCH: number[1]
    time steps that open at most number[0] clusters each; returns how many are left when one could not be finished, or
    would turn a joint by more than `turn` (then REFUSED is 1). FOLLOW: the opened joints have moved, too. These leave a
    front newly begun. REFINE: go on opening at most number[0] clusters; returns why it ended.
    """
    what, over, limits, number = order.what, order.over, order.limits, order.number
    if what == REFINE:
        return float(refine(m, plan, st, fr, over, limits, number[0], clock))
    steps = number[1] if what == MARCH else 1
    while steps > 0:
        if what == MARCH:
            if refine(m, plan, st, fr, over, limits, number[0], clock) != MET:
                return float(steps)
            if turns_too_far(m, plan, st, fr, clock, order.turn):
                fr.count[REFUSED] = 1
                return float(steps)
            conclude(plan, st, fr, clock)
            clock[3] += 1.0
            move_opened(m, plan, st, fr, clock, order.turn, p)
            mark_loads(plan, fr, loads)
            clock[0] += clock[1]
        elif what == FOLLOW:
            follow(m, plan, st, fr)
            mark_loads(plan, fr, loads)
        if what in (CHANGED, FOLLOW):
            for k in range(len(number)):
                mark(plan, fr, number[k])
        if what == REBUILD:
            place_all(m, plan, st)
            for k in range(len(loads.body)):
                mark(plan, fr, plan.leaf_up[plan.host[loads.body[k]]])
        count = visit_marked(plan, st, fr, loads)
        equations(m, plan, st, fr, -1 if what == REBUILD else count, order.keeps)
        forget(m, plan, st, fr)
        begin(plan, st, fr, clock)
        steps -= 1
    return 0.0


@loop_kernel
def query(m: Mechanism, plan: Blueprint, st: State, fr: Front, loads: Loads, clock: Rows, order: Order) -> Scalar:
    """Answer one question about the tree.

    SOLVE: all accelerations. NOISE: how wrong the tree is. LEFT: the sum over waiting clusters. POSES, RESPOND,
    TRANSMIT: poses, accelerations or joint forces of the bodies `number`, into `out`. PLACE: where the opened clusters
    are, and nothing else.
    """
    what, number, out = order.what, order.number, order.out
    if what == SOLVE:
        return down_all(m, plan, st, fr)
    if what == NOISE:
        return noise(m, plan, st, fr, out[0], out[1], out[2], out[3])
    if what == LEFT:
        return waiting_sum(plan, st, fr, clock)
    if what == POSES:
        body_poses(plan, st, fr, number, out)
        return 0.0
    if what == PLACE:
        place_opened(m, plan, st, fr)
        return 0.0
    if what == TRANSMIT:
        transmit(plan, st, fr, number, out)
        return 0.0
    if what == RESPOND:
        respond(m, plan, st, fr, loads, number, out)
    return 0.0
