"""`QuasiStatics`: forces in, configurations out, at a chosen error (Redon & Lin 2005)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.checkpoint import restore, save
from bough.adaptive.closure import Closure
from bough.adaptive.engines import CHUNK, NO_LIMIT
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.passes import CERTIFICATE, FULL_TIER, JOINTS, LINEAR_TIER, OPENED, ROOT
from bough.adaptive.progress import bar
from bough.adaptive.recording import Recording
from bough.adaptive.solution import Solution
from bough.adaptive.stats import Stats
from bough.errors import ModelError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]


class QuasiStatics(Solution):
    """Quasi-statics of a linkage: at every step the joints move by qdd dt^2 / 2 from rest.

    `error` is an error measure; None or eps = 0 is exact. Methods: "adaptive" (bounded passes over an assembly tree),
    "dca" (the whole tree every step), "aba" (plain O(n)), "auto" (adaptive or aba, whichever is cheaper). `metric`
    weighs joints in the error: None, "lever" (for displacements in space), (nv,) weights or {joint: matrix}. With
    `catch_up`, joints that were left out later move for all the time they missed. `closures` close loops. The tree is
    redone every `refresh` steps.
    """

    def __init__(
        self,
        model: Model,
        error: ErrorMeasure | None = None,
        method: str = "auto",
        *,
        metric: Any = None,
        catch_up: bool = False,
        closures: Sequence[Closure] = (),
        refresh: int = 10_000,
    ) -> None:
        if refresh < 1:
            raise ValueError(f"refresh must be at least 1 step, got {refresh}")
        super().__init__(model, error, method, metric=metric, catch_up=catch_up, closures=closures)
        self.refresh, self.steps, self.time = refresh, 0, 0.0

    @property
    def stats(self) -> Stats:
        """Costs and quality; see `Stats`."""
        tree, last = self._tree, self._last
        joints, bound, norm, certificate, floor = last.get("joints", math.nan), 0.0, math.nan, 0.0, math.nan
        if tree is not None:
            certificate, floor = float(tree.front.value[CERTIFICATE]), tree.noise.floor(self.error)
            if last["method"] != "aba" and not tree.stale:
                norm = math.sqrt(float(tree.front.value[ROOT]))
                bound = 0.0 if self._is_exact else tree.bound(self.error, of_last_step=not self._solved)
                joints = last.get("joints", float(tree.front.count[JOINTS]))
        memory = self._plain.nbytes + (tree.nbytes if tree else sum(a.nbytes for a in self._shared))
        return Stats(
            last["method"], self.steps, self.time, joints, last.get("full", 0.0), last.get("linear", 0.0), bound, norm,
            certificate, floor, last.get("seconds", math.nan), memory,
        )  # fmt: skip

    # Stepping

    def step(self, dt: float) -> None:
        """One time step: joints move by qdd dt^2 / 2."""
        self.run(1, dt)

    def run(self, n: int, dt: float, progress: bool = False, record: Recording | None = None) -> None:
        """n time steps; `record` takes a sample every few of them."""
        if not (math.isfinite(dt) and dt > 0.0):
            raise ValueError(f"dt must be a positive number of seconds, got {dt!r}")
        if n < 0:
            raise ValueError(f"the number of steps must not be negative, got {n}")
        h = 0.5 * dt * dt
        if self._clock[1] != h and self._loops is not None:
            self._loops.open = True
        self._clock[1] = h
        last = self.steps + n
        with bar(n, progress) as advance:
            while self.steps < last:
                most = min(last - self.steps, self.refresh - self.steps % self.refresh, 64 if progress else n)
                if record is not None:
                    most = min(most, record.every - self.steps % record.every)
                done = self._timed_steps(most, h, dt)
                if record is not None and self.steps % record.every == 0:
                    record.take(self)
                advance(done)

    def _timed_steps(self, most: int, h: float, dt: float) -> int:
        began = time.perf_counter()
        done = self._some_steps(most, h)
        self._last["seconds"] = (time.perf_counter() - began) / done
        self._check_finite()
        self.steps, self.time, self._solved = self.steps + done, self.time + done * dt, False
        if self.steps % self.refresh == 0:
            self._make_stale()
        return done

    def _some_steps(self, n: int, h: float) -> int:
        """Take at least one step and at most n; returns how many."""
        if self._is_plain and not (self.method == "auto" and self._goes_to_tree()):
            return self._plain_step(h)
        return self._exact_step(h) if self._is_exact else self._adaptive_steps(n, h)

    def _plain_step(self, h: float) -> int:
        if self._loops is None:
            self._plain.step(self._ready_plain(), h)
        else:
            self._solve_plainly()
            self._plain.move(h)
        self._switch.wait -= 1
        self._moved_everything(h)
        self._last = {"method": "aba", "joints": float(len(self.model.joints))}
        return 1

    def _goes_to_tree(self) -> bool:
        """Whether the switch goes over to the tree now."""
        switch = self._switch
        if self.error.eps == 0.0 or switch.wait > 0:
            return False
        loads = self._forces.loads()
        try:
            tree = self._assemble()
            tree.refuse_massless(loads)
        except ModelError:  # no tree for this linkage or these forces: plain steps are all there is
            switch.wait = NO_LIMIT if self._tree is None else 1
            return False
        switch.on_tree = switch.wants_tree(self._plain.seconds, tree.root_paths(loads.body[np.diff(loads.first) > 0]))
        if not switch.on_tree:
            switch.leave(self._plain.seconds, self._plain.seconds)
        return switch.on_tree

    def _moved_everything(self, h: float) -> None:
        self._clock[0] += h
        if self._tree is not None:
            self._tree.stale = True
            self._tree.state.last_move[:] = self._clock[0]
            self._tree.state.oldest[:] = self._clock[0]

    def _exact_step(self, h: float) -> int:
        tree = self._ready_tree()
        tree.solve_exactly()
        self._plain.move(h)
        self._moved_everything(h)
        method = "dca" if self.method == "dca" else "adaptive"
        self._last = {"method": method, "joints": float(len(self.model.joints)), "full": float(len(tree.plan.left))}
        return 1

    def _adaptive_steps(self, n: int, h: float) -> int:
        tree, switch = self._ready_tree(), self._switch
        n = 1 if self._loops is not None else min(n, CHUNK) if self._switches else n
        tree.front.count[[FULL_TIER, LINEAR_TIER, OPENED]] = 0
        began = time.perf_counter()
        budget = switch.budget(self._plain.seconds) if self._switches else NO_LIMIT
        left = tree.march(self.error, self._forces.loads(), n, budget)
        done, seconds, counts = n - left, time.perf_counter() - began, tree.front.count
        if self._loops is not None:
            self._loops.open = True
        if done:
            each = {"full": counts[FULL_TIER], "linear": counts[LINEAR_TIER], "joints": counts[OPENED]}
            self._last = {"method": "adaptive"} | {name: float(count) / done for name, count in each.items()}
        if self._switches and (
            left or not switch.took(seconds / done, int(counts[OPENED]) // done, self._plain.seconds)
        ):
            switch.leave(self._build_seconds, self._plain.seconds)
            if not done:
                self._shared.qdd[:] = 0.0
                return self._plain_step(h)
        return done

    # Checkpoints

    def checkpoint(self, path: str | Path) -> None:
        """Write all that is needed to go on exactly as if nothing had happened."""
        save(self, path)

    @classmethod
    def resume(cls, model: Model, path: str | Path) -> QuasiStatics:
        """Go on from a checkpoint of the same model; a damaged one, or one of another model, is refused."""
        sim: QuasiStatics = restore(cls, model, path)
        return sim
