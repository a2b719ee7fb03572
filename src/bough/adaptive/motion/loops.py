"""Loops of a moving linkage: constraint forces and impulses by the elimination of quasi-statics (`engines.looped`).

A linkage at rest and without weight answers forces and impulses alike: the sweep finds the forces lam of loops with
J (x + M^-1 J' lam) = -gap, whatever x is: velocities of a step, over its length, with the gaps that it is to close,
or accelerations with what bends the loops, J qdd + J' v.
"""

from __future__ import annotations

from bough.adaptive.engines import LoopRows, looped_accelerations, looped_inward, place_loops
from bough.adaptive.motion.layout import Moving, Room
from bough.adaptive.motion.sweeps import velocities
from bough.adaptive.node import ZERO3, ZERO6, get_pose
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import (
    add6,
    articulated,
    cross,
    cross_motion,
    dot6,
    get6,
    get10,
    join,
    motion_in,
    motion_out,
    put6,
    put21,
    scale6,
    sub6,
)
from bough.types import Motion, Rows, Scalar


@loop_kernel
def respond(m: Mechanism, s: Moving, w: Room, lp: LoopRows) -> None:
    """s.stretch: what torques w.tau and the forces of loops, w.loop, do to a linkage at rest. m has no gravity."""
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
        put6(w.pA, i, ZERO6)
    for c in range(len(lp.body)):
        for side in range(2):
            if lp.body[c, side] >= 0:
                put6(w.loop, lp.body[c, side], ZERO6)
    looped_inward(m, w.tau, w, lp)
    looped_accelerations(m, w.loop, s.stretch, w, lp)


@inlined
@kernel
def _of(w: Room, i: int, ground: Motion) -> Motion:
    return get6(w.a, i) if i >= 0 else ground


@kernel
def add_rates(lp: LoopRows, w: Room, ground: Motion, share: Scalar) -> None:
    """lp.given: a share of how fast, or with what acceleration, rows open when bodies move by w.a."""
    for r in range(len(lp.loop)):
        for side in range(2):
            a = _of(w, lp.body[lp.loop[r], side], ground)
            lp.given[r] += share * dot6(get6(lp.wrench, 2 * r + side), a)


@inlined
@kernel
def _turned(v: Motion) -> Motion:
    """What the acceleration of a body's origin has beyond its spatial acceleration."""
    return join(ZERO3, cross((v[0], v[1], v[2]), (v[3], v[4], v[5])))


@loop_kernel
def bend(m: Mechanism, s: Moving, w: Room, lp: LoopRows) -> None:
    """lp.given: J' v, less what accelerations of origins have beyond spatial ones."""
    velocities(m, s, w)
    place_loops(m, w.X, lp)
    for r in range(len(lp.loop)):
        c = lp.loop[r]
        a, b = _of(w, lp.body[c, 0], ZERO6), _of(w, lp.body[c, 1], ZERO6)
        A, B = get_pose(lp.pose, 2 * c), get_pose(lp.pose, 2 * c + 1)
        met = cross_motion(b, motion_out(B[0], B[1], motion_in(A[0], A[1], a)))
        lp.given[r] = dot6(get6(lp.wrench, 2 * r + 1), sub6(met, _turned(b)))
        lp.given[r] -= dot6(get6(lp.wrench, 2 * r), _turned(a))


@loop_kernel
def hold_loops(m: Mechanism, still: Mechanism, s: Moving, w: Room, lp: LoopRows) -> None:
    """s.qdd: accelerations w.a of all bodies, after `bend`, with the loops held."""
    g = m.gravity
    add_rates(lp, w, join(ZERO3, (-g[0], -g[1], -g[2])), 1.0)
    lp.rate[0] = 0.0
    for k in range(len(m.axis)):
        w.tau[k] = 0.0
    respond(still, s, w, lp)
    for k in range(len(m.axis)):
        s.qdd[m.v_index[k]] += s.stretch[m.v_index[k]]


@loop_kernel
def loop_forces(lp: LoopRows, out: Rows) -> None:
    """out (2 c, 6): forces on both bodies of each loop, in the frames of these bodies."""
    out[:, :] = 0.0
    for r in range(len(lp.loop)):
        for side in range(2):
            k = 2 * lp.loop[r] + side
            put6(out, k, add6(get6(out, k), scale6(lp.lam[r], get6(lp.wrench, 2 * r + side))))
