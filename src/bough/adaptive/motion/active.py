"""The active region of a moving linkage: a contracted tree of rigid clusters, stepped plainly and chosen anew at times.

Opening a cluster changes nothing: its joints start at rest. Closing stops the joints in it by internal impulses:
momenta stay, the energy taken is counted. Regions are chosen from surveys (`survey`, `choose`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.motion.choose import (
    BUILD,
    CHOOSE,
    CLOSED,
    FRESH,
    LOST,
    MOMENTA,
    OPEN,
    SETTLE,
    SURVEY,
    Choice,
    Rule,
    attend,
    make_choice,
)
from bough.adaptive.motion.engine import HeldLoops, MotionEngine, with_armature
from bough.adaptive.motion.layout import Effort, Moving, make_part, take_part
from bough.adaptive.motion.survey import Survey, joint_sums, make_survey
from bough.adaptive.tree.contract import Loads, Pieces, contract, load_pieces, make_pieces, piece_loads
from bough.adaptive.tree.engine import TreeEngine
from bough.adaptive.tree.front import DONE
from bough.adaptive.tree.layout import make_clock
from bough.joints import Mechanism
from bough.model import Model
from bough.types import BoolArray, FloatArray, IntArray

KEPT = ("energy_lost", "delta", "opened", "closed", "stale", "touched", "is_limited")  # by checkpoints
NOTHING = np.zeros(0, np.int64)
NO_RULE = Rule(0.0, 0.0, 1.0, 1.0, 0, 0)
HUGE = 1e30
ROUNDING = 64.0 * 2.0**-52  # of a difference, by the size of its parts


class ActiveRegion:
    """Active joints of a linkage, and the motion of the tree that they make with rigid clusters."""

    def __init__(self, model: Model, mechanism: Mechanism, shared: Any, effort: Effort, state: Moving) -> None:
        self.mechanism, self.effort, self.state = mechanism, effort, state
        self.tree = TreeEngine(model, None, mechanism, shared, make_clock())
        plan = self.tree.plan
        self.survey: Survey = make_survey(len(plan.left), len(plan.parent), int(plan.depth[0]))
        self.choice: Choice = make_choice(len(plan.left))
        self.mass = model.total_mass
        self._opened = np.zeros(len(plan.left), np.int8)
        self.engine: MotionEngine
        self.pieces: Pieces
        self.loads: Loads
        self._from: Loads | None = None  # the loads that were contracted
        self.energy_lost, self.delta = 0.0, math.nan
        self.hidden: float | None = None  # J, of what is locked to the ground and of locked springs, once asked for
        self.stale = False  # whether all records are behind
        self.touched: list[int] = []  # nodes below which forces or torques are others
        self.loops: HeldLoops | None = None
        self.opened = self.closed = 0  # clusters, since the beginning
        self.is_limited = False  # whether a budget of clusters has made the last rule coarser

    @property
    def noise(self) -> float:
        """What rounding may make of E, in its terms, in the last choice."""
        return ROUNDING * float(self.choice.size[0])

    @property
    def joints(self) -> int:
        """How many joints are active."""
        return len(self.pieces.body)

    @property
    def news(self) -> tuple[int, int]:
        """How many clusters were opened in the last choice, and are open."""
        return int(self.choice.count[FRESH]), int(self.choice.count[OPEN])

    @property
    def has_closed(self) -> bool:
        """Whether the last choice locked joints that moved."""
        return bool(self.choice.count[CLOSED])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.tree.nbytes + self.engine.nbytes + sum(a.nbytes for a in self.choice)

    @property
    def open_nodes(self) -> IntArray:
        """Active nodes of the assembly tree, parents first."""
        front = self.tree.front
        return np.asarray(front.done[: int(front.count[DONE])])

    # From the beginning

    def begin(self, loads: Loads, h: float, nodes: IntArray | None = None) -> None:
        """Take the linkage as it is: joints that move are active, all others are rigid; or these nodes are. O(n)."""
        tree, y = self.tree, self.survey
        y.lead[0] = h
        tree.mechanism = with_armature(self.mechanism, self.effort, h)
        self._weigh()
        if nodes is None:
            nodes = self._moving()
        y.active[:] = 0
        y.active[nodes] = 1
        self._set_done(nodes)
        self._attend(BUILD, loads)
        self.touched, self.stale, self.hidden = [], False, None
        self._contract(loads)

    def _moving(self) -> IntArray:
        """Nodes whose joints move, and all above them, parents first."""
        plan, active = self.tree.plan, np.array(self.tree.front.forced)
        dofs = np.flatnonzero(self.state.v[self.mechanism.v_index])
        nodes = plan.node_of[np.unique(np.searchsorted(plan.dof, dofs, "right") - 1)].astype(np.int64)
        while len(nodes):
            active[nodes] = 1
            nodes = np.unique(plan.up[nodes])
            nodes = nodes[nodes >= 0]
            nodes = nodes[active[nodes] == 0]
        return np.flatnonzero(active)[::-1]

    def _set_done(self, nodes: IntArray) -> None:
        """Nodes that are open, parents first."""
        self.tree.front.done[: len(nodes)], self.tree.front.count[DONE] = nodes, len(nodes)

    def _attend(self, what: int, loads: Loads, rule: Rule = NO_RULE, touched: IntArray = NOTHING) -> float:
        """Have something done with the tree; see `command`."""
        tree = self.tree
        whole = tree.mechanism, tree.plan, tree.state, tree.front
        own = self.effort, self.state, self.survey, self.choice
        return float(compiled(attend)(*whole, loads, *own, rule, touched, what))

    def _contract(self, loads: Loads) -> None:
        """The tree of rigid clusters and active joints."""
        tree, plan, m = self.tree, self.tree.plan, self.mechanism
        self.pieces, small = make_pieces(m, plan, self.open_nodes, loads, (self.survey.piece, self._opened))
        compiled(contract)(m, plan, tree.state, small, self.pieces)
        part = make_part(self.effort, len(small.axis), len(small.parent))
        compiled(take_part)(self.effort, plan, self.pieces, part)
        rows = None if self.loops is None else self.loops.contracted(small, self.pieces, loads)
        self.engine = MotionEngine(small, part, self.state, rows)
        if part.stops[0]:
            self.engine.work.grip[:] = part.grip
        self.loads, self._from = piece_loads(self.pieces.bearer, len(small.parent)), loads
        if len(loads.body):
            compiled(load_pieces)(loads, self.pieces, self.loads)

    def reload(self, loads: Loads) -> None:
        """Forces or torques have other values, or act on other bodies."""
        if loads is not self._from:
            self._contract(loads)
        compiled(load_pieces)(loads, self.pieces, self.loads)
        self.engine.effort.tau[:] = self.effort.tau[self.pieces.dofs]

    # Choosing

    def is_asleep(self, joints: list[int]) -> bool:
        """Whether one of these joints, numbers of primitives, is locked."""
        plan = self.tree.plan
        return bool((self.survey.active[plan.node_of[plan.host[joints]]] == 0).any())

    def note(self, everything: bool, forces: list[int], torques: list[int]) -> None:
        """Other forces on these bodies, and torques at these joints: records of the clusters they act in are behind."""
        self.stale = self.stale or everything
        self.touched += self.tree.nodes_above(forces, torques).tolist()

    def sum_joints(self) -> None:
        """Let the next choice go by the accelerations of all joints in `state.qdd`, and their rates. O(n)."""
        plan = self.tree.plan
        if not len(self.survey.joint):
            self.survey = self.survey._replace(joint=np.zeros((len(plan.left), 2)))
        compiled(joint_sums)(self.mechanism, plan, self.state, self.survey.joint)

    def choose(self, rule: Rule, loads: Loads, budget: int | None = None) -> bool:
        """Survey the linkage and choose the region anew; False if more clusters would be open than the rule allows.

        Within a budget of clusters the rule is made coarser instead.
        """
        touched = np.unique(np.array(self.touched, np.int64))
        energy = self._look()
        if self.stale or len(touched) > 0.2 * len(self.tree.plan.left):
            self._attend(BUILD, loads)
            touched = NOTHING
        self.touched, self.stale = [], False
        limits = rule if budget is None else rule._replace(most=min(budget, rule.most))
        fits = self._attend(SURVEY, loads, limits, touched)
        while fits == 0.0:
            if limits.most == rule.most:
                return False
            elif limits.opens > HUGE:  # what is open must be
                limits = limits._replace(most=rule.most)
            else:
                limits = limits._replace(opens=2.0 * limits.opens, a=2.0 * limits.a, v=2.0 * limits.v)
            fits = self._attend(CHOOSE, loads, limits)
        self.is_limited = limits.opens != rule.opens
        if self.choice.count[CLOSED] or self.choice.count[FRESH]:
            self._change(loads, energy)
        self.engine.solve_gripped(self.loads, float(self.survey.lead[0]))
        self.delta = self._attend(LOST, loads)
        return True

    def know_stops(self, others: BoolArray) -> None:
        """Friction and stops in `effort` are those of the whole linkage now; of these freedoms they are others."""
        part, at = self.engine.effort, self.pieces.dofs
        part.grip[:], part.weld[:] = self.effort.grip[at], self.effort.weld[at]
        self._weigh()
        joints = np.unique(np.searchsorted(self.mechanism.dof, np.flatnonzero(others), "right") - 1)
        self.note(False, [], joints.tolist())

    def _weigh(self) -> None:
        """Let surveys know the armatures of implicit steps and of welded joints."""
        e, h = self.effort, float(self.survey.lead[0])
        self.tree.mechanism.armature[:] = e.rotor + h * e.damping + h * h * e.stiffness + e.weld

    def _look(self) -> float:
        """Let the survey know how the pieces move; returns their kinetic energy."""
        work = self.engine.work
        if self.survey.velocity is not work.a:
            self.survey = self.survey._replace(velocity=work.a, momentum=work.momentum)
        return self.engine.kinetic_energy()

    def _change(self, loads: Loads, energy: float) -> None:
        """Make the chosen region the present one."""
        count = self.choice.count
        potential = 0.0 if self.hidden is None else float(self.engine.tally()[1:3].sum())
        self._attend(SETTLE, loads)
        self.opened, self.closed = self.opened + int(count[FRESH]), self.closed + int(count[CLOSED])
        self._contract(loads)
        engine = self.engine
        self.survey = self.survey._replace(velocity=engine.work.a, momentum=engine.work.momentum)
        if self.hidden is not None:  # nothing has moved
            self.hidden += potential - float(engine.tally()[1:3].sum())
        if count[CLOSED]:
            self._attend(MOMENTA, loads)
            engine.velocities_from(engine.effort.rotor * self.state.v[engine.mechanism.v_index])
            self.energy_lost += energy - engine.kinetic_energy()

    def tally(self, full: MotionEngine) -> FloatArray:
        """See `MotionEngine.tally`, of the whole linkage: from its pieces, but for the first time."""
        if self.hidden is None:
            self.hidden = float(full.tally()[1:3].sum() - self.engine.tally()[1:3].sum())
        found = self.engine.tally()
        found[1] += self.hidden
        return found

    def kept(self) -> dict[str, Any]:
        """What it remembers beside the open nodes, for a checkpoint."""
        return {name: getattr(self, name) for name in KEPT}

    def restore(self, kept: dict[str, Any]) -> None:
        """What `kept` gave."""
        for name in KEPT:
            setattr(self, name, kept[name])
