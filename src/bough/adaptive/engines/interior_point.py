"""Modes of joints with dry friction and limits by an interior point, where guesses contradict each other.

The rates of a step minimise

    |v - v0|^2_M / 2 + h sum mu |v|,    J v as the loops ask for, least <= v <= most

which an interior point solves (Mehrotra 1992, without predictor), one sweep a step: v = p - n, and all products

    p a = n c = tau,  a + c = 2 mu,  t = (a - c) / 2 the friction;    (v - least) low = (most - v) high = tau

go to zero with tau. What a joint adds to the equations of motion is a torque and an armature.
"""

from __future__ import annotations

from bough.adaptive.engines.modes import (
    FORWARD,
    LEADS,
    LOW,
    PRESCRIBED,
    RUNS,
    STUCK,
    impose_modes,
    lead_back,
    next_mode,
    rates_to_limits,
    respond,
    settle_modes,
    unlock,
)
from bough.adaptive.engines.sweeps import JointLaws, JointState, LinkageArrays, SweepWork
from bough.compile.kernel import loop_kernel
from bough.joints import Mechanism
from bough.types import Scalar

FAULT = 1e-6  # of friction, and of the largest rate, by which the last guess may miss the law
PATH, SHORT, INSIDE, LOCKED = 60, 0.1, 0.9, 1e5  # steps of the interior point, and how it goes to the solution
CLOSE, NEARLY, DONE = 1e-5, 1e-8, 1e-18  # of the first products: where it serves, is at rounding, and ends
WIDE, AGREE = 1e-8, 1e-4  # of the largest rate: by which its limits are wider, and its modes may change rates
FINISH = 8  # tries to correct what is left
TINY, FAR = 1e-200, 1e300
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
        least, most = rates_to_limits(s, e, k, h)
        w.tau[k] = w.previous[k] + _inner_torque(w, h, k, tau, w.rate[k], least - wide, most + wide)
        m.armature[k] = w.inner[k, ARMATURE] + h * w.u[k]
    respond(m, s, w, x.lp)
    share, total, count = 1.0, 0.0, 0
    for k in range(len(m.axis)):
        least, most = rates_to_limits(s, e, k, h)
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
        if w.mode[k] == PRESCRIBED:
            continue
        bounds, locked = rates_to_limits(s, e, k, h), STUCK if e.friction[k] > 0.0 else RUNS
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
def is_contradicted(m: Mechanism, s: JointState, e: JointLaws, w: SweepWork, h: float) -> bool:
    """Whether some mode of the last guess breaks its law by more than rounding."""
    size, wrong = 0.0, 0
    for k in range(len(w.mode)):
        size = max(size, abs(w.rate[k]))
    for k in range(len(w.mode)):
        v, t = w.rate[k] + h * s.response[m.v_index[k]], w.hold[k]
        to, _ = next_mode(s, e, w, h, k, v, t, FAULT, FAULT * size)
        wrong += int(to != w.mode[k])
    return wrong > 0


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
    unlock(w)
    while tries < LEADS and wrong > 0:
        impose_modes(x.e, w, h)
        respond(m, s, w, x.lp)
        wrong, tries = lead_back(m, s, w, h), tries + 1
    for k in range(len(m.axis)):
        far = max(far, abs(w.rate[k] + h * s.response[m.v_index[k]] - w.inner[k, CHANGE]))
        if w.mode[k] == PRESCRIBED:
            w.stop_torque[k] = w.hold[k]
    return far


@loop_kernel
def solve_modes(x: LinkageArrays, h: float) -> None:
    """The modes of all degrees of freedom by an interior point, and s.response with these."""
    m, s, e, w = x.still, x.s, x.e, x.w
    unlock(w)
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
            w.releases[:] = 0
            if settle_modes(x, h, FINISH) == 0:  # what is too small for the interior point
                return
            if h * far > FAULT * size:  # else the guess differs where loops let nothing move
                _take_modes(s, e, w, h)
                _hold_modes(x, h)
                return
    _keep_guess(m, s, w, True)
