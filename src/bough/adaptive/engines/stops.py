"""Loops, dry friction and limits at the end of a step: the mode of each degree of freedom, by an active set.

A step under all other forces, and the friction and stop torques of the step before, ends with rates that impulses then
change, all at once: those of loops, which are solved for, and those of joints. A locked degree of freedom has a known
rate: zero where it sticks, that which leads exactly to the limit in the next step where it is at its stop
(inelastically). What a loop moves it all the same is taken back in the next try.
A limit that would have to pull lets go. A joint that would need more than its friction slips, and friction then
opposes the slip; a joint whose slip would reverse within the step sticks instead.
Where such guesses end in a contradiction (redundant loops of sticking joints), an interior point decides.
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
    solve,
    velocities,
)
from bough.adaptive.tree.algebra import WELDED
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
from bough.types import Motion, Rows, Scalar, Workspace

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
    inward(m, w.tau, w, lp)
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
def hold_loops(x: LinkageArrays) -> None:
    """s.qdd: accelerations w.a of all bodies, after `bend`, with the loops closed."""
    m, s, g = x.m, x.s, x.m.gravity
    add_rates(x.lp, x.w, join(ZERO3, (-g[0], -g[1], -g[2])), 1.0)
    x.lp.rate[0] = 0.0
    for k in range(len(m.axis)):
        x.w.tau[k] = 0.0
    respond(x.still, s, x.w, x.lp)
    for k in range(len(m.axis)):
        s.qdd[m.v_index[k]] += s.response[m.v_index[k]]


@loop_kernel
def loop_forces(lp: LoopRows, out: Rows) -> None:
    """out (2 c, 6): forces on both bodies of each loop, in the frames of these bodies."""
    out[:, :] = 0.0
    for r in range(len(lp.loop)):
        for side in range(2):
            k = 2 * lp.loop[r] + side
            put6(out, k, add6(get6(out, k), scale6(lp.lam[r], get6(lp.wrench, 2 * r + side))))


RUNS, FORWARD, BACKWARD, STUCK, LOW, HIGH = range(6)  # modes of a degree of freedom; locked ones from STUCK on
STIFF, HEAVY, GROWTH = 1e7, 1e9, 100.0  # inertia of a locked degree of freedom beside forces of loops, by its own
HELD = 1e-8  # of the rate to be stopped, that a locked degree of freedom may keep
SOON, LATER, SINGLY = range(3)  # how guesses are corrected
EARLY = 4  # tries in which locked joints that loops move are led back
SLACK = 1e-6  # of friction, by which joints that are changed one by one may miss their law
NEAR = 1e-12  # rad or m from a limit: there
EASY = 0.5  # share of friction up to which a joint counts as welded
ROUNDING = 1e-15  # m or rad: gaps that are none
MOST = 64  # tries in a step
LETS_GO = 3  # times that friction or a limit lets go in a step, and again when joints are changed singly
FAULT = 1e-6  # of friction, and of the largest rate, by which the last guess may miss the law
PATH, SHORT, INSIDE, LOCKED = 60, 0.1, 0.9, 1e5  # steps of the interior point, and how it goes to the solution
CLOSE, NEARLY, DONE = 1e-5, 1e-8, 1e-18  # of the first products: where it serves, is at rounding, and ends
WIDE, AGREE = 1e-8, 1e-4  # of the largest rate: by which its limits are wider, and its modes may change rates
TINY, FAR = 1e-200, 1e300


@loop_kernel
def begin_stops(w: SweepWork) -> None:
    """Take note of what friction and stops did before."""
    for k in range(len(w.mode)):
        w.previous[k], w.releases[k], w.tau[k] = -w.stop_torque[k], 0, 0.0


@loop_kernel
def guess_modes(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float) -> None:
    """Joints at a limit that stopped them before are stopped again; those with friction stick where it can stop them by
    itself, or else slip."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.mode[k] = RUNS
            w.weight[k] = along(m, k, articulated_freedom(m, k, get21(w.IA, i))) + m.armature[k]
            if e.friction[k] > 0.0:
                w.mode[k], w.mode_rate[k] = STUCK, 0.0
                t = w.stop_torque[k] - w.rate[k] * w.weight[k] / h
                if abs(t) > e.friction[k]:
                    w.mode[k] = BACKWARD if t > 0.0 else FORWARD
            if e.place[k] >= 0:
                x = s.q[e.place[k]]
                if w.stop_torque[k] > 0.0 and x <= e.lower[k] + NEAR:
                    w.mode[k], w.mode_rate[k] = LOW, min((e.lower[k] - x) / h, 0.0)
                elif w.stop_torque[k] < 0.0 and x >= e.upper[k] - NEAR:
                    w.mode[k], w.mode_rate[k] = HIGH, max((e.upper[k] - x) / h, 0.0)


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
    return min(t, 0.0) if mode == HIGH else 0.0


