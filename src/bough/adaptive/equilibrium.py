"""Equilibria by Newton's method in a trust region: (K + mu D) dq = forces, in O(n).

K is the exact stiffness of gravity, forces, restraints and joint potentials, D the metric of `engines.newton`. mu is
raised until the matrix is positive definite, and while the energy falls by much less than predicted (Nocedal & Wright,
chapter 4); it falls with every good step, so that the last steps are Newton's own. Where K + mu D is not positive
definite, a stiffness takes its place that compression does not soften. Loops are held by multipliers and a penalty, the
augmented Lagrangian (Hestenes 1969, Powell 1969). Their forces, and those of springs between two bodies, are rows that
the sweep eliminates where their two sides meet (`engines.loops`); the signs of all pivots show negative curvature.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.closure import Closures
from bough.adaptive.engines.loops import LoopRows, loop_gaps, make_loops
from bough.adaptive.engines.newton import (
    SLACK,
    newton_forces,
    newton_loops,
    newton_pairs,
    newton_place,
    newton_solve,
    newton_sum,
    newton_ties,
    newton_work,
)
from bough.adaptive.engines.rest import Ties
from bough.adaptive.engines.sweeps import move_joints, world_poses
from bough.adaptive.inputs import Inputs
from bough.adaptive.lbfgs import Energy, Result, minimize_energy
from bough.compile.run.direct import compiled
from bough.dynamics.kinematics import body_velocities
from bough.dynamics.laws import coordinate_limits
from bough.errors import NumericalError, SettingError
from bough.joints import BALL
from bough.types import FloatArray, IntArray

STEPS, CALLS = 200, 1000  # at most, by default
LIMIT = 0.5  # rad by which a body may turn in one step, or share of the linkage's size by which a joint may slide
LONG = 4.0  # times that: no step by a matrix that is not exact is longer before it is shortened
FIRST = 1e-3  # the first mu that is tried after 0
LEAST, MOST = 1e-9, 1e12  # mu below is 0; above, no step is short enough
ENOUGH = 1e-4  # of the predicted fall of the energy
FLOOR = 1e-3  # of the largest size of a turn: what bodies without forces have
ROUNDING = 1e-13  # of the energy
BALANCED = 1e-12  # of the largest moment: forces that rounding leaves
SOFT, HARD = 10.0, 100.0  # penalty of open loops at first and at last, by the largest force and the linkage's size
CALM = 0.1  # rad in a step, below which multipliers are taken over
CLOSED = 1e-3  # of the linkage's size: loops that are not open farther carry forces from the beginning
REFINED = 3  # solutions by which first multipliers are found
STOPPED = 1e100  # the stiffness of a joint at its limit
SADDLE = 1e-6  # mu: less negative curvature is rounding
POWERS = 40  # iterations that find a direction of negative curvature
MEMORY = 8  # steps from which the stiffness of loads without a potential is learned
GROWTH = 1.5  # of the forces left that is allowed there in one step
RIGID = 1e9  # times the penalty: of loops that hardly give way
EYE = np.eye(3)


class Request(NamedTuple):
    """Arguments of `minimize`: restraints, a function that sets forces, or an energy; and a progress bar."""

    ties: Ties | None
    load: Callable[[], Any] | None
    energy: Energy | None
    done: Callable[[int], None]


class Equilibrium:
    """One search for an equilibrium of a linkage."""

    def __init__(
        self, inputs: Inputs, closures: Closures | None, ties: Ties | None, load: Callable[[], Any] | None
    ) -> None:
        self.inputs, self.closures, self.load = inputs, closures, load
        self.m = inputs.mechanism
        self.work = newton_work(self.m)
        self.ties = None if ties is None else ties._replace(pose=self.work.pose)
        n, nv = len(self.m.axis), len(inputs.shared.qdd)
        self.force, self.step, self._scratch = np.zeros(n), np.zeros(nv), np.zeros(nv)
        self.gap = np.zeros(0 if closures is None else sum(map(len, closures.closing.rows)))
        self.lam, self.kappa = np.zeros(len(self.gap)), 0.0  # multipliers, and energy of gaps of 1 rad or the length
        self.stiff = np.zeros((0 if ties is None else len(ties.stiffness), 6))
        self._pairs: IntArray = np.zeros(0, np.int64)  # springs between two bodies
        if ties is not None:
            self._pairs = np.flatnonzero((ties.body >= 0).all(axis=1))
        springs = inputs.potentials.springs
        sprung = (self.m.kind == BALL) & (springs.begin < springs.end)[np.minimum(self.m.dof[:-1], n - 1)]
        self.balls: IntArray = np.flatnonzero(sprung)  # bodies on spherical joints with springs
        self.rows: Any = self._make_rows()
        self._unit = np.ones(len(self.gap))  # what gaps are compared with: 1 rad, or the length of the linkage
        self._springs = self._answer = np.zeros(0)  # compliance of the springs, and the last forces of the loops
        self.mu, self._follows, self._exact = 0.0, False, 1
        self._history: list[tuple[FloatArray, FloatArray]] = []  # steps, and what they changed of the forces
        self._force: FloatArray | None = None
        self._moved, self.calls = self.step, 0
        self.returned: float | None = None  # energy of all forces but potentials, by the load
        self.length = 1.0  # m, of the linkage
        # joints with a coordinate of their own, and its limits; one that is beyond starts there
        v, self._at, *self._range = coordinate_limits(inputs.model)
        self._limited = inputs.potentials.place[v]
        self._clip()
        self.place()
        self.length = float(np.ptp(self.work.pose[:, 9:], axis=0).max(initial=0.0)) or 1.0
        springs = self.work.curve[(self.work.curve > 0.0) & (self.work.curve < STOPPED) & (self.m.axis <= 2)]
        bend = 1.0 / float((1.0 / springs).sum()) / self.length if len(springs) else 0.0  # one after the other
        if len(self.gap):
            self._unit = np.where(self.rows.axis[: len(self.gap)] < 3, 1.0, self.length)
        weight = max(float(np.abs(self.work.F).sum(axis=1).max(initial=0.0)), bend) or 1.0
        self.kappa, self._stiffness = SOFT * weight * self.length, HARD * weight * self.length
        self.place()
        if len(self.gap) and self.opening < CLOSED:
            self.balance()
            self.place()

    def _make_rows(self) -> Any:
        """Rows of loops, then of springs of spherical joints, then of those between two bodies; () without any."""
        loops, balls, k = self.closures, self.balls, len(self._pairs)
        if loops is None and not k and not len(balls):
            return ()
        rows: list[list[int]] = []
        body, frame = np.zeros((0, 2), np.int64), np.zeros((0, 12))
        if loops is not None:
            body, frame, rows = loops.closing
        body = np.concatenate([body, np.stack([self.m.parent[balls], balls], axis=1)])
        if self.ties is not None:
            body = np.concatenate([body, self.ties.body[self._pairs]])
        frame = np.concatenate([frame, np.tile(np.eye(4, 3).ravel(), (2 * (len(balls) + k), 1))])
        rows = [*rows, *len(balls) * [[0, 1, 2]], *k * [[3, 4, 5]]]
        return make_loops(np.asarray(self.m.parent), len(self.m.axis), body, frame, rows)

    def balance(self) -> None:
        """Find multipliers that balance forces as far as loops can; forces are those without a penalty then."""
        kappa, self.mu, self._exact = self.kappa, 1.0, 1
        for _ in range(REFINED):
            self.kappa = 0.0
            self.place()
            self.kappa = RIGID * self._stiffness
            if math.isfinite(self._solve(self.force, self.step)):
                self.lam += self._answer
        self.mu, self.kappa = 0.0, 0.0
        self.place()
        self.kappa = kappa

    def _clip(self) -> None:
        q = self.inputs.shared.q
        q[self._at] = np.clip(q[self._at], *self._range)

    # Where we are

    def place(self) -> None:
        """Forces, energies and gaps here."""
        inputs, w = self.inputs, self.work
        if self.load is not None:
            inputs.changes.all()
            answer = self.load()
            self.returned = float(answer) if isinstance(answer, Real) else None
        inputs.potentials.evaluate()
        loads = inputs.forces.loads()
        self._follows = bool((loads.along < loads.first[1:]).any()) or bool(loads.moment.any())
        compiled(newton_place)(self.m, inputs.shared.q, loads, inputs.potentials.springs, w)
        if self.ties is not None:
            compiled(newton_ties)(w, self.ties, self.stiff)
        if len(self.rows):
            self._place_rows(self.rows)
        self.force[:] = -w.slope
        compiled(newton_forces)(self.m, w, self.force)
        compiled(newton_sum)(self.m, w)
        self._spread()
        if len(self._limited):  # joints that are pressed against a limit stay there
            self._stop(self.force[self._limited])
        self.calls += 1

    def _stop(self, outward: FloatArray) -> bool:
        """Stop joints at limits beyond which forces or a step (limited,) lead; whether there are any that were not.

        The limit carries what presses them.
        """
        x, (low, high) = self.inputs.shared.q[self._at], self._range
        beyond = ((x <= low) & (outward < 0.0)) | ((x >= high) & (outward > 0.0))
        stopped = self._limited[beyond & (self.work.curve[self._limited] < STOPPED)]
        self.work.curve[stopped] = STOPPED
        self.force[stopped] = 0.0
        return len(stopped) > 0

    def _spread(self) -> None:
        """The metric at joints, and what bodies without forces have of it."""
        m, w = self.m, self.work
        size, slides = w.metric[:, 0], m.axis > 2
        stiff = np.where(w.curve < STOPPED, np.abs(w.curve), 0.0)  # a joint at its limit needs no metric
        pull = np.sqrt((w.F * w.F).sum(axis=1))
        most = max(size.max(initial=0.0), stiff[~slides].max(initial=0.0), self.length * pull.max(initial=0.0)) or 1.0
        pull = np.repeat(pull, np.diff(m.dof)) / self.length
        w.rotor[:] = stiff + np.where(slides, pull + FLOOR * most / self.length**2, FLOOR * most)

    @property
    def has_energy(self) -> bool:
        """Whether all forces have a potential that is known."""
        return self.load is None and not self._follows

    @property
    def pull(self) -> FloatArray:
        """Forces of the loops: multipliers, and a penalty for gaps (Hestenes 1969, Powell 1969)."""
        return self.lam - self.kappa * self.gap / self._unit**2

    @property
    def opening(self) -> float:
        """The largest gap of a loop, in rad or by the length of the linkage."""
        return float(np.abs(self.gap / self._unit).max()) if len(self.gap) else 0.0

    @property
    def noise(self) -> float:
        """The size of forces that are rounding."""
        return BALANCED * float(np.abs(self.work.G).max(initial=0.0))

    def merit(self) -> float:
        """The function that a step must lower: the energy with that of the loops, or the forces that are left."""
        if not self.has_energy:
            return float(np.linalg.norm(self.force))
        return float(self.work.energy[0] - 0.5 * (self.pull + self.lam) @ self.gap)

    def _place_rows(self, lp: LoopRows) -> None:
        """Unit forces of rows and their compliance, gaps of loops, and their forces among those on bodies."""
        w, on = self.work, lp.body.ravel()
        lp.pose[:] = np.where((on >= 0)[:, None], w.pose[on], np.eye(4, 3).ravel())
        compiled(loop_gaps)(lp)
        self.gap, lp.gap[:] = lp.gap[: len(self.gap)].copy(), 0.0
        compiled(newton_loops)(w, lp, self.pull)
        if len(self.balls):
            self._place_balls(lp)
        if self.ties is not None:
            compiled(newton_pairs)(w, self.ties, self.stiff, self._pairs, lp)
        self._springs = lp.soft[len(self.gap) :].copy()

    def _place_balls(self, lp: LoopRows) -> None:
        """Rows of the stiffness k J(x)^-1 of springs of spherical joints, beyond the k that their joints have.

        x is the rotation vector, and J(x)^-1 = 1 + [x] / 2 + c [x]^2 turns motions of the body into changes of it. The
        order of degrees of freedom is that of the elimination: the lower triangle counts.
        """
        m, w, i = self.m, self.work, self.balls
        dofs = m.dof[i][:, None] + np.arange(3)
        x, k = self.inputs.potentials.springs.x[m.v_index[dofs]], w.curve[dofs]
        angle = np.maximum(np.linalg.norm(x, axis=1), 1e-4)
        c = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
        X = np.cross(EYE, x[:, None])  # rows e x x: the matrix [x]
        H = np.tril(k[:, :, None] * (0.5 * X + c[:, None, None] * (X @ X)))
        size, V = np.linalg.eigh(H + np.tril(H, -1).transpose(0, 2, 1))
        rows = len(self.gap) + np.arange(3 * len(i))
        none = np.abs(size) <= BALANCED * k.max(axis=1, keepdims=True)
        lp.soft[rows] = np.where(none, SLACK, 1.0 / np.where(none, 1.0, size)).ravel()
        R, moment = w.pose[:, :9].reshape(-1, 3, 3), V.transpose(0, 2, 1).reshape(-1, 3)
        lp.wrench[2 * rows + 1] = np.concatenate([moment, np.zeros_like(moment)], axis=1)
        body, up = np.repeat(i, 3), np.repeat(m.parent[i], 3)
        above = np.einsum("rji,rjk,rk->ri", R[up], R[body], moment)
        lp.wrench[2 * rows] = np.concatenate([-above, np.zeros_like(moment)], axis=1)

    # One step

    def _factor(self, exact: int) -> bool:
        """Factorize with the present mu; False where the matrix has directions of negative curvature.

        With `exact` 0 and loops, K is the nearest one of bodies that forces do not push over: rods under compression
        bend the energy of a net down almost everywhere but at its minimum.
        """
        if not exact and len(self.gap):
            B = self.work.B.reshape(-1, 3, 3)
            turn = np.trace(B, axis1=1, axis2=2)[:, None, None] * EYE - 0.5 * (B + B.transpose(0, 2, 1))
            size, V = np.linalg.eigh(turn)
            turn = (V * np.maximum(size, 0.0)[:, None, :]) @ V.transpose(0, 2, 1)
            B[:] = 0.5 * np.trace(turn, axis1=1, axis2=2)[:, None, None] * EYE - turn
        self._exact = exact
        return self._eliminate(self.force, self.step) == 0.0

    def _eliminate(self, force: FloatArray, out: FloatArray) -> float:
        """out (nv,) = matrix^-1 force (n,); returns how many negative eigenvalues the matrix has, or NaN."""
        lp, loops, negative = self.rows, len(self.gap), 0
        if len(lp):
            lp.soft[:loops] = self._unit**2 / self.kappa
            lp.soft[loops:] = self._springs if self._exact else np.where(self._springs < 0.0, SLACK, self._springs)
            negative = int(np.sum(lp.soft < 0.0))
        force = np.ascontiguousarray(force)
        wrong = float(compiled(newton_solve)(self.m, self.work, lp, self.mu, self._exact, force, out))
        self._answer = lp.lam[:loops].copy() if len(lp) else self._answer
        return wrong + negative

    def _solve(self, force: FloatArray, out: FloatArray) -> float:
        """The same, and how far it moves bodies."""
        wrong = self._eliminate(force, out)
        return math.nan if math.isnan(wrong) else self.motion_of(out)

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
        return self.motion_of(self.step)

    def motion_of(self, step: FloatArray) -> float:
        """How far a step moves bodies at most; their motions are left in `work.p`."""
        m, w = self.m, self.work
        compiled(body_velocities)(m, step, w.sweep.X, w.p)
        slides = np.abs(step[m.v_index[m.axis > 2]]).max(initial=0.0) / self.length
        return float(max(np.linalg.norm(w.p[:, :3], axis=1).max(initial=0.0), slides))

    def advance(self) -> float:
        """One step downhill; returns how far bodies turn or joints slide in it at most."""
        raised = 2.0
        while self.mu < MOST:
            most = math.nan  # where the solution does not lead to a minimum
            exact = self._factor(1)
            if exact or (self.mu > 0.0 and self._factor(0)):
                known = len(self.gap) or len(self._pairs) or self.has_energy
                most = self.motion_of(self.step) if known else self._learned()
                if not exact and len(self.gap) and most > LONG * LIMIT:
                    most = math.nan
                if len(self._limited) and self._stop(self.step[self.m.v_index[self._limited]]):
                    continue
            if math.isfinite(most):
                share = min(1.0, LIMIT / most) if most > 0.0 else 1.0
                ratio = self._go(share)
                if ratio >= ENOUGH:
                    self.mu *= max(0.1, 1.0 - (2.0 * min(ratio, 1.0) - 1.0) ** 3)  # Nielsen 1999
                    self.mu = self.mu if self.mu > LEAST else 0.0
                    self._hold(share * most)
                    return share * most
            self.mu, raised = max(raised * self.mu, FIRST), 2.0 * raised
        raise NumericalError("no equilibrium was found: no step leads downhill, or forces are too large")

    def _hold(self, motion: float) -> None:
        """Let multipliers carry what the penalty carried, when motion is small; and stiffen the penalty."""
        if len(self.gap):
            stiffest = self._stiffness
            if motion < CALM:
                self.lam, stiffest = self.pull, self._stiffness * CALM / max(motion, 1e-4)
            self.kappa = max(self.kappa, min(4.0 * self.kappa, stiffest))
            self.place()

    def _go(self, share: float) -> float:
        """Move by a share of the step; undo it if that is worse.

        Returns the fall of the merit, as a share of the predicted one; less than `ENOUGH` where it is undone.
        """
        q, before = self.inputs.shared.q, self.inputs.shared.q.copy()
        bar, size = self.merit(), float(self.work.energy[1])
        hope = (share - 0.5 * share**2) * float(self.force @ self.step[self.m.v_index])
        compiled(move_joints)(self.m, q, share * self.step, 1.0, q)
        self._clip()
        if len(self.gap):
            self._correct(q, self.gap - share * self.rows.soft[: len(self.gap)] * self._answer)
            self._clip()
        self.place()
        found, noise = self.merit(), ROUNDING * max(size, abs(bar))
        ratio = (bar - found + noise) / (abs(hope) + noise) if hope or noise else 1.0
        if not self.has_energy:
            ratio = 1.0 if found <= GROWTH * bar else 0.0
        if math.isfinite(found) and ratio >= ENOUGH:
            self._moved = share * self.step
            return ratio
        self._history.clear()
        self._force = None
        q[:] = before
        self.place()
        return 0.0

    def _correct(self, q: FloatArray, predicted: FloatArray) -> None:
        """Take back what loops opened beyond prediction, because they are curved, with the matrix of the step."""
        assert self.closures is not None
        w, lp, loops = self.work, self.rows, len(self.gap)
        compiled(world_poses)(self.m, q, w.sweep.X, w.pose)
        lp.gap[:loops] = self.closures.place(w.pose[self.closures.bodies]).gap - predicted
        lp.rate[0] = 1.0
        most = self._solve(np.zeros_like(self.force), self._scratch)
        lp.rate[0] = 0.0
        if most < LIMIT:
            compiled(move_joints)(self.m, q, self._scratch, 1.0, q)

    def way_down(self) -> FloatArray | None:
        """A direction (nv,) of negative curvature, by inverse iteration, of a largest turn of 1; None at a minimum."""
        self.mu = SADDLE
        if self._factor(1):
            return None
        while not self._factor(1):
            self.mu *= 1.5
        d = np.random.default_rng(0).normal(size=len(self.step))
        for _ in range(POWERS):
            self._solve(d[self.m.v_index], self._scratch)
            d[:] = self._scratch / np.abs(self._scratch).max(initial=1e-300)
        return d / (self.motion_of(d) or 1.0)

    def adjoint(self, cotangent: FloatArray) -> FloatArray:
        """K^-1 of a cotangent (n,), (nv,): how it changes for each unit of torque at joints, loops closed."""
        self.mu, self.kappa = 0.0, 1e9 * self._stiffness  # finite, since loops may be redundant
        if not self._factor(1):
            raise NumericalError("the equilibrium has no gradient: it is a saddle, or joints move without resistance")
        out = np.zeros_like(self.step)
        self._solve(cotangent, out)
        return out

    def settle(self, tol: float, most: int, done: Callable[[int], None]) -> tuple[bool, int, float]:
        """Steps until one is at most `tol`: whether it was, how many they were, and how long the last one was."""
        motion = math.inf
        for k in range(most):
            motion = self.advance()
            done(1)
            small = motion <= tol or np.abs(self.force).max(initial=0.0) <= self.noise
            if small and self.opening <= tol:
                return True, k + 1, motion
        return False, most, motion


def minimize(inputs: Inputs, closures: Closures | None, given: Request, tol: float, steps: Any) -> Result:
    """See `Simulation.minimize`; where it fails, joints are where they were."""
    if not tol > 0.0:
        raise SettingError(f"tol must be positive, got {tol!r}")
    if steps is not None and not (isinstance(steps, Integral) and int(steps) >= 1):
        raise SettingError(f"steps: at least 1 must be allowed, got {steps!r}")
    q = inputs.shared.q
    start = q.copy()
    try:
        search = Equilibrium(inputs, closures, given.ties, given.load)
        if given.energy is not None or search.returned is not None:
            return by_energy(search, given, tol, CALLS if steps is None else int(steps))
        return by_newton(search, tol, STEPS if steps is None else int(steps), given.done)
    except BaseException:
        q[:] = start
        raise
    finally:
        inputs.potentials.refresh()
        inputs.changes.all()


def by_newton(search: Equilibrium, tol: float, most: int, done: Callable[[int], None]) -> Result:
    """Newton's method, and whether it ended at a saddle."""
    began = time.perf_counter()
    converged, steps, motion = search.settle(tol, most, done)
    direction, reason = None, "forces are balanced"
    if not converged:
        reason = unsettled(search, steps, motion)
    if converged and search.has_energy:
        direction = search.way_down()
        if direction is not None:
            converged, reason = False, "forces are balanced at a saddle: the energy falls along `direction`"
    energy = float(search.work.energy[0]) if search.has_energy else math.nan
    if converged and len(search.gap):
        search.balance()
    left, open_ = (float(np.abs(x).max(initial=0.0)) for x in (search.force, search.gap))
    seconds = time.perf_counter() - began
    return Result(
        converged, reason, search.inputs.configuration, energy, left, motion, steps,
        search.calls, open_, seconds, direction,
    )  # fmt: skip


