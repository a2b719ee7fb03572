"""Equilibria by Newton's method with a shift: (mu M + H) dq = forces, in O(n), with loops held by multipliers.

mu is raised until the matrix is positive definite on the directions that loops leave free, and where a step would not
go downhill; it falls again with every good step, so that the last steps are Newton's own. With 1 / mu = h it is an
implicit step of pseudo-time h.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.newton import (
    newton_factor,
    newton_forces,
    newton_motion,
    newton_place,
    newton_solve,
    newton_sum,
    newton_work,
)
from bough.adaptive.engines.plain import plain_move
from bough.adaptive.solver import Solver
from bough.errors import NumericalError, SettingError
from bough.types import FloatArray

LIMIT = 0.5  # rad by which a body may turn in one step, or m by which a joint may slide
FAR_SHIFT = 1e12  # 1/s^2: stiffness is nothing beside it
SOFT = 1e-3  # the first shift, by the one at which inertia alone would limit the step
ROUNDING = 1e-13
CLOSED = 1e-3  # m or rad: loops that are not open farther carry forces from the beginning
MEMORY = 8  # steps from which the stiffness of loads without a potential is learned
GROWTH = 1.5  # of the forces left that is allowed there in one step
REDUNDANT = 1e-10  # directions of loops that answer so much less than others are left alone
SMALL = 1e-6  # rad or m: steps below it are taken without looking at energies, which rounding hides


@dataclass(frozen=True)
class Settled:
    """What `QuasiStatics.minimize` found."""

    converged: bool
    iterations: int
    energy: float  # J, of gravity, loads and joint potentials; NaN where loads have no potential that is known
    force: float  # the largest force or torque left at a joint, N or N m
    motion: float  # how far a body turned (rad) or a joint slid (m) at most in the last step
    opening: float  # of loops, m or rad
    seconds: float


class Equilibrium:
    """One search for an equilibrium of a solver's linkage."""

    def __init__(self, solver: Solver, load: Callable[[], None] | None = None) -> None:
        self.solver, self.inputs, self.load = solver, solver.inputs, load
        self.m, self.closures = solver.inputs.mechanism, solver.closures
        self.work = newton_work(self.m)
        n = len(self.m.axis)
        self.force, nv = np.zeros(n), len(self.inputs.shared.qdd)
        self.step, self.closing = np.zeros(nv), np.zeros(nv)
        self.lam, self.gap = np.zeros(0), np.zeros(0)
        self.columns: FloatArray = np.zeros((0, n))
        self.mu, self._new, self._follows = 0.0, np.zeros(0), False
        self._history: list[tuple[FloatArray, FloatArray]] = []  # steps, and what they changed of the forces
        self._force: FloatArray | None = None
        self._moved = self.step
        self.place()
        self._spread()
        if self.closures is not None and np.abs(self.gap).max(initial=0.0) < CLOSED:
            self._guess()

    # Where we are

    def place(self) -> None:
        """Forces, energies and gaps here."""
        inputs, w = self.inputs, self.work
        if self.load is not None:
            self.solver.changes.all()
            self.load()
        inputs.potentials.evaluate()
        loads = inputs.forces.loads()
        self._follows = bool((loads.along < loads.first[1:]).any()) or bool(loads.moment.any())
        compiled(newton_place)(self.m, inputs.shared.q, loads, inputs.potentials.springs, w)
        self.force[:] = -w.slope
        compiled(newton_forces)(self.m, w, self.force)
        if self.closures is not None:
            self._close()
        compiled(newton_sum)(self.m, w)

    def _spread(self) -> None:
        """Beside inertia, a shift holds joints back alike: links that are light or many would buckle otherwise."""
        m, w = self.m, self.work
        reach = float(np.ptp(w.P, axis=0).max(initial=0.0)) + float(np.abs(m.inertia[:, 6:9]).max(initial=0.0))
        share = float(m.inertia[:, 9].sum()) / max(len(m.axis), 1)
        w.rotor[:] = m.armature + share * np.where(m.axis <= 2, reach**2, 1.0)

    def _guess(self) -> None:
        """Forces of the loops to begin with: those that hold them while all else accelerates."""
        self.mu = FAR_SHIFT
        if self._try() is not None:
            self.lam = self._new
            self.place()
        self.mu = 0.0

    @property
    def has_energy(self) -> bool:
        """Whether all forces have a potential that is known."""
        return self.load is None and not self._follows

    def left(self, lam: FloatArray) -> FloatArray:
        """Forces (n,) that joints and multipliers leave."""
        return self.force + lam @ self.columns if len(lam) else self.force

    def merit(self, lam: FloatArray) -> float:
        """What a step must not raise, with these forces of the loops."""
        open_ = 2.0 * float(np.linalg.norm(lam)) * float(np.linalg.norm(self.gap))
        if self.has_energy:
            return float(self.work.energy[0]) + open_
        return float(np.linalg.norm(self.left(lam))) + open_

    def _close(self) -> None:
        """Gaps of the loops, and what their forces do to the joints."""
        closures, w = self.closures, self.work
        assert closures is not None
        poses = np.concatenate([w.E[closures.bodies], w.P[closures.bodies]], axis=1)
        wrenches, self.gap = closures.columns(poses)
        if not len(self.lam):
            self.lam = np.zeros(len(self.gap))
        self.columns = np.zeros((len(wrenches), len(self.force)))
        kept = w.f.copy()
        for column, row in zip(wrenches, self.columns, strict=True):
            w.f[:] = 0.0
            for body, wrench, _ in column:
                w.f[body] += wrench
            compiled(newton_forces)(self.m, w, row)
        w.f[:] = kept
        for x, column in zip(self.lam, wrenches, strict=True):
            for body, wrench, point in column:
                w.F[body] += x * wrench[3:]
                w.G[body] += x * np.outer(point, wrench[3:]).ravel()

    # One step

    def _try(self) -> tuple[float, float] | None:
        """Solve with the present shift: how far joints go that follow forces, and that close the loops.

        None where the solution does not lead to a minimum.
        """
        wrong = compiled(newton_factor)(self.m, self.work, self.mu)
        k = len(self.lam)
        if k == 0:
            if wrong != 0.0:
                return None
            return (self._solve(self.force, self.step) if self.has_energy else self._learned()), 0.0
        if math.isnan(wrong):
            return None
        answers = np.zeros((k + 1, len(self.step)))
        for row, force in zip(answers, [self.force, *self.columns], strict=True):
            self._solve(force, row)
        S, free = self.columns @ answers[1:, self.m.v_index].T, self.columns @ answers[0, self.m.v_index]
        if not (np.isfinite(S).all() and np.isfinite(free).all()):
            return None
        values, vectors = np.linalg.eigh(0.5 * (S + S.T))
        real = np.abs(values) > REDUNDANT * np.abs(values).max(initial=0.0)
        if np.count_nonzero(values[real] < 0.0) != wrong:
            return None
        vectors = vectors[:, real]
        self._new, closing = (-vectors @ ((vectors.T @ x) / values[real]) for x in (free, self.gap))
        follows, closes = (
            self._solve(self.left(self._new), self.step),
            self._solve(closing @ self.columns, self.closing),
        )
        if closes > 0.1 * LIMIT:
            self.closing[self.m.v_index] = -np.linalg.pinv(self.columns, REDUNDANT) @ self.gap
            closes = float(compiled(newton_motion)(self.m, self.work, self.closing))
        return follows, closes

    def _learned(self) -> float:
        """The step that is best by what the last ones did to the forces (Anderson 1965).

        Loads without a known potential have a stiffness that the matrix lacks.
        """
        if self._force is not None:
            self._history.append((self._moved, self.force - self._force))
            del self._history[:-MEMORY]
        self._force = self.force.copy()
        v, k = self.m.v_index, len(self._history)
        answers = np.zeros((k + 1, len(self.step)))
        for row, force in zip(answers, [self.force, *(f for _, f in self._history)], strict=True):
            self._solve(force, row)
        self.step[:] = answers[0]
        if k:
            gamma = np.linalg.lstsq(answers[1:, v].T, answers[0, v], rcond=1e-10)[0]
            self.step -= gamma @ (answers[1:] + np.array([x for x, _ in self._history]))
        return float(compiled(newton_motion)(self.m, self.work, self.step))

    def _solve(self, force: FloatArray, out: FloatArray) -> float:
        compiled(newton_solve)(self.m, self.work, np.ascontiguousarray(force), out)
        return float(compiled(newton_motion)(self.m, self.work, out))

    def _free_shift(self) -> float:
        """The shift at which inertia alone would let bodies turn by LIMIT."""
        compiled(newton_factor)(self.m, self.work, FAR_SHIFT)
        most = self._solve(self.left(self.lam), np.zeros_like(self.step))
        return max(FAR_SHIFT * most / LIMIT, 1e-12)

    def advance(self) -> float:
        """One step downhill; returns how far bodies turn or joints slide in it at most."""
        first = self.mu  # of earlier steps, with more force left than here
        for _ in range(60):
            found = self._try()
            if found is not None and math.isfinite(sum(found)):
                shares = [min(1.0, LIMIT / x) if x > 0.0 else 1.0 for x in found]
                for part in (1.0, 0.25, 0.0625):
                    if self._go(part * shares[0], part * shares[1], max(found)):
                        self.mu = 0.1 * self.mu if part == 1.0 else self.mu
                        return part * max(x * share for x, share in zip(found, shares, strict=True))
            shift = self._free_shift()
            self.mu = max(10.0 * self.mu, SOFT * shift)
            if self.mu > 1e9 * max(shift, first):
                break
        raise NumericalError("no equilibrium was found: no step leads downhill, or forces are too large")

    def _go(self, share: float, closing: float, most: float) -> bool:
        """Move by shares of the step along the forces and of the one that closes loops, if that is for the better."""
        q, lam = self.inputs.shared.q, self.lam
        before, new = q.copy(), lam + share * (self._new - lam) if len(lam) else lam
        bar, size, gap = self.merit(new), float(self.work.energy[1]), float(np.linalg.norm(self.gap))
        compiled(plain_move)(self.m, q, share * self.step + closing * self.closing, 1.0)
        self.lam = new
        self.place()
        found = self.merit(new)
        lower = found <= bar + ROUNDING * max(size, abs(bar))
        closer = float(np.linalg.norm(self.gap)) < (1.0 - 0.1 * closing) * gap
        if not self.has_energy:
            lower = found <= GROWTH * bar
        if math.isfinite(found) and (lower or closer or most < SMALL):
            self._moved = share * self.step
            return True
        self._history.clear()
        self._force = None
        q[:], self.lam = before, lam
        self.place()
        return False

    def settle(self, tol: float, most: int, done: Callable[[int], None]) -> tuple[bool, int, float]:
        """Steps until one is at most `tol`: whether it was, how many they were, and how long the last one was."""
        motion = math.inf
        for k in range(most):
            motion = self.advance()
            done(1)
            if motion <= tol and np.abs(self.gap).max(initial=0.0) <= tol:
                return True, k + 1, motion
        return False, most, motion


