"""Modes of joints with dry friction and limits in a step, guessed and corrected by an active set.

A locked degree of freedom has a known rate: zero where it sticks, that which leads exactly to the limit in the next
step where it is at its stop (inelastically). What a loop moves it all the same is taken back once no guess is wrong.
A limit that would have to pull lets go. A joint that would need more than its friction slips, and friction then
opposes the slip; a joint whose slip would reverse within the step sticks instead.
"""

from __future__ import annotations

from bough.adaptive.engines.loops import LoopRows, place_loops
from bough.adaptive.engines.sweeps import (
    JointLaws,
    JointState,
    LinkageArrays,
    SweepWork,
    inward,
    outward_accelerations,
    velocities,
)
from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.layout import ZERO3, get_pose
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import Mechanism, along, articulated_freedom
from bough.spatial import (
    add6,
    articulated,
    cross,
    cross_motion,
    dot6,
    get6,
    get10,
    get21,
    join,
    motion_in,
    motion_out,
    put6,
    put21,
    scale6,
    sub6,
)
from bough.types import Motion, Rows, Scalar

# Loops of a moving linkage: constraint forces and impulses by the elimination of quasi-statics (`sweeps.inward`).
#
# A linkage at rest and without weight answers forces and impulses alike: the sweep finds the forces lam of loops with
# J (x + M^-1 J' lam) = -gap, whatever x is: velocities of a step, over its length, with the gaps that it is to close,
# or accelerations with what bends the loops, J qdd + J' v.


@loop_kernel
def respond(m: Mechanism, s: JointState, w: SweepWork, lp: LoopRows) -> None:
    """s.response: what torques w.tau and the forces of loops, w.loop, do to a linkage at rest. m has no gravity."""
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
        put6(w.pA, i, ZERO6)
    for c in range(len(lp.body)):
        for side in range(2):
            if lp.body[c, side] >= 0:
                put6(w.loop, lp.body[c, side], ZERO6)
    inward(m, w.tau, w, lp, ())
    outward_accelerations(m, w.loop, s.response, w, lp)


@kernel
def _of(w: SweepWork, i: int, ground: Motion) -> Motion:
    return get6(w.a, i) if i >= 0 else ground


@kernel
def add_rates(lp: LoopRows, w: SweepWork, ground: Motion, share: Scalar) -> None:
    """lp.given: a share of how fast, or with what acceleration, rows open when bodies move by w.a."""
    for r in range(len(lp.loop)):
        for side in range(2):
            a = _of(w, lp.body[lp.loop[r], side], ground)
            lp.given[r] += share * dot6(get6(lp.wrench, 2 * r + side), a)


@kernel
def _turned(v: Motion) -> Motion:
    """The acceleration of a body's origin less its spatial acceleration."""
    return join(ZERO3, cross((v[0], v[1], v[2]), (v[3], v[4], v[5])))


@loop_kernel
def bend(x: LinkageArrays) -> None:
    """lp.given: J' v, less what accelerations of origins have beyond spatial ones."""
    w, lp = x.w, x.lp
    velocities(x.m, x.s, w)
    place_loops(x.m, w.X, lp)
    for r in range(len(lp.loop)):
        c = lp.loop[r]
        a, b = _of(w, lp.body[c, 0], ZERO6), _of(w, lp.body[c, 1], ZERO6)
        A, B = get_pose(lp.pose, 2 * c), get_pose(lp.pose, 2 * c + 1)
        met = cross_motion(b, motion_out(B[0], B[1], motion_in(A[0], A[1], a)))
        lp.given[r] = dot6(get6(lp.wrench, 2 * r + 1), sub6(met, _turned(b)))
        lp.given[r] -= dot6(get6(lp.wrench, 2 * r), _turned(a))


@loop_kernel
def loop_forces(lp: LoopRows, out: Rows) -> None:
    """out (2 c, 6): forces on both bodies of each loop, in the frames of these bodies."""
    out[:, :] = 0.0
    for r in range(len(lp.loop)):
        for side in range(2):
            k = 2 * lp.loop[r] + side
            put6(out, k, add6(get6(out, k), scale6(lp.lam[r], get6(lp.wrench, 2 * r + side))))


