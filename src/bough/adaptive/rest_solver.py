"""Joint accelerations of a linkage at rest: by all joints, by the assembly tree, or by the active region."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.active.bounded import BoundedRegion
from bough.adaptive.checkpoint import assembly_facts, measure_of
from bough.adaptive.closure import Closure
from bough.adaptive.cost import cost
from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.modes import NEAR
from bough.adaptive.engines.sweeps import JointLaws, make_laws
from bough.adaptive.inputs import Inputs, model_without
from bough.adaptive.measures import ErrorMeasure, absolute_linkage, measured
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.adaptive.tree.bounded_pass import JOINTS, MET, ROOT
from bough.adaptive.tree.contract import Loads, no_forces
from bough.adaptive.tree.engine import NO_LIMIT, Noise, TreeEngine, measure_noise, noise_under_probe
from bough.adaptive.tree.layout import RIGID, TOTAL
from bough.adaptive.tree.passes import FAR, rigid_groups
from bough.compile.run.direct import compiled
from bough.errors import NumericalError, SettingError, unknown_option
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray

Error = ErrorMeasure | float | None
METHODS = ("auto", "adaptive", "dca", "aba")
CULLED = ("rigid", "zero")
CHANGES = ("forces", "torques", "everything", "most_forces", "measure")  # since the last solution


class Selection(NamedTuple):
    """Options: the rule of inactive clusters, steps between choices of active joints, and whether joints catch up."""

    culled: str | None
    every: int | None
    catch_up: bool | None


# Accuracy: of the tree beside solutions of all joints, of an eps beside rounding, of accelerations.


def examine(tree: TreeEngine, engine: Engine, loads: Loads) -> None:
    """Compare a tree with solutions of all joints, once; one that is wrong is not used."""
    noise = measure_noise(tree, engine, loads)
    if noise.is_too_large:
        warnings.warn(
            f"divide and conquer is off by {noise.rounding:.1e} of the largest acceleration on this linkage (light "
            f"bodies between heavy ones, or loops that are nearly singular): full O(n) steps are taken instead, as "
            f'with method="aba"',
            stacklevel=6,
        )


def clamped(tree: TreeEngine, error: ErrorMeasure) -> ErrorMeasure:
    """An eps below what rounding may do would be an empty promise: it is raised, with a warning."""
    floor = tree.noise.floor(error)
    if not error.eps < floor or tree.noise.is_too_large:  # one that is not known is no floor
        return error
    warnings.warn(
        f"{error.name}: eps = {error.eps:g} is below the noise floor of this linkage, {floor:.1e}, "
        f"which is used instead; eps = 0 is exact",
        stacklevel=5,
    )
    return error.clamped(floor)


class RestSolver(Solver):
    """Accelerations of a linkage at rest, within the error, computed when they are needed; see `QuasiStatics`."""

    region: BoundedRegion | None

    def __init__(
        self, inputs: Inputs, error: Error, method: str, metric: Any, assembly: Any, selection: Selection
    ) -> None:
        culled, every, catch_up = selection
        super().__init__(inputs, method, METHODS, measured(error) or absolute_linkage(0.0), every)
        if culled is None and catch_up and self.error.over != "energy":
            culled = "zero"
        self.selection = selection._replace(culled=culled)
        self.metric, self.assembly = metric, assembly
        self.all_moved = 0  # the last step in which all joints may have moved
        self.unlocked: FloatArray | None = None  # accelerations of all joints with loops, where there are any
        self.selector.restart(method != "auto")
        if culled not in (None, *CULLED):
            raise unknown_option(f"culled clusters cannot be {culled!r}", culled, CULLED)
        self._take_rule(self._rule(self.error))
        self.error.check_at_rest(inputs.model.joints.bodies, self.culled)

    def _linkage(self) -> tuple[Mechanism, JointLaws]:
        # dampers are rotors here, as steps from rest have no rates
        i = self.inputs
        return i.mechanism, make_laws(model_without(i.model, ("damping",)), i.mechanism, i.shared.tau)

    def _make_region(self) -> BoundedRegion | None:
        self.unlocked = None
        return BoundedRegion(self, self.selection.every) if self.culled == "rigid" else None

    def _rule(self, measure: ErrorMeasure) -> str:
        """The paper's rule for its measures, which has their bound; rigid clusters by energy, or as given."""
        by_paper = measure.eps > 0.0 and measure.over != "energy"
        return self.selection.culled or ("zero" if by_paper else "rigid")

    def _take_rule(self, rule: str) -> None:
        """Follow a rule: another than before needs another tree."""
        self.culled, self.tree = rule, None
        self.region = self._make_region()
        catch_up = self.selection.catch_up
        if catch_up is None:  # full steps between adaptive ones would leave what was missed behind
            catch_up = self.region is None and not self.is_exact and self.method == "adaptive"
        if self.region is not None and catch_up:
            raise SettingError('catching up and rigid clusters do not go together: expected culled="zero"')
        self.clock.catches_up[0] = float(catch_up)
        self.changes.all()

    def prepare(self, closures: Sequence[Closure]) -> None:
        """Take the loops to begin with, and make the tree where it is needed at once."""
        self.close(closures)
        if self.method != "aba" and (self.method != "auto" or not self.switches):
            self.cost = Cost(self._tree_method)
            self.assemble()
        elif self.metric is not None or self.assembly != "balanced":
            self.assemble()

    @property
    def options(self) -> dict[str, Any]:
        """Options of `QuasiStatics` with which another solver solves alike."""
        own = {"method": self.method, "metric": self.metric, "assembly": self.assembly}
        return self.selection._asdict() | own

    def forecast(self) -> tuple[int, float]:
        """Active joints of the last solution, and what a step with them costs, in joints of a full step."""
        if self.uses_all_joints or self.tree is None:
            return len(self.inputs.model.joints), math.inf
        if self.region is not None:
            interval = self.region.interval
            return interval.open, interval.open + interval.spent / max(interval.every, 1)
        paths = self.tree.root_paths(self.inputs.forces.loads().body)
        return int(self.tree.queue.count[JOINTS]), cost(self.tree.active_count, paths)

    def take_error(self, measure: Error) -> None:
        """Another error is allowed from now on."""
        measure = measured(measure) or absolute_linkage(0.0)
        if measure != self.error:
            rule = self._rule(measure)
            measure.check_at_rest(self.inputs.model.joints.bodies, rule)
            kind, self.error = self.error.over, measure
            if rule != self.culled:
                self._take_rule(rule)
            self.changes.error()
            self.selector.restart(self.method != "auto")
            if (kind == "energy") != (measure.over == "energy") and self.tree is not None:
                self._keep()

    @property
    def switches(self) -> bool:
        """Whether steps are taken on the tree or by all joints as the selector says."""
        if self.method == "adaptive":
            return self.region is not None and self.region.allows_full_steps
        return self.method == "auto" and self.clock.catches_up[0] == 0.0

    def assemble(self) -> TreeEngine:
        """The tree, made when it is first needed."""
        if self.tree is None:
            super().assemble()
            self._keep()
        return self.tree  # type: ignore[return-value]

    def _keep(self) -> None:
        """Let the tree keep what the measure needs."""
        tree, by_energy = super().assemble(), self.error.over == "energy"
        total = TOTAL if self.method != "dca" and not by_energy else 0
        tree.keeps = total + (RIGID if self.region is not None else 0)
        tree.noise = Noise()
        self.changes.all()

    @property
    def has_functions(self) -> bool:
        """Whether functions of the user's are called after every step."""
        return bool(self.inputs.potentials.functions)

    @property
    def is_exact(self) -> bool:
        """Whether all joints are active."""
        return self.error.eps == 0.0 or self.method in ("dca", "aba")

    @property
    def uses_all_joints(self) -> bool:
        """Whether all joints are computed, by the engine, now."""
        if self.method == "aba" or self.is_tree_inaccurate or self.stops_act:
            return True
        return self.switches and (self.error.eps == 0.0 or not self.selector.on_tree)

    @property
    def is_tree_inaccurate(self) -> bool:
        """Whether the tree was found too far from full solutions to be used."""
        return self.tree is not None and self.tree.noise.is_too_large

    @property
    def closing_rate(self) -> float:
        """Share of the gaps of loops to close, by h."""
        return (1.0 if self.closures is None else self.closures.rate) / self.h

    def _tree_is_current(self) -> bool:
        return self.tree is not None and not self.changes.everything

    # Bringing engines up to date

    def set_step(self, h: float) -> None:
        """Steps of this size follow: loops are closed within one."""
        if h != self.h:
            self.h, self.changes.closures, self.changes.solution = h, True, True
            if self.error.metres:
                self.changes.error()
        self.clock.h[0] = h
        if self.inputs.potentials.set_step(h):
            self.changes.all()

    def ready_tree(self) -> TreeEngine:
        """The tree, up to date with q, forces, torques, error and closures."""
        tree, loads, changes = self.assemble(), self.inputs.forces.loads(), self.changes
        self.engine.stop_torques = None
        tree.refuse_massless(loads)
        closing = self.closures is not None and changes.closures
        if not changes.is_small:
            if tree.noise.depends_on_loads:
                noise_under_probe(tree, self.engine)
            tree.rebuild(loads)
            if self.region is not None:
                self.region.forget()
        elif self.region is not None and self.region.moved:
            tree.follow(loads, tree.nodes_above(changes.forces, changes.torques), self.region.open)
        elif changes.forces or changes.torques or closing:
            # closing bodies begin again with the applied forces only
            bodies = changes.forces + (self.closures.bodies.tolist() if self.closures else [])
            tree.changed(loads, tree.nodes_above(bodies, changes.torques))
        elif changes.measure:
            tree.restart()
        else:
            return tree
        unknown, measure = tree.noise.depends_on_loads, changes.measure
        changes.clear_all()
        if self.region is not None:
            self.region.followed()
        if self.closures is not None:
            kept = self.inputs.shared.qdd.copy()
            self.engine.solve(loads, self.closing_rate)
            self.unlocked = self.inputs.shared.qdd.copy()
            self.inputs.shared.qdd[:] = kept
            tree.reload(self.closures.bodies)
            loads, changes.closures = tree.no_forces, False  # those of the loops are there, too
        if unknown:
            examine(tree, self.engine, loads)
        if not self.is_exact and (measure or unknown):
            self.error = clamped(tree, self.error)
        return tree

    def examine(self) -> None:
        """Find out whether the tree may be used, where that is not known."""
        if not self.uses_all_joints and not self.assemble().noise.is_known:
            self.ready_tree()

    def ready_engine(self) -> Loads:
        """The engine of all joints, up to date with forces."""
        loads, changes = self.inputs.forces.loads(), self.changes
        if changes.forces or changes.torques or changes.most_forces:
            changes.note_full_solution()
        return loads

    # Solving

    def solve(self) -> FloatArray:
        """Joint accelerations (nv,) for the present inputs, found unless they are known; not a copy."""
        qdd = self.inputs.shared.qdd
        if not self.changes.solution:
            return qdd
        self.examine()
        method, joints, size = self._tree_method, float(len(self.inputs.model.joints)), qdd
        if self.uses_all_joints:
            method = "aba"
            self.solve_all_joints()
        elif self.is_exact:
            self.ready_tree().solve_exactly()
        elif self.region is not None:
            self.region.ready()
            self.region.linkage.solve(self.closing_rate)
            joints = float(self.region.linkage.joints)
        else:
            self.ready_tree().refine(self.error)
            joints, size = math.nan, self.assemble().queue.value[ROOT]
        self.cost = replace(self.cost, method=method, joints=joints)
        if not math.isfinite(float(np.abs(size).sum())):
            raise self.no_number()
        self.changes.solution = False
        return qdd

    @property
    def _tree_method(self) -> str:
        return "dca" if self.method == "dca" else "adaptive"

    def solve_all_joints(self) -> None:
        """All joint accelerations in O(n), with loops, friction and limits."""
        loads, self.engine.stop_torques = self.ready_engine(), None
        if self.engine.has_stops:
            self.engine.solve_with_stops(loads, self.h, self.closing_rate)
        else:
            self.engine.solve(loads, self.closing_rate)

    @property
    def stops_act(self) -> bool:
        """Whether friction may hold a joint, or a limit: one that is there, or beyond."""
        engine = self.engine
        return engine.has_stops and (bool(self.laws.friction.any()) or engine.has_limits_within(NEAR))

    def no_number(self) -> NumericalError:
        """Why accelerations are no numbers. The tree is made anew by whatever comes next."""
        self.changes.all()
        far = float(np.abs(self.inputs.shared.q).max(initial=0.0))
        why = "the linkage is singular or the forces are too large"
        if far > FAR:
            why = f"a joint has moved to {far:.1e}, so steps are too large"
        return NumericalError(f"the joint accelerations are not finite: {why}")

    # What follows

    def transmitted(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on primitives through their joints, in their laid frames, moment first."""
        return self.respond(bodies, forces=True)

    def respond(self, bodies: IntArray, forces: bool = False) -> FloatArray:
        """(k, 6) accelerations of primitives in their laid frames, angular first, relative to free fall; exact.

        Or, likewise, the forces on them through their joints.
        """
        qdd = self.inputs.shared.qdd
        kept = qdd.copy()
        if not self.uses_all_joints:
            stays = self.region is not None and not self.is_exact and self.region.stays()
            tree = self.ready_tree()
            if stays:
                qdd[:] = kept
            if tree.has_bodies(bodies):
                return tree.transmit(bodies) if forces else tree.respond(bodies)
            kept = qdd.copy()
        self.solve_all_joints()
        if forces and self.closures is not None:
            self.engine.solve(no_forces(len(self.inputs.shared.force)))  # with the forces of loops as any others
        found = self.engine.forces_at_rest(bodies) if forces else self.engine.work.a[bodies].copy()
        if not self.uses_all_joints or not self.changes.solution:
            qdd[:] = kept
        return found

    def groups(self, body: IntArray, since: int) -> IntArray:
        """The bodies with which these, -1 = the ground, have moved as one since a step; -1 with the ground. O(n)."""
        if self.all_moved > since:
            return np.where(body < 0, -1, body)
        if self.tree is None:
            return np.full(len(body), -1, np.int64)
        tree, group = self.tree, np.empty(len(self.tree.plan.parent), np.int64)
        compiled(rigid_groups)(tree.plan, tree.state, float(since), group)
        return np.where(body < 0, -1, group[tree.link.host[np.maximum(body, 0)]])

    def last_gap(self) -> float:
        """How far the loops were open when the last solution was found, m or rad."""
        own = self.cost.method == "aba"
        if not own and (self.region is None or self.is_exact):
            return self.opening()
        engine = self.engine if own else self.region.linkage.engine  # type: ignore[union-attr]
        return float(np.abs(engine.loops.gap).max(initial=0.0)) if engine.has_loops else 0.0

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """The state beyond inputs, for a checkpoint."""
        shape = assembly_facts(self.assembly, lambda: self.assemble().plan)
        changes, refined = self.changes, self.region is None and not (self.is_exact or self.uses_all_joints)
        state: dict[str, Any] = {
            "clock": np.concatenate(self.clock), "h": self.h, "measure": list(astuple(self.error)),
            "options": self.options | {"metric": None, "assembly": shape},
            "all_moved": self.all_moved,
            "refined": refined and not changes.solution, "selector": self.selector.state(),
            "changes": {name: getattr(changes, name) for name in CHANGES},
            "rate": 1.0 if self.closures is None else self.closures.rate,
        }  # fmt: skip
        if self.tree is not None:
            state["tree"] = dict(zip(("arrays", "facts"), self.tree.memory(), strict=True))
        if self.region is not None:
            state["region"] = self.region.state()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; active clusters are found again."""
        for own, kept in zip(self.clock, state["clock"], strict=True):
            own[0] = kept
        self.h, self.all_moved, self.error = state["h"], state["all_moved"], measure_of(state["measure"])
        self.selector.restore(state["selector"])
        if self.closures is not None:
            self.closures.rate = state["rate"]
        if "tree" in state:
            self.assemble().restore(**state["tree"])
        if self.region is not None:
            self.region.restore(state["region"])
        changes, everything = self.changes, self.changes.everything
        for name in CHANGES:
            setattr(changes, name, state["changes"][name])
        changes.everything = changes.everything or everything
        if state["refined"]:
            self.ready_tree().refine(None, state["tree"]["facts"]["active"])
            changes.solution, self.cost = False, Cost("adaptive")


# Refinement on demand: a bounded solution continued beyond what its error asks for.


def refine(solver: RestSolver, budget: int | None, microseconds: float | None) -> float:
    """See `QuasiStatics.refine`."""
    if solver.method not in ("adaptive", "auto"):
        raise SettingError(f"refine continues an adaptive solution, but the method is {solver.method!r}")
    if budget is not None and not (budget >= 0 and budget % 1 == 0):
        raise SettingError(f"refine: budget is a whole number of clusters, not negative, got {budget!r}")
    if not (microseconds is None or 0.0 <= microseconds < math.inf):
        raise SettingError(f"refine: microseconds must be finite and not negative, got {microseconds!r}")
    if solver.region is not None:
        if microseconds is not None:
            raise SettingError('refine takes a time with culled="zero" only: give a budget of clusters')
        solver.examine()
        if not (solver.uses_all_joints or solver.is_exact):
            solver.changes.solution, solver.cost = False, Cost("adaptive")
            return solver.region.refine(budget)
        solver.solve()
        return 0.0
    if not solver.changes.solution and solver.uses_all_joints:
        solver.inputs.shared.qdd[:] = 0.0
    solver.selector.enter()
    tree = solver.ready_tree()
    if solver.is_tree_inaccurate:
        solver.changes.solution = True
        solver.solve()
        return 0.0
    solver.changes.solution, solver.cost = False, Cost("adaptive")
    if microseconds is None:
        tree.refine(None, NO_LIMIT if budget is None else int(budget))
    else:
        end = time.perf_counter() + 1e-6 * microseconds
        while time.perf_counter() < end and tree.refine(None, 8) != MET:
            pass
    return tree.bound(solver.error)