@loop_kernel
def correct_modes(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float, how: int) -> int:
    """Change wrong guesses; returns their number.

    In `SOON` tries locked joints that loops have moved are led back. `SINGLY` the first wrong one is changed and no
    other (Murty 1974). No joint lets go too often, as those do that rounding decides: with a minus, how many should.
    """
    wrong, left, slack = 0, 0, SLACK if how == SINGLY else 0.0
    for k in range(len(m.axis)):
        v, t = w.rate[k] + h * s.response[m.v_index[k]], w.hold[k]
        w.stop_torque[k] = _stop_torque(w.mode[k], e.friction[k], t)
        to, rate = _next_mode(s, e, w, h, k, v, t, slack)
        if to == w.mode[k]:
            if how == SOON and w.lock[k] == 1:
                wrong += _lead_back(w, h, k, v)
            continue
        lets_go = w.mode[k] >= STUCK and to <= STUCK
        if (how == SINGLY and wrong > 0) or (lets_go and w.releases[k] >= LETS_GO * (how // SINGLY + 1)):
            left += 1
            continue
        w.mode[k], w.mode_rate[k], w.lock[k] = to, rate, 0
        w.releases[k] += int(lets_go)
        wrong += 1
    return wrong if wrong > 0 else -left


@loop_kernel
def _lead_back(w: SweepWork, h: float, k: int, v: Scalar) -> int:
    """Take back what loops have moved locked degree of freedom k, whose rate is v; 1 if it is enough to matter."""
    missing = w.mode_rate[k] - v
    if abs(missing) * h <= ROUNDING or abs(missing) <= HELD * abs(w.mode_rate[k] - w.rate[k]):
        return 0
    w.lead[k], w.firm[k] = w.lead[k] + missing / h, min(GROWTH * w.firm[k], HEAVY)
    return 1


@loop_kernel
def _between(s: JointState, e: JointLaws, k: int, h: float) -> tuple[Scalar, Scalar]:
    """The rates that lead to the limits in a step of h; none that would lead back from beyond one."""
    if e.place[k] < 0:
        return 0.0, 0.0
    x = s.q[e.place[k]]
    return min((e.lower[k] - x) / h, 0.0), max((e.upper[k] - x) / h, 0.0)


@loop_kernel
def _next_mode(
    s: JointState, e: JointLaws, w: SweepWork, h: float, k: int, v: Scalar, t: Scalar, slack: Scalar
) -> tuple[int, Scalar]:
    """The mode that degree of freedom k should have, and its rate, if it moves at rate v and t would lock it."""
    mode = w.mode[k]
    if mode < STUCK and e.place[k] >= 0:
        least, most = _between(s, e, k, h)
        if v < least:
            return LOW, least
        if v > most:
            return HIGH, most
    elif (mode == LOW and t < -slack * abs(w.previous[k])) or (mode == HIGH and t > slack * abs(w.previous[k])):
        return (STUCK if e.friction[k] > 0.0 else RUNS), 0.0  # a limit does not pull
    if (mode == FORWARD and v < 0.0) or (mode == BACKWARD and v > 0.0):
        return STUCK, 0.0
    if mode == STUCK and abs(t) > (1.0 + slack) * e.friction[k]:
        return (BACKWARD if t > 0.0 else FORWARD), 0.0
    return mode, w.mode_rate[k]


# Where guesses go round in circles: the rates minimise
#
#     |v - v0|^2_M / 2 + h sum mu |v|,    J v as the loops ask for, least <= v <= most
#
# which an interior point solves (Mehrotra 1992, without predictor), one sweep a step: v = p - n, and all products
#
#     p a = n c = tau,  a + c = 2 mu,  t = (a - c) / 2 the friction;    (v - least) low = (most - v) high = tau
#
# go to zero with tau. What a joint adds to the equations of motion is a torque and an armature.

FORE, BACK, A, C, LEAST, LOW_TORQUE, TO_MOST, HIGH_TORQUE, CHANGE = range(9)  # columns of w.inner
KEPT, ARMATURE = 16, 20


@loop_kernel
def _begin_inside(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float) -> Scalar:
    """A beginning within all laws; returns the rate of its variables. Products are by their own powers there."""
    total = TINY
    w.inner[:, :] = 0.0
    for k in range(len(m.axis)):
        total = max(total, abs(w.rate[k]))
    for k in range(len(m.axis)):
        w.inner[k, ARMATURE] = m.armature[k]
        if w.weight[k] > 0.0:
            force = w.weight[k] * total / h
            if e.friction[k] > 0.0:
                for j in range(2):
                    w.inner[k, FORE + j], w.inner[k, A + j] = total * force / e.friction[k], e.friction[k]
            if e.place[k] >= 0 and e.lower[k] > -FAR:
                w.inner[k, LEAST], w.inner[k, LOW_TORQUE] = total, force
            if e.place[k] >= 0 and e.upper[k] < FAR:
                w.inner[k, TO_MOST], w.inner[k, HIGH_TORQUE] = total, force
    return total


@loop_kernel
def _rise(x: Scalar, y: Scalar, w: SweepWork, k: int, h: float) -> Scalar:
    """x / y, torque by rate, no more than what all but locks degree of freedom k."""
    most = LOCKED * w.weight[k] / h
    return x / y if x < most * y else most


@loop_kernel
def _inner_torque(w: SweepWork, h: float, k: int, to: Scalar, v: Scalar, least: Scalar, most: Scalar) -> Scalar:
    """The torque that degree of freedom k has next at rate v; its changes are kept. w.u: how it falls with the rate."""
    tau = to * w.weight[k]
    p, n, a, c = w.inner[k, FORE], w.inner[k, BACK], w.inner[k, A], w.inner[k, C]
    torque, w.u[k] = 0.0, 0.0
    if a > 0.0:
        rise = _rise(a * c, p * c + n * a, w, k, h)
        dt = rise * (tau / a - tau / c - v)
        torque, w.u[k] = 0.5 * (a - c) + dt, rise
        w.inner[k, CHANGE + FORE], w.inner[k, CHANGE + BACK] = (tau - p * (a + dt)) / a, (tau - n * (c - dt)) / c
        w.inner[k, CHANGE + A], w.inner[k, CHANGE + C] = dt, -dt
    for side in range(2):
        j, sign, room = LEAST + 2 * side, 1.0 - 2.0 * side, v - least if side == 0 else most - v
        x, y = w.inner[k, j], w.inner[k, j + 1]
        if x > 0.0:
            rise = _rise(y, x, w, k, h)
            dy = tau / x - rise * room
            torque, w.u[k] = torque + sign * (y + dy), w.u[k] + rise
            w.inner[k, CHANGE + j], w.inner[k, CHANGE + j + 1] = (tau - x * (y + dy)) / y, dy
    return torque


@loop_kernel
def _inner_step(x: LinkageArrays, h: float, tau: Scalar, wide: Scalar) -> tuple[Scalar, Scalar]:
    """One step to the products tau: what share of it is taken, and the mean of the products there.

    Limits are this much wider: loops may hold a joint right there.
    """
    m, s, e, w = x.still, x.s, x.e, x.w
    for k in range(len(m.axis)):
        least, most = _between(s, e, k, h)
        w.tau[k] = w.previous[k] + _inner_torque(w, h, k, tau, w.rate[k], least - wide, most + wide)
        m.armature[k] = w.inner[k, ARMATURE] + h * w.u[k]
    respond(m, s, w, x.lp)
    share, total, count = 1.0, 0.0, 0
    for k in range(len(m.axis)):
        least, most = _between(s, e, k, h)
        m.armature[k] = w.inner[k, ARMATURE]
        _inner_torque(w, h, k, tau, w.rate[k] + h * s.response[m.v_index[k]], least - wide, most + wide)
        for j in range(CHANGE):
            if w.inner[k, CHANGE + j] < 0.0:
                share = min(share, -INSIDE * w.inner[k, j] / w.inner[k, CHANGE + j])
    for k in range(len(m.axis)):
        for j in range(CHANGE):
            w.inner[k, j] += share * w.inner[k, CHANGE + j]
        for j in range(2):
            total += w.inner[k, FORE + j] * w.inner[k, A + j] / w.weight[k]
            total += w.inner[k, LEAST + 2 * j] * w.inner[k, LOW_TORQUE + 2 * j] / w.weight[k]
            count += int(w.inner[k, A] > 0.0) + int(w.inner[k, LEAST + 2 * j] > 0.0)
    return share, total / count


@loop_kernel
def _take_modes(s: JointState, e: JointLaws, w: SweepWork, h: float) -> None:
    """The modes and torques to which the interior point has come."""
    for k in range(len(w.mode)):
        bounds, locked = _between(s, e, k, h), STUCK if e.friction[k] > 0.0 else RUNS
        w.mode[k], w.mode_rate[k], w.stop_torque[k] = locked, 0.0, 0.5 * (w.inner[k, A] - w.inner[k, C])
        for j in range(2):
            p, a = w.inner[k, FORE + j], w.inner[k, A + j]
            if p * w.weight[k] > a * h:
                w.mode[k], w.stop_torque[k] = FORWARD + j, (2.0 * j - 1.0) * e.friction[k]
        for j in range(2):
            room, torque = w.inner[k, LEAST + 2 * j], w.inner[k, LOW_TORQUE + 2 * j]
            if torque * h > room * w.weight[k]:
                w.mode[k], w.mode_rate[k], w.stop_torque[k] = LOW + j, bounds[j], (1.0 - 2.0 * j) * torque


@loop_kernel
def _is_contradicted(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float) -> bool:
    """Whether some mode of the last guess breaks its law by more than rounding."""
    size, found = 0.0, False
    for k in range(len(w.mode)):
        size = max(size, abs(w.rate[k]))
    for k in range(len(w.mode)):
        v, t = w.rate[k] + h * s.response[m.v_index[k]], w.hold[k]
        (least, most), mode, none = _between(s, e, k, h), w.mode[k], FAULT * size
        found = found or (mode == STUCK and abs(t) > (1.0 + FAULT) * e.friction[k])
        found = found or (mode == FORWARD and v < -none) or (mode == BACKWARD and v > none)
        found = found or (mode < STUCK and e.place[k] >= 0 and (v < least - none or v > most + none))
        pull = max(FAULT * abs(w.previous[k]), FAULT * size * w.weight[k] / h)
        found = found or (mode == LOW and t < -pull) or (mode == HIGH and t > pull)
    return found


@loop_kernel
def _keep_guess(m: Mechanism, s: JointState, w: SweepWork, back: bool) -> None:
    """Keep the modes that were guessed, what they exert and do, or put them back."""
    for k in range(len(w.mode)):
        j = m.v_index[k]
        if back:
            w.mode[k], w.mode_rate[k] = int(w.inner[k, KEPT]), w.inner[k, KEPT + 1]
            w.stop_torque[k], s.response[j] = w.inner[k, KEPT + 2], w.inner[k, KEPT + 3]
        else:
            w.inner[k, KEPT], w.inner[k, KEPT + 1] = float(w.mode[k]), w.mode_rate[k]
            w.inner[k, KEPT + 2], w.inner[k, KEPT + 3] = w.stop_torque[k], s.response[j]


@loop_kernel
def _hold_modes(x: LinkageArrays, h: float) -> Scalar:
    """s.response with the modes that were found; how far the rates are from those that w.inner has, at most."""
    m, s, w = x.still, x.s, x.w
    tries, wrong, far = 0, 1, 0.0
    w.lock[:] = 0
    while tries < EARLY and wrong > 0:
        impose_modes(x.e, w, h)
        respond(m, s, w, x.lp)
        wrong, tries, far = 0, tries + 1, 0.0
        for k in range(len(m.axis)):
            v = w.rate[k] + h * s.response[m.v_index[k]]
            far = max(far, abs(v - w.inner[k, CHANGE]))
            if w.lock[k] == 1:
                wrong += _lead_back(w, h, k, v)
    return far


@loop_kernel
def solve_modes(x: LinkageArrays, h: float) -> None:
    """The modes of all degrees of freedom by an interior point, and s.response with these."""
    m, s, e, w = x.still, x.s, x.e, x.w
    w.lock[:] = 0
    size = _begin_inside(m, s, e, w, h)
    _keep_guess(m, s, w, False)
    first, share, steps = size * size / h, 1.0, 0
    tau = first
    while steps < PATH and tau > DONE * first and (share > SHORT or tau > NEARLY * first):
        share, mean = _inner_step(x, h, tau, WIDE * size)
        tau, steps = mean * (SHORT if share > 0.5 else 1.0), steps + 1
    far = 0.0
    for k in range(len(m.axis)):
        w.inner[k, CHANGE] = w.rate[k] + h * s.response[m.v_index[k]]
        far = max(far, abs(s.response[m.v_index[k]] - w.inner[k, KEPT + 3]))
    if tau <= CLOSE * first:
        _take_modes(s, e, w, h)
        if _hold_modes(x, h) <= AGREE * size:
            tries, wrong = 0, 1
            w.releases[:] = 0
            while tries < EARLY and wrong > 0:  # what is too small for the interior point
                wrong, tries = correct_modes(m, s, e, w, h, LATER), tries + 1
                impose_modes(e, w, h)
                respond(m, s, w, x.lp)
            if wrong == 0:
                return
            if h * far > FAULT * size:  # else the guess differs where loops let nothing move
                _take_modes(s, e, w, h)
                _hold_modes(x, h)
                return
    _keep_guess(m, s, w, True)


@loop_kernel
def find_modes(x: LinkageArrays, h: float) -> None:
    """s.response: accelerations by which rates w.rate, after a step of h, obey loops, friction and limits.

    lp.given is what opens loops without.
    """
    still, s, e, w, lp = x.still, x.s, x.e, x.w, x.lp
    begin_stops(w)
    if e.stops[0] == 0:
        respond(still, s, w, lp)
        return
    guess_modes(still, s, e, w, h)
    how, tries = SOON, 0
    while tries < MOST:
        impose_modes(e, w, h)
        respond(still, s, w, lp)
        wrong, tries = correct_modes(still, s, e, w, h, how), tries + 1
        if wrong == 0 or (wrong < 0 and how == SINGLY):
            break
        if wrong < 0:
            how = SINGLY
        elif tries == EARLY:
            how = LATER
    if _is_contradicted(still, s, e, w, h):
        solve_modes(x, h)
    w.lock[:] = 0


@loop_kernel
def apply_impulses(x: LinkageArrays, h: float, share: float) -> None:
    """s.v: what loops, friction and limits leave of it at the end of a step of h that closes a share of the gaps of
    loops."""
    still, s, e, w, lp = x.still, x.s, x.e, x.w, x.lp
    velocities(still, s, w)
    if len(lp.loop) > 0:
        place_loops(still, w.X, lp)
        lp.given[:] = 0.0
        add_rates(lp, w, ZERO6, 1.0 / h)
        lp.rate[0] = share / (h * h)
        for r in range(len(lp.loop)):
            lp.gap[r] *= float(abs(lp.gap[r]) > ROUNDING * min(1.0, lp.reach[0]))
    find_modes(x, h)
    for k in range(len(still.axis)):
        j = still.v_index[k]
        s.qdd[j] += s.response[j]
        s.v[j] += h * s.response[j]
        if e.stops[0] == 1 and w.mode[k] >= STUCK:
            s.v[j] = w.mode_rate[k]


@loop_kernel
def accelerations_now(x: LinkageArrays, lead: float, h: float) -> None:
    """s.qdd here and now, with loops, and with friction and limits as they act in a step of h; springs and dampers are
    implicit in one of `lead`."""
    m, s, w, lp, g = x.m, x.s, x.w, x.lp, x.m.gravity
    if len(lp) == 0:
        solve(m, s, x.e, x.p, x.loads, w, lead)
        return
    if len(lp.loop) > 0:
        bend(x)
    solve(m, s, x.e, x.p, x.loads, w, lead)
    lp.rate[0] = 0.0
    add_rates(lp, w, (0.0, 0.0, 0.0, -g[0], -g[1], -g[2]), 1.0)
    for k in range(len(m.axis)):
        w.rate[k] += h * s.qdd[m.v_index[k]]
    find_modes(x, h)
    for k in range(len(m.axis)):
        s.qdd[m.v_index[k]] += s.response[m.v_index[k]]


@loop_kernel
def accelerations_from_rest(x: Workspace, h: Scalar, share: Scalar) -> None:
    """s.qdd of a semi-implicit step of h from rest with the impulses of loops, friction and limits; s.v stays 0."""
    m, s = x.m, x.s
    solve(m, s, x.e, x.p, x.loads, x.w, 0.0)
    for k in range(len(m.axis)):
        s.v[m.v_index[k]] = h * s.qdd[m.v_index[k]]
    apply_impulses(x, h, share)
    for k in range(len(m.axis)):
        j = m.v_index[k]
        s.qdd[j], s.v[j] = s.v[j] / h, 0.0


# What bound evaluations know: a joint that sticks with friction to spare is welded


@loop_kernel
def publish_stops(e: JointLaws, w: SweepWork) -> None:
    """Take over what friction and stops do now; joints that friction locks easily are welded."""
    for k in range(len(w.mode)):
        e.stop_torque[k] = w.stop_torque[k]
        e.weld_armature[k] = WELDED if w.mode[k] == STUCK and abs(w.stop_torque[k]) <= EASY * e.friction[k] else 0.0