def by_energy(search: Equilibrium, given: Request, tol: float, most: int) -> Result:
    """L-BFGS on a function of the user's, or on the energy that a load returns, and all that is known beside it."""
    if len(search.gap):
        raise SettingError("minimize: with an energy that is a function, loops cannot be held: use restraints instead")
    if search.ties is not None:
        raise SettingError("minimize: expected restraints or an energy, one of them")
    inputs, v = search.inputs, search.m.v_index

    def total(q: FloatArray) -> tuple[float, FloatArray]:
        inputs.shared.q[:] = q
        search.place()
        gradient = np.zeros(len(search.force))
        gradient[v] = -search.force
        if search.returned is not None:  # of all forces but potentials
            return search.returned + inputs.potentials.energy(), gradient
        found = given.energy(q.copy()) if given.energy is not None else (0.0, 0.0)
        more, slope = found
        return float(search.work.energy[0]) + float(more), gradient + np.asarray(slope, float)

    found = minimize_energy(inputs.model, total, inputs.configuration, tol=tol, calls=most, done=given.done)
    inputs.shared.q[:] = found.q
    return found


def unsettled(search: Equilibrium, steps: int, motion: float) -> str:
    """Why there is no equilibrium yet."""
    m, w = search.m, search.work
    why = "there is no equilibrium near, or more steps are needed"
    free = (np.repeat(m.parent, np.diff(m.dof)) < 0) & (m.axis > 2) & (w.curve == 0.0)
    if free.any() and not len(search.rows) and not w.K.any():
        k = int(np.argmax(np.where(free, np.abs(search.force), -1.0)))
        if abs(search.force[k]) > 1e-6 * float(np.abs(w.F).max(initial=0.0)):
            name = search.inputs.model.dof_names[m.v_index[k]]
            why = f"nothing holds joint {name!r} against a force of {abs(search.force[k]):.3g} N"
    if search.closures is not None and search.opening > CLOSED:
        name, gap = search.closures.widest(w.pose[search.closures.bodies])
        why = f"the closure of {name} is open by {gap:.2g} m or rad, and the linkage cannot close it from here"
    return f"after {steps} steps a body still turns or a joint slides by {motion:.1e} in one: {why}"
