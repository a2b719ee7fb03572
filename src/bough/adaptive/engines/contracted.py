"""The contracted linkage (after Redon, Galoppo & Lin 2005): active joints move, inactive clusters are rigid bodies.

An assembly tree chooses active clusters; with the inactive ones they make an ordinary tree of rigid
bodies. Its accelerations are exact for that linkage: the projection, in the mass metric, of those of all joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.loops import Closing, LoopRows
from bough.adaptive.engines.rest import StepControl, Ties
from bough.adaptive.engines.sweeps import JointLaws, JointState, laws_of
from bough.adaptive.tree.bounded_pass import DONE
from bough.adaptive.tree.contract import Clusters, Loads, cluster_loads, contract, load_clusters, make_clusters
from bough.adaptive.tree.engine import TreeEngine
from bough.compile.run.direct import compiled
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class ContractedLinkage:
    """The contracted tree of the clusters that an assembly tree has activated, with its engine.

    At rest, springs of joints are potentials of the tree; in motion they are joint laws.
    """

    def __init__(
        self,
        tree: TreeEngine,
        mechanism: Mechanism,
        laws: JointLaws,
        state: JointState,
        closing: Closing | None,
        *,
        integrator: str | None,
    ) -> None:
        self.tree, self._whole, self.laws, self.state = tree, mechanism, laws, state
        self.closing, self._integrator = closing, integrator
        nodes, bodies = len(tree.plan.left), len(tree.plan.parent)
        self._opened, self.cluster = np.zeros(nodes, np.int8), np.full(bodies + 1, -1, np.int64)
        self.engine: Engine
        self.clusters: Clusters
        self.loads: Loads
        self._from: Loads | None = None  # the loads that were contracted
        self.joints = 0  # active ones
        self.which: IntArray = np.zeros(0, np.int64)  # loops that are open on it; those within one cluster stay closed

    @property
    def mechanism(self) -> Mechanism:
        """A body for each active joint."""
        return self.engine.mechanism

    @property
    def active_nodes(self) -> IntArray:
        """Open nodes of the assembly tree, parents first."""
        queue = self.tree.queue
        return np.asarray(queue.done[: int(queue.count[DONE])])

    def contract(self, loads: Loads) -> None:
        """Make the tree of the clusters that are open now. O(k log n) for k of them and the loaded bodies.

        With the same joints open as before it is the same: what is closed has not moved within.
        """
        tree, plan, m, nodes = self.tree, self.tree.plan, self._whole, self.active_nodes
        body = np.sort(plan.body[nodes[plan.body[nodes] >= 0]]).astype(np.int64)
        if loads is self._from and np.array_equal(body, self.clusters.body):
            self.reload(loads)
            return
        self.clusters, small = make_clusters(m, plan, nodes, loads, (self.cluster, self._opened))
        compiled(contract)(m, plan, tree.state, small, self.clusters)
        self.joints, dofs = len(body), self.clusters.dofs
        laws = laws_of(self.laws, dofs)
        loops: LoopRows | None = None
        if self.closing is not None:
            loops, self.which = self.closing.contracted(small, self.clusters, loads)
        if self._integrator is None:
            laws.stops[0] = 0
        s = self.tree.springs
        parts = {name: getattr(s, name)[dofs] for name in ("begin", "end", "given", "rotor", "curve")}
        own = {"tau": laws.tau, "armature": small.armature} if self._integrator is None else {"given": laws.tau}
        self.engine = Engine(small, laws, self.state, s._replace(**parts | own), loops, integrator=self._integrator)
        if self.engine.has_stops:
            self.engine.work.stop_torque[:] = laws.stop_torque
        self.loads, self._from = cluster_loads(self.clusters.carrier, len(small.parent)), loads
        self.reload(loads)

    def reload(self, loads: Loads) -> None:
        """Forces, torques or armatures have other values, or forces act on other bodies."""
        if loads is not self._from:
            self.contract(loads)
            return
        s, dofs = self.tree.springs, self.clusters.dofs
        for name in ("given", "rotor", "tau", "armature") if self._integrator is None else ("given",):
            np.take(getattr(s, name), dofs, out=getattr(self.engine.springs, name))
        if len(loads.body):
            compiled(load_clusters)(loads, self.clusters, self.loads)

    def forget(self) -> None:
        """Joints have moved within inactive clusters."""
        self._from = None

    def carried(self, slot: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Which clusters bear points of loaded bodies, -1 = the ground, and where the points are in their frames."""
        pose = self.clusters.pose[slot]
        return self.clusters.carrier[slot], pose[:, 9:] + np.einsum("nij,nj->ni", pose[:, :9].reshape(-1, 3, 3), points)

    def fits(self, loads: Loads) -> bool:
        """Whether these are the loads that were contracted, perhaps with other values."""
        return loads is self._from

    # At rest

    def solve(self, rate: float) -> None:
        """Accelerations of the active joints; those of the others are left alone. For `rate` see `Engine.solve`."""
        self.engine.solve(self.loads, rate)

    def march(self, control: StepControl, ties: Ties | tuple[()], rate: float) -> float:
        """Take steps; see `rest_march`. Returns the energy of ties."""
        of = self._from, self.clusters
        energy = self.engine.march_from_rest(control, self.loads, ties, rate, of)
        self._write_back()
        return energy

    def _write_back(self) -> None:
        """Torques and armatures of the active joints, which potentials have changed."""
        s, dofs = self.tree.springs, self.clusters.dofs
        if len(s.kind):
            s.tau[dofs], s.armature[dofs] = self.engine.springs.tau, self.engine.springs.armature


