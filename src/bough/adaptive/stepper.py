"""Steps: taken, counted, undone where they fail; here those with velocities, those from rest in `rest_stepper`."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np

from bough.adaptive.engines.engine import Engine
from bough.adaptive.engines.rest import MAX_PARTS
from bough.adaptive.solver import MotionSolver
from bough.adaptive.stats import Cost
from bough.adaptive.tree.contract import Loads
from bough.errors import NumericalError, SettingError
from bough.types import FloatArray

COUNTERS = ("steps", "time", "cuts")


class Stepper:
    """Takes steps of a solver's linkage; a step that fails leaves everything alone."""

    _advance: Callable[[int, float], int]  # takes steps, at most so many and each of this h; returns how many

    def __init__(self, solver: Any, max_turn: Any) -> None:
        if max_turn is not None and not (isinstance(max_turn, Real) and float(max_turn) > 0.0):
            raise SettingError(f"max_turn must be a positive angle in rad, got {max_turn!r}")
        self.solver = solver
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
        """The arrays that a part of a step changes."""
        return [self.solver.motion.q, self.solver.motion.v]

    def _snapshot(self) -> list[FloatArray]:
        """Copies of the arrays that a step changes, for `_put_back`."""
        return [a.copy() for a in self._moving()]

    def _put_back(self, before: list[FloatArray]) -> None:
        """As it was."""
        for array, old in zip(self._moving(), before, strict=False):  # a tree made since has nothing to put back
            array[:] = old

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {name: getattr(self, name) for name in COUNTERS}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        for name in COUNTERS:
            setattr(self, name, state[name])


FULL, ADAPTIVE = Cost("full"), Cost("adaptive")
OPEN = 1e-3  # m or rad by which loops may be open where a motion begins


class MotionStepper(Stepper):
    """Steps with velocities."""

    solver: MotionSolver

    def __init__(self, solver: MotionSolver, max_turn: float | None) -> None:
        super().__init__(solver, max_turn)
        self.load: Callable[[], object] | None = None  # sets forces at the later stages of a step of fourth order
        self.is_checked = False  # whether loops are closed, and velocities keep them so

    def restart(self, moved: bool = True) -> None:
        """Configuration or velocities were set, or only gravity: nothing is known of the region."""
        solver, began = self.solver, self.solver.region.begun
        solver.region.forget()
        self.is_checked = self.is_checked and not moved
        if solver.method == "auto" and moved:
            solver.selector.restart(on_tree=True, wait=0)
        elif began:
            selector = solver.selector  # joints are chosen the later, the more often that happens
            selector.restarts = min(2 * selector.restarts + 1, 1024)
            selector.wait = max(selector.wait, selector.restarts - 1)

    def take_under(self, load: Callable[[], object], h: float, dt: float) -> int:
        """One step under forces that a function sets, at its beginning and, of fourth order, at every stage."""
        self.load = load
        try:
            load()
            return self.take(1, h, dt)
        finally:
            self.load = None

    def _advance(self, most: int, h: float) -> int:
        solver, region = self.solver, self.solver.region
        if h * h > solver.inputs.potentials.longest:
            solver.inputs.potentials.check_step(h * h)
        if not self.is_checked:
            self._check_loops()
        lead, is_exact = 0.0 if solver.integrator == "rk4" else h, solver.is_exact
        if solver.inputs.potentials.functions:
            solver.inputs.potentials.evaluate()
            most = 1
        if solver.paths is not None:
            most, (v, q) = 1, solver.paths(self.time, h, solver.motion.q)
            solver.lead(v, h)
        left = 0 if is_exact else region.ready(lead, keep=self.load is not None)
        if solver.paths is not None:
            solver.lead(v, h)  # joints that were locked have changed other velocities
        if not left:
            engine, loads, n = solver.engine, solver.inputs.forces.loads(), most
            if not is_exact:
                n = max(1, min(most, solver.selector.wait))
                region.forget()
            if self.max_turn is not None:
                n = min(n, region.interval.every)
            solver.cost = FULL
            done = n - self._march(engine, loads, h, n)
            solver.selector.wait -= done
        else:
            linkage, n = region.linkage, min(most, left)
            engine, solver.cost = linkage.engine, ADAPTIVE
            done = n - (self._march(engine, linkage.loads, h, n) if linkage.joints else 0)
            region.age += done
        if n > done == 0:
            name = solver.inputs.model.dof_names[engine.diverged]
            raise NumericalError(
                f"the motion diverges in step {self.steps + 1}, at t = {self.time:.6g} s, first at {name!r}: take "
                f"steps smaller than {h:g} s, or another integrator; the state is that before the step"
            )
        if solver.paths is not None:
            at, dofs = solver.paths.coordinates, solver.paths.dofs
            solver.motion.q[at], solver.motion.v[dofs] = q[at], v[dofs]
        return done

    def _check_loops(self) -> None:
        """Leave of a velocity that was given what keeps loops closed; refuse a place in which they are open."""
        solver = self.solver
        if solver.closures is not None:
            name, gap = solver.closures.widest(solver.poses(solver.closures.bodies))
            if not gap <= OPEN:
                raise SettingError(
                    f"the loop {name} is open by {gap:.3g} m or rad: a motion begins with closed loops, as "
                    f'bough.close_loops(model, q).q has them, or goes without=["closures"]'
                )
            if solver.motion.v.any():
                solver.engine.close_rates()
                solver.region.forget()
        self.is_checked = True

    def _march(self, engine: Engine, loads: Loads, h: float, n: int) -> int:
        """n steps, each in as many parts as keep joints from turning by more than `max_turn` in one; returns how many
        are left before one that diverges."""
        parts = 1
        if self.max_turn is not None:
            m = engine.mechanism
            fastest = float(np.abs(self.solver.motion.v[m.v_index[m.axis <= 2]]).max(initial=0.0))
            parts = max(1, math.ceil(min(h * fastest / self.max_turn, MAX_PARTS) - 1e-9))
            self.cuts += (parts - 1) * n
        if self.load is not None and self.solver.integrator == "rk4":
            return 0 if self._stages(h / parts, parts, self.load) else 1
        left = engine.march(loads, h / parts, n * parts)
        return -(-left // parts)

    def _stages(self, h: float, parts: int, load: Callable[[], object]) -> bool:
        """One step of fourth order in parts, forces set at every stage but the first; False where it diverges."""
        before, began = self._snapshot(), self.time
        try:
            for part in range(parts):
                for stage, at in enumerate((0.0, 0.5, 0.5, 1.0)):
                    if part or stage:
                        self.time = began + (part + at) * h
                        load()
                    if not self._stage(h, stage):
                        self._put_back(before)
                        return False
        except BaseException:
            self._put_back(before)
            raise
        finally:
            self.time = began
        return True

    def _stage(self, h: float, stage: int) -> bool:
        """One stage under the forces as they are now."""
        solver, loads = self.solver, self.solver.inputs.forces.loads()
        if solver.cost.method == "full":
            return solver.engine.march_stage(loads, h, stage)
        linkage = solver.region.linkage
        linkage.reload(loads)
        return linkage.engine.march_stage(linkage.loads, h, stage)

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        options = {"max_turn": self.max_turn}
        return super().state() | {"options": options, "is_checked": self.is_checked}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        self.is_checked = state["is_checked"]
