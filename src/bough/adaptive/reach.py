"""Loops that certainly cannot be closed: nothing here is a search, so that none is refused that could be.

Three reasons are certain. Loops between two rigid bodies must fit onto each other (`fit`); bodies that they hold
without any freedom are one from then on. Points that are held together are corners of `polygons`. And what is the same
in every posture, as the height of a flat linkage, must be right in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines import LoopRows, loop_jacobian, make_work, plain_move, world_poses
from bough.adaptive.fit import MISSED, ROUNDED, Grip, fit
from bough.adaptive.polygons import refuse_beyond_reach
from bough.errors import ModelError
from bough.joints import BALL, SLIDE, TURN, Mechanism
from bough.types import FloatArray

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
            elif not _joined(rigid, a, b, loops, names):
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


def _joined(rigid: Rigid, a: int, b: int, loops: list[int], names: Sequence[str]) -> bool:
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
