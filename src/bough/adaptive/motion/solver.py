"""Joint accelerations of a moving linkage: of all joints, or of the active region."""

from __future__ import annotations

import math
from dataclasses import astuple
from numbers import Integral
from typing import Any

import numpy as np

from bough.adaptive.cost import motion_cost
from bough.adaptive.engines.layout import JointLaws, make_laws
from bough.adaptive.engines.steps import INTEGRATORS
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, body_acceleration, check_measure
from bough.adaptive.motion.region import INSTANT, EvaluatedRegion
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.errors import SettingError, unknown_option
from bough.joints import Mechanism
from bough.types import BoolArray, FloatArray, IntArray

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
    ) -> None:
        if integrator not in INTEGRATORS:
            raise unknown_option(f"there is no integrator {integrator!r}", integrator, INTEGRATORS)
        self.integrator = integrator
        measure = body_acceleration(0.0) if error is None else error
        check_motion(measure)
        if most is not None and not (isinstance(most, Integral) and most >= 1):
            raise SettingError(f"most: at least 1 joint must be allowed to be active, got {most!r}")
        super().__init__(inputs, method, METHODS, measure, every)
        self._every, self._most = every, most
        self.selector.restart(on_tree=True, wait=0)

    def _linkage(self) -> tuple[Mechanism, JointLaws]:
        # springs and dampers are laws here: the torques are those given, the armature is that of rotors
        i = self.inputs
        m = i.model.mechanism._replace(gravity=i.mechanism.gravity)
        return m, make_laws(i.model, m, i.potentials.given)

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
        """How many joints move by themselves."""
        has_stepped = not math.isnan(self.seconds)
        if (self.cost.method == "full" and has_stepped) or not self.region.begun:
            return len(self.inputs.model.joints)
        return self.region.linkage.joints

    def solve(self) -> FloatArray:
        """Joint accelerations (nv,) here and now; not a copy."""
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
        return self.region.tally() if self._tree_is_current() else self.engine.tally()

    def moving(self) -> BoolArray:
        """(bodies,) whether the joint of a body is active."""
        model = self.inputs.model
        if self.active == len(model.joints):
            return np.ones(len(model.joints), bool)
        plan = self.assemble().plan
        active = np.zeros(len(plan.parent), bool)
        active[self.region.linkage.pieces.body] = True
        return np.asarray(active[plan.host[model.frames.body[model.body_frames]]])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        own = sum(a.nbytes for a in (*self.motion, *self.laws))
        return own + (self.region.nbytes if self.region.begun else 0) + self.engine.nbytes

    @property
    def options(self) -> dict[str, Any]:
        """Options of `Dynamics` with which another solver solves alike."""
        return {"method": self.method, "integrator": self.integrator, "every": self._every, "most": self._most}

    def state(self) -> dict[str, Any]:
        """What it remembers beyond its inputs."""
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
        """What `state` gave; inputs are there already."""
        self.motion.v[:], self.cost, changes = state["v"], Cost(state["last"]), self.changes
        self.seconds = math.nan
        if "stops" in state:
            self.engine.restore_stops(state["stops"])
        self.selector.restore(state["selector"])
        self.region.restore(state["region"])
        changes.taken_by_tree()
        changes.everything, forces, torques = state["changes"]
        changes.forces, changes.torques = list(forces), list(torques)
