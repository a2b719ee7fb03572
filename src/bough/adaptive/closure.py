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

import numpy as np

from bough.adaptive.engines.loops import Closing, LoopRows, loop_gaps, loop_work, make_loops
from bough.adaptive.engines.sweeps import world_poses
from bough.compile.run.direct import compiled
from bough.errors import ModelError, unknown_option
from bough.joints import BALL, TURN, Mechanism
from bough.model import Model
from bough.model.loops import FREED as FREED_BY
from bough.types import FloatArray

MISSED = 1e-4  # m, or that share of the longest side where it is shorter than 1 m: what figures are rounded to
ROUNDING = 1e-12  # of the size of the linkage
MOST_WORK = 1e10  # products of a sweep

# Joints that close loops, by what a model calls such closures
JOINTS = {
    "connect": "spherical", "weld": "fixed", "hinge": "revolute", "slide": "prismatic", "cylindrical": "cylindrical",
}  # fmt: skip
# Axes of frame b that they free (0-2 turn, 3-5 slide)
FREED = {joint: tuple((k + 3) % 6 for k in FREED_BY[kind]) for kind, joint in JOINTS.items()}


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


class Closures:
    """All closures of one simulation."""

    def __init__(self, model: Model, closures: tuple[Closure, ...]) -> None:
        self.model, self.closures = model, closures
        self.rate = 1.0  # share of the gap that a step closes
        frames, at = model.frames, np.array([[model.frame(c.a), model.frame(c.b)] for c in closures], np.int64)
        placed = np.concatenate([frames.R[at].reshape(-1, 9), frames.p[at].reshape(-1, 3)], axis=1)
        rows = [[j for j in range(6) if j not in FREED[c.joint]] for c in closures]
        self.closing = Closing(frames.body[at].astype(np.int64), placed, rows)  # as engines see them
        self.bodies = np.unique(self.closing.body[self.closing.body >= 0])
        if not len(self.bodies):
            raise ModelError("a closure between two frames of the world holds nothing")
        self._rows = make_loops(np.full(len(model.mechanism.parent), -1), 0, *self.closing)

    def place(self, poses: FloatArray) -> LoopRows:
        """Gaps and unit forces of all rows when the closing bodies are there in the world (k, 12)."""
        lp, body = self._rows, self.closing.body.ravel()
        lp.pose[:] = np.eye(4, 3).ravel()
        lp.pose[body >= 0] = poses[np.searchsorted(self.bodies, body[body >= 0])]
        compiled(loop_gaps)(lp)
        return lp

    def opening(self, poses: FloatArray) -> float:
        """The largest component by which a loop is open, m or rad, when the closing bodies are there (k, 12)."""
        return float(np.abs(self.place(poses).gap).max())

    def widest(self, poses: FloatArray) -> tuple[str, float]:
        """The loop that is open farthest (and those that are a tenth as far), and its largest component, m or rad."""
        lp = self.place(poses)
        gaps = np.maximum.reduceat(np.abs(lp.gap), np.searchsorted(lp.loop, np.arange(len(self.closures))))
        names = [f"{c.a!r} to {c.b!r}" for c in self.closures]
        worst, *others = [k for k in np.argsort(-gaps, kind="stable").tolist() if gaps[k] >= 0.1 * gaps.max()]
        also = ", ".join(names[k] for k in others[:4]) + " and others" * (len(others) > 4)
        return names[worst] + f" (and {also})" * bool(others), float(gaps[worst])


def make_plan(m: Mechanism, closures: Closures) -> LoopRows:
    """The closures on a mechanism; refused where too many lie across each other, or one is beyond reach."""
    body, frame, rows = closures.closing
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
    than all others together. Loops with joints that slide, or with a closing point that does, are not checked.
    """
    poses = np.zeros((len(m.parent) + 1, 12))
    poses[-1] = np.eye(4, 3).ravel()  # of the ground, -1
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
        i = int(lp.body[c, side])
        corner = poses[i, 9:] + poses[i, :9].reshape(3, 3) @ lp.frame[2 * c + side, 9:]
        while i != lp.meet[c]:
            keeps = m.kind[i] == BALL or (m.kind[i] == TURN and m.pitch[m.dof[i]] == 0.0)
            if not keeps:
                return []
            sides.append(float(np.linalg.norm(corner - poses[i, 9:])))
            i, corner = int(m.parent[i]), poses[i, 9:]
        ends.append(corner)
    return [*sides, float(np.linalg.norm(ends[0] - ends[1]))]
