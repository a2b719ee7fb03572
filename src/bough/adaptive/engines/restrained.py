"""Steps under springs between points of bodies, or to points in space: many of them in one compiled call.

A step from rest goes downhill by h P, P = qdd' M qdd, if it is short. At its end the forces' power along the motion is
P' = qdd'' M qdd, and the energy has changed by about -h (P + P') / 2: a step with P' < -0.9 P is too long. It is taken
back and cut in two, as are those after it until they have been calm for a while.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from bough.adaptive.engines.plain import PlainWork, inward, motion_product, outward_accelerations, turn_of
from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.contract import Loads, Pieces, load_body, load_pieces
from bough.adaptive.tree.layout import compose, get_pose, primitive_pose, put_pose
from bough.adaptive.tree.springs import Springs, spring_all
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism, integrate_joint, move_joint
from bough.spatial import (
    add3,
    add6,
    articulated,
    cross,
    dot3,
    get3,
    get6,
    get9,
    get10,
    join,
    put3,
    put6,
    put21,
    rotate,
    rotate_back,
    scale3,
    scale6,
    sub3,
)
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

MAX_PARTS, CALM = 1000, 64
SWINGS = -0.9  # of the power at the beginning of a step
STILL = 1e-10  # of the largest turn: less than that is rounding
# What a march reads and writes
H, TURN, STEPS, PARTS, CALMED, CUTS, GROWN, CODE, FADED, AGE = range(10)
FINE, FAR_TURN, NO_NUMBER, OUTGROWN = range(4)


class Ties(NamedTuple):
    """k springs on a mechanism, from a point of one body to a point of another or in space."""

    body: IntArray  # (k, 2), -1 = the ground
    point: FloatArray  # (2 k, 3) in the frames of these bodies
    row: IntArray  # (k, 2) where their forces are among the loads, -1 on the ground
    stiffness: FloatArray  # (k,)
    length: FloatArray  # (k,) at rest
    drift: FloatArray  # (k, 3) how far the second ends on the ground move for each unit of pseudo-time
    passed: FloatArray  # (1,) pseudo-time for which they have
    pose: FloatArray  # (N, 12) scratch: bodies in the world
    alone: int  # 1 where no other forces have a place among the loads


class Trial(NamedTuple):
    """Room for a step that may be taken back."""

    q: FloatArray  # (nq,) where it leads
    qdd: FloatArray  # (nv,) accelerations there
    first: FloatArray  # (nq,) where the whole step began
    zero: FloatArray  # (nv,)
    a: FloatArray  # (N, 6) scratch
    b: FloatArray  # (N, 6) scratch
    order: FloatArray  # (10,) what to do, and what came of it


def make_trial(m: Mechanism, nq: int, nv: int) -> Trial:
    """Room for steps of a mechanism."""
    a, b = np.zeros((2, len(m.parent), 6))
    return Trial(np.zeros(nq), np.zeros(nv), np.zeros(nq), np.zeros(nv), a, b, np.zeros(10))


@cache
def no_pieces() -> Pieces:
    """Of a tree that is not contracted."""
    none, poses = np.zeros(0, np.int64), np.zeros((0, 12))
    return Pieces(none, none, none, none, none, none, np.zeros(0, np.int8), none, none, poses, poses)


@inlined
@kernel
def _end(t: Ties, j: int, side: int) -> Vector:
    """Where an end of spring j is in the world."""
    i, x = t.body[j, side], get3(t.point, 2 * j + side)
    if i >= 0:
        R, p = get_pose(t.pose, i)
        x = add3(p, rotate(R, x))
    elif side == 1:
        x = add3(x, scale3(t.passed[0], get3(t.drift, j)))
    return x


@inlined
@loop_kernel
def direction(t: Ties, j: int) -> tuple[Vector, Scalar]:
    """The unit vector from the first end of spring j to the second, and how far apart they are."""
    d = sub3(_end(t, j, 1), _end(t, j, 0))
    far, e = np.sqrt(dot3(d, d)), (1.0, 0.0, 0.0)
    if far > 0.0:
        e = scale3(1.0 / far, d)
    return e, far


@loop_kernel
def tie_bodies(t: Ties, loads: Loads) -> Scalar:
    """The springs' forces into the loads, from where bodies are, t.pose; returns energy."""
    energy = 0.0
    for j in range(len(t.stiffness)):
        e, far = direction(t, j)
        long = far - t.length[j]
        energy += 0.5 * t.stiffness[j] * long * long
        f = scale3(t.stiffness[j] * long, e)
        put3(loads.force, t.row[j, 0], f)
        if t.row[j, 1] >= 0:
            put3(loads.force, t.row[j, 1], scale3(-1.0, f))
    return energy


