"""What `rest` and `motion` have in common: a solver that finds accelerations, a region of active joints, a stepper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from numbers import Integral, Real
from time import perf_counter
from typing import Any

from bough.adaptive.closure import Closure, Closures, make_plan
from bough.adaptive.cost import ReselectionInterval, SolverSelector
from bough.adaptive.engines.contracted import ContractedLinkage
from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.layout import JointLaws, make_joint_state
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.stats import Cost
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.layout import make_clock
from bough.errors import SettingError, unknown_option
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class Solver:
    """Finds joint accelerations for the present inputs: of all joints, or of those that are active."""

    integrator: str | None = None  # None where there are no velocities
    region: Any  # where active joints are, if there is a rule by which they are chosen
    _linkage: Callable[[], tuple[Mechanism, JointLaws]]
    _make_region: Callable[[], Any]
    _tree_is_current: Callable[[], bool]  # whether the tree is there, with the places of bodies as they are now

    def __init__(
        self, inputs: Inputs, method: str, methods: tuple[str, ...], error: ErrorMeasure, every: int | None
    ) -> None:
        if method not in methods:
            raise unknown_option(f"there is no method {method!r}", method, methods)
        if not (every is None or (isinstance(every, Integral) and every >= 1)):
            raise SettingError(f"every: the active joints are chosen anew after a whole number of steps, got {every!r}")
        self.inputs, self.changes, self.method, self.error = inputs, inputs.changes, method, error
        self.selector = SolverSelector(len(inputs.model.joints))
        self.motion = make_joint_state(inputs.model, inputs.shared.q, inputs.shared.qdd)
        self.mechanism, self.laws = self._linkage()
        self.clock = make_clock()
        self.tree: TreeEngine | None = None
        self.metric: Any = None
        self.assembly: Any = "balanced"
        self.closures: Closures | None = None
        self.engine: Engine  # of all joints
        self.cost, self.seconds = Cost(methods[-1]), math.nan  # of the last call, by step
        self.h = 1.0  # of a step

    @property
    def moves(self) -> bool:
        """Whether there are velocities."""
        return self.integrator is not None

    def set_step(self, h: float) -> None:
        """Steps of this size follow."""
        self.h = h

    def close(self, closures: Sequence[Closure]) -> None:
        """Hold these loops from now on, and no others."""
        i, made = self.inputs, Closures(self.inputs.model, tuple(closures)) if closures else None
        plan = None if made is None else make_plan(self.mechanism, made)
        if self.closures is not None:  # what their forces were
            i.shared.force[self.closures.bodies] = 0.0
        self.closures = made
        i.forces.keep([] if made is None else made.bodies.tolist(), turning=self.moves)
        force = None if self.moves else i.shared.force
        self.engine = Engine(self.mechanism, self.laws, self.motion, plan, integrator=self.integrator, force=force)
        self.region = self._make_region()
        self.changes.all()
        self.changes.given += 1

    def assemble(self) -> TreeEngine:
        """The tree, made when it is first needed."""
        if self.tree is None:
            i, springs = self.inputs, self.inputs.potentials.springs
            self.tree = TreeEngine(i.model, self.metric, self.mechanism, i.shared, self.clock, springs, self.assembly)
        return self.tree

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p of laid frames of primitives in the world: O(log n) each for a few on the tree, else O(n)."""
        few = 32 * len(bodies) < 64 + self.changes.size
        if few and self._tree_is_current() and self.assemble().has_bodies(bodies):
            if self.region is not None:
                self.region.place()
            return self.assemble().poses(bodies)
        return self.engine.poses(bodies)

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures."""
        return 0.0 if self.closures is None else self.closures.opening(self.poses(self.closures.bodies))


class Region:
    """Joints that move while all others are locked; chosen anew after `every` steps, or as the cost model says."""

    def __init__(self, solver: Solver, every: int | None, first: int) -> None:
        self.solver: Any = solver
        self.interval = ReselectionInterval(int(every or first), every is not None)
        self.age = 0  # steps since it was chosen
        self.share = 1.0  # of eps at which clusters were left closed: what they would do is less than what is lost
        self.lost = math.nan  # square of what locking changes in the mass metric, when it was chosen

    @cached_property
    def linkage(self) -> ContractedLinkage:
        """The contracted linkage."""
        solver, closures = self.solver, self.solver.closures
        closing = None if closures is None else closures.closing
        own = solver.mechanism, solver.laws, solver.motion, closing
        return ContractedLinkage(solver.assemble(), *own, integrator=solver.integrator)

    @property
    def left(self) -> int:
        """Steps until it is chosen anew."""
        return self.interval.every - self.age

    def state(self) -> dict[str, Any]:
        """What it remembers, for a checkpoint."""
        return {"age": self.age, "share": self.share, "lost": self.lost, "interval": asdict(self.interval)}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.age, self.share, self.lost = state["age"], state["share"], state["lost"]
        self.interval = ReselectionInterval(**state["interval"])


COUNTERS = ("steps", "time", "cuts")


class Stepper:
    """Takes steps of a solver's linkage; a step that fails leaves everything alone."""

    _advance: Callable[[int, float], int]  # takes steps, at most so many and each of this h; returns how many

    def __init__(self, solver: Solver, max_turn: Any) -> None:
        if max_turn is not None and not (isinstance(max_turn, Real) and float(max_turn) > 0.0):
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver: Any = solver
        self.max_turn: Any = None if max_turn is None else float(max_turn)
        self.steps, self.time, self.cuts = 0, 0.0, 0  # taken so far, and parts beyond the first of all of them

    def take(self, most: int, h: float, dt: float) -> int:
        """Take at least one step and at most so many; returns how many. A step that fails leaves everything alone."""
        began = perf_counter()
        done = self._advance(most, h)
        self.solver.seconds = (perf_counter() - began) / (done or 1)
        self.steps, self.time = self.steps + done, self.time + done * dt
        return done

    def _moving(self) -> list[FloatArray]:
        """What a part of a step changes."""
        return [self.solver.motion.q, self.solver.motion.v]

    def _snapshot(self) -> list[FloatArray]:
        """What a step changes, for `_put_back`."""
        return [a.copy() for a in self._moving()]

    def _put_back(self, before: list[FloatArray]) -> None:
        """As it was."""
        for array, old in zip(self._moving(), before, strict=False):  # a tree made since has nothing to put back
            array[:] = old

    def state(self) -> dict[str, Any]:
        """What it remembers, for a checkpoint."""
        return {name: getattr(self, name) for name in COUNTERS}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        for name in COUNTERS:
            setattr(self, name, state[name])
