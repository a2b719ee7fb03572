"""Linkages at rest, whole or contracted: accelerations, steps and what follows from them, in O(joints).

The contracted linkage (after Redon, Galoppo & Lin 2005): active joints move, clusters left closed are rigid bodies. An
assembly tree chooses which are opened; what they make with the closed ones is an ordinary tree of rigid bodies. Its
accelerations are exact for that linkage: the projection, in the mass metric, of those of all joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.loops import Closing, LoopRows
from bough.adaptive.engines.plain import (
    PlainWork,
    joint_energies,
    joint_forces,
    make_work,
    mark_needs,
    motion_product,
    plain_move,
    world_poses,
)
from bough.adaptive.engines.restrained import Course, RestLinkage, Ties, make_trial, no_pieces, rest_march, rest_solve
from bough.adaptive.tree.contract import Loads, Pieces, contract, load_pieces, make_pieces, piece_loads
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.front import DONE
from bough.adaptive.tree.layout import Shared
from bough.adaptive.tree.springs import Springs, spring_all
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class RestEngine:
    """A mechanism at rest and its working space; torques and forces are those shared by all unless others are given."""

    def __init__(self, mechanism: Mechanism, shared: Shared, force: FloatArray | None = None) -> None:
        self.mechanism, self.shared, self.tau = mechanism, shared, shared.tau
        self.force = shared.force if force is None else force
        self._work: PlainWork | None = None
        self._loaded: Loads | None = None
        self._trial: Any = None
        self.grip: FloatArray | None = None  # (n,) torques of friction and limits, where they act

    @property
    def work(self) -> PlainWork:
        """Working space, made when it is first needed."""
        if self._work is None:
            self._work = make_work(len(self.mechanism.parent), len(self.mechanism.axis))
        return self._work

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self._work or ())

    def load(self, loads: Loads) -> None:
        """Other bodies may be under forces."""
        if loads is not self._loaded:
            compiled(mark_needs)(self.mechanism, loads, self.work)
            self._loaded = loads

    def _linkage(self, loads: Loads, loops: Any, *others: Any) -> RestLinkage:
        """All that kernels work on; without springs, pieces and a trial where accelerations are all that is needed."""
        s, tau = self.shared, self.tau if self.grip is None else self.tau + self.grip
        springs, *rest = others or [()] * 5
        return RestLinkage(self.mechanism, s.q, tau, self.force, s.qdd, loads, self.work, springs, loops, *rest)

    def solve(self, loads: Loads, loops: Any = ()) -> None:
        """Accelerations of its joints; forces of loops stay on their bodies. About 0.2 us a joint."""
        s = self.shared
        compiled(rest_solve)(self._linkage(loads, loops), s.q, s.qdd)

    def move(self, h: float) -> None:
        """Move every joint by h qdd."""
        self._trial = None
        compiled(plain_move)(self.mechanism, self.shared.q, self.shared.qdd, h)

    def march(
        self, course: Course, loads: Loads, springs: Springs, ties: Any = (), loops: Any = (), of: Any = None
    ) -> float:
        """Take steps; see `rest_march`. Returns the energy of ties. `of` are the loads and pieces of a contraction."""
        given, pieces = of or (loads, no_pieces())
        if self._trial is None:
            self._trial = make_trial(self.mechanism, len(self.shared.q), len(self.shared.qdd))
        self.load(loads)
        return float(
            compiled(rest_march)(self._linkage(loads, loops, springs, ties, given, pieces, self._trial), course)
        )

    def power(self) -> float:
        """qdd' M qdd of the solution found last: the rate of descent, tau' qdd. O(n); NaN before the first."""
        if self._work is None:
            return float("nan")
        s, w = self.shared, self.work
        return float(compiled(motion_product)(self.mechanism, s.qdd, s.qdd, w.X, *np.zeros((2, len(w.a), 6))))

    def product(self, x: FloatArray, y: FloatArray) -> float:
        """x' M y of two motions (nv,) at q. O(n)."""
        X, a, b = np.zeros((len(self.mechanism.parent), 12)), *np.zeros((2, len(self.mechanism.parent), 6))
        compiled(world_poses)(self.mechanism, self.shared.q, X, np.zeros_like(X))
        return float(compiled(motion_product)(self.mechanism, x, y, X, a, b))

    def energies(self) -> FloatArray:
        """M_kk qdd_k^2 of each degree of freedom (n,) in the solution found last, the least first. O(n log n)."""
        m, out = self.mechanism, np.empty(len(self.mechanism.axis))
        compiled(joint_energies)(m, self.shared.qdd, self.work.X, np.empty((len(m.parent), 10)), out)
        return np.sort(out)

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(n)."""
        out = np.zeros((len(self.mechanism.parent), 12))
        compiled(world_poses)(self.mechanism, self.shared.q, np.zeros((len(out), 12)), out)
        return out[bodies]

    def transmitted(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on some primitives through their joints in the solution found last, in their frames."""
        out = np.zeros((len(bodies), 6))
        compiled(joint_forces)(self.work, bodies.astype(np.int64), out)
        return out


