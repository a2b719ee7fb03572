"""Steps: joints move by h qdd, on the tree or plainly as the switch says."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bough.adaptive.engines import CALMED, CODE, CUTS, NO_LIMIT, NO_NUMBER, OUTGROWN, PARTS, STEPS, Switch
from bough.adaptive.parts import MAX_PARTS, StepParts
from bough.adaptive.passes import FULL_TIER, LINEAR_TIER, OPENED
from bough.adaptive.restraints import NoRestraints, Restraints
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.adaptive.step_watch import LoopWatch, Swings
from bough.errors import ModelError, NumericalError, SettingError

ROUNDING = 1e-12  # of the energy
LOOKS = 32  # steps on the paper's tree of which one is looked at for forces that brake it


class Stepper:
    """Takes steps of a solver's linkage."""

    def __init__(self, solver: Solver, switch: Switch, max_turn: float, refresh: int) -> None:
        if refresh < 1:
            raise SettingError(f"refresh must be at least 1 step, got {refresh}")
        self.solver, self.switch, self.refresh = solver, switch, refresh
        self.parts, self.swings, self.loops = StepParts(solver, max_turn), Swings(solver), LoopWatch(solver)
        self.steps, self.time = 0, 0.0
        self.keeps_region = False  # whether forces that change between steps leave the region of open joints as it is
        self.pull: Restraints | NoRestraints | None = None  # springs, or none, that are followed in compiled code

    def take(self, most: int, h: float, dt: float, watches: bool = True) -> int:
        """Take at least one step and at most so many; returns how many. A step that fails leaves everything alone.

        `watches` says whether one is cut by power; forces that a callback sets are watched otherwise.
        """
        solver = self.solver  # the paper, which leaves joints behind, is cut by turns alone
        as_printed = solver.region is None and not (solver.clock[2] or solver.is_exact or solver.is_plain)
        self.parts.watches = watches and not as_printed
        most = min(most, self.refresh - self.steps % self.refresh)
        began = time.perf_counter()
        self.solver.set_step(h)
        self.solver.clock[3] = self.steps
        done = self._some(most, h)
        self.solver.cost = replace(self.solver.cost, seconds=(time.perf_counter() - began) / done)
        self.steps, self.time = self.steps + done, self.time + done * dt
        if self.steps % self.refresh == 0:
            self.solver.changes.all()
        self.loops.look(done)
        return done

    def whole(self, h: float, dt: float, load: Callable[[], float | None]) -> int:
        """One step in parts with the same sum of h, forces set before each of them; one that raises energy is cut."""
        first = self._energy(load())
        swings = self.swings
        before = [] if first is None and swings.parts == 1 else self.parts.snapshot()
        steps, passed, cuts = self.steps, self.time, self.parts.cuts
        while True:
            parts = swings.parts
            try:
                for part in range(parts):
                    if part:
                        load()
                    self.take(1, h / parts, dt / parts, watches=False)
                    self.steps = steps
                last = None if first is None else self._energy(load())
            except BaseException:
                if before:
                    self.parts.put_back(before)
                    self.time, self.parts.cuts = passed, cuts
                raise
            if first is None or last is None or last <= first + ROUNDING * abs(first) or 2 * parts > MAX_PARTS:
                break
            self.parts.put_back(before)
            self.time, swings.parts, swings.calm, self.parts.cuts = passed, 2 * parts, 0, cuts
            load()
        self.steps, self.parts.cuts = steps + 1, self.parts.cuts + parts - 1
        swings.judge()
        return 1

    def _energy(self, given: Any) -> float | None:
        """All of it, where a load says what that of the forces is."""
        if given is None:
            return None
        if not isinstance(given, (int, float)) or not math.isfinite(given):
            raise NumericalError(f"a load returns its energy, a finite number, or nothing: got {given!r}")
        return float(given) + self.solver.inputs.potentials.energy()

    def _some(self, most: int, h: float) -> int:
        solver = self.solver
        if solver.is_plain and not (solver.switches and self._goes_to_tree()):
            return self._plain_step(h, most)
        solver.examine()
        if solver.is_plain:
            return self._plain_step(h, most)
        if solver.is_exact:
            tree = solver.ready_tree()
            self.parts.take(self.steps, h)
            method = "dca" if solver.method == "dca" else "adaptive"
            solver.cost = Cost(method, self._all_joints, float(len(tree.plan.left)))
            return 1
        return self._adaptive_steps(most, h) if solver.region is None else self._hybrid_steps(most, h)

    @property
    def _all_joints(self) -> float:
        return float(len(self.solver.inputs.model.joints))

    def _plain_step(self, h: float, most: int = 1) -> int:
        done = 1
        if isinstance(self.pull, Restraints):
            done = self._pulled(max(1, min(most, self.switch.wait)) if self.solver.switches else most, h, plainly=True)
        else:
            self.parts.take(self.steps, h, plainly=True)
        self.switch.wait -= done
        self.solver.cost = Cost("aba", self._all_joints)
        return done

    def _goes_to_tree(self) -> bool:
        """Whether the switch goes over to the tree now."""
        solver, switch = self.solver, self.switch
        if solver.error.eps == 0.0 or switch.wait > 0 or solver.distrusts:
            return False
        loads = solver.inputs.forces.loads()
        if solver.region is not None and solver.region.is_hopeless(switch.most):
            switch.leave(built=False)
            return False
        try:
            tree = solver.assemble()
            tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            switch.wait = NO_LIMIT if solver.tree is None else 1
            return False
        region, paths = solver.region, tree.root_paths(loads.body[loads.along > loads.first[:-1]])
        if switch.wants_tree(paths if region is None else paths // region.pace.every):
            switch.enter()
        else:
            switch.leave(built=False)
        return switch.on_tree

    def _adaptive_steps(self, n: int, h: float) -> int:
        solver, switch, tree = self.solver, self.switch, self.solver.ready_tree()
        n = 1 if solver.closures is not None else min(n, switch.chunk) if solver.switches else n
        counts = tree.front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        budget = switch.budget if solver.switches else NO_LIMIT
        due = -self.steps % LOOKS if solver.clock[2] else n  # steps until one is looked at; the paper looks at none
        if self.solver.asks or due == 0 or self.parts.fine > 1:
            n, left = 1, 0
            self.parts.take(self.steps, h)
        else:
            n = min(n, due)
            left = tree.march(solver.error, solver.inputs.forces.loads(), n, self.parts.max_turn, budget)
        done, counts = n - left, tree.front.count
        if done:
            solver.changes.step()
            full, linear, opened = (int(counts[k]) for k in (FULL_TIER, LINEAR_TIER, OPENED))
            solver.cost = Cost("adaptive", opened / done, full / done, linear / done)
            if solver.switches and not switch.took(done, full, linear):
                switch.leave()
        if not left or done:
            return done
        if tree.refused:
            self.parts.take(self.steps, h)
            solver.cost = Cost("adaptive", float(counts[OPENED]), float(counts[FULL_TIER]), float(counts[LINEAR_TIER]))
            return 1
        switch.leave()
        solver.inputs.shared.qdd[:] = 0.0
        return self._plain_step(h)

    def _hybrid_steps(self, n: int, h: float) -> int:
        """Steps of the hybrid linkage until its region is chosen anew."""
        solver, switch, region = self.solver, self.switch, self.solver.region
        assert region is not None
        counts = solver.assemble().front.count
        counts[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        if not region.ready(switch.most if solver.switches else NO_LIMIT, self.keeps_region):
            switch.leave()
            solver.inputs.shared.qdd[:] = 0.0
            return self._plain_step(h)
        n = min(n, region.left)
        if self.pull is not None:
            done = self._pulled(n, h)
        else:
            done = 0 if self.solver.asks else n - region.march(n, h, self.parts.max_turn)
        if not done:
            done = 1
            self.parts.take(self.steps, h)
            region.age += 1
        solver.changes.step()
        counts = solver.assemble().front.count
        full, linear = int(counts[FULL_TIER]), int(counts[LINEAR_TIER])
        solver.cost = Cost("adaptive", float(region.joints), full / done, linear / done)
        if region.pace.pays(switch.joints):
            switch.patience = 1
        return done

    # Springs that are followed

    def follow(self, springs: Restraints | None, follows: bool) -> None:
        """Take steps under these springs, or none, in compiled code that cuts them; or step by step."""
        if follows and springs is None:
            bodies = len(self.solver.inputs.mechanism.parent)
            self.pull = self.pull if isinstance(self.pull, NoRestraints) else NoRestraints(bodies)
        else:
            self.pull = springs if follows else None

    @property
    def follows(self) -> bool:
        """Whether steps under springs are taken in compiled code, many at once."""
        solver = self.solver
        on_tree = solver.region is not None and not (solver.is_exact and not solver.is_plain)
        return solver.closures is None and not self.solver.asks and (solver.method == "aba" or on_tree)

    def _pulled(self, n: int, h: float, plainly: bool = False) -> int:
        """Some steps under springs, or under forces that stay, and at most n; returns how many."""
        solver, pull, region = self.solver, self.pull, self.solver.region
        assert pull is not None
        swings = self.swings
        order = np.array([h, self.parts.max_turn, n, swings.parts, swings.calm, 0.0, math.inf, 0.0, 0.0, 0.0])
        if plainly:
            loads = solver.ready_plain()
            energy = solver.plain.pulled(pull.ties(None), order, solver.inputs.potentials.springs, loads)
        else:
            assert region is not None
            assert region.hybrid is not None
            energy = region.pulled(pull.ties(region.hybrid), order)
        done, code = n - round(float(order[STEPS])), int(order[CODE])
        if plainly:
            solver.clock[0] += done * h
            self.parts.all_moved(self.steps + done)
        swings.parts, swings.calm = max(1, round(float(order[PARTS]))), round(float(order[CALMED]))
        self.parts.cuts += round(float(order[CUTS]))
        pull.note(energy)
        solver.changes.many_forces(pull.bodies)
        if not done and isinstance(pull, Restraints):  # without springs parts say why, or do it
            raise solver.no_number() if code == NO_NUMBER else self.parts.too_long(h)
        if code == OUTGROWN and region is not None:
            region.age = region.pace.every
        return done

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """What it remembers, as plain facts."""
        own = {"steps": self.steps, "time": self.time, "cuts": self.parts.cuts, "refresh": self.refresh}
        return own | {
            "max_turn": self.parts.max_turn,
            "least_open": self.loops.least,
            "since": self.loops.since,
            "parts": self.swings.parts,
            "calm": self.swings.calm,
            "power": [self.parts.fine, self.parts.calm, self.parts.pushed],
        }

    def restore(self, facts: dict[str, Any]) -> None:
        """What `state` gave."""
        self.steps, self.time, self.parts.cuts = facts["steps"], facts["time"], facts["cuts"]
        self.loops.least, self.loops.since = facts["least_open"], facts["since"]
        self.swings.parts, self.swings.calm = facts["parts"], facts["calm"]
        self.parts.fine, self.parts.calm, self.parts.pushed = facts["power"]
