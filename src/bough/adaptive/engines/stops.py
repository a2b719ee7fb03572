"""Loops, dry friction and limits at the end of a step.

A step under all other forces, and the friction and stop torques of the step before, ends with rates that impulses then
change, all at once: those of loops, which are solved for, and those of joints, by the mode of each (`modes`). Where
guessed modes end in a contradiction (redundant loops of sticking joints), an interior point decides (`interior_point`).
"""

from __future__ import annotations

from bough.adaptive.engines.interior_point import is_contradicted, solve_modes
from bough.adaptive.engines.loops import place_loops
from bough.adaptive.engines.modes import (
    ROUNDING,
    STUCK,
    TRIES,
    add_rates,
    begin_stops,
    bend,
    guess_modes,
    respond,
    settle_modes,
)
from bough.adaptive.engines.sweeps import JointLaws, LinkageArrays, SweepWork, solve, velocities
from bough.adaptive.tree.algebra import WELDED
from bough.adaptive.tree.blocks import ZERO6
from bough.compile.kernel import loop_kernel
from bough.types import Scalar, Workspace

EASY = 0.5  # share of friction up to which a joint counts as welded


@loop_kernel
def find_modes(x: LinkageArrays, h: float) -> None:
    """s.response: accelerations by which rates w.rate, after a step of h, obey loops, friction and limits.

    lp.given is what opens loops without. In a step of 0 only loops act.
    """
    still, s, e, w, lp = x.still, x.s, x.e, x.w, x.lp
    begin_stops(w)
    if e.stops[0] == 0 or h == 0.0:
        respond(still, s, w, lp)
        return
    guess_modes(still, s, e, w, h)
    settle_modes(x, h, TRIES)
    if is_contradicted(still, s, e, w, h):
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
    """s.qdd here and now, with loops, and with friction and limits as they act in a step of h, if any; springs and
    dampers are implicit in one of `lead`."""
    m, s, w, lp, g = x.m, x.s, x.w, x.lp, x.m.gravity
    if len(lp) > 0:  # noqa: SIM102  (decided while compiling)
        if len(lp.loop) > 0:
            bend(x)
    solve(m, s, x.e, x.p, x.loads, w, lead)
    if len(lp) == 0:
        return
    if h == 0.0 and len(lp.loop) == 0:
        return
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
