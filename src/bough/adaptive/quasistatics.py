"""`QuasiStatics`: forces in, configurations out, at a chosen error (Redon & Lin 2005)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure, with_those_of
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.rest_solver import RestSolver, Selection, refine
from bough.adaptive.rest_stepper import RestStepper
from bough.adaptive.restraints import Restraints
from bough.adaptive.simulation import Simulation, exclusive
from bough.adaptive.stats import Recorder, Stats
from bough.adaptive.tree.bounded_pass import CERTIFICATE, JOINTS, ROOT
from bough.arguments import explained
from bough.errors import SettingError, ShapeError
from bough.model import Model
from bough.types import FloatArray, IntArray

# How good the present solution is, or the last step was: bounds, norms and costs as `Stats`.


def bound(solver: RestSolver, of_last_step: bool) -> float:
    """Error bound of the present solution or the last step, in the measure's terms."""
    if solver.region is not None:
        return solver.region.bound() if solver.error.over == "energy" else math.nan
    return solver.assemble().bound(solver.error, of_last_step)


def norm(solver: RestSolver) -> float:
    """Norm of all joint accelerations, weighted; by energy, in the mass metric."""
    if solver.region is not None and solver.error.over == "energy":
        return math.sqrt(solver.region.full) if solver.region.full >= 0.0 else math.nan
    if solver.region is not None and not solver.is_exact:
        return math.sqrt(solver.region.root)
    return math.sqrt(float(solver.assemble().queue.value[ROOT]))


def power(solver: RestSolver) -> float:
    """qdd' M qdd of the last solution, where it is one of a linkage."""
    if solver.cost.method == "aba":
        qdd = solver.inputs.shared.qdd
        return solver.engine.product(qdd, qdd) if solver.engine.has_stops else solver.engine.power()
    return math.nan if solver.region is None or solver.is_exact else solver.region.last_power()


def stats(stepper: RestStepper) -> Stats:
    """Costs and quality; see `Stats`."""
    solver = stepper.solver
    tree, cost = solver.tree, solver.cost
    joints, left, size, certificate, floor = cost.joints, 0.0, math.nan, 0.0, math.nan
    if tree is not None:
        certificate, floor = float(tree.queue.value[CERTIFICATE]), tree.noise.floor(solver.error)
        if cost.method != "aba" and not solver.changes.everything:
            size = norm(solver)
            last = solver.changes.solution
            left = tree.exact_bound(solver.error) if solver.is_exact else bound(solver, last)
            joints = float(tree.queue.count[JOINTS]) if math.isnan(joints) else joints
    memory = solver.engine.nbytes + (tree.nbytes if tree else sum(a.nbytes for a in solver.inputs.shared))
    active = 0 if math.isnan(joints) else round(joints)
    return Stats(
        cost.method, stepper.steps, stepper.time, joints, cost.full, cost.linear, left, size, certificate, floor,
        solver.seconds, memory, float(solver.clock.time[0]), stepper.cuts, solver.opening(), active, power(solver),
        joints / len(solver.inputs.model.joints),
    )  # fmt: skip


MAX_TURN = 0.2  # rad


def step_size(dt: float | None, h: float | None) -> tuple[float, float]:
    """(dt, h) from one of them."""
    if (dt is None) == (h is None):
        raise SettingError(f"a step is given by dt or by h, one of them, got dt = {dt!r} and h = {h!r}")
    name, value = ("dt", dt) if h is None else ("h", h)
    if value is None or not (math.isfinite(value) and value > 0.0):
        raise SettingError(f"{name} must be a positive number of {'seconds' if h is None else 's^2'}, got {value!r}")
    dt, h = (value, 0.5 * value * value) if h is None else (math.sqrt(2.0 * value), value)
    if h == 0.0 or not math.isfinite(h):
        raise SettingError(f"{name} = {value!r} gives a step of pseudo-time {h}: expected a positive number")
    return dt, h