@loop_kernel
def tie(m: Mechanism, q: Rows, w: PlainWork, t: Ties, loads: Loads) -> Scalar:
    """Joints on the way to loaded bodies, where these are, and the springs' forces into the loads; returns energy."""
    for i in range(len(m.parent)):
        if w.needs[i] == 1:
            move_joint(m, q, i, w.X)
            pose = primitive_pose(m, w.X, i)
            if m.parent[i] >= 0:
                pose = compose(get_pose(t.pose, m.parent[i]), pose)
            put_pose(t.pose, i, pose)
    return tie_bodies(t, loads)


class PulledLinkage(NamedTuple):
    """A mechanism under springs: the plain one, or a contracted one with the pieces that bear the loads."""

    m: Mechanism
    q: FloatArray
    tau: FloatArray
    force: FloatArray
    qdd: FloatArray
    loads: Loads  # on the bodies of the mechanism
    w: PlainWork
    p: Springs
    t: Ties
    given: Loads  # where the springs' forces are: gathered to `loads` if there are pieces
    pieces: Pieces
    r: Trial


@inlined
@kernel
def _move(m: Mechanism, q: Rows, qdd: Rows, h: Scalar, out: Rows) -> None:
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, qdd, h, out)


@loop_kernel
def _solve(s: PulledLinkage, q: Rows, qdd: Rows) -> Scalar:
    """Accelerations at q, and the energy of the springs."""
    m, w = s.m, s.w
    energy = tie(m, q, w, s.t, s.given)
    if s.t.alone == 1:
        _bear(s)
    else:
        if len(s.pieces.bearer) > 0:
            load_pieces(s.given, s.pieces, s.loads)
        for k in range(len(s.loads.body)):
            load_body(s.force, s.loads, k, get9(s.t.pose, s.loads.body[k]))
    for i in range(len(m.parent)):
        if w.needs[i] == 0:
            move_joint(m, q, i, w.X)
        put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
        put6(w.pA, i, scale6(-1.0, get6(s.force, i)))
    inward(m, s.tau, w)
    outward_accelerations(m, qdd, w)
    return energy


@inlined
@kernel
def _bear(s: PulledLinkage) -> None:
    """The springs' forces straight to the bodies that bear them, in their frames."""
    t, force = s.t, s.force
    for k in range(len(s.loads.body)):
        put6(force, s.loads.body[k], ZERO6)
    for j in range(len(t.stiffness)):
        for side in range(2):
            i = t.body[j, side]
            if i >= 0:
                f = rotate_back(get9(t.pose, i), get3(s.given.force, t.row[j, side]))
                put6(force, i, add6(get6(force, i), join(cross(get3(t.point, 2 * j + side), f), f)))


@loop_kernel
def _swings(s: PulledLinkage) -> int:
    """1 where the forces at the end of a trial brake it by more than they drove it; -1 where they do not brake at all.

    Most steps are seen not to from the product of accelerations alone.
    """
    m, r, turned = s.m, s.r, 0.0
    for k in range(len(m.axis)):
        turned += s.qdd[m.v_index[k]] * r.qdd[m.v_index[k]]
    if turned >= 0.0:
        return -1
    braked = motion_product(m, r.qdd, s.qdd, s.w.X, r.a, r.b)
    return 1 if braked < SWINGS * motion_product(m, s.qdd, s.qdd, s.w.X, r.a, r.b) else 0


