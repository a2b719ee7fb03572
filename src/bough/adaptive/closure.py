"""Loops: two frames of a linkage held together, by forces that an O(n) sweep finds before each bounded pass.

The closure forces satisfy T' (a_b - a_a) = -gap / h over all loops (`engines.loops`). On the tree they are applied
forces like others, so every error bound stays valid; the gap term closes what integration and culling open, and a loop
that is open at the start within a few steps. Redundant loops (a planar chain in space) are allowed: the smallest
closure forces are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.loops import Closing, LoopRows, loop_work, make_loops
from bough.adaptive.engines.plain import world_poses
from bough.errors import ModelError, unknown_option
from bough.joints import BALL, TURN, Mechanism
from bough.model import Model
from bough.spatial import rotation_vector, turn_of_z
from bough.types import FloatArray

MISSED = 1e-4  # m, or that share of the longest side where it is shorter than 1 m: what figures are rounded to
ROUNDING = 1e-12  # of the size of the linkage
MOST_WORK = 1e10  # products of a sweep

# Axes of frame b that a closing joint frees (0-2 turn, 3-5 slide)
FREED = {"fixed": (), "revolute": (2,), "prismatic": (5,), "cylindrical": (2, 5), "spherical": (0, 1, 2)}

# What the kinds of a model's closures are called here
JOINTS = {
    "connect": "spherical", "weld": "fixed", "hinge": "revolute", "slide": "prismatic", "cylindrical": "cylindrical",
}  # fmt: skip


@dataclass(frozen=True)
class Closure:
    """A joint that closes a loop between two named frames; z of frame b is its axis. "world" may be one of them."""

    a: str
    b: str
    joint: str = "revolute"

    def __post_init__(self) -> None:
        if self.joint not in FREED:
            raise unknown_option(f"closure {self.a!r} to {self.b!r}: no joint {self.joint!r}", self.joint, FREED)


def distinct(closures: Iterable[Closure]) -> tuple[Closure, ...]:
    """Closures; one that is given twice is redundant, and refused."""
    closures = tuple(closures)
    for (ends, joint), count in Counter((tuple(sorted((c.a, c.b))), c.joint) for c in closures).items():
        if count > 1:
            a, b = ends
            raise ModelError(f"closure {a!r} to {b!r} ({joint}) is given twice: it is redundant, give it once")
    return closures


def with_those_of(model: Model, closures: Iterable[Closure]) -> tuple[Closure, ...]:
    """The model's own closures, then others."""
    for c in model.closures:
        if c.kind not in JOINTS:
            raise ModelError(f"closure {c.name!r} is a {c.kind}, which adaptive simulation does not hold")
    own = [Closure(c.frame, c.other, JOINTS[c.kind]) for c in model.closures]
    return tuple(dict.fromkeys([*own, *distinct(closures)]))


class _Side(NamedTuple):
    """Where a closing frame is: primitive body (-1 = world) and placement there."""

    body: int
    R: FloatArray
    p: FloatArray


class Closures:
    """All closures of one simulation."""

    def __init__(self, model: Model, closures: tuple[Closure, ...]) -> None:
        self.model, self.closures = model, closures
        self.rate = 1.0  # share of the gap that a step closes
        self.rank = 0  # constraint directions that the linkage can follow, found by a sweep
        self.sides = [(self._side(c.a), self._side(c.b)) for c in closures]
        self.T = [np.delete(np.eye(6), FREED[c.joint], axis=1) for c in closures]
        ends = sorted({side.body for pair in self.sides for side in pair if side.body >= 0})
        if not ends:
            raise ModelError("a closure between two frames of the world holds nothing")
        self.bodies = np.array(ends, np.int64)

    @property
    def rows(self) -> list[list[int]]:
        """Axes of the second frame that each closure holds."""
        return [[j for j in range(6) if j not in FREED[c.joint]] for c in self.closures]

    def closing(self) -> Closing:
        """The loops as engines see them."""
        sides = [side for pair in self.sides for side in pair]
        frames = np.array([np.concatenate([s.R.ravel(), s.p]) for s in sides])
        return Closing(np.array([s.body for s in sides], np.int64).reshape(-1, 2), frames, self.rows)

    def _side(self, name: str) -> _Side:
        frames, k = self.model.frames, self.model.frame(name)
        return _Side(int(frames.body[k]), frames.R[k], frames.p[k])

    def note_rank(self, loops: LoopRows) -> None:
        """Directions that the linkage can follow, as a sweep found them."""
        self.rank = int(np.count_nonzero(np.diag(loops.A)))

    def columns(self, rows: FloatArray) -> tuple[list[list[tuple[int, FloatArray, FloatArray]]], FloatArray]:
        """For each constraint direction, unit forces on bodies in their frames and where they act; and all gaps."""
        poses, found = self._by_body(rows), []
        for pair, T in zip(self.sides, self.T, strict=True):
            x = _place(pair[1], poses)[1]
            for column in self._wrenches(pair, T, poses):
                ends = []
                for body, wrench in column:
                    R, at = _pose(poses[body])
                    ends.append((body, wrench, R.T @ (x - at)))
                found.append(ends)
        return found, np.concatenate(self._displacements(poses))

    def _by_body(self, rows: FloatArray) -> dict[int, FloatArray]:
        """Poses of the closing bodies, and of the world."""
        return dict(zip(self.bodies.tolist(), rows, strict=True)) | {-1: np.eye(4, 3).ravel()}

    def _wrenches(
        self, pair: tuple[_Side, _Side], T: FloatArray, poses: dict[int, FloatArray]
    ) -> list[list[tuple[int, FloatArray]]]:
        """For each constraint direction: unit forces on b and against them on a, each in its body's frame."""
        R, x = _place(pair[1], poses)
        columns = []
        for t in T.T:
            n, f = R @ t[:3], R @ t[3:]
            column = []
            for side, sign in ((pair[1], 1.0), (pair[0], -1.0)):
                if side.body >= 0:
                    own, at = _pose(poses[side.body])
                    column.append((side.body, sign * np.concatenate([own.T @ (n + _cross(x - at, f)), own.T @ f])))
            columns.append(column)
        return columns

    def _displacements(self, poses: dict[int, FloatArray]) -> list[FloatArray]:
        """How far each loop is open, along its constraints in frame b."""
        found = []
        for (first, second), T in zip(self.sides, self.T, strict=True):
            Ra, xa = _place(first, poses)
            R, x = _place(second, poses)
            # about an axis that is free, frames may turn as far as they like
            turn = R.T @ rotation_vector(R @ Ra.T) if T[2].any() else -turn_of_z(R.T @ Ra[:, 2])
            found.append(T.T @ np.concatenate([turn, R.T @ (x - xa)]))
        return found

    def widest(self, poses: FloatArray) -> tuple[str, float]:
        """The loop that is open farthest (and those that are a tenth as far), and its largest component, m or rad; the
        closing bodies are there (k, 12)."""
        gaps = np.array([np.abs(d).max(initial=0.0) for d in self._displacements(self._by_body(poses))])
        names = [f"{c.a!r} to {c.b!r}" for c in self.closures]
        first, *others = [k for k in np.argsort(-gaps, kind="stable").tolist() if gaps[k] >= 0.1 * gaps.max()]
        return names[first] + f" (and {listed([names[k] for k in others], '')})" * bool(others), float(gaps[first])

    def opening(self, poses: FloatArray) -> float:
        """The largest component by which a loop is open, m or rad, when the closing bodies are there (k, 12)."""
        return self.widest(poses)[1]