# modes of a degree of freedom; locked ones from STUCK on
RUNS, FORWARD, BACKWARD, STUCK, LOW, HIGH, PRESCRIBED = range(7)
STIFF, HEAVY, GROWTH = 1e7, 1e9, 100.0  # inertia of a locked degree of freedom beside forces of loops, by its own
HELD = 1e-8  # of the rate to be stopped, that a locked degree of freedom may keep
AT_ONCE, SINGLY = range(2)  # how guesses are corrected
TRIES, LEADS = 64, 4  # in a step: of guesses, and times that locked joints that loops move are led back
SLACK = 1e-6  # of friction, by which joints that are changed one by one may miss their law
NEAR = 1e-12  # rad or m from a limit: there
ROUNDING = 1e-15  # m or rad: gaps that are none
LETS_GO = 3  # times that friction or a limit lets go in a step, and again when joints are changed singly


@loop_kernel
def begin_stops(w: SweepWork) -> None:
    """Take note of what friction and stops did before."""
    for k in range(len(w.mode)):
        w.previous[k], w.releases[k], w.tau[k] = -w.stop_torque[k], 0, 0.0


@loop_kernel
def guess_modes(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float) -> None:
    """Joints at a limit that stopped them before are stopped again; those with friction stick where it can stop them by
    itself, or else slip. A prescribed motion is no guess; w.rate is the rate after a step with s.qdd."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.mode[k] = RUNS
            w.weight[k] = along(m, k, articulated_freedom(m, k, get21(w.IA, i))) + m.armature[k]
            if e.prescribed[k] == 1:
                w.mode[k], w.mode_rate[k] = PRESCRIBED, w.rate[k] + h * (e.led[k] - s.qdd[m.v_index[k]])
            if e.friction[k] > 0.0:
                w.mode[k], w.mode_rate[k] = STUCK, 0.0
                t = w.stop_torque[k] - w.rate[k] * w.weight[k] / h
                if abs(t) > e.friction[k]:
                    w.mode[k] = BACKWARD if t > 0.0 else FORWARD
            if e.place[k] >= 0:
                x, (least, most) = s.q[e.place[k]], rates_to_limits(s, e, k, h)
                if w.stop_torque[k] > 0.0 and x <= e.lower[k] + NEAR:
                    w.mode[k], w.mode_rate[k] = LOW, least
                elif w.stop_torque[k] < 0.0 and x >= e.upper[k] - NEAR:
                    w.mode[k], w.mode_rate[k] = HIGH, most


@loop_kernel
def unlock(w: SweepWork) -> None:
    """Unlock all joints but those whose motion is prescribed."""
    for k in range(len(w.mode)):
        w.lock[k] *= w.mode[k] == PRESCRIBED


@loop_kernel
def impose_modes(e: JointLaws, w: SweepWork, h: float) -> None:
    """Torques and locks for the present guess; joints that are locked already keep their acceleration."""
    for k in range(len(w.mode)):
        w.tau[k] = w.previous[k]
        if w.mode[k] == FORWARD:
            w.tau[k] -= e.friction[k]
        elif w.mode[k] == BACKWARD:
            w.tau[k] += e.friction[k]
        elif w.mode[k] >= STUCK and w.lock[k] == 0:
            w.lock[k], w.lead[k], w.firm[k] = 1, (w.mode_rate[k] - w.rate[k]) / h, STIFF


@loop_kernel
def _stop_torque(mode: int, friction: Scalar, t: Scalar) -> Scalar:
    """The torque of friction or a limit in a mode, where t would lock the degree of freedom."""
    if mode == FORWARD:
        return -friction
    if mode == BACKWARD:
        return friction
    if mode == STUCK:
        return min(max(t, -friction), friction)
    if mode == LOW:
        return max(t, 0.0)
    if mode == HIGH:
        return min(t, 0.0)
    return t if mode == PRESCRIBED else 0.0


@loop_kernel
def settle_modes(x: LinkageArrays, h: float, most: int) -> int:
    """s.response with the modes guessed, corrected in at most so many tries; returns as `correct_modes`.

    Once no guess is wrong, locked joints that loops have moved are led back, those locked last as those before.
    """
    m, s, e, w = x.still, x.s, x.e, x.w
    how, leads, wrong = AT_ONCE, 0, 0
    for _ in range(most):
        impose_modes(e, w, h)
        respond(m, s, w, x.lp)
        wrong = correct_modes(m, s, e, w, h, how)
        if wrong < 0 and how == AT_ONCE:
            how = SINGLY
        elif wrong <= 0:
            if leads == LEADS or lead_back(m, s, w, h) == 0:
                break
            leads += 1
    return wrong


@loop_kernel
def correct_modes(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float, how: int) -> int:
    """Change wrong guesses; returns their number.

    `SINGLY` the first wrong one is changed and no other (Murty 1974). No joint lets go too often, as those do that
    rounding decides: with a minus, how many should.
    """
    wrong, left, slack = 0, 0, SLACK if how == SINGLY else 0.0
    for k in range(len(m.axis)):
        v, t = w.rate[k] + h * s.response[m.v_index[k]], w.hold[k]
        w.stop_torque[k] = _stop_torque(w.mode[k], e.friction[k], t)
        to, rate = next_mode(s, e, w, h, k, v, t, slack, 0.0)
        if to == w.mode[k]:
            continue
        lets_go = w.mode[k] >= STUCK and to <= STUCK
        if (how == SINGLY and wrong > 0) or (lets_go and w.releases[k] >= LETS_GO * (how + 1)):
            left += 1
            continue
        w.mode[k], w.mode_rate[k], w.lock[k] = to, rate, 0
        w.releases[k] += int(lets_go)
        wrong += 1
    return wrong if wrong > 0 else -left


@loop_kernel
def lead_back(m: Mechanism, s: JointState, w: SweepWork, h: float) -> int:
    """Take back what loops have moved locked degrees of freedom; returns how many by enough to matter."""
    count = 0
    for k in range(len(m.axis)):
        missing = w.mode_rate[k] - w.rate[k] - h * s.response[m.v_index[k]]
        most = max(ROUNDING / h, HELD * abs(w.mode_rate[k] - w.rate[k]))
        if w.lock[k] == 1 and abs(missing) > most:
            w.lead[k], w.firm[k] = w.lead[k] + missing / h, min(GROWTH * w.firm[k], HEAVY)
            count += 1
    return count


@loop_kernel
def rates_to_limits(s: JointState, e: JointLaws, k: int, h: float) -> tuple[Scalar, Scalar]:
    """The rates that lead to the limits in a step of h; none that would lead back from beyond one."""
    if e.place[k] < 0:
        return 0.0, 0.0
    x = s.q[e.place[k]]
    return min((e.lower[k] - x) / h, 0.0), max((e.upper[k] - x) / h, 0.0)


@loop_kernel
def next_mode(
    s: JointState, e: JointLaws, w: SweepWork, h: float, k: int, v: Scalar, t: Scalar, slack: Scalar, speed: Scalar
) -> tuple[int, Scalar]:
    """The mode that degree of freedom k should have, and its rate, if it moves at rate v and t would lock it.

    A torque may miss its law by the share `slack`, a rate by `speed`.
    """
    mode, pull = w.mode[k], max(slack * abs(w.previous[k]), speed * w.weight[k] / h)
    if mode < STUCK and e.place[k] >= 0:
        least, most = rates_to_limits(s, e, k, h)
        if v < least - speed:
            return LOW, least
        if v > most + speed:
            return HIGH, most
    elif (mode == LOW and t < -pull) or (mode == HIGH and t > pull):
        return (STUCK if e.friction[k] > 0.0 else RUNS), 0.0  # a limit does not pull
    if (mode == FORWARD and v < -speed) or (mode == BACKWARD and v > speed):
        return STUCK, 0.0
    if mode == STUCK and abs(t) > (1.0 + slack) * e.friction[k]:
        return (BACKWARD if t > 0.0 else FORWARD), 0.0
    return mode, w.mode_rate[k]
