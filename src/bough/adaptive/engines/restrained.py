"""Steps from rest, many of them in one compiled call: of a whole linkage or a contracted one, perhaps with loops, or
under springs between points of bodies or to points in space.

A step from rest goes downhill by h P, P = qdd' M qdd, if it is short. At its end the forces' power along the motion is
P' = qdd'' M qdd, and the energy has changed by about -h (P + P') / 2: a step with P' < -0.9 P is too long. It is taken
back and cut in two, as are those after it until they have been calm for a while. Where loops are held, what closes
their gaps is no force: there a step is too long if accelerations turn round in it, and the march ends before it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.engines.loops import looped_accelerations, looped_inward, place_loops
from bough.adaptive.engines.plain import PlainWork, inward, motion_product, outward, outward_accelerations, turn_of
from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.contract import Loads, Pieces, load_body, load_pieces
from bough.adaptive.tree.layout import compose, get_pose, primitive_pose, put_pose
from bough.adaptive.tree.springs import spring_all
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
CALM_RATIO, BRAKED = 0.5, -0.5  # shares of accelerations of loops left after a step: hardly others; turned round
NEVER, CALMLY, ALWAYS = range(3)  # which steps are looked at for swinging; CALMLY: a last one only if it seems to
FINE, FAR_TURN, NO_NUMBER, OUTGROWN = range(4)  # how a march ended


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
    before: FloatArray  # (nv,) accelerations where the last step began
    zero: FloatArray  # (nv,)
    a: FloatArray  # (N, 6) scratch
    b: FloatArray  # (N, 6) scratch


def make_trial(m: Mechanism, nq: int, nv: int) -> Trial:
    """Room for steps of a mechanism."""
    a, b = np.zeros((2, len(m.parent), 6))
    return Trial(np.zeros(nq), np.zeros(nv), np.zeros(nq), np.zeros(nv), np.zeros(nv), a, b)


class Course(NamedTuple):
    """Steps to take and, in arrays of one number, what came of them."""

    h: float
    turn: float  # by which a joint may turn in one part
    looks: int
    age: int  # steps taken before with the same joints
    grown: float  # power beyond which, or below which, other joints should move: looked at after 1, 2, 4 ... steps
    faded: float
    steps: IntArray  # left
    parts: FloatArray  # of each step
    calm: IntArray  # parts that did not swing
    cuts: IntArray  # parts beyond the first of all steps
    code: IntArray


def make_course(h: float, turn: float, looks: int, steps: int, parts: int, calm: int) -> Course:
    """So many steps, in so many parts each or more."""
    ints = [np.array([x]) for x in (calm, 0, FINE)]
    return Course(h, turn, looks, 0, np.inf, 0.0, np.array([steps]), np.array([float(parts)]), *ints)


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


class RestLinkage(NamedTuple):
    """A mechanism at rest: the whole one, or a contracted one with the pieces that bear the loads."""

    m: Mechanism
    q: FloatArray
    tau: FloatArray
    force: FloatArray
    qdd: FloatArray
    loads: Loads  # on the bodies of the mechanism
    w: PlainWork
    p: Any  # `Springs` of potentials at joints
    lp: Any  # `LoopRows`, or () where there are none: the compiler leaves out what is not there
    t: Any  # `Ties`, or ()
    given: Loads  # where the springs' forces are: gathered to `loads` if there are pieces
    pieces: Pieces
    r: Trial


@inlined
@kernel
def _move(m: Mechanism, q: Rows, qdd: Rows, h: Scalar, out: Rows) -> None:
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, qdd, h, out)


@loop_kernel
def rest_solve(s: RestLinkage, q: Rows, qdd: Rows) -> Scalar:
    """Accelerations at q, and the energy of the springs."""
    m, w, energy = s.m, s.w, 0.0
    if len(s.t) > 0:
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
    else:
        outward(m, q, s.force, s.loads, w)
    if len(s.lp) > 0:
        place_loops(m, w.X, s.lp)
        looped_inward(m, s.tau, w, s.lp)
        looped_accelerations(m, s.force, qdd, w, s.lp)
    else:
        inward(m, s.tau, w)
        outward_accelerations(m, qdd, w)
    return energy


@inlined
@kernel
def _bear(s: RestLinkage) -> None:
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
def _ratio(m: Mechanism, new: Rows, old: Rows) -> Scalar:
    """Accelerations along those before, by these."""
    along_old, square = 0.0, 0.0
    for k in range(len(m.axis)):
        v = m.v_index[k]
        along_old += new[v] * old[v]
        square += old[v] * old[v]
    return along_old / max(square, 1e-300)


@loop_kernel
def _swings(s: RestLinkage) -> int:
    """1 where the forces at the end of a trial brake it by more than they drove it; -1 where they do not brake at all.

    Most steps are seen not to from the product of accelerations alone.
    """
    m, r, turned = s.m, s.r, 0.0
    if len(s.lp) > 0:
        return 0 if _ratio(m, r.qdd, s.qdd) >= BRAKED else 1
    for k in range(len(m.axis)):
        turned += s.qdd[m.v_index[k]] * r.qdd[m.v_index[k]]
    if turned >= 0.0:
        return -1
    braked = motion_product(m, r.qdd, s.qdd, s.w.X, r.a, r.b)
    return 1 if braked < SWINGS * motion_product(m, s.qdd, s.qdd, s.w.X, r.a, r.b) else 0


@loop_kernel
def _part(s: RestLinkage, c: Course, left: Scalar) -> Scalar:
    """How much of what is left of a step to take at once; notes where that cannot be."""
    part, turn = min(left, c.h / c.parts[0]), turn_of(s.m, s.qdd, c.turn)
    if not part * turn < 1e300:
        c.code[0] = NO_NUMBER
    elif part * turn > 1.0:
        pieces, wanted = 1.0, min(left * turn - 1e-9, 2.0 * MAX_PARTS)
        while pieces < wanted:
            pieces += 1.0
        part = left / pieces
        if len(s.lp) > 0:
            c.code[0] = FAR_TURN
    if left > MAX_PARTS * part:
        c.code[0] = max(c.code[0], FAR_TURN)
    return part


@loop_kernel
def _note_calm(c: Course, answer: int) -> None:
    """Count parts that did not swing, and take longer ones after many."""
    c.calm[0] = c.calm[0] + 1 if answer < 0 else 0
    if c.calm[0] >= CALM * c.parts[0] and c.parts[0] > 1.0:
        c.parts[0], c.calm[0] = max(1.0, 0.5 * c.parts[0]), 0


@loop_kernel
def _step(s: RestLinkage, c: Course) -> Scalar:
    """One step, in parts; returns the springs' energy at its end. One that fails is taken back."""
    m, r, left, energy, count, began, before = s.m, s.r, c.h, 0.0, 0, 0.0, 0.0
    if len(s.t) > 0:
        began = s.t.passed[0]
    looks = c.looks == ALWAYS
    if len(s.lp) > 0:
        looks = c.looks == CALMLY and not _ratio(m, s.qdd, r.before) >= CALM_RATIO
        for k in range(len(m.axis)):
            r.before[m.v_index[k]] = s.qdd[m.v_index[k]]
    _move(m, s.q, r.zero, 0.0, r.first)
    while left > 0.0:
        part, count = _part(s, c, left), count + 1
        if count > 2 * MAX_PARTS:
            c.code[0] = max(c.code[0], FAR_TURN)
        if c.code[0] != FINE:
            _move(m, r.first, r.zero, 0.0, s.q)
            spring_all(m, s.p, s.q)
            if len(s.t) > 0:
                s.t.passed[0] = began
                energy = tie(m, s.q, s.w, s.t, s.given)
            return energy
        if len(s.t) > 0:
            before = s.t.passed[0]
            s.t.passed[0] = before + part
        _move(m, s.q, s.qdd, part, r.q)
        spring_all(m, s.p, r.q)
        answer, goes_on = 0, looks or part < left or c.steps[0] > 1
        if goes_on:
            energy = rest_solve(s, r.q, r.qdd)
        if goes_on and c.looks != NEVER and part * turn_of(m, s.qdd, c.turn) > STILL:
            answer = _swings(s)
        # forces that stay may lead to where only very short steps are calm: there the shortest are taken as they are
        if answer == 1 and len(s.lp) > 0:
            c.code[0] = FAR_TURN
            for k in range(len(m.axis)):
                r.before[m.v_index[k]] = 0.0
            continue
        if answer == 1 and (len(s.t) > 0 or 4.0 * c.h <= MAX_PARTS * part):
            c.parts[0], c.calm[0] = 2.0 * max(c.parts[0], c.h / part), 0
            if len(s.t) > 0:
                s.t.passed[0] = before
            spring_all(m, s.p, s.q)
            continue
        _move(m, s.q, s.qdd, part, s.q)
        if goes_on:
            for k in range(len(m.axis)):
                s.qdd[m.v_index[k]] = r.qdd[m.v_index[k]]
        left = left - part if part < left else 0.0
        c.cuts[0] += 1 if left > 0.0 else 0
        if c.looks != NEVER:
            _note_calm(c, answer)
    return energy


@loop_kernel
def rest_march(s: RestLinkage, c: Course) -> Scalar:
    """Take steps, in c.parts parts each or more; returns the springs' energy last.

    It ends early where a step fails, and where power has grown or faded too much. Unless its last step is not looked
    at, qdd holds the solution where it ends.
    """
    m, r, look, age = s.m, s.r, 1, c.age
    energy = rest_solve(s, s.q, s.qdd)
    while look <= age:
        look = 2 * look
    while c.steps[0] > 0:
        if age == look:
            look, power = 2 * look, motion_product(m, s.qdd, s.qdd, s.w.X, r.a, r.b)
            if power > c.grown or power < c.faded:
                c.code[0] = OUTGROWN
                return energy
        energy = _step(s, c)
        if c.code[0] != FINE:
            return energy
        c.steps[0] -= 1
        age += 1
    return energy
