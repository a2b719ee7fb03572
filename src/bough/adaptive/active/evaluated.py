"""The region of a moving linkage, by bound evaluation: clusters are locked where they do next to nothing by themselves.

Opening a cluster changes nothing: its joints start at rest. Closing stops the joints in it by internal impulses:
momenta stay, the energy taken is counted. Regions are chosen from bound evaluations (`evaluate`, `choose`).
"""

from __future__ import annotations

import math
import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.adaptive.active.bounded import Region
from bough.adaptive.active.choice import (
    BUILD,
    BY_JOINT,
    CHOOSE,
    CLOSED,
    EVALUATE,
    FRESH,
    LOST,
    MOMENTA,
    OPEN,
    SETTLE,
    Choice,
    Rule,
    make_choice,
    make_rule,
    run_evaluation,
)
from bough.adaptive.active.evaluation import Evaluation, MovingTree, joint_sums, make_evaluation
from bough.adaptive.cost import BUILD_COST, EVALUATION_COST, EVERY, NO_LIMIT, most_open
from bough.adaptive.engines.contracted import LoopForces
from bough.adaptive.engines.engine import Engine
from bough.adaptive.potentials import Springs
from bough.adaptive.tree.bounded_pass import DONE
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.passes import PLACE
from bough.compile.run.direct import compiled
from bough.errors import ModelError
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.adaptive.solver import MotionSolver


# by checkpoints
KEPT = ("energy_lost", "activated", "locked", "stale", "touched", "is_limited", "begun", "h", "urgent")
NOTHING = np.zeros(0, np.int64)
NO_RULE = Rule(0.0, 0.0, 1.0, 1.0, 0, 0)
HUGE = 1e30
ROUNDING = 64.0 * 2.0**-52  # of a difference, by the size of its parts
LEAST_SHARE = 1e-6  # of eps, to which a rule is tightened until the error is met
RECHOICES = 4  # after joints that moved were locked: the state is another, and so is what locking changes there
JUMP = 0.1  # share by which loads change before friction is checked before its time
EVEN = 1e-9  # of prescribed velocities, by which these change in a step of an even motion
INSTANT = 1e-6  # s, in which friction and limits stop what they would stop now


