"""Joint accelerations for the present inputs: the part of both faces, and those in motion; `rest_solver` at rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from numbers import Integral
from typing import Any

import numpy as np

from bough.adaptive.active.evaluated import INSTANT, EvaluatedRegion
from bough.adaptive.closure import Closure, Closures, make_plan
from bough.adaptive.cost import SolverSelector, motion_cost
from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.steps import INTEGRATORS
from bough.adaptive.engines.sweeps import JointLaws, make_joint_state, make_laws
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, body_acceleration, check_measure
from bough.adaptive.stats import Cost
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.layout import make_clock
from bough.dynamics.prescribed import Path, PrescribedMotion
from bough.errors import CheckpointError, SettingError, ShapeError, unknown_option
from bough.joints import Mechanism
from bough.types import BoolArray, FloatArray, IntArray


class Solver:
    """Finds joint accelerations for the present inputs: of all joints, or of those that are active."""

    integrator: str | None = None  # None where there are no velocities
    region: Any  # where active joints are, if there is a rule by which they are chosen
    paths: PrescribedMotion | None = None  # of joints that follow functions of time
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
        own = self.mechanism, self.laws, self.motion, i.potentials.springs, plan
        self.engine = Engine(*own, integrator=self.integrator, force=force)
        self.region = self._make_region()
        self.changes.all()
        self.changes.given += 1

    def take_potentials(self) -> None:
        """Joints have other potentials."""
        self.engine.take_springs(self.inputs.potentials.springs)
        if self.tree is not None:
            self.tree.springs = self.inputs.potentials.springs

    def assemble(self) -> TreeEngine:
        """The tree, made when it is first needed."""
        if self.tree is None:
            i, springs = self.inputs, self.inputs.potentials.springs
            self.tree = TreeEngine(i.model, self.metric, self.mechanism, i.shared, self.clock, springs, self.assembly)
            self._keep_prescribed_active(self.tree)
        return self.tree

    def _keep_prescribed_active(self, tree: TreeEngine) -> None:
        dofs = np.flatnonzero(self.laws.prescribed)
        tree.keep_active(np.searchsorted(self.mechanism.dof, dofs, side="right") - 1)

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


METHODS = ("auto", "adaptive", "full")


def check_motion(error: ErrorMeasure) -> None:
    """Refuse measures of joints: a motion is measured in space."""
    check_measure(error)
    if error.over != "body":
        raise SettingError(f"{error.name} measures joints at rest: use body_acceleration or rms_acceleration (m/s^2)")


class MotionSolver(Solver):
    """Accelerations of a moving linkage; options as in `Dynamics`."""

    region: EvaluatedRegion

    def __init__(
        self,
        inputs: Inputs,
        error: ErrorMeasure | None,
        method: str,
        integrator: str,
        every: int | None,
        most: int | None,
        motion: Mapping[str, Path] | None,
    ) -> None:
        if integrator not in INTEGRATORS:
            raise unknown_option(f"there is no integrator {integrator!r}", integrator, INTEGRATORS)
        self.integrator = integrator
        measure = body_acceleration(0.0) if error is None else error
        check_motion(measure)
        if most is not None and not (isinstance(most, Integral) and most >= 1):
            raise SettingError(f"most: at least 1 joint must be allowed to be active, got {most!r}")
        self.paths = self._paths(inputs, motion)
        super().__init__(inputs, method, METHODS, measure, every)
        self._every, self._most = every, most
        self.selector.restart(on_tree=True, wait=0)

    def _linkage(self) -> tuple[Mechanism, JointLaws]:
        # dampers are laws here, and what potentials add is found at each step: the armature is that of rotors
        i = self.inputs
        m = i.model.mechanism._replace(gravity=i.mechanism.gravity)
        return m, make_laws(i.model, m, i.potentials.given, self.paths.dofs if self.paths else ())

    # Prescribed motion

    def _paths(self, inputs: Inputs, motion: Mapping[str, Path] | None) -> PrescribedMotion | None:
        if motion is not None and not isinstance(motion, Mapping):
            raise ShapeError(f"motion is a dictionary of joints and functions of time, got {motion!r}")
        if motion and self.integrator == "rk4":
            raise SettingError('prescribed motion is for the integrators "semi_implicit" and "momentum"')
        return PrescribedMotion(inputs.model, motion) if motion else None

    def prescribe(self, motion: Mapping[str, Path] | None) -> None:
        """Let joints follow these functions of time from now on, and no others."""
        self.paths = self._paths(self.inputs, motion)
        self.mechanism, self.laws = self._linkage()
        if self.tree is not None:
            self._keep_prescribed_active(self.tree)
        self.close(() if self.closures is None else self.closures.closures)

    def lead(self, v: FloatArray, h: float) -> None:
        """Let prescribed joints accelerate in a step of h to velocities v (nv,)."""
        at, laws = self.mechanism.v_index, self.laws
        laws.led[:] = laws.prescribed * (v[at] - self.motion.v[at]) / h
        if self.region.begun:
            self.region.engine.laws.led[:] = laws.led[self.region.linkage.clusters.dofs]

    def _make_region(self) -> EvaluatedRegion:
        return EvaluatedRegion(self, self._every, self._most)

    def take_error(self, measure: ErrorMeasure) -> None:
        """Another error is allowed from now on: the region is due, by its own rule."""
        check_motion(measure)
        self.error = measure
        self.region.renew()

    @property
    def is_exact(self) -> bool:
        """Whether no joint is ever locked."""
        return self.method == "full" or self.error.eps == 0.0

    def _tree_is_current(self) -> bool:
        return self.region.begun and self.cost.method == "adaptive"

    @property
    def active(self) -> int:
        """The number of active joints."""
        has_stepped = not math.isnan(self.seconds)
        if (self.cost.method == "full" and has_stepped) or not self.region.begun:
            return len(self.inputs.model.joints)
        return self.region.linkage.joints

    def solve(self) -> FloatArray:
        """Joint accelerations (nv,) here and now; not a copy."""
        self.inputs.potentials.evaluate()
        qdd, region, loads, linkage = self.motion.qdd, self.region, self.inputs.forces.loads(), None
        if self.is_exact or not region.ready(region.h, keep=False):
            self.engine.accelerate_unchanged(loads, INSTANT, 0.0)
        else:
            qdd[:], linkage = 0.0, region.linkage
            linkage.engine.accelerate_unchanged(linkage.loads, INSTANT, 0.0)
        if region.loop_forces is not None:
            region.loop_forces.update(self.engine if linkage is None else linkage.engine, linkage, loads)
        return qdd

    def forecast(self) -> tuple[int, float]:
        """Active joints of the last solution, and what a step with them costs, in joints of a full step."""
        return self.active, motion_cost(self.active, self.region.interval.every)

    def transmitted(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on primitives through their joints, in their laid frames, moment first. O(n)."""
        self.solve()
        loads = self.inputs.forces.loads()
        with self.region.with_loops(loads):
            return self.engine.transmitted(loads)[bodies]

    def velocities(self, bodies: IntArray) -> FloatArray:
        """(k, 6) velocities of primitives in their laid frames, angular first. O(n)."""
        self.engine.kinetic_energy()
        return np.asarray(self.engine.work.a[bodies])

    def tally(self) -> FloatArray:
        """See `Engine.tally`; O(active joints) where joints are locked, but for the first time."""
        self.inputs.potentials.evaluate()
        return self.region.tally() if self._tree_is_current() else self.engine.tally()

    def moving(self) -> BoolArray:
        """(bodies,) whether the joint of a body is active."""
        model = self.inputs.model
        if self.active == len(model.joints):
            return np.ones(len(model.joints), bool)
        plan = self.assemble().plan
        active = np.zeros(len(plan.parent), bool)
        active[self.region.linkage.clusters.body] = True
        return np.asarray(active[plan.host[model.frames.body[model.body_frames]]])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        own = sum(a.nbytes for a in (*self.motion, *self.laws))
        return own + (self.region.nbytes if self.region.begun else 0) + self.engine.nbytes

    @property
    def options(self) -> dict[str, Any]:
        """Options of `Dynamics` with which another solver solves alike."""
        motion = None if self.paths is None else dict(self.paths.paths)
        own = {"method": self.method, "integrator": self.integrator, "every": self._every, "most": self._most}
        return own | {"motion": motion}

    def state(self) -> dict[str, Any]:
        """The state beyond inputs, for a checkpoint."""
        if self.paths is not None:
            raise CheckpointError("a prescribed motion is made of Python functions: no checkpoint holds them")
        changes = self.changes
        state: dict[str, Any] = {
            "measure": list(astuple(self.error)), "selector": self.selector.state(), "last": self.cost.method,
            "options": self.options, "v": self.motion.v,
            "changes": [changes.everything or changes.most_forces, list(changes.forces), list(changes.torques)],
            "region": self.region.state(),
        }  # fmt: skip
        if self.engine.has_stops:
            state["stops"] = self.engine.state_of_stops()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; inputs are there already."""
        self.motion.v[:], self.cost, changes = state["v"], Cost(state["last"]), self.changes
        self.seconds = math.nan
        if "stops" in state:
            self.engine.restore_stops(state["stops"])
        self.selector.restore(state["selector"])
        self.region.restore(state["region"])
        changes.clear_all()
        changes.everything, forces, torques = state["changes"]
        changes.forces, changes.torques = list(forces), list(torques)
