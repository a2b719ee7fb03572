"""`QuasiStatics`: forces in, configurations out, at a chosen error (Redon & Lin 2005)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.checkpoint import restore, save
from bough.adaptive.closure import Closure, Closures
from bough.adaptive.front import CERTIFICATE, FULL_TIER, JOINTS, LINEAR_TIER, MET, OPENED, ROOT
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, absolute_linkage
from bough.adaptive.progress import bar
from bough.adaptive.recording import Recording
from bough.adaptive.solver import NO_LIMIT, TreeEngine
from bough.adaptive.stats import Stats
from bough.adaptive.switch import CHUNK, Switch
from bough.errors import ModelError, NumericalError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]

METHODS = ("auto", "adaptive", "dca", "aba")


class QuasiStatics(Inputs):
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
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}; known: {', '.join(METHODS)}")
        if refresh < 1:
            raise ValueError(f"refresh must be at least 1 step, got {refresh}")
        if closures and method == "aba":
            raise ValueError('method "aba" cannot close loops: expected "adaptive", "dca" or "auto"')
        super().__init__(model)
        self.method, self.refresh = method, refresh
        self.error = error if error is not None else absolute_linkage(0.0)
        self.steps, self.time = 0, 0.0
        self._metric, self._switch = metric, Switch()
        self._clock = np.array([0.0, 1.0, float(catch_up)])  # sum of h, h = dt^2 / 2, whether to catch up
        self._loops: Closures | None = None
        self._build_seconds = 0.0
        self._switches = method == "auto" and not catch_up and not closures
        self._last: dict[str, Any] = {"method": "aba" if method == "aba" or self._switches else "adaptive"}
        if (not self._switches and method != "aba") or metric is not None:
            self._assemble()
        if closures:
            self._loops = Closures(self._assemble(), tuple(closures))
            self._forces.always = tuple(self._loops.bodies.tolist())

    # Output

    def accelerations(self) -> FloatArray:
        """Joint accelerations (nv,) here and now, within the error; zero where a joint was left out."""
        self._solve()
        return self._shared.qdd.copy()

    def positions(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """Origins of bodies or frames in the world (k, 3); all of `body_names` without an argument.

        O(log n) each on a tree that is up to date, else O(n) for all.
        """
        frames, wanted = self.model.frames, self.model.body_names if bodies is None else bodies
        ks = np.array([self._forces.frame(b) for b in wanted], np.int64)
        numbers, p = frames.body[ks], frames.p[ks]
        poses = self._poses(np.maximum(numbers, 0))
        at = poses[:, 9:] + np.einsum("nij,nj->ni", poses[:, :9].reshape(-1, 3, 3), p)
        return np.where((numbers >= 0)[:, None], at, p)

    def _poses(self, numbers: npt.NDArray[np.int64]) -> FloatArray:
        tree = self._tree
        if tree is not None and not tree.stale and 32 * len(numbers) < 64 + len(self._shared.force):
            return tree.poses(numbers)
        return self._plain.poses()[numbers]

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

    # Solving

    @property
    def _is_exact(self) -> bool:
        return self.error.eps == 0.0 or self.method in ("dca", "aba")

    @property
    def _is_plain(self) -> bool:
        return self.method == "aba" or (self._switches and (self.error.eps == 0.0 or not self._switch.on_tree))

    def _assemble(self) -> TreeEngine:
        if self._tree is None:
            self._tree = TreeEngine(self.model, self._metric, self._shared, self._clock)
            self._tree.mechanism = self._mechanism
        return self._tree

    def _ready_tree(self) -> TreeEngine:
        """The tree, up to date with q, forces, torques and closures."""
        tree, loads = self._assemble(), self._forces.loads()
        touched = len(self._dirty_bodies) + len(self._dirty_joints)
        if tree.stale or touched > len(self._shared.force) // 8:
            began = time.perf_counter()
            tree.rebuild(loads)
            self._build_seconds = time.perf_counter() - began
            if not self._is_exact and not tree.noise.is_known:
                self._clamp_eps(tree)
        elif touched:
            leaves = tree.plan.leaf_up[tree.link.host[self._dirty_bodies]]
            joints = tree.plan.node_of[tree.link.host[self._dirty_joints]]
            tree.changed(loads, np.concatenate([leaves, joints]).astype(np.int64))
        elif self._loops is None or not self._loops.open:
            return tree
        self._forget_changes()
        if self._loops is not None:
            self._loops.hold()
        return tree

    def _clamp_eps(self, tree: TreeEngine) -> None:
        """An eps below the noise of total accelerations would be an empty promise."""
        floor = tree.measure_noise().floor(self.error)
        if self.error.eps < floor:
            warnings.warn(
                f"{self.error.name}: eps = {self.error.eps:g} is below the noise floor of this linkage, {floor:.1e}, "
                f"which is used instead; eps = 0 is exact",
                stacklevel=4,
            )
            self.error = self.error.clamped(floor)

    def _ready_plain(self) -> Any:
        loads = self._forces.loads()
        self._plain.load(loads)
        if self._tree is not None and (self._dirty_bodies or self._dirty_joints):
            self._tree.stale = True
        self._forget_changes()
        return loads

    def _solve(self) -> None:
        if self._solved:
            return
        self._last.pop("joints", None)
        if self._is_plain:
            self._plain.solve(self._ready_plain())
            self._last |= {"method": "aba", "joints": float(len(self.model.joints))}
        else:
            tree = self._ready_tree()
            if self._is_exact:
                tree.solve_exactly()
                self._last["joints"] = float(len(self.model.joints))
            else:
                tree.refine(self.error.rule, self.error.eps**2, NO_LIMIT)
            self._last["method"] = "dca" if self.method == "dca" else "adaptive"
        self._check_finite()
        self._solved = True

    def _check_finite(self) -> None:
        tree = self._tree
        known = tree is not None and not tree.stale and not self._is_exact
        value = float(tree.front.value[ROOT]) if known and tree else float(np.abs(self._shared.qdd).sum())
        if not math.isfinite(value):
            raise NumericalError(
                "the joint accelerations are not finite: the linkage is singular or the forces are too large"
            )

    def refine(self, budget: int | None = None, microseconds: float | None = None) -> float:
        """Open more clusters, `budget` of them or for some time, and return the error bound reached; without both, all.

        Continues where the last solution stopped. For methods "adaptive" and "auto".
        """
        if self.method not in ("adaptive", "auto"):
            raise ValueError(f"refine continues an adaptive solution, but the method is {self.method!r}")
        if self._solved and self._is_plain:
            self._shared.qdd[:] = 0.0
        self._switch.on_tree = True
        tree = self._ready_tree()
        self._solved, self._last = True, {"method": "adaptive"}
        if microseconds is None:
            tree.refine(0, -1.0, NO_LIMIT if budget is None else int(budget))
        else:
            end = time.perf_counter() + 1e-6 * microseconds
            while time.perf_counter() < end and tree.refine(0, -1.0, 8) != MET:
                pass
        return tree.bound(self.error)

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
        self._plain.step(self._ready_plain(), h)
        self._switch.wait -= 1
        self._moved_everything(h)
        self._last = {"method": "aba", "joints": float(len(self.model.joints))}
        return 1

    def _goes_to_tree(self) -> bool:
        """Whether the switch goes over to the tree now."""
        switch = self._switch
        if self.error.eps == 0.0 or switch.wait > 0:
            return False
        try:
            tree = self._assemble()
        except ModelError:  # no tree for this linkage: plain steps are all there is
            switch.wait = NO_LIMIT
            return False
        loads = self._forces.loads()
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
