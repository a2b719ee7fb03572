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
    CERTIFICATE,
    DONE,
    FULL,
    LARGEST,
    OVER_JOINT,
    OVER_LINKAGE,
    REFUSED,
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
from bough.joints import Mechanism
from bough.model import Model

FloatArray = npt.NDArray[np.float64]
NO_LIMIT = 1 << 62
ROUNDING = 2.0**-52


# What the tree remembers beyond the configuration
MEMORY = ("metric", "last_move", "oldest")
Stop = tuple[int, tuple[float, float, float]]
NEVER: Stop = (OVER_JOINT, (-1.0, 0.0, 0.0))


def stop(error: ErrorMeasure | None) -> Stop:
    """When a bounded pass ends, as the passes read it."""
    return NEVER if error is None else (OVER_JOINT if error.over == "joint" else OVER_LINKAGE, error.limits)


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
        scale = error.scaled(self.root, self.largest)
        return math.sqrt(max(self.level, ROUNDING * self.root) / scale) if self.is_known else math.nan


class TreeEngine:
    """Divide and conquer over an assembly tree, exact or error-bounded."""

    def __init__(self, model: Model, metric: Any, mechanism: Mechanism, shared: Shared, clock: FloatArray) -> None:
        self.model, self.mechanism = model, mechanism
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
        self.noise = Noise()
        self._all_known = False  # whether qdd holds all accelerations, not only those of opened clusters

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
        order = passes.Order(what, *stop, turn, np.asarray(number, np.int64), out)
        loads = self._no_loads if loads is None else loads
        args = (self.mechanism, self.plan, self.state, self.front, loads, self.clock, order)
        return float(compiled(passes.command if what <= passes.REFINE else passes.query)(*args))

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

    def changed(self, loads: Loads, nodes: npt.NDArray[np.int64]) -> None:
        """Forces or torques below these nodes have changed."""
        self._forget_all()
        self.reserve(loads, len(nodes) * int(self.plan.depth[0]))
        self.do(passes.CHANGED, loads, number=nodes)

    def restart(self) -> None:
        """Begin the bounded pass anew: nothing is opened."""
        self.changed(self._no_forces, np.zeros(0, np.int64))

    def refine(self, error: ErrorMeasure | None, budget: int = NO_LIMIT) -> int:
        """Open clusters until the error is met (MET) or the budget of clusters is spent (SPENT); None is never met."""
        self._forget_all()
        while True:
            before = int(self.front.count[DONE])
            status = int(self.do(passes.REFINE, None, stop(error), number=(budget,)))
            if status != FULL:
                return status
            budget -= int(self.front.count[DONE]) - before
            self.grow()

    def march(self, error: ErrorMeasure, loads: Loads, steps: int, turn: float, budget: int = NO_LIMIT) -> int:
        """Take error-bounded steps; returns how many are left if one would open more clusters than `budget`, or turn a
        joint by more than `turn` (`refused`)."""
        self._forget_all()
        self.front.count[REFUSED] = 0
        while steps:
            self.reserve(loads, len(self.front.done))
            steps = int(self.do(passes.MARCH, loads, stop(error), turn, (budget, steps)))
            if steps and (self.refused or int(self.front.count[DONE]) >= budget):
                return steps
            if steps:
                self.grow()
        return 0

    @property
    def refused(self) -> bool:
        """Whether the last march ended before a step that would turn a joint too far."""
        return bool(self.front.count[REFUSED])

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
        value = min(top, total) if error.over == "joint" else total
        if value == 0.0:
            return 0.0
        scale = error.scaled(float(scales[1]), float(scales[0]))
        return math.sqrt(value / scale) if scale > 0.0 else math.inf

    def memory(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """What the tree remembers beyond configuration and forces."""
        arrays = {name: getattr(self.state, name) for name in MEMORY}
        facts = {"noise": list(self.noise), "opened": int(self.front.count[DONE])}
        return arrays, facts | {"certificate": float(self.front.value[CERTIFICATE])}

    def restore(self, arrays: dict[str, FloatArray], facts: dict[str, Any]) -> None:
        """What `memory` gave; opened clusters are opened again by `refine`."""
        for name in MEMORY:
            getattr(self.state, name)[:] = arrays[name]
        self.noise, self.front.value[CERTIFICATE] = Noise(*facts["noise"]), facts["certificate"]
