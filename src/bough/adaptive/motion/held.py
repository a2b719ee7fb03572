"""Loops of a linkage in motion as its engines see them, and the forces in them as surveys do.

On a contracted tree the closing frames are on rigid clusters; a loop within one of them is closed as it is, and keeps
the forces that it had when it moved last. Surveys take the forces of loops for loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bough.adaptive.engines import Closing, LoopRows
from bough.adaptive.motion.engine import MotionEngine
from bough.adaptive.passes import Loads, Pieces
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class HeldLoops:
    """Loops between bodies that are always among the loads, each with a last force that turns along."""

    def __init__(self, closing: Closing, plan: LoopRows) -> None:
        self.closing, self.plan = closing, plan  # as they are on the linkage with all joints
        self.which = np.arange(len(closing.body))  # those that are open on the contracted tree
        self.force = np.zeros((2 * len(closing.body), 6))  # on the bodies of each, in their frames, moment first
        self.bodies: IntArray = np.unique(closing.body[closing.body >= 0])
        self.told = np.zeros((len(self.bodies), 6))  # by bodies, as records have them

    def contracted(self, m: Mechanism, pieces: Pieces, loads: Loads) -> LoopRows:
        """The loops that are open on a contracted tree."""
        rows, self.which = self.closing.contracted(m, pieces, loads)
        return rows

    def notice(self, engine: MotionEngine, pieces: Pieces | None, loads: Loads) -> None:
        """Take over the forces that an engine, of a contracted tree if there are pieces, has found."""
        found = engine.loop_forces()
        if pieces is None:
            self.force[:] = found
            return
        ends = (2 * self.which[:, None] + np.arange(2)).ravel()
        body = self.closing.body.ravel()[ends]
        pose = pieces.pose[np.where(body >= 0, loads.slot[body], 0)]
        R, p = pose[:, :9].reshape(-1, 3, 3), pose[:, 9:]
        moment = found[:, :3] - np.cross(p, found[:, 3:])
        self.force[ends] = np.concatenate(
            [np.einsum("nji,nj->ni", R, moment), np.einsum("nji,nj->ni", R, found[:, 3:])], axis=1
        )

    @property
    def sums(self) -> FloatArray:
        """(k, 6) the forces by bodies."""
        out, body = np.zeros_like(self.told), self.closing.body.ravel()
        np.add.at(out, np.searchsorted(self.bodies, body[body >= 0]), self.force[body >= 0])
        return out

    def news(self) -> list[int]:
        """Bodies with other forces than records have; records are expected to follow."""
        now = self.sums
        changed = (now != self.told).any(axis=1)
        self.told = now
        return [int(b) for b in self.bodies[changed]]

    @contextmanager
    def known(self, loads: Loads, before: bool = False) -> Iterator[None]:
        """Let the forces of the loops, or with `before` those that records have, be among the loads for a while."""
        at, sums = loads.first[loads.slot[self.bodies] + 1] - 1, self.told if before else self.sums
        loads.moment[at], loads.force[at] = sums[:, :3], sums[:, 3:]
        try:
            yield
        finally:
            loads.moment[at], loads.force[at] = 0.0, 0.0
