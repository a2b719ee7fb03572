"""L-BFGS on the manifold of configurations (Liu & Nocedal 1989), preconditioned by the mass metric.

For energies of which only values and gradients are known. The initial matrix of each iteration is gamma (H + R): H the
mass matrix there, R a rotor at every joint as large as the whole linkage's moment of inertia. H alone would hold back
the joints that carry much, which have the most to gain. A trial step that does not satisfy the Wolfe conditions, or
near rounding their approximate form (Hager & Zhang 2005), is shortened by cubic interpolation.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.engines.newton import newton_solve, newton_work
from bough.adaptive.engines.sweeps import world_poses
from bough.compile.run.direct import compiled
from bough.errors import ModelError, NonFiniteError, SettingError, ShapeError
from bough.model import Model
from bough.types import FloatArray

MAX_TURN = 0.3  # rad by which a joint may turn in one iteration
FIRST = 0.2  # the share of it in the first iteration, when no curvature is known
MEMORY = 100  # steps from which curvature is known: energies cost more than they do
PATIENCE = 30  # iterations without a lower energy
DECREASE = 1e-4  # of the predicted one, that a step must reach
FLAT = 1e-3  # of the slope: less curvature than that along a step is replaced
ROUNDING = 1e-6  # of the energy: force fields compute in single precision
TRIALS = 20  # along one direction
# Why a search ends
SMALL_FORCE, SMALL_MOTION = "forces are small enough", "joints move little enough"
STUCK = "the energy does not fall along its gradient: it is rounded too coarsely, or the gradient is not its own"

# E(q) and its gradient (nv,) along the tangent vector that `Model.integrate` takes: the generalized forces, negated
Energy = Callable[[FloatArray], tuple[float, npt.ArrayLike]]


@dataclass(frozen=True)
class Result:
    """An equilibrium, or how far a search for one came."""

    converged: bool
    reason: str  # why the search ended, a sentence
    q: FloatArray  # (nq,)
    energy: float  # NaN where loads have no potential that is known
    force: float  # the largest generalized force left, N or N m
    motion: float  # how far a joint would move at most in a whole step, rad or m
    iterations: int
    calls: int  # evaluations of the energy
    opening: float  # of loops, m or rad
    seconds: float
    direction: FloatArray | None = None  # (nv,) along which the energy falls from a saddle


class MassMetric:
    """(H + R)^-1 in O(n) at any configuration of a model."""

    def __init__(self, model: Model, q: FloatArray) -> None:
        if model.couplings:
            name = model.couplings[0].follower
            raise ModelError(f"joint {name!r} mimics another: the mass metric has no coupled joints")
        self.m, self.work = model.mechanism, newton_work(model.mechanism)
        m, w = self.m, self.work
        compiled(world_poses)(m, q, w.sweep.X, w.pose)
        w.metric[:] = m.inertia
        mass, h, P = m.inertia[:, 9], m.inertia[:, 6:9], w.pose[:, 9:]
        R = w.pose[:, :9].reshape(-1, 3, 3)
        moment = mass[:, None] * P + np.einsum("nij,nj->ni", R, h)  # about the world's origin
        total = max(float(mass.sum()), 1e-300)
        far = P - moment.sum(axis=0) / total
        radius = math.sqrt(float((mass * (far * far).sum(axis=1)).sum()) / total)
        w.rotor[:] = m.armature + total * np.where(m.axis <= 2, radius**2, 1.0)
        self.size = np.empty(len(m.axis))  # of joint motions, in rad or in shares of the length
        self.size[m.v_index] = np.where(m.axis <= 2, 1.0, 1.0 / (radius or 1.0))
        self.place(q)

    def place(self, q: FloatArray) -> None:
        """Go to q (nq,)."""
        compiled(world_poses)(self.m, q, self.work.sweep.X, self.work.pose)

    def solve(self, force: FloatArray) -> FloatArray:
        """(H + R)^-1 force, (nv,) both."""
        out = np.empty(len(force))
        compiled(newton_solve)(self.m, self.work, (), 1.0, 1, np.ascontiguousarray(force[self.m.v_index]), out)
        return out


class Curvature:
    """The inverse Hessian from the last steps: the two-loop recursion (Nocedal & Wright, algorithm 7.4)."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)  # s, y, s'y

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Know nothing."""
        self._pairs.clear()

    def direction(self, gradient: FloatArray, metric: MassMetric) -> FloatArray:
        """-B^-1 gradient."""
        d, shares = gradient.copy(), []
        for s, y, sy in reversed(self._pairs):
            shares.append(float(s @ d) / sy)
            d -= shares[-1] * y
        d = metric.solve(d)
        if self._pairs:
            _, y, sy = self._pairs[-1]
            d *= sy / float(y @ metric.solve(y))
        for (s, y, sy), share in zip(self._pairs, reversed(shares), strict=True):
            d += s * (share - float(y @ d) / sy)
        return -d

    def add(self, s: FloatArray, y: FloatArray, before: FloatArray) -> None:
        """A step s changed the gradient by y from `before`; where curvature is negative, y is damped (Powell 1978)."""
        sy, known = float(s @ y), -float(s @ before)
        if sy < FLAT * known:
            y = y + (0.2 * known - sy) / (known - sy) * (-before - y)
            sy = float(s @ y)
        if sy > 0.0:
            self._pairs.append((s, y, sy))


def shortened(t: float, rise: float, slope: float, end: float) -> float:
    """The minimiser of the cubic with this rise at t and these slopes at 0 and t, within (0.05, 0.7) t."""
    a = slope + end - 3.0 * rise / t
    b = a * a - slope * end
    best = 0.5 * t if b < 0.0 else t - t * (end + math.sqrt(b) - a) / (end - slope + 2.0 * math.sqrt(b))
    return min(max(best, 0.05 * t), 0.7 * t) if math.isfinite(best) else 0.1 * t


class Descent:
    """One search for a minimum."""

    def __init__(self, model: Model, energy: Energy, q: FloatArray, calls: int) -> None:
        self.model, self._function, self.most = model, energy, calls
        self.metric, self.curvature = MassMetric(model, q), Curvature()
        self.q, self.calls, self.iterations, self.motion = q, 0, 0, math.inf
        self.energy, self.gradient = self._evaluate(q)
        self._lowest, self._since = self.energy, 0  # energy so far, and iterations since
        if not (math.isfinite(self.energy) and np.isfinite(self.gradient).all()):
            raise NonFiniteError(f"energy: expected finite numbers where the search begins, got {self.energy}")

    def _evaluate(self, q: FloatArray) -> tuple[float, FloatArray]:
        self.calls += 1
        found: Any = self._function(q)
        if not (isinstance(found, tuple) and len(found) == 2):
            raise ShapeError(f"energy: expected a tuple of E and its gradient, got {type(found).__name__}")
        gradient = np.array(found[1], float)
        if np.shape(found[0]) != () or gradient.shape != (self.model.nv,):
            shapes = f"{np.shape(found[0])} and {gradient.shape}"
            raise ShapeError(f"energy: expected a number and a gradient ({self.model.nv},), got shapes {shapes}")
        return float(found[0]), gradient

    def advance(self) -> bool:
        """One iteration; False where the energy falls no more."""
        if self._since > PATIENCE:
            return False
        self.metric.place(self.q)
        for _ in range(2):
            d = self.curvature.direction(self.gradient, self.metric)
            slope, self.motion = float(self.gradient @ d), float(np.abs(self.metric.size * d).max(initial=0.0))
            if slope < 0.0 and math.isfinite(self.motion):
                longest = MAX_TURN / self.motion
                if self._search(d, slope, min(1.0, longest) if len(self.curvature) else FIRST * longest):
                    return True
            if self.calls >= self.most or not len(self.curvature):
                break
            self.curvature.clear()
        return False

    def _search(self, d: FloatArray, slope: float, t: float) -> bool:
        """Move along d where the energy falls enough."""
        for _ in range(TRIALS):
            if self.calls >= self.most:
                return False
            q = self.model.integrate(self.q, t * d)
            energy, gradient = self._evaluate(q)
            rise, end = energy - self.energy, float(gradient @ d)
            if not (math.isfinite(rise) and math.isfinite(end)):
                t *= 0.1
                continue
            near = rise <= ROUNDING * abs(self.energy) and end <= (2.0 * DECREASE - 1.0) * slope
            if rise <= DECREASE * t * slope or near:
                self.curvature.add(t * d, gradient - self.gradient, t * self.gradient)
                self.q, self.energy, self.gradient = q, energy, gradient
                self.iterations, self._since = self.iterations + 1, self._since + 1
                if energy < self._lowest:
                    self._lowest, self._since = energy, 0
                return True
            t = shortened(t, rise, slope, end)
        return False


def minimize_energy(
    model: Model,
    energy: Energy,
    q: npt.ArrayLike | None = None,
    *,
    tol: float = 1e-6,
    force: float = 0.0,
    calls: int = 1000,
    done: Callable[[int], None] = lambda _: None,
) -> Result:
    """A minimum of an energy near q, which is `model.neutral` by default; one call an iteration, nearly always.

    Parameters
    ----------
    energy : f(q) -> (E, gradient (nv,)), the gradient along the tangent vector that `Model.integrate` takes: minus the
        generalized forces J'F. Where either is not finite, a shorter step is taken.
    tol : rad, or for slides a share of the linkage's size; the search ends when two steps would move no joint by more.
    force : the search ends when no generalized force is larger (N m or N).
    calls : of `energy`, at most.
    done : called with 1 after each iteration.
    """
    if not (tol > 0.0 and force >= 0.0 and calls >= 1):
        raise SettingError(f"tol must be positive, force not negative, calls at least 1, got {tol}, {force}, {calls}")
    start = np.array(model.neutral if q is None else q, float)
    if start.shape != (model.nq,):
        raise ShapeError(f"q: expected shape ({model.nq},), got {start.shape}")
    began, search = time.perf_counter(), Descent(model, energy, start, calls)
    small, reason = 0, ""
    while not reason:
        if np.abs(search.gradient).max(initial=0.0) <= force:
            reason = SMALL_FORCE
        elif small == 2:
            reason = SMALL_MOTION
        elif not search.advance():
            reason = "more calls are needed" if search.calls >= calls else STUCK
        else:
            small = small + 1 if search.motion <= tol else 0
            done(1)
    left = float(np.abs(search.gradient).max(initial=0.0))
    return Result(
        reason in (SMALL_FORCE, SMALL_MOTION), reason, search.q, search.energy, left, search.motion, search.iterations,
        search.calls, 0.0, time.perf_counter() - began,
    )  # fmt: skip
