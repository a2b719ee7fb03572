"""The engine of adaptive methods: an assembly tree with exact and with bounded passes over it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.potentials import Springs
from bough.adaptive.tree.assembly import body_name, is_floating_base, make_metric
from bough.adaptive.tree.bounded_pass import (
    CERTIFICATE,
    DONE,
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
    Queue,
    make_queue,
)
from bough.adaptive.tree.contract import Loads, no_forces
from bough.adaptive.tree.layout import (
    TOTAL,
    Clock,
    Shared,
    make_keeps,
    make_layout,
    make_state,
    shared_by_simulations,
)
from bough.adaptive.tree.passes import (
    CHANGED,
    COARSE,
    FOLLOW,
    FREE,
    LEFT,
    MARCH,
    NOISE,
    PLACE,
    POSES,
    REBUILD,
    REFINE,
    RESPOND,
    SOLVE,
    TRANSMIT,
    Order,
    command,
)
from bough.compile.run.direct import compiled, prepared
from bough.errors import ModelError
from bough.joints import Mechanism
from bough.model import Model
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.adaptive.engines.engine import Engine


# How wrong the assembly tree is on the linkage at hand: measured beside full solutions, never assumed.
#
# Rounding grows where light bodies hang on heavy ones (see `algebra`), and with it two things are wrong: the
# joint accelerations themselves, and the total accelerations by which a bounded pass chooses. Both are measured when
# a tree is first made, under the forces at hand and under forces on all bodies in proportion to their masses, which
# bring out what few forces hide. Bounds are widened by what is found; a linkage with too much of it is solved
# plainly.


# Other forces than the two of the measurement may bring out more: joint accelerations were up to 63 times as wrong on
# 60 random linkages. So bounds contain a multiple of what is measured, of joints and of total accelerations.
SAFE, SAFE_TOTAL = 1000.0, 4.0
# A tree that is wrong by more than this, as a fraction of the largest acceleration, is not used.
TRUSTED = 1e-8
STEADY = 1e-13  # rounding up to which one measurement serves for all loads
LEAST = 2.0**-55  # total accelerations, by the root's, that no measurement vouches for


class Noise(NamedTuple):
    """Errors of a tree, as fractions: the larger ones of two measurements."""

    rounding: float = math.nan  # of an acceleration, by the largest one
    joint: float = math.nan  # of a joint's weighted acceleration, by the largest one
    norm: float = math.nan  # of the norm of all
    level: float = math.nan  # total accelerations up to this, by the root's, are mere rounding
    spread: float = math.nan  # the same, summed over clusters that may be closed together
    total: float = math.nan  # of a total acceleration, by the root's
    root: float = math.nan  # total acceleration of the root under the forces at hand, (1/s^2)^2
    largest: float = math.nan  # largest weighted square of a joint acceleration under them

    @property
    def is_known(self) -> bool:
        """Whether it was measured."""
        return math.isfinite(self.rounding)

    @property
    def depends_on_loads(self) -> bool:
        """Whether it must be measured under other loads: it is not known, or large enough to matter."""
        return not self.rounding <= STEADY

    @property
    def is_too_large(self) -> bool:
        """Whether the tree is not to be used; false before it is measured."""
        return self.rounding > TRUSTED

    def merged(self, other: Noise) -> Noise:
        """The larger errors of both; the scale of this one."""
        if not self.is_known:
            return other._replace(root=0.0, largest=0.0)
        return Noise._make([*map(max, self[:6], other[:6]), self.root, self.largest])

    def _parts(self, error: ErrorMeasure, root: float) -> tuple[float, float]:
        """(square of what rounding may hide in inactive clusters, error of the joints computed), not yet scaled."""
        if error.over == "energy":  # known exactly once the hybrid linkage is solved
            return 0.0, 0.0
        if error.over == "joint":
            return SAFE_TOTAL * self.level * root, SAFE * self.joint * math.sqrt(root)
        return SAFE_TOTAL * self.spread * root, SAFE * self.norm * math.sqrt(root)

    def bound(self, error: ErrorMeasure, left: float | None, root: float, largest: float, free: float = 0.0) -> float:
        """The bound of a pass that left total accelerations `left` closed, None without any, in the measure's terms.

        `free`: the square of what bodies would do by themselves, which forces may cancel.
        """
        hidden, rounding = self._parts(error, max(root, free))
        total = rounding
        if left is not None:
            exact = left / (1.0 - COARSE)
            total += math.sqrt(max(exact, hidden) if error.over == "joint" else exact + hidden)
        scale = error.scaled(root, largest)
        if total == 0.0:
            return 0.0
        return total / math.sqrt(scale) if scale > 0.0 else math.inf

    def floor(self, error: ErrorMeasure) -> float:
        """The smallest eps that is worth its name: four times what rounding may do."""
        root, largest = (self.root, self.largest) if self.root > 0.0 else (1.0, 1.0)
        hidden, rounding = self._parts(error, root)
        return 4.0 * max(math.sqrt(hidden), rounding) / math.sqrt(error.scaled(root, largest))

    def inner(self, error: ErrorMeasure, root: float) -> float:
        """The square of eps for which a pass must stop, so that its bound is within `error` when rounding is added."""
        share = self.largest / self.root if self.root > 0.0 else 1.0
        scale = error.scaled(root, share * root)
        if not (self.is_known and scale > 0.0) or error.over == "energy":
            return float(error.eps) ** 2
        hidden, rounding = self._parts(error, root)
        rest = max(error.eps - rounding / math.sqrt(scale), 0.5 * error.eps) ** 2
        if error.over == "linkage":
            rest = max(rest - hidden / scale, 0.25 * rest)
        return (1.0 - COARSE) * rest


def make_noise(found: FloatArray, rounding: float) -> Noise:
    """From what `passes.whole.noise` found."""
    root, largest, level, spread, joint, norm, worst = found[:7].tolist()
    if not root > 0.0:
        return Noise(root=0.0, largest=0.0)
    totals = max(level / root, LEAST), max(spread / root, LEAST), worst / root
    return Noise._make([rounding, math.sqrt(joint / largest), math.sqrt(norm / root), *totals, root, largest])


def probe(m: Mechanism) -> FloatArray:
    """(primitives, 6) a random force on every body, in proportion to its mass and rotational inertia."""
    rng = np.random.default_rng(0)
    push, turn = rng.normal(size=(2, len(m.inertia), 3))
    force = m.inertia[:, 9:] * push
    moment = np.cross(m.inertia[:, 6:9], push) + m.inertia[:, :3].mean(axis=1, keepdims=True) * turn
    return np.concatenate([moment, force], axis=1)


def measure_noise(tree: TreeEngine, plain: Engine, loads: Loads) -> Noise:
    """How wrong a tree is, beside full solutions here and now; it must be up to date with `loads`. O(n).

    As under the probe; and where rounding is large enough to depend on them, under the forces at hand.
    """
    found = noise_under_probe(tree, plain)
    if found.depends_on_loads:
        own = _noise_beside(tree, plain, loads)
        if own is None:  # refused by whoever reads the accelerations
            return tree.noise
        found = own.merged(found if found.is_known else own)
    tree.noise = found.merged(tree.noise) if tree.noise.is_known else found
    return tree.noise


def noise_under_probe(tree: TreeEngine, plain: Engine) -> Noise:
    """How wrong a tree is under other forces, measured once for all simulations of one model and metric, on equations
    that must then be found anew. One without numbers is not known. O(n)."""
    known, key = shared_by_simulations(tree.model) if tree.named else tree.probed, (*tree.named, tree.keeps)
    if key not in known:
        s, none = tree.shared, tree.no_forces
        kept = s.force.copy(), s.tau.copy()
        s.force[:], s.tau[:] = probe(tree.mechanism), 0.0
        tree.rebuild(none)
        known[key] = _noise_beside(tree, plain, none) or Noise()
        s.force[:], s.tau[:] = kept
    return known[key]


def _noise_beside(tree: TreeEngine, plain: Engine, loads: Loads) -> Noise | None:
    """One measurement, under the forces that act now; None where accelerations are no numbers."""
    qdd = tree.shared.qdd
    plain.load(loads)
    plain.solve(loads)
    largest = float(np.abs(qdd).max(initial=0.0))
    work = np.zeros((4, max(len(tree.plan.left), len(qdd), 7)))
    work[2, : len(qdd)] = qdd
    tree.do(NOISE, out=work)
    qdd[:] = 0.0
    wrong = float(np.abs(work[2]).max())
    if not math.isfinite(wrong):
        return None
    return make_noise(work[3], wrong / largest) if largest > 0.0 else Noise(root=0.0, largest=0.0)


NO_LIMIT = 1 << 62


# What the tree remembers beyond the configuration
MEMORY = ("metric", "last_move", "oldest", "stamp")
Stop = tuple[int, tuple[float, float, float]]
NEVER: Stop = (OVER_JOINT, (-1.0, 0.0, 0.0))


class TreeEngine:
    """Divide and conquer over an assembly tree, exact or error-bounded."""

    def __init__(
        self,
        model: Model,
        metric: Any,
        mechanism: Mechanism,
        shared: Shared,
        clock: Clock,
        springs: Springs,
        assembly: Any = "balanced",
    ) -> None:
        self.model, self.mechanism = model, mechanism
        has_names = isinstance(assembly, str) and (metric is None or isinstance(metric, str))
        self.named = (assembly, metric) if has_names else ()  # the same for other trees like this one
        self.plan, self.link = make_layout(model, assembly)
        weights = make_metric(model, self.link, metric)
        self.state = make_state(model, self.plan, self.link, weights, shared, bool(clock.catches_up[0]))
        self.shared, self.clock = shared, clock
        nodes = len(self.plan.left)
        self.queue: Queue = make_queue(nodes, int(self.plan.depth[0]), np.zeros(nodes, np.int8))
        self.keep_active(np.zeros(0, np.int64))
        self._no_poses = np.zeros((0, 12))
        self._limits, self._number = np.zeros(3), np.zeros(2, np.int64)
        self._march: tuple[Any, ...] = ()  # steps, prepared, and what they were made of
        self._checked: Loads | None = None
        self.noise = Noise()
        self.probed: dict[Any, Noise] = {}  # noise under the probe, where no other simulation shares it
        self._all_known = False  # whether qdd holds all accelerations, not only those of active clusters
        self.springs = springs
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
        """Run one order of `command` on this tree."""
        out = self._no_poses if out is None else out
        over, limits = stop
        order = Order(what, over, np.array(limits), turn, np.asarray(number, np.int64), out, make_keeps(self.keeps))
        tree = self.mechanism, self.plan, self.state, self.queue
        return float(compiled(command)(*tree, loads or self.no_forces, self.clock, order, self.springs))

    def keep_active(self, primitives: IntArray) -> None:
        """Let the joints of these primitives and of floating bases be active always: all nodes above them."""
        forced, floating = self.queue.forced, is_floating_base(self.model.mechanism, self.link)
        forced[:] = 0
        for body in (*np.flatnonzero(floating), *self.link.host[primitives]):
            n = int(self.plan.node_of[body])
            while n >= 0 and not forced[n]:
                forced[n] = 1
                n = int(self.plan.up[n])

    @property
    def nbytes(self) -> int:
        """Memory held by this engine."""
        arrays = [*self.plan, *self.state, *self.queue]
        return sum(a.nbytes for a in arrays)

    def rebuild(self, loads: Loads) -> None:
        """All equations anew from q."""
        self.do(REBUILD, loads)
        self.state.qdd[:] = 0.0

    def changed(self, loads: Loads, nodes: IntArray) -> None:
        """Forces or torques below these nodes have changed."""
        self._forget_all()
        self.do(CHANGED, loads, number=nodes)

    def activate(self, nodes: IntArray) -> None:
        """Let these nodes, parents first, be those that are active."""
        self.queue.done[: len(nodes)], self.queue.count[DONE] = nodes, len(nodes)

    def place(self, active: IntArray) -> None:
        """Where bodies are after another engine has moved the joints of these nodes, and nothing else."""
        self.activate(active)
        self.do(PLACE)

    def follow(self, loads: Loads, nodes: IntArray, active: IntArray) -> None:
        """The joints of `active` were moved by another engine; forces or torques below `nodes` have changed."""
        self._forget_all()
        self.activate(active)
        self.do(FOLLOW, loads, number=nodes)

    def restart(self) -> None:
        """Begin the bounded pass anew: nothing is active."""
        self.changed(self.no_forces, np.zeros(0, np.int64))

    def refine(self, error: ErrorMeasure | None, budget: int = NO_LIMIT) -> int:
        """Open clusters until the error is met (MET) or the budget of clusters is spent (SPENT); None is never met."""
        self._forget_all()
        return int(self.do(REFINE, None, self._stop(error), number=(budget,)))

    @property
    def active_count(self) -> int:
        """The number of clusters that the bounded pass has activated."""
        return int(self.queue.count[DONE])

    def _stop(self, error: ErrorMeasure | None) -> Stop:
        """When a bounded pass ends, as the passes read it: before rounding takes it beyond `error`."""
        if error is None:
            return NEVER
        square, (one, all_, largest) = self.noise.inner(error, float(self.queue.value[ROOT])), error.scale
        return OVER_JOINT if error.over == "joint" else OVER_LINKAGE, (square * one, square * all_, square * largest)

    def march(self, error: ErrorMeasure, loads: Loads, steps: int, turn: float, budget: int = NO_LIMIT) -> int:
        """Take error-bounded steps; returns how many are left if one would open more clusters than `budget`, or turn a
        joint by more than `turn` (`refused`)."""
        self._forget_all()
        self.queue.count[REFUSED] = 0
        over, limits = self._stop(error)
        self._limits[0], self._limits[1], self._limits[2] = limits
        self._number[0], self._number[1] = budget, steps
        made, springs, how = self._march, self.springs, (over, turn, self.keeps)
        if not made or not (made[1] is loads and made[2] is springs and made[3] is self.mechanism and made[4] == how):
            order = Order(MARCH, over, self._limits, turn, self._number, self._no_poses, make_keeps(self.keeps))
            tree = self.mechanism, self.plan, self.state, self.queue
            call = prepared(command, *tree, loads, self.clock, order, springs)
            self._march = made = call, loads, springs, self.mechanism, how
        return int(made[0]())

    @property
    def refused(self) -> bool:
        """Whether the last march ended before a step that would turn a joint too far."""
        return bool(self.queue.count[REFUSED])

    def solve_exactly(self) -> None:
        """All joint accelerations by one down pass; the bounded pass stays as it is."""
        self.queue.value[ROOT] = self.do(SOLVE)
        self._all_known = True

    def _forget_all(self) -> None:
        """A bounded pass takes joints for inactive that it has not activated."""
        if self._all_known:
            self.state.qdd[:] = 0.0
            self._all_known = False

    @cached_property
    def no_forces(self) -> Loads:
        """Loads without any."""
        return no_forces(len(self.shared.force))

    def _answer(self, what: int, bodies: IntArray, size: int) -> FloatArray:
        """(k, size) what an order finds of some primitives. O(log n) each."""
        out = np.zeros((len(bodies), size))
        self.do(what, number=self.link.host[bodies], out=out)
        return out

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(log n) each."""
        return self._answer(POSES, bodies, 12)

    def respond(self, bodies: IntArray) -> FloatArray:
        """(k, 6) accelerations of some primitives, relative to free fall, all joints free. O(log n) each."""
        return self._answer(RESPOND, bodies, 6)

    def transmit(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on some primitives through their joints, in their frames, all joints free. O(log n) each."""
        return self._answer(TRANSMIT, bodies, 6)

    def reload(self, bodies: IntArray) -> None:
        """Forces on these primitives, written where they act, have changed."""
        self.changed(self.no_forces, self.plan.leaf_up[self.link.host[bodies]].astype(np.int64))

    def nodes_above(self, bodies: list[int], joints: list[int]) -> IntArray:
        """The lowest nodes that forces on these primitives, and torques of these joints, enter."""
        host = self.link.host
        found = [self.plan.leaf_up[host[bodies]], self.plan.node_of[host[joints]]]
        return np.concatenate(found).astype(np.int64)

    def has_bodies(self, primitives: IntArray) -> bool:
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

    def root_paths(self, bodies: IntArray) -> int:
        """The number of nodes above these primitives: the least that an update of forces on them redoes."""
        nodes = np.unique(self.plan.leaf_up[self.link.host[bodies]])
        total = 0
        while len(nodes):
            total += len(nodes)
            nodes = np.unique(self.plan.up[nodes])
            nodes = nodes[nodes >= 0]
        return total

    def bound(self, error: ErrorMeasure, of_last_step: bool = False) -> float:
        """The error bound of the pass as far as it has gone, or of the last step, in the measure's own terms."""
        v, waiting = self.queue.value, int(self.queue.count[WAITING])
        if of_last_step:
            total, top, largest, root = (float(v[k]) for k in (STEP_SUM, STEP_TOP, STEP_LARGEST, STEP_ROOT))
            waiting = 1
        else:
            total, largest, root = self.do(LEFT), float(v[LARGEST]), float(v[ROOT])
            top = float(self.queue.key[0]) if waiting else 0.0
        # it was measured under these loads: cancellation may hide all of the root's
        if self.noise.depends_on_loads:
            root = max(root, self.noise.root)
        # a cluster that must be active has no finite key
        left = min(top, total) if error.over == "joint" else total
        if waiting:  # what total accelerations may hide is more than rounding of the joints
            return self.noise.bound(error, left, root, largest)
        return self.noise.bound(error, None, root, largest, self._free())

    def _free(self) -> float:
        """The weighted square of the largest acceleration that a body would have by itself."""
        return self.do(FREE) * float(np.abs(self.state.metric).max(initial=0.0))

    def exact_bound(self, error: ErrorMeasure) -> float:
        """The rounding that a solution without culling may have, in the measure's own terms."""
        root, n = float(self.queue.value[ROOT]), self.noise
        return n.bound(error, None, root, root * (n.largest / n.root if n.root > 0.0 else 1.0), self._free())

    def memory(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """The state beyond configuration and forces."""
        arrays = {name: getattr(self.state, name) for name in MEMORY}
        facts = {"noise": list(self.noise), "active": self.active_count}
        return arrays, facts | {"certificate": float(self.queue.value[CERTIFICATE])}

    def restore(self, arrays: dict[str, FloatArray], facts: dict[str, Any]) -> None:
        """Take back what `memory` returned; `refine` finds active clusters again."""
        for name in MEMORY:
            getattr(self.state, name)[:] = arrays[name]
        self.noise, self.queue.value[CERTIFICATE] = Noise(*facts["noise"]), facts["certificate"]
