"""What a simulation knows here and now: joint accelerations within the error, and where bodies are."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure, Closures
from bough.adaptive.engines import NO_LIMIT, Switch, TreeEngine
from bough.adaptive.inputs import Inputs
from bough.adaptive.measures import ErrorMeasure, absolute_linkage
from bough.adaptive.passes import MET, ROOT, Loads
from bough.errors import NumericalError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]

METHODS = ("auto", "adaptive", "dca", "aba")


class Solution(Inputs):
    """The present solution for the present inputs, found when it is asked for; options as in `QuasiStatics`."""

    def __init__(
        self,
        model: Model,
        error: ErrorMeasure | None,
        method: str,
        *,
        metric: Any,
        catch_up: bool,
        closures: Sequence[Closure],
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}; known: {', '.join(METHODS)}")
        super().__init__(model)
        self.method = method
        self.error = error if error is not None else absolute_linkage(0.0)
        self._metric, self._switch = metric, Switch()
        self._clock = np.array([0.0, 1.0, float(catch_up)])  # sum of h, h = dt^2 / 2, whether to catch up
        self._loops: Closures | None = None
        self._build_seconds = 0.0
        self._switches = method == "auto" and not catch_up and not closures
        self._last: dict[str, Any] = {"method": "aba" if method == "aba" or self._switches else "adaptive"}
        if (not self._switches and method != "aba") or metric is not None:
            self._assemble()
        if closures:
            self._loops = Closures(model, tuple(closures))
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
        tree, few = self._tree, 32 * len(numbers) < 64 + len(self._shared.force)
        if tree is not None and not tree.stale and few and tree.has_bodies(numbers):
            return tree.poses(numbers)
        return self._plain.poses(numbers)

    def opening(self) -> float:
        """How far the loops are open now: the largest component, m or rad; 0 without closures."""
        return 0.0 if self._loops is None else self._loops.opening(self._poses(self._loops.bodies))

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
        tree.refuse_massless(loads)
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
            self._loops.hold(tree, float(self._clock[1]))
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

    def _ready_plain(self) -> Loads:
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
            self._solve_plainly()
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

    def _solve_plainly(self) -> None:
        self._plain.solve(self._ready_plain())
        if self._loops is not None:
            self._loops.hold(self._plain, float(self._clock[1]))

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
