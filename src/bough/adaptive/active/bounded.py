"""Active joints, and those of a linkage at rest, by bounded passes over the assembly tree (Redon & Lin 2005)."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.adaptive.cost import LEAST, LEAST_CLUSTERS, ReselectionInterval
from bough.adaptive.engines.contracted import ContractedLinkage
from bough.adaptive.engines.rest import POWER_CHANGED, StepControl
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.tree.bounded_pass import DONE, MET, ROOT, WAITING
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.engine import NO_LIMIT
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.adaptive.rest_solver import RestSolver


class Region:
    """Joints that move while all others are locked; chosen anew after `every` steps, or as the cost model says."""

    def __init__(self, solver: Any, every: int | None, first: int) -> None:
        self.solver = solver
        self.interval = ReselectionInterval(int(every or first), every is not None)
        self.age = 0  # steps since it was chosen
        self.share = 1.0  # of eps at which clusters were inactive: what they would do is less than what is lost
        self.lost = math.nan  # square of what locking changes in the mass metric, when it was chosen

    @cached_property
    def linkage(self) -> ContractedLinkage:
        """The contracted linkage."""
        solver, closures = self.solver, self.solver.closures
        closing = None if closures is None else closures.closing
        own = solver.mechanism, solver.laws, solver.motion, closing
        return ContractedLinkage(solver.assemble(), *own, integrator=solver.integrator)

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"age": self.age, "share": self.share, "lost": self.lost, "interval": asdict(self.interval)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.age, self.share, self.lost = state["age"], state["share"], state["lost"]
        self.interval = ReselectionInterval(**state["interval"])


LEAST_SHARE = 1e-6  # of eps: what clusters would do is hidden by rounding then
CANCELLED = 4.0  # times rounding of accelerations on the tree, as a share of the power: less is no difference
GROWTH, REST = 4.0, 1 / 16  # times the power for which a region was chosen: another one is, before it is due
LITTLE = 0.25  # of the loss allowed: more clusters may be inactive


class BoundedRegion(Region):
    """Active joints of a linkage at rest."""

    solver: RestSolver

    def __init__(self, solver: RestSolver, every: int | None) -> None:
        super().__init__(solver, every, LEAST)
        self.full = math.nan  # square of all accelerations in the mass metric when it was chosen
        self.power = math.nan  # and of those of the active joints
        self.root = math.nan  # square of all accelerations, as the tree has it
        self.moved = False  # whether the equations of the tree are behind
        self.placed = True  # whether its placements are not
        self.known = False  # whether it answers the present inputs but for what `changes` says
        self.open: IntArray = np.zeros(0, np.int64)  # nodes of the tree, parents first
        self._loads: Loads | None = None
        self._above = 0  # nodes above the bodies of these loads

    @property
    def is_chosen(self) -> bool:
        """Whether there is one, for forces on the same bodies."""
        return self.age < self.interval.every and self._is_known

    @property
    def _is_known(self) -> bool:
        """Whether there is one, for forces on the same bodies, due or not."""
        loads, changes = self.solver.inputs.forces.loads(), self.solver.changes  # forces that wait are noted
        kept = not (changes.everything or changes.measure or changes.torques)
        return self.known and kept and self.linkage.fits(loads)

    @property
    def left(self) -> int:
        """Steps until it is chosen anew."""
        return self.interval.every - self.age if self.linkage.joints else 1

    def ready(self, budget: int = NO_LIMIT, keep: bool = False) -> bool:
        """Choose the region where that is due; False if it would have more than `budget` clusters, or does not pay.

        Forces with other values are a reason to, unless it is to be kept.
        """
        self.solver.inputs.forces.flush()
        other = self.solver.changes.any_force
        if not self.is_chosen or (other and not (keep and self.linkage.joints)) or self._has_changed:
            if self.interval.open:
                self.interval.ended(self.age)
            if budget == NO_LIMIT or self.interval.pays(self.solver.selector.joints):
                return self._choose(budget)
            self.known, self.interval.open = False, 0
            return False
        if other:
            self.linkage.reload(self.solver.inputs.forces.loads())
        return True

    @property
    def _has_changed(self) -> bool:
        """Whether power has left the range for which the region was chosen; checked after 1, 2, 4 ... steps."""
        if self.age == 0 or self.age & (self.age - 1) or self.linkage.joints == 0:
            return False
        return not REST * self.power <= self.linkage.engine.power() <= GROWTH * self.power

    def _choose(self, budget: int) -> bool:
        """Open clusters until the error is met; by energy, until no more of the descent rate is lost than allowed."""
        power = self._power_of_last()
        tree, linkage, error = self.solver.ready_tree(), self.linkage, self._error()
        if len(self.open):
            self.solver.inputs.shared.qdd[linkage.mechanism.v_index] = 0.0
        loads, full, allowed = self.solver.inputs.forces.loads(), math.nan, math.inf
        if error.over == "energy":
            full = float(tree.queue.value[ROOT])
            allowed = error.eps**2 * error.scaled(full, 0.0)
        else:
            self.share = 1.0
        if full > 0.0 and not math.isnan(power):
            self.interval.learn(1.0 - power / full, allowed / full)
        whole = self._unlocked(full, allowed)
        while tree.refine(self._inner(error), budget - int(tree.queue.count[DONE])) == MET:
            self._contract_active(loads)
            self.full = full
            self.lost = lost = self._lost(whole)
            if int(tree.queue.count[WAITING]) == 0:
                self.share, lost = 1.0, 0.0
            if not lost > allowed:
                if lost < LITTLE * allowed:
                    self.share = min(1.0, 1.25 * self.share)
                if loads is not self._loads:
                    self._loads, self._above = loads, tree.root_paths(loads.body)
                self.interval.chosen(linkage.joints, self._above, lost / full if full > 0.0 else 0.0)
                return True
            self.share *= max(0.5, 0.8 * allowed / lost)
        self.known = False
        return False

    def _contract_active(self, loads: Loads) -> None:
        """Contract the linkage to the clusters that the tree has open, and solve it."""
        self.linkage.contract(loads)
        self.linkage.solve(self.solver.closing_rate)
        self.open = self.linkage.active_nodes.copy()
        self.age, self.known, self.power = 0, True, self.linkage.engine.power()
        self.root = float(self.linkage.tree.queue.value[ROOT])

    def _inner(self, error: ErrorMeasure) -> ErrorMeasure | None:
        """The error at which clusters are inactive; None where rounding hides what they would do: all are active."""
        return replace(error, eps=self.share * error.eps) if self.share >= LEAST_SHARE else None

    def _unlocked(self, full: float, allowed: float) -> FloatArray | None:
        """Accelerations of all joints (nv,), where what locking changes is not the difference of two powers: with
        loops, whose directions out of reach are others on the contracted tree, or where rounding would decide. O(n)."""
        solver, qdd = self.solver, self.solver.inputs.shared.qdd
        if solver.unlocked is not None or not allowed < CANCELLED * solver.assemble().noise.rounding * full:
            return solver.unlocked
        kept, loads = qdd.copy(), solver.inputs.forces.loads()
        solver.engine.solve(loads)
        whole, qdd[:] = qdd.copy(), kept
        return whole

    def _lost(self, whole: FloatArray | None) -> float:
        """The square of what locking changes, in the mass metric: of a projection, what it takes from the whole."""
        if whole is None or math.isnan(self.full):
            return self.full - self.power
        other = whole - self.solver.inputs.shared.qdd
        return self.solver.engine.product(other, other)

    def _power_of_last(self) -> float:
        """The power of the region that has ended, under the forces now; NaN where there is none."""
        interval = self.interval
        if not interval.open or interval.fixed or self.age < interval.every or not self._is_known:
            return math.nan
        self.linkage.reload(self.solver.inputs.forces.loads())
        self.linkage.solve(self.solver.closing_rate)
        return self.linkage.engine.power()

    @property
    def allows_full_steps(self) -> bool:
        """Whether full steps may take its place with method "adaptive": by energy they lose nothing."""
        error, is_large = self.solver.error, self.solver.selector.joints > LEAST_CLUSTERS
        return error.over == "energy" and error.eps > 0.0 and not self.interval.fixed and is_large

    def needs_more_than(self, most: int) -> bool:
        """Whether even without those joints that move least, by a full solution, more would be open than so many."""
        error, solver = self._error(), self.solver
        if error.over != "energy":
            return False
        solver.solve_all_joints()
        each = solver.engine.energies()
        allowed = error.eps**2 * error.scaled(solver.engine.power(), 0.0)
        return len(each) - int(np.searchsorted(np.cumsum(each), allowed)) > most

    def stays(self) -> bool:
        """Whether it outlasts that the tree is brought up to date for a question; if not, it is chosen anew."""
        self.known = self.is_chosen and not self.solver.changes.any_force
        self.solver.changes.solution = self.solver.changes.solution or not self.known
        return self.known

    def refine(self, budget: int | None) -> float:
        """Open more clusters and solve the linkage that they make; returns the bound reached, by energy."""
        self._choose(NO_LIMIT)
        tree, error = self.solver.assemble(), self.solver.error
        tree.refine(None, NO_LIMIT if budget is None else int(budget))
        self._contract_active(self.solver.inputs.forces.loads())
        self.lost = self._lost(self._unlocked(self.full, 0.0))
        return self.bound() if error.over == "energy" else math.nan

    def _error(self) -> ErrorMeasure:
        """The error allowed, in the mass metric where it is one in metres."""
        error = self.solver.error
        return replace(error, eps=error.eps / self._metres()) if error.metres else error

    def _metres(self) -> float:
        """How far a unit of error in the mass metric may misplace a body in one step."""
        solver = self.solver
        mass, bodies = solver.inputs.masses, solver.error.bodies
        if bodies is not None:
            names = solver.inputs.model.body_names
            mass = mass[[names.index(b) if isinstance(b, str) else b for b in bodies]]
        least = float(mass[mass > 0.0].min(initial=math.inf))
        return solver.h / math.sqrt(least)

    def bound(self) -> float:
        """The loss when the region was chosen: a share of the norm of all accelerations, or metres for a step."""
        error = self.solver.error
        lost, scale = max(self.lost, 0.0), error.scaled(self.full, 0.0)
        if error.metres:
            return self._metres() * math.sqrt(lost)
        return math.sqrt(lost / scale) if scale > 0.0 else 0.0

    def last_power(self) -> float:
        """The square of the accelerations found last in the mass metric."""
        return self.linkage.engine.power() if self.known else math.nan

    def march(self, control: StepControl, ties: Any) -> float:
        """Take steps until power leaves its range, if they are checked; returns the energy of springs."""
        if control.checks[0]:
            control.age[0], control.least_power[0] = self.age, REST * self.power
            control.most_power[0] = GROWTH * self.power if self.power > 0.0 else math.inf
        steps = int(control.steps[0])
        energy = self.linkage.march(control, ties, self.solver.closing_rate)
        done = steps - int(control.steps[0])
        self.solver.clock.time[0] += done * control.h[0]
        self.solver.clock.step[0] += done
        self.age += done
        self.moved, self.placed = True, False
        self.linkage.tree.state.stamp[self.open] = max(self.solver.clock.step[0], 1.0)
        if control.code[0] == POWER_CHANGED:
            self.age = self.interval.every
        return energy

    def forget(self) -> None:
        """All joints may be elsewhere."""
        if "linkage" in self.__dict__:
            self.linkage.forget()

    def followed(self) -> None:
        """The tree is up to date."""
        self.moved, self.placed = False, True

    def place(self) -> None:
        """Let the tree know where bodies are; the region stays."""
        if not self.placed:
            self.linkage.tree.place(self.open)
            self.placed = True

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """The region, for a checkpoint."""
        state = super().state() | {"full": self.full, "power": self.power}
        if self._is_known:
            state["open"] = self.open
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        self.full, self.power = state["full"], state["power"]
        if "open" not in state:
            return
        tree, age = self.solver.ready_tree(), self.age
        tree.activate(state["open"])
        self._contract_active(self.solver.inputs.forces.loads())
        tree.restart()
        self.linkage.solve(self.solver.closing_rate)
        self.age, self.power = age, state["power"]
