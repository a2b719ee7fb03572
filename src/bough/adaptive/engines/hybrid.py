"""The hybrid linkage (after Redon, Galoppo & Lin 2005): opened joints move, clusters left closed are rigid bodies.

An assembly tree chooses which clusters are opened; what they make with the closed ones is an ordinary tree of rigid
bodies, stepped by the articulated-body algorithm at rest: the kernels of `plain`, on a mechanism of a body for each
opened joint. Its accelerations are exact for that linkage: the projection, in the mass metric, of those of all joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.loops import Closing, LoopRows, solve_loops
from bough.adaptive.engines.plain import (
    PlainWork,
    make_work,
    mark_needs,
    motion_product,
    plain_move,
    plain_solve,
)
from bough.adaptive.engines.restrained import Course, RestLinkage, Ties, Trial, make_trial, rest_march
from bough.adaptive.tree.contract import Loads, Pieces, contract, load_pieces, make_pieces, piece_loads
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.front import DONE
from bough.adaptive.tree.springs import Springs, spring_all
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class HybridEngine:
    """The contracted tree of the clusters that an assembly tree has opened."""

    def __init__(self, tree: TreeEngine) -> None:
        self.tree, self.shared = tree, tree.shared
        nodes, bodies = len(tree.plan.left), len(tree.plan.parent)
        self._opened, self._piece = np.zeros(nodes, np.int8), np.zeros(bodies + 1, np.int64)
        self.mechanism: Mechanism
        self.work: PlainWork
        self.pieces: Pieces
        self.loads: Loads
        self.force: FloatArray
        self._dofs: IntArray
        self._springs: Springs
        self._source: Springs | None = None  # of which they are a part
        self._from: Loads | None = None  # the loads that were contracted
        self.closing: Closing | None = None  # loops, as they are on the linkage
        self.loops: LoopRows | None = None
        self.trial: Trial | None = None
        self.rate = 0.0  # share of the loops' gaps to close, by h

    @property
    def joints(self) -> int:
        """How many joints are open."""
        return len(self.pieces.body)

    def contract(self, loads: Loads) -> None:
        """Make the tree of the clusters that are open now. O(k log n) for k of them and the loaded bodies.

        With the same joints open as before it is the same: what is closed has not moved within.
        """
        tree, plan, m = self.tree, self.tree.plan, self.tree.mechanism
        done = tree.front.done[: int(tree.front.count[DONE])]
        body = np.sort(plan.body[done[plan.body[done] >= 0]]).astype(np.int64)
        if loads is self._from and np.array_equal(body, self.pieces.body):
            self.reload()
            return
        self.pieces, self.mechanism = make_pieces(m, plan, done, loads, (self._piece, self._opened))
        compiled(contract)(m, plan, tree.state, self.mechanism, self.pieces)
        self._dofs, primitives = self.pieces.dofs, len(self.mechanism.parent)
        self.work = make_work(primitives, len(self._dofs))
        self.force, self._source, self.trial = np.zeros((primitives, 6)), None, None
        self.loads, self._from = piece_loads(self.pieces.bearer, primitives), loads
        compiled(mark_needs)(self.mechanism, self.loads, self.work)
        if self.closing is not None:
            self.loops, _ = self.closing.contracted(self.mechanism, self.pieces, loads)
        self.reload()

    def reload(self) -> None:
        """Forces, torques or armatures have other values."""
        s, dofs = self.tree.springs, self._dofs
        if self._source is not s:
            parts = {name: getattr(s, name)[dofs] for name in ("begin", "end", "given", "rotor", "tau")}
            self._springs = s._replace(**parts, armature=self.mechanism.armature)
            self._source = s
        for name in ("given", "rotor", "tau", "armature"):
            np.take(getattr(s, name), dofs, out=getattr(self._springs, name))
        compiled(load_pieces)(self._from, self.pieces, self.loads)

    def forget(self) -> None:
        """Joints have moved within closed clusters."""
        self._from = None

    def borne(self, slot: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Which pieces bear points of loaded bodies, -1 = the ground, and where the points are in their frames."""
        pose = self.pieces.pose[slot]
        return self.pieces.bearer[slot], pose[:, 9:] + np.einsum("nij,nj->ni", pose[:, :9].reshape(-1, 3, 3), points)

    def _room(self) -> Trial:
        """Room for steps that may be taken back."""
        if self.trial is None:
            self.trial = make_trial(self.mechanism, len(self.shared.q), len(self.shared.qdd))
        return self.trial

    def fits(self, loads: Loads) -> bool:
        """Whether these are the loads that were contracted, perhaps with other values."""
        return loads is self._from

    def _arguments(self) -> tuple[Any, ...]:
        s = self.shared
        return self.mechanism, s.q, self._springs.tau, self.force, s.qdd, self.loads, self.work

    def solve(self) -> None:
        """Accelerations of the opened joints; those of the others are left alone."""
        if self._held is None:
            compiled(plain_solve)(*self._arguments())
        else:
            solve_loops(*self._arguments(), self._held)

    @property
    def _held(self) -> LoopRows | None:
        """Loops that are open, ready for a solution."""
        if self.loops is None or len(self.loops.loop) == 0:
            return None
        self.loops.rate[0] = self.rate
        return self.loops

    def move(self, h: float) -> None:
        """Move the opened joints by h qdd."""
        self.trial = None
        compiled(plain_move)(self.mechanism, self.shared.q, self.shared.qdd, h)
        compiled(spring_all)(self.mechanism, self._springs, self.shared.q)
        self._write_back()

    def _write_back(self) -> None:
        """Torques and armatures of the opened joints, which potentials have changed."""
        s = self.tree.springs
        if len(s.kind):
            s.tau[self._dofs], s.armature[self._dofs] = self._springs.tau, self._springs.armature

    def march(self, course: Course, ties: Ties | tuple[()]) -> float:
        """Take steps; see `rest_march`. Returns the energy of springs."""
        assert self._from is not None
        m, q, tau, force, qdd, loads, w = self._arguments()
        loops = self._held
        scene = RestLinkage(
            m, q, tau, force, qdd, loads, w, self._springs, () if loops is None else loops, ties, self._from,
            self.pieces, self._room(),
        )  # fmt: skip
        energy = float(compiled(rest_march)(scene, course))
        self._write_back()
        return energy

    def power(self) -> float:
        """qdd' M qdd of the solution found last: the rate of descent, tau' qdd."""
        s, scratch = self.shared, np.zeros((2, len(self.force), 6))
        return float(compiled(motion_product)(self.mechanism, s.qdd, s.qdd, self.work.X, *scratch))
