"""Dry friction and limits in a semi-implicit step: joints that are held, found by trying (an active set).

A held freedom has a rate at the end of the step that is known: none where friction holds it, that which leads exactly
to the limit where it is stopped there, inelastically. It gets so large an armature that nothing moves it otherwise;
what holds it is S' (IA a + pA) less its own torques. A limit that would have to pull lets go; friction does where it
would have to be stronger than it is, and then works against the sliding; a joint whose sliding would turn around
within the step is held instead. What held it in the step before is taken as given, so that the armature has to hold
only what is new.
"""

from __future__ import annotations

from bough.adaptive.motion.layout import Effort, Moving, Room
from bough.adaptive.motion.sweeps import accelerations, effort, outward
from bough.adaptive.node import WELDED
from bough.adaptive.passes import Loads
from bough.compile.kernel import kernel
from bough.joints import Mechanism, along, articulated_freedom, by_freedom, difference_joint
from bough.spatial import add6, articulated_times, get6, get21
from bough.types import Scalar

RUNS, FORWARD, BACKWARD, STUCK, LOW, HIGH = range(6)  # what a freedom does; held ones from STUCK on
HEAVY = 1e9  # how much heavier a held freedom is than it would be
CLOSE, SOON = 0.1, 4  # relative change of what holds a joint after which it is not asked again, in the first tries
NEAR = 1e-12  # rad or m from a limit: there
EASY, HARD = 0.5, 0.75  # shares of friction up to which a joint gets welded, and stays so
MOST = 64  # tries in a step
LETS_GO = 3  # times that friction or a limit lets go in a step


@kernel
def begin_stops(m: Mechanism, w: Room) -> None:
    """Take note of torques and armatures."""
    for k in range(len(m.axis)):
        w.given[k], w.rotor[k], w.tried[k] = w.u[k], m.armature[k], 0


@kernel
def guess(m: Mechanism, s: Moving, e: Effort, w: Room, h: float) -> None:
    """Joints at a limit that held them are held again; those with friction stick where it would stop them within the
    step by itself, or else slide as they do."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.held[k] = RUNS
            if e.friction[k] > 0.0:
                w.held[k], w.hold[k] = STUCK, 0.0
                weight = along(m, k, articulated_freedom(m, k, get21(w.IA, i))) + w.rotor[k]
                if abs(w.rate[k]) * weight > h * e.friction[k]:
                    w.held[k] = FORWARD if w.rate[k] > 0.0 else BACKWARD
            if e.place[k] >= 0 and w.rate[k] == 0.0:
                x = s.q[e.place[k]]
                if w.grip[k] > 0.0 and x <= e.lower[k] + NEAR:
                    w.held[k], w.hold[k] = LOW, min((e.lower[k] - x) / h, 0.0)
                elif w.grip[k] < 0.0 and x >= e.upper[k] - NEAR:
                    w.held[k], w.hold[k] = HIGH, max((e.upper[k] - x) / h, 0.0)


@kernel
def hold(m: Mechanism, e: Effort, w: Room, h: float) -> None:
    """Torques and armatures for the present guess; w.IA and w.grip are those of the try before."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.u[k], m.armature[k] = w.given[k], w.rotor[k]
            if w.held[k] == FORWARD:
                w.u[k] -= e.friction[k]
            elif w.held[k] == BACKWARD:
                w.u[k] += e.friction[k]
            elif w.held[k] >= STUCK:
                weight = HEAVY * (along(m, k, articulated_freedom(m, k, get21(w.IA, i))) + w.rotor[k])
                m.armature[k] += weight
                w.u[k] += w.grip[k] + weight * (w.hold[k] - w.rate[k]) / h


@kernel
def _grip(held: int, friction: Scalar, t: Scalar) -> Scalar:
    """What friction or a limit does to a freedom, which needs t to be held."""
    if held == FORWARD:
        return -friction
    if held == BACKWARD:
        return friction
    if held == STUCK:
        return min(max(t, -friction), friction)
    if held == LOW:
        return max(t, 0.0)
    return min(t, 0.0) if held == HIGH else 0.0


