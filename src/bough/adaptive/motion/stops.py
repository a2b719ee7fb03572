"""Dry friction and limits in a semi-implicit step: joints that are held, found by trying (an active set).

A held freedom has a rate at the end of the step that is known: none where friction holds it, that which leads exactly
to the limit where it is stopped there, inelastically. It gets so large an armature that nothing moves it otherwise;
what holds it is S' (IA a + pA) less its own torques. A limit that would have to pull lets go; friction does where it
would have to be stronger than it is, and then works against the sliding; a joint whose sliding would turn around
within the step is held instead.
"""

from __future__ import annotations

from bough.adaptive.motion.layout import Effort, Moving, Room
from bough.adaptive.motion.sweeps import accelerations, effort, outward
from bough.adaptive.passes import Loads
from bough.compile.kernel import kernel
from bough.joints import Mechanism, along, articulated_freedom, by_freedom
from bough.spatial import add6, articulated_times, get6, get21

RUNS, FORWARD, BACKWARD, STUCK, LOW, HIGH = range(6)  # what a freedom does; held ones from STUCK on
HEAVY = 1e9  # how much heavier a held freedom is than it would be
MOST = 16  # tries in a step
LETS_GO = 3  # times that friction or a limit lets go in a step


@kernel
def begin_stops(m: Mechanism, e: Effort, w: Room) -> None:
    """Joints with friction slide as they do, or stick."""
    for k in range(len(m.axis)):
        w.given[k], w.rotor[k], w.tried[k], w.held[k] = w.u[k], m.armature[k], 0, RUNS
        if e.friction[k] > 0.0:
            w.held[k], w.hold[k] = STUCK, 0.0
            if w.rate[k] != 0.0:
                w.held[k] = FORWARD if w.rate[k] > 0.0 else BACKWARD


@kernel
def hold(m: Mechanism, e: Effort, w: Room, h: float) -> None:
    """Torques and armatures for the present guess; w.IA is that of the try before."""
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
                w.u[k] += weight * (w.hold[k] - w.rate[k]) / h


@kernel
def correct(m: Mechanism, s: Moving, e: Effort, w: Room, h: float) -> int:
    """How many guesses were wrong, and are others now."""
    wrong = 0
    for i in range(len(m.parent)):
        f = add6(articulated_times(get21(w.IA, i), get6(w.a, i)), get6(w.pA, i))
        for k in range(m.dof[i], m.dof[i + 1]):
            a = s.qdd[m.v_index[k]]
            v = w.rate[k] + h * a
            t = along(m, k, f) + w.rotor[k] * a - w.given[k]
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
    begin_stops(m, e, w)
    accelerations(m, s, w.force, w)  # for the weights
    for _ in range(MOST):
        hold(m, e, w, h)
        accelerations(m, s, w.force, w)
        if correct(m, s, e, w, h) == 0:
            break
    for k in range(len(m.axis)):
        m.armature[k] = w.rotor[k]
