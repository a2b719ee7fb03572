"""The two engines behind `QuasiStatics`: an assembly tree with bounded passes, and the plain O(n) algorithm."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive import passes, plain
from bough.adaptive.compiled import compiled
from bough.adaptive.linkage import Linkage, is_floating_base
from bough.adaptive.loads import Loads
from bough.adaptive.measures import ErrorMeasure, make_metric
from bough.adaptive.nodes import Plan, Shared, State, make_plan, make_state
from bough.adaptive.passes import ABSOLUTE_JOINT, DONE, FULL, LARGEST, MET, ROOT, WAITING, Front, make_front
from bough.model import Model

FloatArray = npt.NDArray[np.float64]
NO_LIMIT = 1 << 62


class TreeEngine:
    """Divide and conquer over an assembly tree, exact or error-bounded. """

    def __init__(self, model: Model, metric: Any, shared: Shared, clock: FloatArray) -> None:
        self.model = model
        self.plan: Plan
        self.link: Linkage
        self.plan, self.link = make_plan(model)
        self.state: State = make_state(model, self.plan, self.link, make_metric(model, self.link, metric), shared)
        self.clock = clock
        nodes = len(self.plan.left)
        self.front: Front = make_front(nodes, int(self.plan.depth[0]), 1024, self._forced())
        self.stale = True
        self.noise = math.nan

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
        f = self.front
        longer = {}
        for name in ("key", "node", "slot", "force", "spare", "done"):
            old = getattr(f, name)
            new = np.zeros((2 * len(old), *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            longer[name] = new
        self.front = f._replace(**longer)

    def rebuild(self, loads: Loads) -> None:
        """All equations anew from q."""
        self.reserve(loads, 0)
        compiled(passes.rebuild)(self.model.mechanism, self.plan, self.state, self.front, loads, self.clock)
        self.stale = False

    def changed(self, loads: Loads, nodes: npt.NDArray[np.int64]) -> None:
        """Forces or torques below these nodes have changed."""
        self.reserve(loads, len(nodes) * int(self.plan.depth[0]))
        compiled(passes.changed)(self.model.mechanism, self.plan, self.state, self.front, loads, nodes, self.clock)

    def refine(self, rule: int, limit: float, budget: int) -> int:
        """Open clusters until the rule is met (MET) or the budget of clusters is spent (SPENT)."""
        while True:
            before = int(self.front.count[DONE])
            args = (self.model.mechanism, self.plan, self.state, self.front, rule, limit, budget, self.clock)
            status = int(compiled(passes.refine)(*args))
            if status != FULL:
                return status
            budget -= int(self.front.count[DONE]) - before
            self.grow()

    def march(self, error: ErrorMeasure, loads: Loads, steps: int, budget: int = NO_LIMIT) -> int:
        """Take error-bounded steps; returns how many are left if one would open more clusters than `budget`."""
        limit = error.eps**2
        while steps:
            self.reserve(loads, len(self.front.done))
            args = (self.model.mechanism, self.plan, self.state, self.front, loads, error.rule, limit, budget, steps, self.clock)
            steps = int(compiled(passes.march)(*args))
            if steps and int(self.front.count[DONE]) >= budget:
                return steps
            if steps:
                self.grow()
        return 0

    def solve_exactly(self) -> None:
        """All joint accelerations by one down pass; the bounded pass is then complete."""
        compiled(passes.down_all)(self.model.mechanism, self.plan, self.state, self.front)

    def measure_noise(self) -> float:
        """The relative error of total accelerations here and now: eps below its square root means nothing."""
        nodes = len(self.plan.left)
        args = (self.model.mechanism, self.plan, self.state, self.front, np.zeros(nodes), np.zeros(nodes))
        self.noise = float(compiled(passes.noise)(*args))
        self.state.qdd[:] = 0.0
        return self.noise

    def poses(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(log n) each."""
        out = np.zeros((len(bodies), 12))
        compiled(passes.body_poses)(self.plan, self.state, self.front, self.link.host[bodies], out)
        return out

    def root_paths(self, bodies: npt.NDArray[np.int64]) -> int:
        """How many nodes lie above these primitives: the least an update of forces on them must touch."""
        nodes = np.unique(self.plan.leaf_up[self.link.host[bodies]])
        total = 0
        while len(nodes):
            total += len(nodes)
            nodes = np.unique(self.plan.up[nodes])
            nodes = nodes[nodes >= 0]
        return total

    def bound(self, error: ErrorMeasure) -> float:
        """The error bound of the pass as far as it has gone, in the measure's own terms."""
        f = self.front
        if not f.count[WAITING]:
            return 0.0
        total = float(compiled(passes.waiting_sum)(self.plan, self.state, f, self.clock))
        keys = f.key[: int(f.count[WAITING])]
        largest = total if math.isinf(keys[0]) else float(keys[0])
        value = largest if error.rule in (ABSOLUTE_JOINT, passes.RELATIVE_JOINT) else total
        if error.is_relative:
            scale = float(f.value[LARGEST if error.rule == passes.RELATIVE_JOINT else ROOT])
            return math.sqrt(value / scale) if scale > 0.0 else (math.inf if value > 0.0 else 0.0)
        return math.sqrt(value)


class PlainEngine:
    """The articulated-body algorithm at rest."""

    def __init__(self, model: Model, shared: Shared) -> None:
        m = model.mechanism
        self.model, self.shared = model, shared
        self.work = plain.make_work(len(m.parent), len(m.axis))
        self.seconds = math.inf  # best time of a step

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.work)

    def load(self, loads: Loads) -> None:
        """New forces."""
        compiled(plain.mark_needs)(self.model.mechanism, loads, self.work)

    def solve(self, loads: Loads) -> None:
        """All joint accelerations."""
        s = self.shared
        compiled(plain.plain_solve)(self.model.mechanism, s.q, s.tau, s.force, s.qdd, loads, self.work)

    def step(self, loads: Loads, h: float) -> None:
        """Solve and move every joint."""
        began = time.perf_counter()
        self.solve(loads)
        self.move(h)
        self.seconds = min(self.seconds, time.perf_counter() - began)

    def move(self, h: float) -> None:
        """Move every joint by h qdd."""
        compiled(plain.plain_move)(self.model.mechanism, self.shared.q, self.shared.qdd, h)

    def poses(self) -> FloatArray:
        """(primitives, 12) R and p of every body's laid frame in the world. O(n)."""
        out = np.zeros((len(self.model.mechanism.parent), 12))
        compiled(plain.world_poses)(self.model.mechanism, self.shared.q, self.work.X, out)
        return out