class ContractedLinkage:
    """The contracted tree of the clusters that an assembly tree has opened, with its engine."""

    def __init__(self, tree: TreeEngine, closing: Closing | None) -> None:
        self.tree, self.closing = tree, closing  # and loops, as they are on the linkage
        nodes, bodies = len(tree.plan.left), len(tree.plan.parent)
        self._opened, self._piece = np.zeros(nodes, np.int8), np.zeros(bodies + 1, np.int64)
        self.engine: RestEngine
        self.pieces: Pieces
        self.loads: Loads
        self._springs: Springs
        self._source: Springs | None = None  # of which they are a part
        self._from: Loads | None = None  # the loads that were contracted
        self.loops: LoopRows | None = None
        self.rate = 0.0  # share of the loops' gaps to close, by h

    @property
    def joints(self) -> int:
        """How many joints are open."""
        return len(self.pieces.body)

    @property
    def mechanism(self) -> Mechanism:
        """A body for each open joint."""
        return self.engine.mechanism

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
        self.pieces, small = make_pieces(m, plan, done, loads, (self._piece, self._opened))
        compiled(contract)(m, plan, tree.state, small, self.pieces)
        self.engine = RestEngine(small, tree.shared, np.zeros((len(small.parent), 6)))
        self.loads, self._from, self._source = piece_loads(self.pieces.bearer, len(small.parent)), loads, None
        self.engine.load(self.loads)
        if self.closing is not None:
            self.loops, _ = self.closing.contracted(small, self.pieces, loads)
        self.reload()

    def reload(self) -> None:
        """Forces, torques or armatures have other values."""
        s, dofs = self.tree.springs, self.pieces.dofs
        if self._source is not s:
            parts = {name: getattr(s, name)[dofs] for name in ("begin", "end", "given", "rotor", "tau")}
            self._springs = s._replace(**parts, armature=self.mechanism.armature)
            self._source, self.engine.tau = s, self._springs.tau
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

    def fits(self, loads: Loads) -> bool:
        """Whether these are the loads that were contracted, perhaps with other values."""
        return loads is self._from

    def solve(self) -> None:
        """Accelerations of the opened joints; those of the others are left alone."""
        self.engine.solve(self.loads, self._held)

    @property
    def _held(self) -> LoopRows | tuple[()]:
        """Loops that are open, ready for a solution."""
        if self.loops is None or len(self.loops.loop) == 0:
            return ()
        self.loops.rate[0] = self.rate
        return self.loops

    def move(self, h: float) -> None:
        """Move the opened joints by h qdd."""
        self.engine.move(h)
        compiled(spring_all)(self.mechanism, self._springs, self.tree.shared.q)
        self._write_back()

    def march(self, course: Course, ties: Ties | tuple[()]) -> float:
        """Take steps; see `rest_march`. Returns the energy of ties."""
        energy = self.engine.march(course, self.loads, self._springs, ties, self._held, (self._from, self.pieces))
        self._write_back()
        return energy

    def _write_back(self) -> None:
        """Torques and armatures of the opened joints, which potentials have changed."""
        s, dofs = self.tree.springs, self.pieces.dofs
        if len(s.kind):
            s.tau[dofs], s.armature[dofs] = self._springs.tau, self._springs.armature