def minimize(
    solver: Solver, tol: float, most: int, load: Callable[[], None] | None, done: Callable[[int], None]
) -> Settled:
    """See `QuasiStatics.minimize`."""
    if not (isinstance(most, Integral) and most >= 1):
        raise SettingError(f"steps: at least 1 must be allowed, got {most!r}")
    began, q = time.perf_counter(), solver.inputs.shared.q
    start = q.copy()
    try:
        search = Equilibrium(solver, load)
        converged, steps, motion = search.settle(tol, most, done)
    except BaseException:
        q[:] = start
        raise
    finally:
        solver.inputs.potentials.refresh()
        solver.changes.all()
    left = float(np.abs(search.left(search.lam)).max(initial=0.0))
    opening = float(np.abs(search.gap).max(initial=0.0))
    energy = float(search.work.energy[0]) if search.has_energy else math.nan
    return Settled(converged, steps, energy, left, motion, opening, time.perf_counter() - began)


def not_settled(solver: Solver, found: Settled) -> str:
    """Why there is no equilibrium yet."""
    why = "there is no equilibrium near, or more steps are needed"
    if solver.closures is not None and found.opening > CLOSED:
        name, gap = solver.closures.widest(solver.poses(solver.closures.bodies))
        why = f"the closure of {name} is open by {gap:.2g} m or rad, and the linkage cannot close it from here"
    moves = f"a body still turns or a joint slides by {found.motion:.1e} in one"
    return f"after {found.iterations} steps {moves}: {why}"
