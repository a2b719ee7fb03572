"""Loops before they are used: refused are those that cannot be closed, where that is certain (`reach`), and those that
hold nothing which others do not.

Rows of loops that share no joint have nothing to do with each other, so all is done in small groups of loops. A loop is
redundant where all of its rows lie in the span of the others': in a configuration with loops closed, and elsewhere,
wherever the linkage can go with the others closed, so that a singular posture is not mistaken for it. Rows that are
redundant in part, as those of a planar four-bar in space, are nothing to refuse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.loops import LoopRows, loop_jacobian
from bough.adaptive.engines.plain import make_work, plain_move, world_poses
from bough.errors import ModelError
from bough.joints import BALL, SLIDE, TURN, Mechanism
from bough.types import BoolArray, FloatArray, IntArray

# Two rigid bodies held together at several frames: whether they can be, and where one then is in the other.
#
# The turn that brings points and directions of one body onto those of the other is found by Wahba's problem; where
# they lie on one line, the turn about it by the same problem in the plane across. The shift is linear then. All is
# exact but for rounding; frames that miss each other by what figures in files are rounded to are not held against
# anybody.


MISSED = 1e-4  # m or rad, or that share of a body's size where it is smaller than 1 m: more than figures are rounded to
ROUNDED = 1e-9  # share of the size below which a distance may be rounding
ONE_LINE, SURE = 1e-13, 1e-8  # squares of shares of the size: what lies on one line, and what certainly does not


class Grip(NamedTuple):
    """A frame of one rigid body (R, p), held to one of another along these axes of the second: 0-2 turn, 3-5 slide."""

    a: tuple[FloatArray, FloatArray]
    b: tuple[FloatArray, FloatArray]
    held: frozenset[int]

    @property
    def directions(self) -> list[tuple[FloatArray, FloatArray]]:
        """Directions of both bodies that are parallel."""
        axes = (0, 1, 2) if 2 in self.held else (2,) if 0 in self.held else ()
        return [(self.a[0][:, k], self.b[0][:, k]) for k in axes]

    def missed(self, R: FloatArray, t: FloatArray) -> tuple[float, float]:
        """How far its frames turn (rad) and lie (m) apart where x of the first body is R x + t of the second."""
        turn = max((float(np.linalg.norm(R @ a - b)) for a, b in self.directions), default=0.0)
        apart = self.b[0].T @ (R @ self.a[1] + t - self.b[1])
        return turn, max((abs(float(apart[k - 3])) for k in self.held if k >= 3), default=0.0)


class Fit(NamedTuple):
    """How far frames miss each other at best, 0 where they may meet; and where the first body is, if that is sure."""

    gap: float
    pose: tuple[FloatArray, FloatArray] | None = None


def _aligned(a: FloatArray, b: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """The turn R with b = R a (rows), as nearly as can be; how much more any other misses; and the axes of a."""
    U, s, Vt = np.linalg.svd(b.T @ a)
    s[-1] *= (sign := np.sign(np.linalg.det(U @ Vt)))
    U[:, -1] *= sign
    return U @ Vt, float(s[-2] + s[-1]), Vt


def _centred(x: FloatArray) -> FloatArray:
    return x - x.mean(axis=0) if len(x) else x


def fit(ties: list[Grip]) -> Fit:
    """Whether a rigid body can be held to another by all of these at once."""
    places = np.array([(t.a[1], t.b[1]) for t in ties])
    size = float(np.abs(places - places.mean(axis=0)).max())
    unit = min(size, 1.0) or 1.0
    slack = max(MISSED, ROUNDED * float(np.abs(places).max()) / unit)
    pins = np.array([3 <= len(t.held & {3, 4, 5}) for t in ties])
    points, along = places[pins] / unit, [d for t in ties for d in t.directions]
    pairs = [np.array([d[side] for d in along]).reshape(-1, 3) for side in (0, 1)]
    a, b = (np.concatenate([_centred(points[:, side]), pairs[side]]) for side in (0, 1))
    R, sure, axes = _aligned(a, b)
    left, whole = np.linalg.norm(a @ R.T - b, axis=1), float((a * a).sum() + (b * b).sum())
    if left.max(initial=0.0) > slack:
        worst = int(left.argmax())
        return Fit(float(left[worst]) * (unit if worst < len(points) else 1.0))
    if sure <= ONE_LINE * whole:
        if whole <= ONE_LINE:
            return Fit(0.0)  # held at a point, if at all
        E, across = axes[1:], axes[1:] @ R.T
        x, y = _centred(places[:, 0] @ E.T) / unit, _centred(places[:, 1] @ across.T) / unit
        Q, sure, _ = _aligned(x, y)
        off = float(np.linalg.norm(x @ Q.T - y, axis=1).max())
        if off > slack:
            return Fit(off * unit)
        R = across.T @ Q @ E + np.outer(R @ axes[0], axes[0])
    if sure <= SURE * whole:
        return Fit(0.0)
    return _shifted(ties, R, unit * slack + size * (slack if left.max() > ROUNDED else 0.0) / sure**0.5)


def _shifted(ties: list[Grip], R: FloatArray, slack: float) -> Fit:
    """The same when the turn is known."""
    rows = [(t.b[0][:, k - 3], t.b[1] - R @ t.a[1]) for t in ties for k in sorted(t.held) if k >= 3]
    A, x = np.array([n for n, _ in rows]), np.array([n @ p for n, p in rows])
    t, _, rank, _ = np.linalg.lstsq(A, x, rcond=1e-6)
    gap = float(np.abs(A @ t - x).max())
    return Fit(gap) if gap > slack else Fit(0.0, (R, t) if rank == 3 else None)


# Points that joints or loops keep together are corners of polygons, whose sides are rigid bodies: none of these is
# longer than another way round.
#
# A joint that only turns keeps a point of its body in a place of its parent, a loop without slides one of each of its
# bodies. One loop is a polygon; several with bodies in common make others, such as three bars of 1, 1 and 3 m that
# are pinned end to end.


MANY = 30  # points of one body of which each is a side with every other; of more, only those that one loop joins


class Side(NamedTuple):
    """Two points of one body. Numbers of points are those of the joints, then those of the loops."""

    ends: tuple[int, int]
    length: float

    def other(self, point: int) -> int:
        return self.ends[0] if point == self.ends[1] else self.ends[1]


def refuse_beyond_reach(m: Mechanism, lp: LoopRows, origin: FloatArray, turns: BoolArray, names: Sequence[str]) -> None:
    """Loops that close nowhere, as a side is longer than another way between its ends; `turns` are joints that keep
    the origin of their body where it is in the parent."""
    at: dict[int, list[Side]] = defaultdict(list)
    for side in _sides(m, lp, origin, turns):
        for end in side.ends:
            at[end].append(side)
    least = {point: sorted(x.length for x in sides)[:2] for point, sides in at.items()}
    for side in {id(x): x for sides in at.values() for x in sides}.values():
        enough = side.length - max(MISSED * min(1.0, side.length), 2.0 * ROUNDED * side.length)
        # another way has a first side and a last one: beside this one, the shortest that there are
        if all(any(x < enough for x in least[end]) for end in side.ends):
            length, way = _way_round(at, side, enough)
            loops = [names[k - len(m.parent)] for k in (*side.ends, *way) if k >= len(m.parent)]
            if length < enough and loops:
                first, *others = dict.fromkeys(loops)
                along = f" together with {', '.join(others)}" * bool(others)
                raise ModelError(
                    f"closure {first} cannot be closed{along}: however the joints turn, its frames are "
                    f"{side.length - length:.2g} m apart"
                )


def _sides(m: Mechanism, lp: LoopRows, origin: FloatArray, turns: BoolArray) -> list[Side]:
    body, loop = np.repeat(np.arange(len(m.parent)), np.diff(lp.first)), lp.loop[lp.row]
    order = np.lexsort((body, loop))
    way = np.split(body[order], np.searchsorted(loop[order], np.arange(1, len(lp.meet))))
    axes = np.zeros((len(lp.meet), 6), bool)
    axes[lp.loop, lp.axis] = True
    held = np.flatnonzero(axes[:, 3:].all(axis=1)).tolist()
    ways = {c: np.unique(way[c]) for c in held}
    points: dict[int, dict[int, FloatArray]] = defaultdict(dict)  # of each body, in its frame
    for i in {i for way in ways.values() for i in way[turns[way]].tolist()}:
        points[int(m.parent[i])][i], points[i][i] = origin[i, 9:], np.zeros(3)
    for c in held:
        for k, i in enumerate(lp.body[c].tolist()):
            points[i][len(m.parent) + c] = lp.frame[2 * c + k, 9:]
    found = [_side(of, a, b) for of in points.values() if len(of) <= MANY for a, b in combinations(of, 2)]
    for i, of in points.items():
        for c in held if len(of) > MANY else ():
            on = {i, len(m.parent) + c, *ways[c][m.parent[ways[c]] == i].tolist()} & {*of}
            found += [_side(of, a, b) for a, b in combinations(sorted(on), 2)]
    return found


def _side(of: dict[int, FloatArray], a: int, b: int) -> Side:
    return Side((a, b), float(np.linalg.norm(of[a] - of[b])))


def _way_round(at: dict[int, list[Side]], side: Side, enough: float) -> tuple[float, list[int]]:
    """The shortest way between the ends of a side which is not that side, if it is shorter than `enough`, and its
    points."""
    begin, end = side.ends
    heap, before = [(0.0, begin, begin)], dict[int, int]()
    while heap:
        length, point, last = heappop(heap)
        if point in before:
            continue
        before[point] = last
        if point == end:
            way = [end]
            while way[-1] != begin:
                way.append(before[way[-1]])
            return length, way
        for other in at[point]:
            if other is not side and length + other.length < enough:
                heappush(heap, (length + other.length, other.other(point), point))
    return np.inf, []


# Loops that certainly cannot be closed: nothing here is a search, so that none is refused that could be.
#
# Three reasons are certain. Loops between two rigid bodies must fit onto each other (`fit`); bodies that they hold
# without any freedom are one from then on. Points that are held together are corners of `polygons`. And what is the
# same in every posture, as the height of a flat linkage, must be right in one.


CONSTANT = 1e-10  # share of the size within which what varies by rounding alone stays


def listed(names: Sequence[str], otherwise: str) -> str:
    """The first few of these."""
    return ", ".join(names[:4]) + " and others" * (len(names) > 4) or otherwise


def refuse(name: str, by: str, gap: float) -> None:
    """Say that a closure is held open."""
    raise ModelError(f"closure {name} cannot be closed: {by} keep its frames {gap:.2g} m or rad apart")


class Rigid:
    """Which bodies (-1 = the ground) are one rigid body, by which loops, and where they are in it."""

    def __init__(self, m: Mechanism, lp: LoopRows, origin: FloatArray) -> None:
        self.m, self.lp, self.origin = m, lp, origin
        bodies = [int(i) for i in np.unique(lp.body)]
        self.of = {i: i for i in bodies}
        self.members = {i: [i] for i in bodies}
        self.pose = {i: (np.eye(3), np.zeros(3)) for i in bodies}
        self.by: dict[int, list[int]] = {i: [] for i in bodies}  # loops that made it one

    def loop(self, c: int) -> Grip:
        """A loop as a tie between rigid bodies."""
        ends = [self._placed(int(self.lp.body[c, k]), _split(self.lp.frame[2 * c + k])) for k in (0, 1)]
        return Grip(ends[0], ends[1], frozenset(self.lp.axis[self.lp.loop == c].tolist()))

    def joints(self, a: int, b: int) -> list[Grip]:
        """Joints of the tree between two rigid bodies."""
        found = []
        for i in [i for of in (a, b) for i in self.members[of] if i >= 0]:
            up, held = int(self.m.parent[i]), _held_by(self.m, i)
            if held and {self.of.get(up), self.of[i]} == {a, b}:
                ends = self._placed(up, _split(self.origin[i])), self._placed(i, (np.eye(3), np.zeros(3)))
                found.append(Grip(*(ends if self.of[i] == b else ends[::-1]), held))
        return found

    def join(self, a: int, b: int, pose: tuple[FloatArray, FloatArray], loops: Iterable[int]) -> None:
        """The first rigid body is there in the second: one from now on."""
        R, t = pose
        if len(self.members[a]) > len(self.members[b]):
            a, b, R, t = b, a, R.T, -R.T @ t
        for i in self.members[a]:
            self.of[i], self.pose[i] = b, (R @ self.pose[i][0], R @ self.pose[i][1] + t)
        self.members[b] += self.members.pop(a)
        self.by[b] += [*self.by.pop(a), *loops]

    def _placed(self, body: int, frame: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        R, p = self.pose[body]
        return R @ frame[0], R @ frame[1] + p


def _held_by(m: Mechanism, i: int) -> frozenset[int]:
    """What a joint of the tree holds, as a loop would; all that is known of others is that they hold nothing else."""
    turns = {0, 1, 3, 4} if m.pitch[m.dof[i]] else {0, 1, 3, 4, 5}
    return frozenset({TURN: turns, SLIDE: {0, 1, 2, 3, 4}, BALL: {3, 4, 5}}.get(int(m.kind[i]), ()))


def refuse_misfits(m: Mechanism, lp: LoopRows, origin: FloatArray, names: Sequence[str]) -> None:
    """Loops between the same two bodies, or between such as other loops make one, that do not fit together."""
    rigid, left = Rigid(m, lp, origin), list(range(len(lp.meet)))
    while left:
        between: dict[tuple[int, int], list[int]] = {}
        for c in left:
            a, b = (rigid.of[int(i)] for i in lp.body[c])
            between.setdefault((min(a, b), max(a, b)), []).append(c)
        before, left = len(left), []
        for (a, b), loops in between.items():
            if {a, b} - set(rigid.members):
                left += loops  # one of them has grown: next time
            elif a == b:
                for c in loops:
                    _refuse_within(rigid, c, names)
            elif not _joined_loops(rigid, a, b, loops, names):
                left += loops
        if len(left) == before:
            return


def _refuse_within(rigid: Rigid, c: int, names: Sequence[str]) -> None:
    """Frames of one rigid body lie where they lie."""
    tie, by = rigid.loop(c), rigid.by[rigid.of[int(rigid.lp.body[c, 0])]]
    size = max(float(np.abs(end[1]).max()) for end in (tie.a, tie.b))
    turn, apart = tie.missed(np.eye(3), np.zeros(3))
    if turn > MISSED or apart > max(MISSED * (size if by else min(size, 1.0)), ROUNDED * size):
        refuse(names[c], listed([names[k] for k in by], "frames of one rigid body"), max(turn, apart))


def _joined_loops(rigid: Rigid, a: int, b: int, loops: list[int], names: Sequence[str]) -> bool:
    """Whether loops and joints between two rigid bodies leave them no freedom; refused if they do not fit together."""
    ties = rigid.joints(a, b)
    first = len(ties)
    for c in loops:
        tie = rigid.loop(c)
        ties.append(tie if rigid.of[int(rigid.lp.body[c, 0])] == a else Grip(tie.b, tie.a, tie.held))
    if len(ties) == 1 and len(ties[0].held) < 6:
        return False
    found = fit(ties)
    if found.gap:
        k, gap = next((k, gap) for k in range(len(loops)) if (gap := fit(ties[: first + k + 1]).gap))
        by = [names[c] for c in [*loops[:k], *rigid.by[a], *rigid.by[b]]] + ["the joint between its bodies"] * (
            first > 0
        )
        raise ModelError(
            f"closure {names[loops[k]]} cannot be closed together with {listed(by, 'itself')}: at best, frames stay "
            f"{gap:.2g} m or rad apart"
        )
    if found.pose is None:
        return False
    rigid.join(a, b, found.pose, loops)
    return True


def refuse_constants(lp: LoopRows, look: Callable[[], None], names: Sequence[str]) -> None:
    """What of a loop's gap is the same wherever the joints go, in a frame in which both sides meet, must be zero.

    `look` goes to another posture; gaps of enough postures span all that there are, as these depend on joints smoothly.
    """
    held = np.zeros((len(lp.meet), 6), bool)
    held[lp.loop, lp.axis] = True
    turned = np.stack([held[:, 2], held[:, 2], held[:, 0]], axis=1)  # which columns of the two rotations are the same
    pinned = np.asarray(held[:, 3:].all(axis=1))
    must = np.concatenate([np.tile(turned, 3), np.repeat(pinned[:, None], 3, axis=1)], axis=1)
    gaps, size = np.zeros((int(must.sum(axis=1).max()) + 2, *must.shape)), np.zeros(len(lp.meet))
    for k in range(len(gaps)):
        look()
        ends = _composed(lp.pose, lp.frame).reshape(-1, 2, 12)
        gaps[k] = (ends[:, 1] - ends[:, 0]) * must
        np.maximum(size, np.abs(ends[:, :, 9:]).max(axis=(1, 2)), out=size)
    unit = np.where(size > 0.0, np.minimum(size, 1.0), 1.0)
    gaps[:, :, 9:] /= unit[:, None]
    mean, large = gaps.mean(axis=0), size / unit + 1.0
    _, s, Vt = np.linalg.svd((gaps - mean).transpose(1, 0, 2), full_matrices=False)
    varies = np.where(s > CONSTANT * large[:, None], np.einsum("cij,cj->ci", Vt, mean), 0.0)
    stays = mean - np.einsum("ci,cij->cj", varies, Vt)
    for c in np.flatnonzero(np.linalg.norm(stays, axis=1) > np.maximum(MISSED, ROUNDED * large)).tolist():
        stays[c, 9:] *= unit[c]
        gap = max(float(np.linalg.norm(part)) for part in (stays[c, 9:], stays[c, :9]))
        refuse(names[c], "wherever they go, the joints", gap)


def origins(m: Mechanism, q: FloatArray) -> FloatArray:
    """(N, 12) the frame of each body in that of its parent."""
    poses = np.zeros((len(m.parent), 12))
    compiled(world_poses)(m, q, np.zeros_like(poses), poses)
    up = np.asarray(m.parent)
    above = np.where(up[:, None] < 0, np.eye(4, 3).ravel(), poses[up])
    R = above[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1)
    turned = (R @ poses[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    return np.concatenate([turned, np.einsum("nij,nj->ni", R, poses[:, 9:] - above[:, 9:])], axis=1)


def _composed(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Poses (k, 12) in poses (k, 12)."""
    R = X[:, :9].reshape(-1, 3, 3)
    turned = (R @ Y[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    return np.concatenate([turned, X[:, 9:] + np.einsum("nij,nj->ni", R, Y[:, 9:])], axis=1)


def _split(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    return pose[:9].reshape(3, 3), pose[9:]


def refuse_impossible(m: Mechanism, lp: LoopRows, q: FloatArray, names: Sequence[str]) -> None:
    """Refuse loops that certainly cannot be closed, by name; q is any place."""
    rng, other, work = np.random.default_rng(2), q.copy(), make_work(len(m.parent), len(m.axis))

    def look() -> None:
        compiled(plain_move)(m, other, rng.normal(size=len(m.v_index)), 1.0)
        compiled(loop_jacobian)(m, other, work, lp)

    origin = origins(m, q)
    refuse_misfits(m, lp, origin, names)
    refuse_constants(lp, look, names)
    where = origin[:, 9:]
    moved, far = (np.abs(x).max(axis=1, initial=0.0) for x in (where - origins(m, other)[:, 9:], where))
    refuse_beyond_reach(m, lp, origin, np.asarray(moved <= ROUNDED * (1.0 + far)), names)


CLOSED, OPEN = 1e-9, 1e-4  # m or rad: loops as good as closed, and loops that are not
DEPENDENT, INDEPENDENT = 1e-7, 1e-5  # shares of rows outside the span of others: rounding, and what is none
HELD = 1e-6  # square of the share that others have in holding what a redundant loop holds
LARGEST = 10_000_000  # entries of the rows of a group, beyond which it is not looked at
TRIES, STUCK = 60, 1e8  # steps of a search, and its largest damping
LONGEST, AWAY = 0.4, 0.3  # largest step on the way, and to another posture, rad or m


class Group(NamedTuple):
    """Loops that share joints: m rows that depend on n freedoms."""

    loops: list[int]
    blocks: list[IntArray]  # rows of each loop, counted within the group
    rows: IntArray  # (m,) which rows they are
    v: IntArray  # (n,) places of the freedoms in velocities
    entry: tuple[IntArray, IntArray]  # where nonzeros are in LoopRows.s
    place: tuple[IntArray, IntArray]  # and in the rows (m, n)

    def without(self, k: int) -> IntArray:
        """All rows but those of its k-th loop."""
        return np.setdiff1d(np.arange(len(self.rows)), self.blocks[k])

    def matrix(self, lp: LoopRows) -> FloatArray:
        """Its rows (m, n), as they are now."""
        J = np.zeros((len(self.rows), len(self.v)))
        J[self.place] = lp.s[self.entry]
        return J


def _joined(pairs: IntArray, count: int) -> IntArray:
    """The least number with which each of so many is connected by pairs."""
    first = np.arange(count)
    while True:
        least = np.minimum(first[pairs[:, 0]], first[pairs[:, 1]])
        before = first.copy()
        np.minimum.at(first, pairs[:, 0], least)
        np.minimum.at(first, pairs[:, 1], least)
        first = first[first]
        if np.array_equal(first, before):
            return first


def groups_of(m: Mechanism, lp: LoopRows) -> list[Group]:
    """Loops by the joints that they share."""
    body = np.repeat(np.arange(len(m.parent)), np.diff(lp.first))
    size = np.diff(m.dof)[body]
    e = np.repeat(np.arange(len(body)), size)
    j = np.arange(len(e)) - np.repeat(np.cumsum(size) - size, size)
    row, v, loop = lp.row[e], np.asarray(m.v_index)[m.dof[body[e]] + j], lp.loop[lp.row[e]]
    pairs = np.unique(np.stack([lp.loop[lp.row[lp.first[body]]], lp.loop[lp.row]], axis=1), axis=0)
    label = _joined(pairs.reshape(-1, 2), len(lp.meet))
    order = np.argsort(label[loop], kind="stable")
    ends = np.searchsorted(label[loop][order], np.arange(len(lp.meet) + 1))
    members = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[members], np.arange(len(lp.meet) + 1))
    count = np.bincount(lp.loop, minlength=len(lp.meet))
    first, found = np.cumsum(count) - count, []
    for k in np.unique(label).tolist():
        loops, some = members[bounds[k] : bounds[k + 1]].tolist(), order[ends[k] : ends[k + 1]]
        rows = np.concatenate([np.arange(first[c], first[c] + count[c]) for c in loops])
        blocks = np.split(np.arange(len(rows)), np.cumsum(count[loops])[:-1])
        columns, at = np.unique(v[some], return_inverse=True)
        place = np.searchsorted(rows, row[some]), at
        found.append(Group(loops, blocks, rows, columns, (e[some], j[some]), place))
    return found


class Postures:
    """Configurations of a mechanism with loops, and how these depend on them there."""

    def __init__(self, m: Mechanism, lp: LoopRows, q: FloatArray) -> None:
        self.m, self.lp, self.q = m, lp, q
        self.work, self.step = make_work(len(m.parent), len(m.axis)), np.zeros(len(m.v_index))
        self.look()

    def look(self) -> None:
        """Jacobians and gaps where joints are now."""
        compiled(loop_jacobian)(self.m, self.q, self.work, self.lp)

    def move(self, groups: Sequence[Group], steps: Sequence[FloatArray]) -> None:
        """Move the joints of groups."""
        self.step[:] = 0.0
        for group, x in zip(groups, steps, strict=True):
            self.step[group.v] = x
        compiled(plain_move)(self.m, self.q, self.step, 1.0)
        self.look()

    def gap(self, group: Group, at: IntArray) -> float:
        """How far these rows of a group are open."""
        return float(np.abs(self.lp.gap[group.rows[at]]).max(initial=0.0))

    def close(self, groups: Sequence[Group], rows: Sequence[IntArray]) -> None:
        """Close these rows of groups by short steps (Levenberg-Marquardt), as far as that goes."""
        searches = [Search(g, at) for g, at in zip(groups, rows, strict=True)]
        for _ in range(TRIES):
            left = [s for s in searches if s.damping < STUCK and self.gap(s.group, s.rows) > CLOSED]
            if not left:
                return
            before, steps = self.q.copy(), [s.step(self.lp) for s in left]
            self.move([s.group for s in left], steps)
            better = [s.took(self.lp) for s in left]
            if not all(better):
                self.q[:] = before
                kept = [(s.group, x) for s, x, good in zip(left, steps, better, strict=True) if good]
                self.move([g for g, _ in kept], [x for _, x in kept])


class Search:
    """One group on its way to where some of its rows are closed."""

    def __init__(self, group: Group, rows: IntArray) -> None:
        self.group, self.rows, self.damping, self._least = group, rows, 1e-9, np.inf

    def step(self, lp: LoopRows) -> FloatArray:
        """The next one, from where joints are."""
        J, gap = self.group.matrix(lp)[self.rows], lp.gap[self.group.rows[self.rows]]
        self._least = float(gap @ gap)
        A = J @ J.T
        A[np.diag_indices_from(A)] += self.damping * max(float(np.trace(A)), 1e-200)
        x = -J.T @ np.linalg.solve(A, gap)
        return np.asarray(x * min(1.0, LONGEST / max(float(np.abs(x).max(initial=0.0)), 1e-300)))

    def took(self, lp: LoopRows) -> bool:
        """Whether it brought rows closer; the next is shorter where it did not."""
        gap = lp.gap[self.group.rows[self.rows]]
        good = float(gap @ gap) < self._least
        self.damping = max(0.1 * self.damping, 1e-9) if good else 10.0 * max(self.damping, 1e-4)
        return good


def redundant(J: FloatArray, blocks: Sequence[IntArray]) -> list[int]:
    """Which blocks of rows lie in the span of all others."""
    size = np.linalg.norm(J, axis=1)
    moves = size > 1e-10 * size.max(initial=0.0)
    A = J[moves] / size[moves, None]
    idle = [k for k, rows in enumerate(blocks) if not moves[rows].any()]
    with suppress(np.linalg.LinAlgError):
        if np.diag(np.linalg.cholesky(A @ A.T)).min(initial=1.0) > INDEPENDENT:
            return idle
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, s > DEPENDENT]
    at = np.cumsum(moves) - 1
    for k, rows in enumerate(blocks):
        own = U[at[rows[moves[rows]]]]
        # of the forces that hold each other, those of this block: all directions of it, or not
        if len(own) and np.linalg.eigvalsh(np.eye(len(own)) - own @ own.T)[0] > HELD:
            idle.append(k)
    return sorted(idle)


def _away(postures: Postures, group: Group, rows: IntArray, rng: np.random.Generator) -> list[int]:
    """To another posture in which these rows are closed; returns loops of the group that are redundant there."""
    J, x = group.matrix(postures.lp)[rows], rng.normal(size=len(group.v))
    x -= np.linalg.lstsq(J, J @ x, rcond=1e-9)[0]
    postures.move([group], [x * AWAY / max(1.0, float(np.abs(x).max(initial=0.0)))])
    postures.close([group], [rows])
    return redundant(group.matrix(postures.lp), group.blocks)


def _redundant_loop(postures: Postures, group: Group, rng: np.random.Generator) -> int | None:
    """The last loop of a group that is redundant here, and wherever the others let the linkage go."""
    found = redundant(group.matrix(postures.lp), group.blocks)
    if not found:
        return None
    here, every = postures.q.copy(), np.arange(len(group.rows))
    for _ in range(2):
        found = [k for k in found if k in _away(postures, group, every, rng)]
    while found:
        k = found.pop()
        postures.q[:] = here
        postures.look()
        if all(k in _away(postures, group, group.without(k), rng) for _ in range(2)):
            return k
    return None


def _implied_by(J: FloatArray, group: Group, loop: int) -> list[int]:
    """The loops of which the rows of another one are made."""
    at = group.without(loop)
    x = np.zeros(len(J))
    x[at] = np.abs(np.linalg.lstsq(J[at].T, J[group.blocks[loop]].T, rcond=1e-9)[0]).max(axis=1, initial=0.0)
    return [k for k, rows in zip(group.loops, group.blocks, strict=True) if x[rows].max() > 1e-6]


def examine_loops(m: Mechanism, lp: LoopRows, q: FloatArray, names: Sequence[str]) -> None:
    """Refuse loops that cannot be closed, and loops that hold nothing, by name; q is where to begin, and is changed."""
    refuse_impossible(m, lp, q, names)
    groups = [g for g in groups_of(m, lp) if len(g.rows) * len(g.v) <= LARGEST]
    postures, rng = Postures(m, lp, q), np.random.default_rng(1)
    postures.close(groups, [np.arange(len(g.rows)) for g in groups])
    for group in groups:
        k = _redundant_loop(postures, group, rng)
        if k is None:
            continue
        name, by = names[group.loops[k]], [names[c] for c in _implied_by(group.matrix(lp), group, k)]
        others = listed(by, "the linkage itself")
        gap, rest = postures.gap(group, group.blocks[k]), postures.gap(group, group.without(k))
        if gap > OPEN > rest:
            refuse(name, others, gap)
        raise ModelError(f"closure {name} is redundant: it follows from {others}; leave it out")