@kernel
def correct(m: Mechanism, s: Moving, e: Effort, w: Room, h: float, soon: int) -> int:
    """How many guesses were wrong, and are others now. Soon after the first try those far from what holds a joint are
    wrong, too."""
    wrong = 0
    for i in range(len(m.parent)):
        f = add6(articulated_times(get21(w.IA, i), get6(w.a, i)), get6(w.pA, i))
        for k in range(m.dof[i], m.dof[i + 1]):
            a = s.qdd[m.v_index[k]]
            v = w.rate[k] + h * a
            t = along(m, k, f) + w.rotor[k] * a - w.given[k]
            before, w.grip[k] = w.grip[k], _grip(w.held[k], e.friction[k], t)
            if soon == 1 and w.held[k] >= STUCK and abs(w.grip[k] - before) > CLOSE * abs(before):
                wrong += 1
            if w.held[k] <= STUCK and e.place[k] >= 0:
                x = s.q[e.place[k]]
                least, most = min((e.lower[k] - x) / h, 0.0), max((e.upper[k] - x) / h, 0.0)
                if v < least or v > most:
                    w.held[k], w.hold[k] = (LOW, least) if v < least else (HIGH, most)
                    wrong += 1
                    continue
            elif w.tried[k] < LETS_GO and ((w.held[k] == LOW and t < 0.0) or (w.held[k] == HIGH and t > 0.0)):
                # a limit does not pull
                w.held[k], w.hold[k] = STUCK if e.friction[k] > 0.0 else RUNS, 0.0
                w.tried[k] += 1
                wrong += 1
                continue
            if (w.held[k] == FORWARD and v < 0.0) or (w.held[k] == BACKWARD and v > 0.0):
                w.held[k], w.hold[k] = STUCK, 0.0
                wrong += 1
            elif w.held[k] == STUCK and w.tried[k] < LETS_GO and abs(t) > e.friction[k]:
                w.held[k] = BACKWARD if t > 0.0 else FORWARD
                w.tried[k] += 1
                wrong += 1
    return wrong


@kernel
def solve_with_stops(m: Mechanism, s: Moving, e: Effort, loads: Loads, w: Room, h: float) -> None:
    """Accelerations of a semi-implicit step of h with friction and limits; m's armature is that of the step again."""
    by_freedom(m, s.v, w.rate)
    outward(m, s, loads, w)
    effort(m, s, e, w, h)
    begin_stops(m, w)
    accelerations(m, s, w.force, w)  # for the weights
    guess(m, s, e, w, h)
    for j in range(MOST):
        hold(m, e, w, h)
        accelerations(m, s, w.force, w)
        if correct(m, s, e, w, h, int(j < SOON)) == 0:
            break
    for k in range(len(m.axis)):
        m.armature[k] = w.rotor[k]


# What surveys are told: friction that holds with strength to spare welds its joint


@kernel
def weld(e: Effort, w: Room, share: float) -> None:
    """Take over what friction and stops do now, of held joints a share; those that are held easily are welded."""
    for k in range(len(w.held)):
        before, now = e.grip[k], w.grip[k]
        e.grip[k] = before + share * (now - before) if w.held[k] >= STUCK else now
        e.weld[k] = WELDED if w.held[k] == STUCK and abs(now) <= EASY * e.friction[k] else 0.0


@kernel
def loosen(m: Mechanism, s: Moving, e: Effort, w: Room) -> int:
    """Undo welds of joints that are not held easily any more; w.momentum: forces through all joints, w.held: 1 there.

    Returns how many they are."""
    count = 0
    for i in range(len(m.parent)):
        if e.sprung[i] == 1:
            difference_joint(m, i, s.rest, s.q, s.stretch)
        for k in range(m.dof[i], m.dof[i + 1]):
            j = m.v_index[k]
            w.held[k] = 0
            if e.weld[k] > 0.0:
                t = along(m, k, get6(w.momentum, i)) - e.tau[k] + e.rotor[k] * s.qdd[j] + e.damping[k] * s.v[j]
                if e.sprung[i] == 1:
                    t += e.stiffness[k] * s.stretch[j]
                if abs(t) > HARD * e.friction[k]:
                    e.weld[k], e.grip[k], w.held[k] = 0.0, min(max(t, -e.friction[k]), e.friction[k]), 1
                    count += 1
    return count