@explained
class QuasiStatics(Simulation):
    """Quasi-statics of a linkage: at every step the joints move by h qdd from rest, h = dt^2 / 2.

    `error` is an error measure, a number that of `energy`; None or 0 is exact. Methods: "adaptive" (bounded passes
    over a tree), "dca" (the whole tree every step), "aba" (O(n)), "auto" (whichever of these two is cheaper).
    "adaptive", too, takes full steps where an error in energy leaves most joints open. `metric` weighs joints in the
    error: None, "lever" (for displacements in space), (nv,) weights or {joint: matrix}. `assembly` is the shape of the
    tree: "balanced", "chain_first", `near(bodies)`, or nested pairs of bodies. With `catch_up`, inactive joints later
    move for all the time they missed; with method "adaptive" it is on where `culled` is "zero". `closures` close loops,
    beside those of the model. `without` leaves out effects of the model's joints: "damping", "springs", "friction",
    "limits", "closures". A step in which a joint would turn by more than `max_turn` (rad) is cut into parts. The
    tree is redone every `refresh` steps. Joints stay where dry friction holds them, and within their limits; while one
    of them may be held so, all joints are computed, by full steps.

    With `culled` "rigid", the default of `energy` and `displacement`, inactive joints are locked: the others are solved
    exactly with them as rigid bodies, on a tree of its own, whose joints are chosen anew after `every` steps, with None
    10 to 100; each step goes downhill. With "zero", the default of the paper's four measures, whose bound it has, their
    accelerations are put to zero afterwards. A measure of the paper with "rigid" has no bound: `stats.bound` is NaN.
    """

    _title = "quasi-statics"

    def __init__(
        self,
        model: Model,
        error: ErrorMeasure | float | None = None,
        method: str = "auto",
        *,
        metric: str | Mapping[str, npt.ArrayLike] | npt.ArrayLike | None = None,
        catch_up: bool | None = None,
        closures: Sequence[Closure] = (),
        max_turn: float = MAX_TURN,
        refresh: int = 10_000,
        culled: str | None = None,
        every: int | None = None,
        assembly: Any = "balanced",
        without: Iterable[str] = (),
    ) -> None:
        super().__init__(model, without)
        selection = Selection(culled, every, catch_up)
        self.solver: RestSolver = RestSolver(self.inputs, error, method, metric, assembly, selection)
        self.selector = self.solver.selector
        self.stepper: RestStepper = RestStepper(self.solver, max_turn, refresh)
        self.solver.prepare(with_those_of(self.inputs.model, closures))

    # What follows

    @exclusive
    def body_accelerations(self, bodies: Iterable[str | int] | None = None) -> FloatArray:
        """[linear, angular] (k, 6) of bodies or frames at their origins, in the world's axes, under the forces now.

        Exact, whatever the error allowed. O(log n) each on the tree, else O(n) for all.
        """
        return self._accelerations(self._frames(bodies), None)

    def _accelerations(self, ks: IntArray, points: FloatArray | None) -> FloatArray:
        """[linear, angular] (k, 6) of frames, or points (k, 3) of them."""
        frames = self.inputs.model.frames
        found = self.solver.respond(np.maximum(frames.body[ks], 0))  # relative to free fall
        arm = frames.p[ks] if points is None else frames.p[ks] + np.einsum("nij,nj->ni", frames.R[ks], points)
        out = self._in_world(ks, found, arm)
        out[frames.body[ks] >= 0, :3] += self.inputs.gravity
        return out

    @exclusive
    def velocities(self, bodies: Iterable[str | int], points: npt.ArrayLike | None = None) -> FloatArray:
        """How far points (k, 3) of bodies or frames move for each unit of pseudo-time, (k, 3) in the world's axes.

        Exact, whatever the error allowed. O(log n) each on the tree, else O(n) for all.
        """
        ks, at = self._frames(bodies), None if points is None else np.array(points, float)
        if at is not None and at.shape != (len(ks), 3):
            raise ShapeError(f"points: expected shape ({len(ks)}, 3), one for each body, got {at.shape}")
        return self._accelerations(ks, at)[:, :3]

    def moved(self, since: int, pairs: Iterable[Iterable[str | int]] | None = None) -> npt.NDArray[np.bool_]:
        """Which of `body_names` have another pose in the world than after step `since`; or which of these pairs of
        bodies have another pose relative to each other, so that forces between the others are as they were.

        O(n). A full step, and a new configuration, count as moving everything.
        """
        if not (isinstance(since, Integral) and 0 <= since <= self.steps):
            raise SettingError(f"moved: since is a step that was taken, 0 to {self.steps}, got {since!r}")
        group = self.solver.groups(np.asarray(self.inputs.model.frames.body), since)
        if pairs is None:
            return np.asarray(group[self._frames(None)] != -1)
        ks = np.array([self.inputs.forces.frames(pair) for pair in pairs], np.int64).reshape(-1, 2)
        return np.asarray(group[ks[:, 0]] != group[ks[:, 1]])

    @exclusive
    def refine(self, budget: int | None = None, microseconds: float | None = None) -> float:
        """Open more clusters, `budget` of them or for some time, and return the error bound reached; without both, all.

        Continues where the last solution stopped. For methods "adaptive" and "auto".
        """
        return refine(self.solver, budget, microseconds)

    @property
    def pseudo_time(self) -> float:
        """Sum of h = dt^2 / 2 over all steps, s^2: what converges as steps get smaller."""
        return float(self.solver.clock.time[0])

    @property
    def stats(self) -> Stats:
        """Costs and quality; see `Stats`."""
        return stats(self.stepper)

    # Stepping

    def step(self, dt: float | None = None, *, h: float | None = None) -> None:
        """One step: joints move by h qdd, h = dt^2 / 2. Give dt (s) or h (s^2)."""
        self._settle(1, dt, h)

    def run(
        self,
        n: int,
        dt: float | None = None,
        progress: bool = False,
        record: Recorder | None = None,
        *,
        h: float | None = None,
        load: Callable[[QuasiStatics], float | None] | None = None,
    ) -> None:
        """n steps of dt (s), or of pseudo-time h = dt^2 / 2 (s^2); `record` takes a sample every few of them.

        A step is cut in two where forces at its end brake the motion by more than they drove it.
        `load` is called with this simulation before every step, to set forces. Where they turn round from step to step
        and grow, steps are too long: each is cut into parts, with forces set before every part, until they do not. If
        it returns a number, the energy of all forces but potentials, a step that raises it is taken back and cut.
        When a step fails, all is as it was after the step before.
        """
        self._settle(n, dt, h, progress, record, load)

    def _settle(
        self,
        n: int,
        dt: float | None,
        h: float | None,
        progress: bool = False,
        record: Recorder | None = None,
        load: Callable[[QuasiStatics], float | None] | None = None,
    ) -> None:
        dt, h = step_size(dt, h)
        springs = load if isinstance(load, Restraints) and self.stepper.follows else None
        self.stepper.begin(springs, load is not None and springs is None, keeps_region=load is not None)
        if springs is not None:
            springs(self)
        self._run(n, h, dt, progress, record, load if springs is None else None)