@loop_kernel
def _part(s: PulledLinkage, left: Scalar) -> Scalar:
    """How much of what is left of a step to take at once; notes where that cannot be."""
    o, part = s.r.order, min(left, s.r.order[H] / s.r.order[PARTS])
    turn = turn_of(s.m, s.qdd, o[TURN])
    if not part * turn < 1e300:
        o[CODE] = float(NO_NUMBER)
    elif part * turn > 1.0:
        pieces, wanted = 1.0, min(left * turn - 1e-9, 2.0 * MAX_PARTS)
        while pieces < wanted:
            pieces += 1.0
        part = left / pieces
    if left > MAX_PARTS * part:
        o[CODE] = max(o[CODE], float(FAR_TURN))
    return part


@loop_kernel
def _calm(o: Rows, answer: int) -> None:
    """Count parts that did not swing, and take longer ones after many."""
    o[CALMED] = o[CALMED] + 1.0 if answer < 0 else 0.0
    if o[CALMED] >= CALM * o[PARTS] and o[PARTS] > 1.0:
        o[PARTS], o[CALMED] = max(1.0, 0.5 * o[PARTS]), 0.0


@loop_kernel
def _step(s: PulledLinkage) -> Scalar:
    """One step, in parts; returns the springs' energy at its end. One that fails is taken back."""
    m, r, t = s.m, s.r, s.t
    o, began, left, energy, count = r.order, t.passed[0], r.order[H], 0.0, 0
    _move(m, s.q, r.zero, 0.0, r.first)
    while left > 0.0:
        part, before = _part(s, left), t.passed[0]
        count += 1
        if count > 2 * MAX_PARTS:
            o[CODE] = max(o[CODE], float(FAR_TURN))
        if o[CODE] != FINE:
            _move(m, r.first, r.zero, 0.0, s.q)
            t.passed[0] = began
            spring_all(m, s.p, s.q)
            return tie(m, s.q, s.w, t, s.given)
        t.passed[0] = before + part
        _move(m, s.q, s.qdd, part, r.q)
        spring_all(m, s.p, r.q)
        energy = _solve(s, r.q, r.qdd)
        answer = _swings(s) if part * turn_of(m, s.qdd, o[TURN]) > STILL else 0
        # forces that stay may lead to where only very short steps are calm: there the shortest are taken as they are
        if answer == 1 and (len(t.stiffness) > 0 or 4.0 * o[H] <= MAX_PARTS * part):
            o[PARTS], o[CALMED] = 2.0 * max(o[PARTS], o[H] / part), 0.0
            t.passed[0] = before
            spring_all(m, s.p, s.q)
            continue
        _move(m, s.q, s.qdd, part, s.q)
        for k in range(len(m.axis)):
            s.qdd[m.v_index[k]] = r.qdd[m.v_index[k]]
        left = left - part if part < left else 0.0
        o[CUTS] += 1.0 if left > 0.0 else 0.0
        _calm(o, answer)
    return energy


@loop_kernel
def pulled_march(s: PulledLinkage) -> Scalar:
    """Take order[STEPS] steps of order[H], in order[PARTS] parts each or more; returns the springs' energy last.

    It ends early where a step fails, and where power is beyond order[GROWN] or below order[FADED] at an age of 1, 2,
    4 ... steps, order[AGE] of which were taken before. qdd holds the solution where it ends.
    """
    m, r, look = s.m, s.r, 1.0
    o, energy = r.order, _solve(s, s.q, s.qdd)
    o[CODE] = float(FINE)
    while look <= o[AGE]:
        look = 2.0 * look
    while o[STEPS] > 0.5:
        if o[AGE] == look:
            look, power = 2.0 * look, motion_product(m, s.qdd, s.qdd, s.w.X, r.a, r.b)
            if power > o[GROWN] or power < o[FADED]:
                o[CODE] = float(OUTGROWN)
                return energy
        energy = _step(s)
        if o[CODE] != FINE:
            return energy
        o[STEPS] -= 1.0
        o[AGE] += 1.0
    return energy
