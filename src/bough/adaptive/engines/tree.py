"""The engine of adaptive methods: an assembly tree with exact and with bounded passes over it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive import passes
from bough.adaptive.assembly import Linkage, body_name, is_floating_base, make_metric
from bough.adaptive.compiled import compiled
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.node import Plan, Shared, State, make_plan, make_state
from bough.adaptive.passes import (
    ABSOLUTE_JOINT,
    DONE,
    FULL,
    LARGEST,
    RELATIVE_JOINT,
    RELATIVE_LINKAGE,
    ROOT,
    STEP_LARGEST,
    STEP_ROOT,
    STEP_SUM,
    STEP_TOP,
    WAITING,
    Front,
    Loads,
    gather,
    make_front,
    no_forces,
)
from bough.errors import ModelError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]
NO_LIMIT = 1 << 62
ROUNDING = 2.0**-52


class Noise(NamedTuple):
    """How wrong total accelerations are: see `whole.noise`."""

    worst: float = math.nan  # the largest error
    root: float = math.nan  # the root's total acceleration
    largest: float = math.nan  # the largest square of a joint acceleration
    level: float = math.nan  # total accelerations up to this one may be mere rounding

    @property
    def is_known(self) -> bool:
        return self.root > 0.0 and math.isfinite(self.root)

    def floor(self, error: ErrorMeasure) -> float:
        """The smallest eps with a meaning: below it, rounding in total accelerations decides what is left out."""
        scale = {RELATIVE_JOINT: self.largest, RELATIVE_LINKAGE: self.root}.get(error.rule, 1.0)
        return math.sqrt(max(self.level, ROUNDING * self.root) / scale) if self.is_known else math.nan


class TreeEngine:
    """Divide and conquer over an assembly tree, exact or error-bounded."""

    def __init__(self, model: Model, metric: Any, shared: Shared, clock: FloatArray) -> None:
        self.model = model
        self.plan: Plan
        self.link: Linkage
        self.plan, self.link = make_plan(model)
        self.state: State = make_state(
            model, self.plan, self.link, make_metric(model, self.link, metric), shared, bool(clock[2])
        )
        self.shared, self.clock = shared, clock
        nodes = len(self.plan.left)
        self.front: Front = make_front(nodes, int(self.plan.depth[0]), 1024, self._forced())
        self._no_loads, self._no_poses = gather([], np.zeros(0, np.int32)), np.zeros((0, 12))
        self.stale = True
        self.noise = Noise()
        self._all_known = False  # whether qdd holds all accelerations, not only those of opened clusters
        self.mechanism = model.mechanism

    def do(
        self, what: int, loads: Any = None, rule: int = 0, limit: float = 0.0, number: Any = (), out: Any = None
    ) -> float:
        """Run one order of `passes.command` on this tree."""
        order = passes.Order(what, rule, limit, np.asarray(number, np.int64), self._no_poses if out is None else out)
        loads = self._no_loads if loads is None else loads
        args = (self.mechanism, self.plan, self.state, self.front, loads, self.clock, order)
        return float(compiled(passes.command)(*args))

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
        self.do(passes.REBUILD, loads)
        self.state.qdd[:] = 0.0
        self.stale = False

    def changed(self, loads: Loads, nodes: npt.NDArray[np.int64]) -> None:
        """Forces or torques below these nodes have changed."""
        self._forget_all()
        self.reserve(loads, len(nodes) * int(self.plan.depth[0]))
        self.do(passes.CHANGED, loads, number=nodes)

    def refine(self, rule: int, limit: float, budget: int) -> int:
        """Open clusters until the rule is met (MET) or the budget of clusters is spent (SPENT)."""
        self._forget_all()
        while True:
            before = int(self.front.count[DONE])
            status = int(self.do(passes.REFINE, None, rule, limit, (budget,)))
            if status != FULL:
                return status
            budget -= int(self.front.count[DONE]) - before
            self.grow()

    def march(self, error: ErrorMeasure, loads: Loads, steps: int, budget: int = NO_LIMIT) -> int:
        """Take error-bounded steps; returns how many are left if one would open more clusters than `budget`."""
        limit = error.eps**2
        self._forget_all()
        while steps:
            self.reserve(loads, len(self.front.done))
            steps = int(self.do(passes.MARCH, loads, error.rule, limit, (budget, steps)))
            if steps and int(self.front.count[DONE]) >= budget:
                return steps
            if steps:
                self.grow()
        return 0

    def solve_exactly(self) -> None:
        """All joint accelerations by one down pass; the bounded pass stays as it is."""
        self.do(passes.SOLVE)
        self._all_known = True

    def _forget_all(self) -> None:
        """A bounded pass takes joints for culled that it has not opened."""
        if self._all_known:
            self.state.qdd[:] = 0.0
            self._all_known = False

    def measure_noise(self) -> Noise:
        """How wrong total accelerations are, here and now."""
        work = np.zeros((3, len(self.plan.left) + 2))
        worst = self.do(passes.NOISE, out=work)
        self.state.qdd[:] = 0.0
        self.noise = Noise(worst, *work[2, :3].tolist())
        return self.noise

    def poses(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(log n) each."""
        out = np.zeros((len(bodies), 12))
        self.do(passes.POSES, number=self.link.host[bodies], out=out)
        return out

    @cached_property
    def _no_forces(self) -> Loads:
        return no_forces(len(self.shared.force))

    def respond(self, bodies: npt.NDArray[np.int64]) -> FloatArray:
        """(k, 6) accelerations of some primitives under the forces on them now; see `lazy.respond`. O(log n) each."""
        out = np.zeros((len(bodies), 6))
        self.reserve(self._no_forces, len(bodies) * int(self.plan.depth[0]))
        self.do(passes.RESPOND, self._no_forces, number=self.link.host[bodies], out=out)
        return out

    def reload(self, bodies: npt.NDArray[np.int64]) -> None:
        """Forces on these primitives, written where they act, have changed."""
        self.changed(self._no_forces, self.plan.leaf_up[self.link.host[bodies]].astype(np.int64))

    def has_bodies(self, primitives: npt.NDArray[np.int64]) -> bool:
        """Whether none of these is a massless part of a joint, which is no body of the tree."""
        return bool((self.link.last[self.link.host[primitives]] == primitives).all())

    def refuse_massless(self, loads: Loads) -> None:
        """Forces on massless parts of joints, and closures of them, are refused by name."""
        for body in loads.body if not self.has_bodies(loads.body) else ():
            if not self.has_bodies(body):
                raise ModelError(
                    f"{body_name(self.model, int(body))} has no mass and became part of a joint: the assembly tree "
                    f'cannot take a force on it (method="aba" can)'
                )

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
        v, waiting = self.front.value, int(self.front.count[WAITING])
        if of_last_step:
            total, top, scales = float(v[STEP_SUM]), float(v[STEP_TOP]), v[[STEP_LARGEST, STEP_ROOT]]
        else:
            total = self.do(passes.LEFT)
            top, scales = float(self.front.key[0]) if waiting else 0.0, v[[LARGEST, ROOT]]
        # a cluster that must be opened has no finite key
        joint = error.rule in (ABSOLUTE_JOINT, RELATIVE_JOINT)
        value = min(top, total) if joint else total
        if not error.is_relative or value == 0.0:
            return math.sqrt(value)
        scale = float(scales[0 if joint else 1])
        return math.sqrt(value / scale) if scale > 0.0 else math.inf
