"""The engine of adaptive methods: an assembly tree with exact and with bounded passes over it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive import passes
from bough.adaptive.assembly import body_name, is_floating_base, make_metric
from bough.adaptive.compiled import compiled
from bough.adaptive.engines.noise import Noise
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.node import TOTAL, Shared, make_blueprint, make_state, no_springs
from bough.adaptive.passes import Front, Loads, make_front, no_forces
from bough.errors import ModelError
from bough.joints import Mechanism
from bough.model import Model
from bough.types import FloatArray

NO_LIMIT = 1 << 62


# What the tree remembers beyond the configuration
MEMORY = ("metric", "last_move", "oldest", "stamp")
Stop = tuple[int, tuple[float, float, float]]
NEVER: Stop = (passes.OVER_JOINT, (-1.0, 0.0, 0.0))


def stop(error: ErrorMeasure | None) -> Stop:
    """When a bounded pass ends, as the passes read it."""
    if error is None:
        return NEVER
    return passes.OVER_JOINT if error.over == "joint" else passes.OVER_LINKAGE, error.limits


class TreeEngine:
    """Divide and conquer over an assembly tree, exact or error-bounded."""

    def __init__(
        self,
        model: Model,
        metric: Any,
        mechanism: Mechanism,
        shared: Shared,
        clock: FloatArray,
        assembly: Any = "balanced",
    ) -> None:
        self.model, self.mechanism = model, mechanism
        self.plan, self.link = make_blueprint(model, assembly)
        weights = make_metric(model, self.link, metric)
        self.state = make_state(model, self.plan, self.link, weights, shared, bool(clock[2]))
        self.shared, self.clock = shared, clock
        nodes = len(self.plan.left)
        self.front: Front = make_front(nodes, int(self.plan.depth[0]), 1024, self._forced())
        self._no_loads, self._no_poses = no_forces(0), np.zeros((0, 12))
        self._checked: Loads | None = None
        self.noise = Noise()
        self.begun = 0  # orders that changed what is open
        self._all_known = False  # whether qdd holds all accelerations, not only those of opened clusters
        self.springs = no_springs(mechanism, shared)
        self.keeps = TOTAL  # what clusters keep beyond their equations, which only bounded passes need

    def do(
        self,
        what: int,
        loads: Any = None,
        stop: Stop = NEVER,
        turn: float = math.inf,
        number: Any = (),
        out: Any = None,
    ) -> float:
        """Run one order of `passes.command` on this tree."""
        out = self._no_poses if out is None else out
        order = passes.Order(what, *stop, turn, np.asarray(number, np.int64), out, self.keeps)
        loads = self._no_loads if loads is None else loads
        args = (self.mechanism, self.plan, self.state, self.front, loads, self.clock, order)
        if what > passes.REFINE:
            return float(compiled(passes.query)(*args))
        self.begun += 1
        return float(compiled(passes.command)(*args, self.springs))

    def _forced(self) -> npt.NDArray[np.int8]:
        """Nodes above a floating base."""
        forced = np.zeros(len(self.plan.left), np.int8)
        for body in np.flatnonzero(is_floating_base(self.model.mechanism, self.link)):
            n = int(self.plan.node_of[body])
            while n >= 0 and not forced[n]:
                forced[n] = 1
                n = int(self.plan.up[n])
        return forced

    @property
    def nbytes(self) -> int:
        """Memory held by this engine."""
        arrays = [*self.plan, *self.state, *self.front]
        return sum(a.nbytes for a in arrays)

    def reserve(self, loads: Loads, nodes: int) -> None:
        """Room for the nodes that an update may visit."""
        depth = int(self.plan.depth[0])
        wanted = min(len(self.plan.left), nodes + depth * len(loads.body) + 64)
        if len(self.front.order) < wanted:
            self.front = self.front._replace(order=np.zeros(2 * wanted, np.int64))

    def grow(self) -> None:
        """Twice the room for a bounded pass; what it has done so far is kept."""
        self.front = passes.grown(self.front)

    def rebuild(self, loads: Loads) -> None:
        """All equations anew from q."""
        self.reserve(loads, 0)
        self.do(passes.REBUILD, loads)
        self.state.qdd[:] = 0.0

    def changed(self, loads: Loads, nodes: npt.NDArray[np.int64]) -> None:
        """Forces or torques below these nodes have changed."""
        self._forget_all()
        self.reserve(loads, len(nodes) * int(self.plan.depth[0]))
        self.do(passes.CHANGED, loads, number=nodes)

    def follow(self, loads: Loads, nodes: npt.NDArray[np.int64]) -> None:
        """The opened joints were moved by another engine, and forces or torques below these nodes have changed."""
        self._forget_all()
        self.reserve(loads, len(nodes) * int(self.plan.depth[0]) + len(self.front.done))
        self.do(passes.FOLLOW, loads, number=nodes)

    def restart(self) -> None:
        """Begin the bounded pass anew: nothing is opened."""
        self.changed(self.no_forces, np.zeros(0, np.int64))

    def refine(self, error: ErrorMeasure | None, budget: int = NO_LIMIT) -> int:
        """Open clusters until the error is met (MET) or the budget of clusters is spent (SPENT); None is never met."""
        self._forget_all()
        rule = stop(self._inner(error))
        while True:
            before = self.opened
            status = int(self.do(passes.REFINE, None, rule, number=(budget,)))
            budget -= self.opened - before
            if status != passes.FULL:
                return status
            self.grow()

    @property
    def opened(self) -> int:
        """How many clusters the bounded pass has opened."""
        return int(self.front.count[passes.DONE])

    def _inner(self, error: ErrorMeasure | None) -> ErrorMeasure | None:
        """The error at which a pass must stop, so that rounding does not take it beyond `error`."""
        return None if error is None else self.noise.inner(error, float(self.front.value[passes.ROOT]))

    def march(self, error: ErrorMeasure, loads: Loads, steps: int, turn: float, budget: int = NO_LIMIT) -> int:
        """Take error-bounded steps; returns how many are left if one would open more clusters than `budget`, or turn a
        joint by more than `turn` (`refused`)."""
        self._forget_all()
        self.front.count[passes.REFUSED] = 0
        while steps:
            self.reserve(loads, len(self.front.done))
            steps = int(self.do(passes.MARCH, loads, stop(self._inner(error)), turn, (budget, steps)))
            if steps and (self.refused or self.opened >= budget):
                return steps
            if steps and self.refine(error, budget - self.opened) != passes.MET:
                return steps
        return 0

    @property
    def refused(self) -> bool:
        """Whether the last march ended before a step that would turn a joint too far."""
        return bool(self.front.count[passes.REFUSED])

    def solve_exactly(self) -> None:
        """All joint accelerations by one down pass; the bounded pass stays as it is."""
        self.front.value[passes.ROOT] = self.do(passes.SOLVE)
        self._all_known = True

    def _forget_all(self) -> None:
        """A bounded pass takes joints for culled that it has not opened."""
        if self._all_known:
            self.state.qdd[:] = 0.0
            self._all_known = False

    def poses(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(log n) each."""
        out = np.zeros((len(bodies), 12))
        self.do(passes.POSES, number=self.link.host[bodies], out=out)
        return out

    @cached_property
    def no_forces(self) -> Loads:
        """Loads without any."""
        return no_forces(len(self.shared.force))

    def respond(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 6) accelerations of some primitives under the forces on them now; see `lazy.respond`. O(log n) each."""
        out = np.zeros((len(bodies), 6))
        self.reserve(self.no_forces, len(bodies) * int(self.plan.depth[0]))
        self.do(passes.RESPOND, self.no_forces, number=self.link.host[bodies], out=out)
        return out

    def transmit(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 6) forces on some primitives through their joints, in their frames, all joints free. O(log n) each."""
        out = np.zeros((len(bodies), 6))
        self.do(passes.TRANSMIT, number=self.link.host[bodies], out=out)
        return out

    def reload(self, bodies: npt.NDArray[np.int64]) -> None:
        """Forces on these primitives, written where they act, have changed."""
        self.changed(self.no_forces, self.plan.leaf_up[self.link.host[bodies]].astype(np.int64))

    def nodes_above(self, bodies: list[int], joints: list[int]) -> npt.NDArray[np.int64]:
        """The lowest nodes that forces on these primitives, and torques of these joints, enter."""
        host = self.link.host
        found = [self.plan.leaf_up[host[bodies]], self.plan.node_of[host[joints]]]
        return np.concatenate(found).astype(np.int64)

    def has_bodies(self, primitives: npt.NDArray[np.int64]) -> bool:
        """Whether none of these is a massless part of a joint, which is no body of the tree."""
        return bool((self.link.last[self.link.host[primitives]] == primitives).all())

    def refuse_massless(self, loads: Loads) -> None:
        """Forces on massless parts of joints, and closures of them, are refused by name."""
        if loads is self._checked:
            return
        for body in loads.body if not self.has_bodies(loads.body) else ():
            if not self.has_bodies(body):
                name = body_name(self.model, int(body))
                raise ModelError(f'{name} has no mass: the tree cannot take a force on it (method="aba" can)')
        self._checked = loads

    def root_paths(self, bodies: npt.NDArray[np.int64]) -> int:
        """How many nodes lie above these primitives: the least an update of forces on them must touch."""
        nodes = np.unique(self.plan.leaf_up[self.link.host[bodies]])
        total = 0
        while len(nodes):
            total += len(nodes)
            nodes = np.unique(self.plan.up[nodes])
            nodes = nodes[nodes >= 0]
        return total

    def bound(self, error: ErrorMeasure, of_last_step: bool = False) -> float:
        """The error bound of the pass as far as it has gone, or of the last step, in the measure's own terms."""
        v, waiting = self.front.value, int(self.front.count[passes.WAITING])
        if of_last_step:
            total, top, largest, root = (
                float(v[k]) for k in (passes.STEP_SUM, passes.STEP_TOP, passes.STEP_LARGEST, passes.STEP_ROOT)
            )
            waiting = 1
        else:
            total, largest, root = self.do(passes.LEFT), float(v[passes.LARGEST]), float(v[passes.ROOT])
            top = float(self.front.key[0]) if waiting else 0.0
        # a cluster that must be opened has no finite key
        left = min(top, total) if error.over == "joint" else total
        return self.noise.bound(error, left if waiting else None, root, largest)

    def exact_bound(self, error: ErrorMeasure) -> float:
        """The rounding that a solution without culling may have, in the measure's own terms."""
        root, n = float(self.front.value[passes.ROOT]), self.noise
        return n.bound(error, None, root, root * (n.largest / n.root if n.root > 0.0 else 1.0))

    def memory(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """What the tree remembers beyond configuration and forces."""
        arrays = {name: getattr(self.state, name) for name in MEMORY}
        facts = {"noise": list(self.noise), "opened": self.opened}
        return arrays, facts | {"certificate": float(self.front.value[passes.CERTIFICATE])}

    def restore(self, arrays: dict[str, FloatArray], facts: dict[str, Any]) -> None:
        """What `memory` gave; opened clusters are opened again by `refine`."""
        for name in MEMORY:
            getattr(self.state, name)[:] = arrays[name]
        self.noise, self.front.value[passes.CERTIFICATE] = Noise(*facts["noise"]), facts["certificate"]
