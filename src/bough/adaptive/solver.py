"""Joint accelerations for the present inputs: what the solvers of `rest` and `motion` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bough.adaptive.closure import Closure, Closures, make_plan
from bough.adaptive.cost import SolverSelector
from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.layout import JointLaws, make_joint_state
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.stats import Cost
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.layout import make_clock
from bough.errors import unknown_option
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


class Solver:
    """Finds joint accelerations for the present inputs: of all joints, or of those that are active."""

    moves: bool  # whether there are velocities
    region: Any  # where active joints are, if there is a rule by which they are chosen

    def __init__(self, inputs: Inputs, method: str, methods: tuple[str, ...], error: ErrorMeasure) -> None:
        if method not in methods:
            raise unknown_option(f"there is no method {method!r}", method, methods)
        self.inputs, self.changes, self.method, self._error = inputs, inputs.changes, method, error
        self.selector = SolverSelector(len(inputs.model.joints))
        self.motion = make_joint_state(inputs.model, inputs.shared.q, inputs.shared.qdd)
        self.mechanism, self.laws = self._linkage()
        self.clock = make_clock()
        self.tree: TreeEngine | None = None
        self.metric: Any = None
        self.assembly: Any = "balanced"
        self.closures: Closures | None = None
        self.engine: Engine  # of all joints
        self.cost = Cost(methods[-1])
        self.h = 1.0  # of a step

    @property
    def error(self) -> ErrorMeasure:
        """The error measure in use."""
        return self._error

    @error.setter
    def error(self, measure: Any) -> None:
        self._take_error(measure)

    def _take_error(self, measure: Any) -> None:
        """Another error is allowed from now on."""
        raise NotImplementedError

    def set_step(self, h: float) -> None:
        """Steps of this size follow."""
        self.h = h

    def _linkage(self) -> tuple[Mechanism, JointLaws]:
        """The mechanism with its joint laws."""
        raise NotImplementedError

    def close(self, closures: Sequence[Closure]) -> None:
        """Hold these loops from now on, and no others."""
        i, made = self.inputs, Closures(self.inputs.model, tuple(closures)) if closures else None
        plan = None if made is None else make_plan(self.mechanism, made)
        if self.closures is not None:  # what their forces were
            i.shared.force[self.closures.bodies] = 0.0
        self.closures = made
        i.forces.keep([] if made is None else made.bodies.tolist(), turning=self.moves)
        force = None if self.moves else i.shared.force
        self.engine = Engine(self.mechanism, self.laws, self.motion, plan, moves=self.moves, force=force)
        self.region = self._make_region()
        self.changes.all()
        self.changes.given += 1

    def _make_region(self) -> Any:
        """Where active joints are kept, if there is a rule by which they are chosen."""
        raise NotImplementedError

    def assemble(self) -> TreeEngine:
        """The tree, made when it is first needed."""
        if self.tree is None:
            i = self.inputs
            self.tree = TreeEngine(i.model, self.metric, self.mechanism, i.shared, self.clock, self.assembly)
        return self.tree

    @property
    def _tree_is_current(self) -> bool:
        """Whether the tree is there, with the places of bodies as they are now."""
        raise NotImplementedError

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p of laid frames of primitives in the world: O(log n) each for a few on the tree, else O(n)."""
        few = 32 * len(bodies) < 64 + self.changes.size
        if few and self._tree_is_current and self.assemble().has_bodies(bodies):
            if self.region is not None:
                self.region.place()
            return self.assemble().poses(bodies)
        return self.engine.poses(bodies)

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures."""
        return 0.0 if self.closures is None else self.closures.opening(self.poses(self.closures.bodies))