class EvaluatedRegion(Region):
    """Active joints of a moving linkage, at most about `most` of them where that is a number."""

    solver: MotionSolver

    def __init__(self, solver: MotionSolver, every: int | None, most: int | None) -> None:
        super().__init__(solver, every, EVERY)
        model = solver.inputs.model
        self.age, self._most = self.interval.every, most
        self.mass, self.body_mass = model.total_mass, model.total_mass / max(1, len(model.joints))
        self.energy_lost = 0.0
        self.hidden: float | None = None  # J, of what is locked to the ground and of locked springs, when first needed
        self.stale = False  # whether all records are behind
        self.touched: list[int] = []  # nodes below which forces or torques are others
        self.activated = self.locked = 0  # clusters, since the beginning
        self.is_limited = False  # whether a budget of clusters has made the last rule coarser
        self.begun = False  # whether there is a region for this configuration
        self.h = 0.0  # step for which springs and dampers are implicit in the evaluation
        self._springs: Springs
        self.loads_chosen_for = np.zeros(0)  # loads and torques at the last choice, where there are stops
        self.led_chosen_for = np.zeros(0)  # likewise prescribed accelerations
        self.urgent = False  # whether torques of locked joints have changed
        self._has_warned = False  # of an eps below the noise floor
        self.loop_forces = None if solver.closures is None else LoopForces(solver.closures.closing)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Working space of bound evaluations."""
        plan = self.tree.plan
        return make_evaluation(len(plan.left), int(plan.depth[0]), self.linkage.cluster)

    @cached_property
    def choice(self) -> Choice:
        """Working space of choices."""
        return make_choice(len(self.tree.plan.left))

    @property
    def tree(self) -> TreeEngine:
        """The assembly tree, made when it is first needed."""
        return self.solver.assemble()

    @property
    def engine(self) -> Engine:
        """Of the contracted linkage."""
        return self.linkage.engine

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.tree.nbytes + self.engine.nbytes + sum(a.nbytes for a in self.choice)

    @property
    def acceleration_error(self) -> float:
        """sqrt(Delta / M) when the region was chosen last; 0 where no joint is locked."""
        return math.sqrt(max(self.lost, 0.0) / self.mass) if self.begun else 0.0

    @property
    def noise_floor(self) -> float:
        """The smallest eps for which rounding does not decide what is locked, m/s^2, as the linkage was last."""
        if self.solver.tree is None:
            return 0.0
        return math.sqrt(ROUNDING * float(self.choice.size[0]) / self.body_mass)

    # When it is chosen

    def ready(self, h: float, keep: bool) -> int:
        """Have a region for the next steps, in which springs are implicit with h; returns how many it serves, 0 where
        full ones are cheaper.

        Forces that have changed are a reason to choose anew, unless the region is to be kept.
        """
        solver, changes, selector, interval = self.solver, self.solver.changes, self.solver.selector, self.interval
        if self.begun and self.age >= interval.every:
            selector.restarts = 0
        if solver.method == "auto" and not self.begun:
            moving = int(np.count_nonzero(solver.motion.v))
            if not selector.may_try(moving, self._spacing):
                return 0
        loads = solver.inputs.forces.loads()
        try:
            self.tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: full steps are all there is
            if solver.method != "auto":
                raise
            selector.wait = NO_LIMIT
            return 0
        changed = bool(changes.any_force or changes.torques or changes.everything)
        if not self.begun or (h != self.h and self._is_implicit):
            self.h = h
            if self.loop_forces is not None or solver.engine.has_stops:  # for all evaluations to come
                self._solve_whole(loads)
            with self.with_loops(loads):
                self.begin(loads, h)
            changes.clear_all()
            self.begun, self.age, changed = True, interval.every, False
        elif changed:
            plan = self.tree.plan
            locked = self.evaluation.active[plan.node_of[plan.host[changes.torques]]] == 0
            self.urgent = self.urgent or bool(locked.any())
            self.note(changes.everything or changes.most_forces, changes.forces, changes.torques)
            changes.clear_all()
            self.linkage.reload(loads)
        loose = False  # friction may not hold what is locked under loads far from those of the last choice
        if solver.engine.has_stops and (changed or solver.paths is not None):
            loose = _differ(_all(loads, solver.laws.tau), self.loads_chosen_for)
            if solver.paths is not None and not loose:
                rates = solver.motion.v[solver.paths.dofs]
                loose = _differ(solver.laws.led, self.led_chosen_for, EVEN * float(np.abs(rates).sum()) / h)
        if self.age >= (interval.every // 5 if self.urgent else interval.every) or (changed and not keep) or loose:
            self.age, self.urgent = 0, False
            if not self.choose():
                selector.leave(BUILD_COST + EVALUATION_COST)
                return 0
            selector.on_tree, selector.patience = True, 1  # active joints pay
            interval.adapt(int(self.choice.count[FRESH]), int(self.choice.count[OPEN]))
        return interval.every - self.age

    @property
    def _spacing(self) -> int:
        """Steps between choices, as given or to begin with."""
        return self.interval.every if self.interval.fixed else EVERY

    @property
    def _is_implicit(self) -> bool:
        """Whether steps of another size make other equations."""
        return self.solver.engine.is_implicit

    def renew(self) -> None:
        """Another error is allowed: the region is due, by its own rule."""
        self.age, self.share = self.interval.every, 1.0

    def forget(self) -> None:
        """Configuration, velocity or gravity are others."""
        self.begun = False

    def with_loops(self, loads: Loads, recorded: bool = False) -> AbstractContextManager[None]:
        """See `LoopForces.among`."""
        return nullcontext() if self.loop_forces is None else self.loop_forces.among(loads, recorded)

    def note(self, everything: bool, forces: list[int], torques: list[int]) -> None:
        """Other forces on these bodies, and torques at these joints: records of the clusters they act in are behind."""
        self.stale = self.stale or everything
        self.touched += self.tree.nodes_above(forces, torques).tolist()

    def place(self) -> None:
        """Let the tree know where bodies are."""
        self.tree.do(PLACE)

    # From the beginning

    def begin(self, loads: Loads, h: float, nodes: IntArray | None = None) -> None:
        """Take the linkage as it is: joints that move are active, all others are rigid; or these nodes are. O(n)."""
        tree, y = self.tree, self.evaluation
        y.lead[0] = h
        self._springs, m = self.solver.engine.implicit(h).springs, self.solver.mechanism
        tree.mechanism = m._replace(armature=self._springs.armature + self.solver.laws.weld_armature)
        if nodes is None:
            nodes = self._moving()
        y.active[:] = 0
        y.active[nodes] = 1
        tree.queue.done[: len(nodes)], tree.queue.count[DONE] = nodes, len(nodes)
        self._run(BUILD, loads)
        self.touched, self.stale, self.hidden = [], False, None
        self.linkage.forget()
        self.linkage.contract(loads)

    def _moving(self) -> IntArray:
        """Nodes whose joints move, and all above them, parents first."""
        plan, active = self.tree.plan, np.array(self.tree.queue.forced)
        dofs = np.flatnonzero(self.solver.motion.v[self.solver.mechanism.v_index])
        nodes = plan.node_of[np.unique(np.searchsorted(plan.dof, dofs, "right") - 1)].astype(np.int64)
        while len(nodes):
            active[nodes] = 1
            nodes = np.unique(plan.up[nodes])
            nodes = nodes[nodes >= 0]
            nodes = nodes[active[nodes] == 0]
        return np.flatnonzero(active)[::-1]

    def _run(self, what: int, loads: Loads, rule: Rule = NO_RULE, touched: IntArray = NOTHING) -> float:
        """Have something done with the tree; see `run_evaluation`."""
        tree, solver = self.tree, self.solver
        own = loads, solver.laws, self._springs, solver.motion, self.evaluation
        whole = tree.mechanism, tree.plan, tree.state, tree.queue, *own
        return float(compiled(run_evaluation)(MovingTree(*whole), self.choice, rule, touched, what))

    # How it is chosen

    def choose(self) -> bool:
        """Choose the region; an error of all bodies is met by tightening the rule. False if full steps are cheaper."""
        solver, error, loads = self.solver, self.solver.error, self.solver.inputs.forces.loads()
        limit = most_open(solver.selector.joints, self._spacing) if solver.method == "auto" else NO_LIMIT
        certified = error.name == "rms_acceleration"
        whole = self._prepare(loads, certified)
        first = True
        while True:
            share = max(self.share, self._least_share)
            rule = make_rule(error, self.body_mass, share, limit)
            if not self._choose_by(loads, rule):
                return False
            for _ in range(RECHOICES if certified and whole is None else 0):
                if self.choice.count[CLOSED] and not self._choose_by(loads, rule):
                    return False
            if share < self._least_share:  # the floor grows with the forces
                continue
            if whole is not None:
                if self.choice.count[CLOSED]:  # joints that moved stand still: friction does something else
                    whole = self._solve_whole(loads)
                qdd = solver.motion.qdd  # |qdd(whole) - qdd(locked)|^2, with friction and stops of both
                qdd[:] = 0.0
                if self.linkage.joints:
                    self.engine.accelerate_unchanged(self.linkage.loads, INSTANT, self.h)
                self.lost = solver.engine.product(whole - qdd, whole - qdd)
            found = math.sqrt(max(self.lost, 0.0) / self.mass)
            if share > self.share and (not certified or found > error.eps):
                if not self._has_warned:
                    warnings.warn(
                        f"{error.name}: eps = {self.share * error.eps:g} m/s^2 is below the noise floor of this "
                        f"linkage under these forces, {self.noise_floor:.1e}, which is used instead; eps = 0 locks "
                        f"nothing",
                        stacklevel=6,
                    )
                self._has_warned = True
            met = not certified or found <= error.eps or self.is_limited  # as far as it may be
            if not met and found > self.noise_floor and max(share, 2 * LEAST_SHARE) > self.share:
                return self._activate_all(loads, limit)
            if met or share > self.share or share <= LEAST_SHARE:
                if certified and first and found < 0.5 * error.eps:
                    self.share = min(1.0, 1.5 * self.share)
                return True
            first, self.share = False, 0.5 * self.share

    def _prepare(self, loads: Loads, certified: bool) -> FloatArray | None:
        """Let the evaluation know forces of loops, friction and stops: of all joints, whose accelerations are returned,
        where what locking changes is to be known; else those of the active ones."""
        full = self.solver.engine
        if self.solver.error.name == BY_JOINT:
            full.accelerate(loads, self.h or 1e-3, self.h)
            plan = self.tree.plan
            if not len(self.evaluation.joint):
                self.evaluation = self.evaluation._replace(joint=np.zeros((len(plan.left), 2)))
            compiled(joint_sums)(self.solver.mechanism, plan, self.solver.motion, self.evaluation.joint)
        if full.has_stops or (certified and self.loop_forces is not None):
            return self._solve_whole(loads)
        if self.loop_forces is not None and self.engine.has_loops:
            self.engine.accelerate(self.linkage.loads, self.h or 1e-3, self.h)
            self.loop_forces.update(self.engine, self.linkage, loads)
            self.note(False, self.loop_forces.record(), [])
        return None

    def _solve_whole(self, loads: Loads) -> FloatArray:
        """Accelerations (nv,) of the whole linkage with loops, friction and stops, of which evaluations then know."""
        e, full = self.solver.laws, self.solver.engine
        full.accelerate(loads, INSTANT, self.h)
        whole = self.solver.motion.qdd.copy()
        if full.has_stops:
            self.loads_chosen_for, self.led_chosen_for = _all(loads, e.tau), e.led.copy()
            torque, weld = e.stop_torque.copy(), e.weld_armature.copy()
            full.publish_stops()
            others = (e.weld_armature != weld) | ((e.weld_armature == 0.0) & (e.stop_torque != torque))
            if self.begun:
                part, at = self.engine.laws, self.linkage.clusters.dofs
                part.stop_torque[:], part.weld_armature[:] = e.stop_torque[at], e.weld_armature[at]
            joints = np.unique(np.searchsorted(self.solver.mechanism.dof, np.flatnonzero(others), "right") - 1)
            self.note(False, [], joints.tolist())
        if self.loop_forces is not None:
            self.loop_forces.update(full, None, loads)
            self.note(False, self.loop_forces.record(), [])
        return whole

    def _activate_all(self, loads: Loads, limit: int) -> bool:
        """Make all joints active, where rounding keeps a rule from meeting the error."""
        if not self._choose_by(loads, Rule(-1.0, -1.0, 1.0, 1.0, limit, 0)):
            return False
        self.lost = 0.0
        return True

    def _choose_by(self, loads: Loads, rule: Rule) -> bool:
        """Choose the region by a rule, the forces of loops taken for loads."""
        with self.with_loops(loads):
            if self.loop_forces is not None:
                self.linkage.reload(loads)
            found = self.choose_by(rule, loads)
        if self.loop_forces is not None:
            self.linkage.reload(loads)
        return found

    @property
    def _least_share(self) -> float:
        """Of eps, below which rounding would decide what is locked."""
        error = self.solver.error
        return 0.0 if error.name == BY_JOINT else (1.0 + 1e-9) * self.noise_floor / error.eps

    def choose_by(self, rule: Rule, loads: Loads) -> bool:
        """Evaluate the linkage and choose the region anew; False if more clusters would be open than the rule allows.

        Within a budget of clusters the rule is made coarser instead.
        """
        touched = np.unique(np.array(self.touched, np.int64)) if self.touched else NOTHING
        work = self.engine.work  # how the clusters move
        if self.evaluation.velocity is not work.a:
            self.evaluation = self.evaluation._replace(velocity=work.a, momentum=work.momentum)
        energy = self.engine.kinetic_energy()
        if self.stale or len(touched) > 0.2 * len(self.tree.plan.left):
            self._run(BUILD, loads)
            touched = NOTHING
        self.touched, self.stale = [], False
        limits = rule if self._most is None else rule._replace(most=min(self._most, rule.most))
        fits = self._run(EVALUATE, loads, limits, touched)
        while fits == 0.0:
            if limits.most == rule.most:
                return False
            elif limits.opens > HUGE:  # what is open must be
                limits = limits._replace(most=rule.most)
            else:
                limits = limits._replace(opens=2.0 * limits.opens, a=2.0 * limits.a, v=2.0 * limits.v)
            fits = self._run(CHOOSE, loads, limits)
        self.is_limited = limits.opens != rule.opens
        if self.choice.count[CLOSED] or self.choice.count[FRESH]:
            self._change(loads, energy)
        self.engine.accelerate_with_known_stops(self.linkage.loads, float(self.evaluation.lead[0]))
        self.lost = self._run(LOST, loads)
        return True

    def _change(self, loads: Loads, energy: float) -> None:
        """Make the chosen region the present one."""
        count = self.choice.count
        potential = 0.0 if self.hidden is None else float(self.engine.tally()[1:3].sum())
        self._run(SETTLE, loads)
        self.activated, self.locked = self.activated + int(count[FRESH]), self.locked + int(count[CLOSED])
        self.linkage.contract(loads)
        engine = self.engine
        self.evaluation = self.evaluation._replace(velocity=engine.work.a, momentum=engine.work.momentum)
        if self.hidden is not None:  # nothing has moved
            self.hidden += potential - float(engine.tally()[1:3].sum())
        if count[CLOSED]:
            self._run(MOMENTA, loads)
            engine.velocities_from(engine.laws.rotor * self.solver.motion.v[engine.mechanism.v_index])
            self.energy_lost += energy - engine.kinetic_energy()

    def refine(self, microseconds: float | None, budget: int | None) -> float:
        """See `Dynamics.refine`."""
        end = math.inf if microseconds is None else perf_counter() + 1e-6 * microseconds
        most = len(self.solver.inputs.model.joints) if budget is None else budget
        while perf_counter() < end and self.linkage.joints < most:
            kept, self.share = self.share, 0.5 * self.share
            ends = self.share < LEAST_SHARE or 0.5 * self.share * self.solver.error.eps < self.noise_floor
            if self.is_limited or ends or not self.choose():
                self.share = kept
                break
        return self.acceleration_error

    def tally(self) -> FloatArray:
        """See `Engine.tally`, of the whole linkage: from its clusters, but for the first time."""
        if self.hidden is None:
            self.hidden = float(self.solver.engine.tally()[1:3].sum() - self.engine.tally()[1:3].sum())
        found = self.engine.tally()
        found[1] += self.hidden
        return found

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        state = super().state() | {name: getattr(self, name) for name in KEPT} | {"loads": self.loads_chosen_for}
        if self.loop_forces is not None:
            state["loops"] = {"force": self.loop_forces.force, "recorded": self.loop_forces.recorded}
        if self.begun:
            laws = self.solver.laws
            state["laws"] = {"stop_torque": laws.stop_torque, "weld_armature": laws.weld_armature}
            state["open"] = self.linkage.active_nodes.copy()
            state["stops"] = self.engine.state_of_stops()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; O(n) where a region was active."""
        super().restore(state)
        if self.loop_forces is not None:
            known = state["loops"]
            self.loop_forces.force[:], self.loop_forces.recorded[:] = known["force"], known["recorded"]
        if state["begun"]:
            laws, loads = self.solver.laws, self.solver.inputs.forces.loads()
            laws.stop_torque[:], laws.weld_armature[:] = state["laws"]["stop_torque"], state["laws"]["weld_armature"]
            with self.with_loops(loads, recorded=True):
                self.begin(loads, state["h"], state["open"])
            self.linkage.reload(loads)
            self.engine.restore_stops(state["stops"])
        for name in KEPT:
            setattr(self, name, state[name])
        self.loads_chosen_for = state["loads"]


def _all(loads: Loads, tau: FloatArray) -> FloatArray:
    """All loads and torques in a row."""
    return np.concatenate([loads.force.ravel(), loads.moment.ravel(), tau])


def _differ(now: FloatArray, then: FloatArray, least: float = 0.0) -> bool:
    """Whether these differ by so much, and more than `least`, that a region is chosen before it is due."""
    return len(now) != len(then) or float(np.abs(now - then).sum()) > JUMP * float(np.abs(then).sum()) + least