# Forces of loops of a linkage in motion, as bound evaluations know them.
#
# On a contracted tree the closing frames are on rigid clusters; a loop within one of them is closed as it is, and
# keeps the forces that it had when it moved last. Bound evaluations take the forces of loops for loads.


class LoopForces:
    """Forces of loops between bodies that are always among the loads; they turn along with these bodies."""

    def __init__(self, closing: Closing) -> None:
        self.closing = closing
        self.force = np.zeros((2 * len(closing.body), 6))  # on the bodies of each, in their frames, moment first
        self.bodies: IntArray = np.unique(closing.body[closing.body >= 0])
        self.recorded = np.zeros((len(self.bodies), 6))  # by bodies, as records have them

    def update(self, engine: Engine, linkage: ContractedLinkage | None, loads: Loads) -> None:
        """Take over the forces that an engine, of a contracted linkage perhaps, has found."""
        found = engine.loop_forces()
        if linkage is None:
            self.force[:] = found
            return
        ends = (2 * linkage.which[:, None] + np.arange(2)).ravel()
        body = self.closing.body.ravel()[ends]
        pose = linkage.clusters.pose[np.where(body >= 0, loads.slot[body], 0)]
        R, p = pose[:, :9].reshape(-1, 3, 3), pose[:, 9:]
        moment = found[:, :3] - np.cross(p, found[:, 3:])
        self.force[ends] = np.concatenate(
            [np.einsum("nji,nj->ni", R, moment), np.einsum("nji,nj->ni", R, found[:, 3:])], axis=1
        )

    @property
    def sums(self) -> FloatArray:
        """(k, 6) the forces by bodies."""
        out, body = np.zeros_like(self.recorded), self.closing.body.ravel()
        np.add.at(out, np.searchsorted(self.bodies, body[body >= 0]), self.force[body >= 0])
        return out

    def record(self) -> list[int]:
        """Bodies with other forces than records have; records are expected to follow."""
        now = self.sums
        changed = (now != self.recorded).any(axis=1)
        self.recorded = now
        return [int(b) for b in self.bodies[changed]]

    @contextmanager
    def among(self, loads: Loads, recorded: bool = False) -> Iterator[None]:
        """Let the forces of the loops, or those that records have, be among the loads for a while."""
        at, sums = loads.first[loads.slot[self.bodies] + 1] - 1, self.recorded if recorded else self.sums
        loads.moment[at], loads.force[at] = sums[:, :3], sums[:, 3:]
        try:
            yield
        finally:
            loads.moment[at], loads.force[at] = 0.0, 0.0
