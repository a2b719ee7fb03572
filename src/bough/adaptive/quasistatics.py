"""`QuasiStatics`: forces in, configurations out, at a chosen error (Redon & Lin 2005)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.loads import Applied, gather
from bough.adaptive.measures import ErrorMeasure, absolute_linkage
from bough.adaptive.nodes import make_shared
from bough.adaptive.passes import CERTIFICATE, DONE, FULL_TIER, LINEAR_TIER, OPENED, ROOT
from bough.adaptive.solver import MET, NO_LIMIT, PlainEngine, TreeEngine
from bough.adaptive.switch import CHUNK, Switch
from bough.errors import ModelError, NonFiniteError, NumericalError, ShapeError, UnknownNameError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]

METHODS = ("auto", "adaptive", "dca", "aba")
# Directions of a force: kept in the world, or turning with the body
FRAMES = {"world": True, "local": False, "body": False}
# eps is kept this many times above the square root of the noise of total accelerations
NOISE_MARGIN = 4.0


@dataclass(frozen=True)
class Stats:
    """What the last steps and the present solution cost, and how good they are."""

    method: str  # "adaptive", "dca" or "aba": how the last step was taken
    steps: int
    time: float  # simulated, s
    joints: float  # joint accelerations computed, by solution so far or average of the last call
    full_nodes: float  # nodes redone in full, per step of the last call
    linear_nodes: float  # nodes redone for forces only, per step of the last call
    bound: float  # error bound of the accelerations as refined so far, in the terms of the measure
    acceleration: float  # norm of all joint accelerations, weighted; NaN where it is not known
    certificate: float  # sum over steps of the joint motion that culling left out at most
    noise_floor: float  # smallest eps with a meaning; NaN before it is measured
    seconds: float  # per step of the last call
    memory: int  # bytes held


class QuasiStatics:
    """Quasi-statics of a linkage: at every step the joints move by qdd dt^2 / 2 from rest.

    `error` is an error measure; None or eps = 0 is exact. Methods: "adaptive" (bounded passes over an assembly tree), "dca"
    (the whole tree every step), "aba" (plain O(n)), "auto" (adaptive or aba, whichever is cheaper). `metric` weighs joints in
    the error: None, "lever" (bounds displacements in space), (nv,) weights or {joint: matrix}. With `catch_up`, joints that were left out
    later move by all the time they missed. The whole tree is redone every `refresh` steps.
    """

    def __init__(
        self,
        model: Model,
        error: ErrorMeasure | None = None,
        method: str = "auto",
        *,
        metric: Any = None,
        catch_up: bool = False,
        refresh: int = 10_000,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}; known: {', '.join(METHODS)}")
        if refresh < 1:
            raise ValueError(f"refresh must be at least 1 step, got {refresh}")
        self.model, self.method, self.refresh = model, method, refresh
        self.error = error if error is not None else absolute_linkage(0.0)
        self._metric = metric
        self._mechanism = model.mechanism
        self._shared = make_shared(model)
        self._clock = np.array([0.0, 1.0, float(catch_up)])
        self._applied: dict[int, Applied] = {}
        self._next_force = 0
        self._slot = np.full(len(model.mechanism.parent), -1, np.int32)
        self._loads = gather([], self._slot)
        self._dirty: list[int] = []
        self._plain = PlainEngine(model, self._shared)
        self._tree: TreeEngine | None = None
        self._switch = Switch()
        self._build_seconds = 0.0
        self._solved = False
        self._last: dict[str, Any] = {"method": "aba" if method == "aba" else "adaptive"}
        self.steps, self.time = 0, 0.0
        if method in ("adaptive", "dca") or metric is not None:
            self._assemble()

    # Input

    def apply_force(
        self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None = None, frame: str = "world"
    ) -> int:
        """Apply a force (3,), or force and moment (6,), to a body until it is changed; returns its number.

        `point` (3,) is fixed to the body, in its frame; without it the force acts at the frame's origin. With frame
        "world" it keeps its direction in space, with "body" it turns with the body.
        """
        number = self._next_force
        self._applied[number] = self._checked(body, force, point, frame)
        self._next_force += 1
        self._reload(self._applied[number].body)
        return number

    def change_force(self, number: int, force: npt.ArrayLike) -> None:
        """Give a force applied before another value, same body, point and frame."""
        if number not in self._applied:
            raise UnknownNameError(f"there is no force number {number}")
        old = self._applied[number]
        R = np.eye(3) if old.world else self._orientation[number]
        f, n = _wrench(force)
        self._applied[number] = old._replace(force=R @ f, moment=R @ n)
        self._reload(old.body)

    def remove_force(self, number: int) -> None:
        """Take a force away."""
        if number not in self._applied:
            raise UnknownNameError(f"there is no force number {number}")
        self._reload(self._applied.pop(number).body)

    def clear_forces(self) -> None:
        """Take all forces away."""
        for number in list(self._applied):
            self.remove_force(number)

    def _checked(self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None, frame: str) -> Applied:
        if frame not in FRAMES:
            raise ValueError(f"there is no frame {frame!r} for a force; known: {', '.join(FRAMES)}")
        number, R, p = self._body(body)
        if number < 0:
            raise UnknownNameError("a force on the world moves nothing: expected a moving body")
        f, n = _wrench(force)
        at = np.zeros(3) if point is None else _vector(point, 3, "point")
        if not FRAMES[frame]:
            self._orientation[self._next_force] = R
            f, n = R @ f, R @ n
        return Applied(number, f, n, p + R @ at, FRAMES[frame])

    @property
    def _orientation(self) -> dict[int, FloatArray]:
        return self.__dict__.setdefault("_turned", {})

    def _body(self, body: str | int) -> tuple[int, FloatArray, FloatArray]:
        """Number of the primitive that carries a body or frame, and the placement of its frame there."""
        if not isinstance(body, str):
            names = self.model.body_names
            if not 0 <= int(body) < len(names):
                raise UnknownNameError(f"there is no body {body}: expected a name or 0 to {len(names) - 1}")
            body = names[int(body)]
        frames, k = self.model.frames, self.model.frame(body)
        return int(frames.body[k]), frames.R[k], frames.p[k]

    def _reload(self, body: int) -> None:
        self._loads = None  # gathered when next needed: thousands of forces may be applied one by one
        self._shared.force[body] = 0.0
        self._dirty.append(body)
        self._solved = False

    def set_torque(self, joint: str | None, value: npt.ArrayLike) -> None:
        """Set the torque of one joint (d,), or with None those of all (nv,)."""
        v = slice(0, self.model.nv) if joint is None else self.model.joint(joint).v
        given = _vector(value, v.stop - v.start, "torque")
        m = self.model.mechanism
        dofs = np.flatnonzero((m.v_index >= v.start) & (m.v_index < v.stop)) if joint is not None else np.arange(len(m.axis))
        new = given[m.v_index[dofs] - v.start]
        changed = dofs[self._shared.tau[dofs] != new]
        self._shared.tau[dofs] = new
        bodies = np.searchsorted(m.dof, changed, side="right") - 1
        self._dirty.extend((~bodies).tolist())
        self._solved = False

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,) in m/s^2, the model's until another is assigned."""
        return np.array(self._mechanism.gravity)

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        g = _vector(value, 3, "gravity")
        g.flags.writeable = False
        self._mechanism = self._mechanism._replace(gravity=g)
        self._plain.mechanism = self._mechanism
        if self._tree is not None:
            self._tree.mechanism = self._mechanism
        self._forget_tree()

    # State

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy; assigning moves the linkage there."""
        return self._shared.q.copy()

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        self._shared.q[:] = _vector(q, self.model.nq, "configuration")
        self._forget_tree()

    def _forget_tree(self) -> None:
        if self._tree is not None:
            self._tree.stale = True
        self._solved = False

    def accelerations(self) -> FloatArray:
        """Joint accelerations (nv,) here and now, within the error; zero where a joint was left out."""
        self._solve()
        return self._shared.qdd.copy()

    def positions(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """Origins of bodies or frames in the world (k, 3); all of `body_names` without an argument.

        O(log n) each on a tree that is up to date, O(n) for all.
        """
        wanted = self.model.body_names if bodies is None else list(bodies)
        found = [self._body(b) for b in wanted]
        numbers = np.array([number for number, _, _ in found], np.int64)
        p = np.array([p for _, _, p in found]).reshape(-1, 3)
        poses = self._poses(np.maximum(numbers, 0))
        at = poses[:, 9:] + np.einsum("nij,nj->ni", poses[:, :9].reshape(-1, 3, 3), p)
        return np.where((numbers >= 0)[:, None], at, p)

    def _poses(self, numbers: npt.NDArray[np.int64]) -> FloatArray:
        tree = self._tree
        if tree is not None and not tree.stale and len(numbers) < 1 + len(self._slot) // 32 and tree.link.simple.all():
            return tree.poses(numbers)
        return self._plain.poses()[numbers]

    @property
    def stats(self) -> Stats:
        """Costs and quality; see `Stats`."""
        tree, last = self._tree, self._last
        plain = last["method"] == "aba"
        joints = last.get("joints", math.nan)
        bound, norm, certificate, floor = 0.0, math.nan, 0.0, math.nan
        if tree is not None:
            certificate, floor = float(tree.front.value[CERTIFICATE]), NOISE_MARGIN * math.sqrt(tree.noise)
            if not plain and not tree.stale:
                bound = 0.0 if self._is_exact else tree.bound(self.error, of_last_step=not self._solved)
                norm = math.sqrt(float(tree.front.value[ROOT]))
                joints = last.get("joints", float(tree.front.count[DONE]))
        memory = self._plain.nbytes + sum(a.nbytes for a in self._shared) + (tree.nbytes if tree else 0)
        return Stats(
            last["method"], self.steps, self.time, joints, last.get("full", 0.0), last.get("linear", 0.0), bound, norm,
            certificate, floor, last.get("seconds", math.nan), memory,
        )  # fmt: skip

    # Solving

    @property
    def _is_exact(self) -> bool:
        return self.error.eps == 0.0 or self.method in ("dca", "aba")

    def _assemble(self) -> TreeEngine:
        if self._tree is None:
            self._tree = TreeEngine(self.model, self._metric, self._shared, self._clock)
            self._tree.mechanism = self._mechanism
        return self._tree

    def _gathered(self) -> Any:
        if self._loads is None:
            self._loads = gather(list(self._applied.values()), self._slot)
        return self._loads

    def _ready_tree(self) -> TreeEngine:
        """The tree, up to date with q, forces and torques."""
        tree, loads = self._assemble(), self._gathered()
        if tree.stale:
            began = time.perf_counter()
            tree.rebuild(loads)
            self._build_seconds = time.perf_counter() - began
            if not self._is_exact and math.isnan(tree.noise):
                self._clamp_eps(tree)
        elif self._dirty:
            host = tree.link.host
            leaves = [int(tree.plan.leaf_up[host[b]]) for b in self._dirty if b >= 0]
            joints = [int(tree.plan.node_of[host[~b]]) for b in self._dirty if b < 0]
            tree.changed(loads, np.array(leaves + joints, np.int64))
        self._dirty.clear()
        return tree

    def _clamp_eps(self, tree: TreeEngine) -> None:
        """An eps below the noise of total accelerations would be an empty promise."""
        tree.measure_noise()
        floor = NOISE_MARGIN * math.sqrt(tree.noise)
        if self.error.is_relative and self.error.eps < floor:
            warnings.warn(
                f"{self.error.name}: eps = {self.error.eps:g} is below the noise floor of this linkage, {floor:.1e}, "
                f"which is used instead; eps = 0 is exact",
                stacklevel=4,
            )
            self.error = self.error.clamped(floor)

    def _ready_plain(self) -> Any:
        loads = self._gathered()
        self._plain.load(loads)
        if self._dirty and self._tree is not None:
            self._tree.stale = True
        self._dirty.clear()
        return loads

    def _solve(self) -> None:
        if self._solved:
            return
        if self.method == "aba" or (self.method == "auto" and not self._switch.on_tree):
            self._plain.solve(self._ready_plain())
            self._last["method"], self._last["joints"] = "aba", float(len(self.model.joints))
        else:
            tree = self._ready_tree()
            self._last.pop("joints", None)
            if self._is_exact:
                tree.solve_exactly()
            else:
                tree.refine(self.error.rule, self.error.eps**2, NO_LIMIT)
            self._last["method"] = "dca" if self.method == "dca" else "adaptive"
        self._check_finite()
        self._solved = True

    def _check_finite(self) -> None:
        if not np.isfinite(self._shared.qdd).all():
            raise NumericalError("the joint accelerations are not finite: the linkage is singular or the forces are too large")

    def refine(self, budget: int | None = None, microseconds: float | None = None) -> float:
        """Open more clusters, `budget` of them or for some time, and return the error bound reached; without both, all.

        Continues where the last solution stopped. Needs method "adaptive" (or "auto" while it is adaptive).
        """
        if self.method not in ("adaptive", "auto"):
            raise ValueError(f'refine continues an adaptive solution, but the method is {self.method!r}')
        tree = self._ready_tree()
        self._switch.on_tree = True
        self._solved = True
        self._last = {"method": "adaptive"}
        if microseconds is not None:
            end = time.perf_counter() + 1e-6 * microseconds
            while time.perf_counter() < end and tree.refine(0, -1.0, 8) != MET:
                pass
        else:
            tree.refine(0, -1.0, NO_LIMIT if budget is None else int(budget))
        return tree.bound(self.error)

    # Stepping

    def step(self, dt: float) -> None:
        """One time step: joints move by qdd dt^2 / 2."""
        self.run(1, dt)

    def run(self, n: int, dt: float, progress: bool = False) -> None:
        """n time steps."""
        if not (math.isfinite(dt) and dt > 0.0):
            raise ValueError(f"dt must be a positive number of seconds, got {dt!r}")
        if n < 0:
            raise ValueError(f"the number of steps must not be negative, got {n}")
        h, left = 0.5 * dt * dt, n
        if self._clock[1] != h:
            self._clock[1] = h
        with _bar(n, progress) as advance:
            while left > 0:
                began = time.perf_counter()
                done = min(left, self.refresh - self.steps % self.refresh)
                done = self._some_steps(done if not progress else min(done, 50), h)
                self._last["seconds"] = (time.perf_counter() - began) / done
                self.steps += done
                self.time += done * dt
                self._solved = False
                if self.steps % self.refresh == 0:
                    self._forget_tree()
                left -= done
                advance(done)
        self._check_finite_q()

    def _check_finite_q(self) -> None:
        if not np.isfinite(self._shared.q).all():
            raise NumericalError("the configuration is no longer finite: the step or the forces are too large")

    def _some_steps(self, n: int, h: float) -> int:
        """Take at least one step and at most n; returns how many."""
        if self.method == "aba" or (self.method == "auto" and (self._is_exact or not self._switch.on_tree)):
            return self._plain_step(h)
        if self._is_exact:
            return self._exact_step(h)
        return self._adaptive_steps(n, h)

    def _plain_step(self, h: float) -> int:
        if self.method == "auto" and not self._is_exact and self._tries_tree():
            return self._adaptive_steps(1, h)
        self._plain.step(self._ready_plain(), h)
        self._switch.wait -= 1
        self._moved_everything(h)
        self._last = {"method": "aba", "joints": float(len(self.model.joints))}
        return 1

    def _tries_tree(self) -> bool:
        """Whether the switch goes over to the tree now."""
        if self._switch.wait > 0:
            return False
        try:
            tree = self._assemble()
        except ModelError:  # no tree for this linkage: plain steps are all there is
            self._switch.wait = NO_LIMIT
            return False
        loads = self._gathered()
        turning = loads.body[np.diff(loads.first) > 0]
        self._switch.on_tree = self._switch.wants_tree(self._plain.seconds, tree.root_paths(turning))
        if not self._switch.on_tree:
            self._switch.leave(0.1 * self._plain.seconds, self._plain.seconds)
        return self._switch.on_tree

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
        nodes = float(len(tree.plan.left))
        self._last = {"method": method, "joints": float(len(self.model.joints)), "full": nodes}
        return 1

    def _adaptive_steps(self, n: int, h: float) -> int:
        tree, switch = self._ready_tree(), self._switch
        auto = self.method == "auto" and self._clock[2] == 0.0
        n = min(n, CHUNK) if auto else n
        counts = tree.front.count
        counts[FULL_TIER], counts[LINEAR_TIER], counts[OPENED] = 0, 0, 0
        began = time.perf_counter()
        left = tree.march(self.error, self._loads, n, switch.budget(self._plain.seconds) if auto else NO_LIMIT)
        counts = tree.front.count
        done = n - left
        seconds = time.perf_counter() - began
        if done:
            each = {"full": counts[FULL_TIER], "linear": counts[LINEAR_TIER], "joints": counts[OPENED]}
            self._last = {"method": "adaptive"} | {name: float(count) / done for name, count in each.items()}
        if auto and (left or not switch.took(seconds / done, int(counts[OPENED]) // done, self._plain.seconds)):
            switch.leave(self._build_seconds, self._plain.seconds)
            if not done:
                return self._plain_step(h)
        return done


def _vector(value: npt.ArrayLike, size: int, what: str) -> FloatArray:
    try:
        a = np.asarray(value, float).reshape(-1) if np.ndim(value) == 0 and size == 1 else np.asarray(value, float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what}: expected {size} numbers, got {value!r}") from None
    if a.shape != (size,):
        raise ShapeError(f"{what}: expected shape ({size},), got {a.shape}")
    if not np.isfinite(a).all():
        raise NonFiniteError(f"{what}: must be finite, got {a[~np.isfinite(a)][0]} at {int(np.argmin(np.isfinite(a)))}")
    return a


def _wrench(force: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """(force, moment) from (3,) or [linear, angular] (6,)."""
    a = _vector(force, 6 if np.shape(force) == (6,) else 3, "force")
    return a[:3], a[3:] if len(a) == 6 else np.zeros(3)


class _bar:
    """A progress bar, or nothing."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown = total, shown

    def __enter__(self) -> Any:
        if not self.shown:
            return lambda done: None
        from rich.progress import Progress

        self.progress = Progress()
        self.progress.start()
        task = self.progress.add_task("quasi-statics", total=self.total)
        return lambda done: self.progress.advance(task, done)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self.progress.stop()

