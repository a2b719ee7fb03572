"""Steps from rest, many of them in one compiled call: of a whole linkage or a contracted one, perhaps with loops,
friction and limits, or under springs between points of bodies or to points in space.

A step is taken in parts in which no joint turns too far. A part moves q by h qdd, and forces that stay lose about
h (P + P') / 2 of their energy in it, P = qdd' M qdd at its beginning and P' = qdd'' M qdd with the accelerations at its
end. One with P' < -0.9 P is too long: it is taken back and cut in two, as are those after it until they have been calm
for a while. Accelerations at the end are those of the next step, so checking them costs nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.engines.loops import place_loops
from bough.adaptive.engines.stops import accelerations_from_rest
from bough.adaptive.engines.sweeps import (
    JointState,
    SweepWork,
    inward,
    motion_product,
    move_joints,
    outward_accelerations,
    outward_at_rest,
    turn_of,
)
from bough.adaptive.potentials import spring_all
from bough.adaptive.tree.contract import Clusters, Loads, load_body, load_clusters
from bough.adaptive.tree.layout import compose, get_pose, primitive_pose, put_pose
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism, move_joint
from bough.spatial import (
    add3,
    articulated,
    dot3,
    get3,
    get6,
    get9,
    get10,
    put3,
    put6,
    put21,
    rotate,
    scale3,
    scale6,
    sub3,
)
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

MAX_PARTS, CALM = 1000, 64
BRAKED = -0.9  # of the power at the beginning of a step, beyond which it goes uphill
STILL = 1e-10  # of the largest turn: less than that is rounding
FINE, TOO_FAR, NOT_FINITE, POWER_CHANGED = range(4)  # how a march ended


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


class Undo(NamedTuple):
    """Arrays that undo a step and check it."""

    q: FloatArray  # (nq,) where a part began
    qdd: FloatArray  # (nv,) accelerations there
    first: FloatArray  # (nq,) where the whole step began
    kept: FloatArray  # (nv,) accelerations at the end of a part
    zero: FloatArray  # (nv,)
    a: FloatArray  # (N, 6) scratch
    b: FloatArray  # (N, 6) scratch


def make_undo(m: Mechanism, nq: int, nv: int) -> Undo:
    """Working space for steps of a mechanism."""
    a, b = np.zeros((2, len(m.parent), 6))
    return Undo(np.zeros(nq), np.zeros(nv), np.zeros(nq), np.zeros(nv), np.zeros(nv), a, b)


@cache
def no_undo() -> Undo:
    """Where no step is taken."""
    none, rows = np.zeros(0), np.zeros((0, 6))
    return Undo(none, none, none, none, none, rows, rows)


class StepControl(NamedTuple):
    """Steps to take, and what comes of them: arrays of one number."""

    h: FloatArray
    turn: FloatArray  # by which a joint may turn in one part
    most: IntArray  # parts of a step
    checks: IntArray  # 1 where parts that go uphill are taken back
    known: IntArray  # 1 where the accelerations at the beginning are known
    age: IntArray  # steps taken before with the same joints
    most_power: FloatArray  # power beyond which, or below which, other joints should move: seen after 1, 2, 4 ... steps
    least_power: FloatArray
    steps: IntArray  # left
    parts: FloatArray  # of each step
    calm: IntArray  # parts that were not braked
    cuts: IntArray  # parts beyond the first of all steps
    code: IntArray

    def begin(self, h: float, turn: float, most: int, steps: int, parts: float, calm: int) -> None:
        """So many steps, in so many parts each or more; they are checked, and nothing is known."""
        self.h[0], self.turn[0], self.most[0], self.steps[0], self.parts[0] = h, turn, most, steps, parts
        self.calm[0], self.checks[0], self.known[0], self.age[0], self.cuts[0], self.code[0] = calm, 1, 0, 0, 0, FINE
        self.most_power[0], self.least_power[0] = np.inf, 0.0


def make_control() -> StepControl:
    """Space for one."""
    types = (float, float, int, int, int, int, float, float, int, float, int, int, int)
    return StepControl._make(np.zeros(1, kind) for kind in types)


@cache
def no_clusters() -> Clusters:
    """Of a tree that is not contracted."""
    none, poses = np.zeros(0, np.int64), np.zeros((0, 12))
    return Clusters(none, none, none, none, none, none, np.zeros(0, np.int8), none, none, poses, poses)


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
def tie(m: Mechanism, q: Rows, w: SweepWork, t: Ties, loads: Loads) -> Scalar:
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
    """A mechanism at rest: the whole one, or a contracted one with the clusters that bear the loads.

    `lp`, `e`, `still` and `t` are () where there is nothing of the kind: the compiler leaves out what they need.
    """

    m: Mechanism
    s: JointState
    tau: FloatArray
    loads: Loads  # on the bodies of the mechanism
    w: SweepWork
    p: Any  # `Springs` of potentials at joints
    lp: Any  # `LoopRows`
    share: FloatArray  # (2,) of the gaps of loops to close in a step, and by its h
    e: Any  # `JointLaws` with friction or limits
    still: Any  # the mechanism without gravity, for them
    t: Any  # `Ties`
    given: Loads  # where the springs' forces are: gathered to `loads` if there are clusters
    clusters: Clusters
    r: Undo


@inlined
@kernel
def _copy(m: Mechanism, x: Rows, out: Rows) -> None:
    for k in range(len(m.axis)):
        out[m.v_index[k]] = x[m.v_index[k]]


@loop_kernel
def rest_solve(s: RestLinkage, h: Scalar) -> Scalar:
    """Accelerations of a step of pseudo-time h, which matters to friction and limits; returns the energy of springs."""
    m, w, energy, q = s.m, s.w, 0.0, s.s.q
    if len(s.t) > 0:
        energy = tie(m, q, w, s.t, s.given)
    if len(s.e) > 0:
        w.stop_torque[:] = 0.0  # the result depends on inputs alone
        accelerations_from_rest(s, np.sqrt(h), s.share[0])
        return energy
    if len(s.t) > 0:
        if len(s.clusters.carrier) > 0:
            load_clusters(s.given, s.clusters, s.loads)
        for k in range(len(s.loads.body)):
            load_body(w.force, s.loads, k, get9(s.t.pose, s.loads.body[k]))
        for i in range(len(m.parent)):
            if w.needs[i] == 0:
                move_joint(m, q, i, w.X)
            put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
            put6(w.pA, i, scale6(-1.0, get6(w.force, i)))
    else:
        outward_at_rest(m, q, s.loads, w)
    if len(s.lp) > 0:
        place_loops(m, w.X, s.lp)
        s.lp.given[:] = 0.0
        s.lp.rate[0] = s.share[1]
    inward(m, s.tau, w, s.lp, ())
    outward_accelerations(m, w.force, s.s.qdd, w, s.lp)
    return energy


@loop_kernel
def _brakes(s: RestLinkage, h: Scalar) -> int:
    """1 where the forces at the end of a part brake it by more than they drove it; -1 where they do not brake at all.

    Most parts are seen not to from the product of accelerations alone. What closes gaps of loops is no force.
    """
    m, r, along_old, qdd = s.m, s.r, 0.0, s.s.qdd
    for k in range(len(m.axis)):
        along_old += qdd[m.v_index[k]] * r.qdd[m.v_index[k]]
    if along_old >= 0.0:
        return -1
    if len(s.lp) > 0:
        share, rate = s.share[0], s.share[1]
        s.share[0], s.share[1] = 0.0, 0.0
        _copy(m, qdd, r.kept)
        rest_solve(s, h)
        s.share[0], s.share[1] = share, rate
    braked = motion_product(m, qdd, r.qdd, s.w.X, r.a, r.b)
    if len(s.lp) > 0:
        _copy(m, r.kept, qdd)
    return 1 if braked < BRAKED * motion_product(m, r.qdd, r.qdd, s.w.X, r.a, r.b) else 0


# How steps are cut: the same for those that are solved and moved elsewhere (`rest_stepper`)


@loop_kernel
def next_part(c: StepControl, left: Scalar, turn: Scalar, count: int) -> Scalar:
    """How much of what is left of a step to take at once as part number `count`, joints turning by at most `turn` of
    what they may for each unit of h; notes where that cannot be."""
    part = min(left, c.h[0] / c.parts[0])
    if not part * turn < 1e300:
        c.code[0] = NOT_FINITE
    elif part * turn > 1.0:
        count_, needed = 1.0, min(left * turn - 1e-9, 2.0 * c.most[0])
        while count_ < needed:
            count_ += 1.0
        part = left / count_
    if left > c.most[0] * part or count > 2 * c.most[0]:
        c.code[0] = max(c.code[0], TOO_FAR)
    return part


@loop_kernel
def may_go_back(c: StepControl, part: Scalar) -> bool:
    """Whether a part may be taken back: forces that stay may lead to where only very short ones are calm, and there the
    shortest are taken as they are."""
    return 4.0 * c.h[0] <= c.most[0] * part


@loop_kernel
def is_moving(part: Scalar, turn: Scalar) -> bool:
    """Whether joints turn by more than rounding."""
    return part * turn > STILL


@loop_kernel
def shorten(c: StepControl, part: Scalar) -> None:
    """This part was too long."""
    c.parts[0], c.calm[0] = 2.0 * max(c.parts[0], c.h[0] / part), 0


@loop_kernel
def end_part(c: StepControl, left: Scalar, part: Scalar, answer: int) -> Scalar:
    """The rest of a step after a part; longer ones follow after many that were not braked (an `answer` of -1)."""
    left = left - part if part < left else 0.0
    c.cuts[0] += 1 if left > 0.0 else 0
    if c.checks[0] == 1:
        c.calm[0] = c.calm[0] + 1 if answer < 0 else 0
        if c.calm[0] >= CALM * c.parts[0] and c.parts[0] > 1.0:
            c.parts[0], c.calm[0] = max(1.0, 0.5 * c.parts[0]), 0
    return left


@loop_kernel
def _go_back(s: RestLinkage, q: Rows, passed: Scalar) -> None:
    """Bodies are there again, and springs as they were."""
    move_joints(s.m, q, s.r.zero, 0.0, s.s.q)
    if len(s.t) > 0:
        s.t.passed[0] = passed
    spring_all(s.m, s.p, s.s.q)


@loop_kernel
def _step(s: RestLinkage, c: StepControl) -> Scalar:
    """One step, in parts; returns the springs' energy at its end. One that fails is taken back."""
    m, r, q, qdd = s.m, s.r, s.s.q, s.s.qdd
    left, energy, count, began, before, solved = c.h[0], 0.0, 0, 0.0, 0.0, c.h[0]
    if len(s.t) > 0:
        began = s.t.passed[0]
    move_joints(m, q, r.zero, 0.0, r.first)
    while left > 0.0:
        turn, count = turn_of(m, qdd, c.turn[0]), count + 1
        part = next_part(c, left, turn, count)
        if c.code[0] != FINE:
            _go_back(s, r.first, began)
            if len(s.t) > 0:
                energy = tie(m, q, s.w, s.t, s.given)
            return energy
        if len(s.e) > 0 and part != solved:  # limits are reached in a part
            energy = rest_solve(s, part)
            solved = part
        if len(s.t) > 0:
            before = s.t.passed[0]
            s.t.passed[0] = before + part
        move_joints(m, q, r.zero, 0.0, r.q)
        _copy(m, qdd, r.qdd)
        move_joints(m, q, qdd, part, q)
        spring_all(m, s.p, q)
        answer, goes_on = 0, c.checks[0] == 1 or part < left or c.steps[0] > 1
        if goes_on:
            energy = rest_solve(s, part)
        if goes_on and c.checks[0] == 1 and is_moving(part, turn):
            answer = _brakes(s, part)
        if answer == 1 and (len(s.t) > 0 or may_go_back(c, part)):
            shorten(c, part)
            _go_back(s, r.q, before)
            _copy(m, r.qdd, qdd)
            continue
        left = end_part(c, left, part, answer)
    return energy


@loop_kernel
def rest_march(s: RestLinkage, c: StepControl) -> Scalar:
    """Take steps, in c.parts parts each or more; returns the springs' energy last.

    It ends early where a step fails, and where power leaves its range. Where steps are checked, qdd holds the last
    solution.
    """
    m, r, look, age, energy = s.m, s.r, 1, c.age[0], 0.0
    if c.known[0] == 0:
        energy = rest_solve(s, c.h[0])
    while look <= age:
        look = 2 * look
    while c.steps[0] > 0:
        if age == look:
            look, power = 2 * look, motion_product(m, s.s.qdd, s.s.qdd, s.w.X, r.a, r.b)
            if power > c.most_power[0] or power < c.least_power[0]:
                c.code[0] = POWER_CHANGED
                return energy
        energy = _step(s, c)
        if c.code[0] != FINE:
            return energy
        c.steps[0] -= 1
        age += 1
    return energy