def make_plan(m: Mechanism, closures: Closures) -> LoopRows:
    """The closures on a mechanism; refused where too many lie across each other, or one is beyond reach."""
    body, frame, rows = closures.closing()
    work, _ = loop_work(np.asarray(m.parent), body, np.array([len(r) for r in rows]))
    if work > MOST_WORK:
        each = [loop_work(np.asarray(m.parent), pair[None], np.ones(1, np.int64))[1] for pair in body]
        c = closures.closures[int(np.argmax(each))]
        raise ModelError(
            f"{len(closures.closures)} loops are open side by side on long ways, the longest from {c.a!r} to {c.b!r}: "
            f"a step would take {work:.1e} products, and {MOST_WORK:.0e} is the most"
        )
    plan = make_loops(np.asarray(m.parent), len(m.axis), body, frame, rows)
    names = [f"{c.a!r} to {c.b!r} ({c.joint})" for c in closures.closures]
    refuse_beyond_reach(m, plan, np.array(closures.model.neutral), names)
    return plan


def refuse_beyond_reach(m: Mechanism, lp: LoopRows, q: FloatArray, names: Sequence[str]) -> None:
    """Refuse a loop that closes nowhere, by name and with the distance that is left however its joints turn.

    The bodies of a loop are sides of a polygon whose corners are its joints and its closing point: none may be longer
    than all others together. Loops with joints that slide, or with a closing point that does, are not looked at.
    """
    poses = np.zeros((len(m.parent), 12))
    compiled(world_poses)(m, q, np.zeros_like(poses), poses)
    rounding = ROUNDING * float(np.abs(poses[:, 9:]).max(initial=0.0))
    for c in range(len(lp.meet)):
        sides = _sides(m, lp, poses, c)
        left = 2.0 * max(sides, default=0.0) - sum(sides)
        if left > max(MISSED * min(1.0, max(sides, default=0.0)), rounding):
            raise ModelError(
                f"closure {names[c]} cannot be closed: however the joints turn, its frames are {left:.2g} m apart"
            )


def _sides(m: Mechanism, lp: LoopRows, poses: FloatArray, c: int) -> list[float]:
    """How far the corners of loop c on each of its bodies are apart; nothing where they may move."""
    if not {3, 4, 5} <= set(lp.axis[lp.loop == c].tolist()):
        return []
    sides, ends = [], []
    for side in (0, 1):
        i, corner = int(lp.body[c, side]), lp.frame[2 * c + side, 9:]
        while i != lp.meet[c]:
            keeps = m.kind[i] == BALL or (m.kind[i] == TURN and m.pitch[m.dof[i]] == 0.0)
            if not keeps:
                return []
            sides.append(float(np.linalg.norm(corner)))
            p = int(m.parent[i])
            R, origin = _pose(poses[p]) if p >= 0 else (np.eye(3), np.zeros(3))
            i, corner = p, R.T @ (poses[i, 9:] - origin)
        ends.append(corner)
    return [*sides, float(np.linalg.norm(ends[0] - ends[1]))]


def listed(names: Sequence[str], otherwise: str) -> str:
    """The first few of these."""
    return ", ".join(names[:4]) + " and others" * (len(names) > 4) or otherwise


def _pose(row: FloatArray) -> tuple[FloatArray, FloatArray]:
    return row[:9].reshape(3, 3), row[9:]


def _place(side: _Side, poses: dict[int, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """A closing frame in the world."""
    R, p = _pose(poses[side.body])
    return R @ side.R, p + R @ side.p


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b of two vectors (3,): a tenth of the time of `np.cross`."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])
