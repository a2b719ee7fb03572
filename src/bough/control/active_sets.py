"""Whole-body programs one by one, through `qpsolvers`, or with second-order cones by Clarabel."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.control.cones import minimise_in_cones
from bough.control.interior_point import Blocks
from bough.control.rows import FREE
from bough.errors import MissingExtraError, OptionError, required
from bough.types import FloatArray, IntArray

SOLVERS = ("daqp", "piqp", "proxqp", "quadprog")  # the fastest first, as measured on whole-body programs
EQUALITY, INFEASIBLE = 5, -1  # in the words of DAQP: both bounds at once, and a status
PROXIMAL = 1e-6  # regularisation by proximal points, where it cycles without
# how far a solver may break constraints, tried in turn; with the least, degenerate programs cycle
CLOSE, EXACT = (1e-6,), (1e-10, 1e-8, 1e-6)
BAND = 1e-6  # how far the acceleration of a task may leave what its priority has reached
STEADY = 0.1  # price of forces that change, where a solver finds no answer to a lower priority that is there


class Quadratic(NamedTuple):
    """Minimise x' P x / 2 + c' x subject to low <= A x <= high and lower <= x <= upper; the last rows are equations."""

    P: FloatArray
    c: FloatArray
    A: FloatArray
    low: FloatArray
    high: FloatArray
    equal: int  # how many equations
    lower: FloatArray
    upper: FloatArray

    @property
    def equations(self) -> tuple[FloatArray, FloatArray]:
        """Those rows of A, and what they are equal to."""
        first = len(self.low) - self.equal
        return self.A[first:], self.low[first:]

    @property
    def below(self) -> tuple[FloatArray, FloatArray]:
        """The other rows with one side each, G x <= h."""
        inner = slice(len(self.low) - self.equal)
        G, low, some = self.A[inner], self.low[inner], np.isfinite(self.low[inner])
        return np.concatenate([G, -G[some]]), np.concatenate([self.high[inner], -low[some]])

    def with_soft_bounds(self, columns: IntArray, price: FloatArray) -> Quadratic:
        """The same with bounds of some variables that give way by t at price t^2 / 2; x is followed by all t."""
        n, k = len(self.c), len(columns)
        P, rows = np.pad(self.P, (0, k)), np.zeros((k, n + k))
        P[range(n, n + k), range(n, n + k)] = price
        rows[range(k), columns], rows[range(k), range(n, n + k)] = 1.0, -1.0
        lower, upper = np.full((2, n + k), np.inf) * [[-1.0], [1.0]]
        lower[:n], upper[:n] = self.lower, self.upper
        lower[columns], upper[columns] = -np.inf, np.inf
        A = np.concatenate([rows, np.pad(self.A, ((0, 0), (0, k)))])
        low = np.concatenate([self.lower[columns], self.low])
        high = np.concatenate([self.upper[columns], self.high])
        return Quadratic(P, np.pad(self.c, (0, k)), A, low, high, self.equal, lower, upper)


Solution: TypeAlias = tuple[FloatArray, FloatArray]  # x and A x


class Choice(NamedTuple):
    """The kinds of the rows of a program, by their ease."""

    ease: FloatArray
    own: IntArray  # equations with a price
    price: FloatArray  # theirs
    rows: tuple[IntArray, IntArray]  # cones, tasks of higher priorities, in the second torque limits, exact equations
    cones: int  # how many of these are cones, come before the torque limits, and are exact equations
    unlimited: int
    equal: int
    relaxed: bool  # whether constraints give way


class ActiveSets:
    """Solutions of the programs of one robot, with blocks of rows in groups `at` these places; `n` variables.

    A program is low, high, ease, d, z beside its dense A. Torque limits count where they would be broken without.
    """

    def __init__(
        self, blocks: Blocks, at: dict[str, Any], unit: FloatArray, sizes: tuple[int, int], solver: str, cones: Any
    ) -> None:
        self.at, (self.n, self.nv), self.solver, self.cones = at, sizes, solver, cones
        self.count, self._place = int(blocks.row[-1]), places(blocks, self.n)
        self._single = np.concatenate([at["bound"], at["most"]])  # rows of one variable
        column = np.zeros(self.count, int)
        column[self._place // self.n] = self._place % self.n
        self._column, self._unit = column[self._single], unit[self._single]
        self._unbounded = np.full(self.n, np.inf)
        self._choices: dict[int, Choice] = {}

    def dense(self, a: FloatArray) -> FloatArray:
        """A (rows, n)."""
        A = np.zeros((self.count, self.n))
        A.ravel()[self._place] = a
        return A

    def __call__(self, A: FloatArray, program: tuple[FloatArray, ...], start: Any, above: Any) -> Solution | None:
        """x from a `start` and A x, or None where the solver finds none; `above` is x of the priority above, or None.

        Where the solver finds none below a priority, it runs again with forces that stay near to `above`.
        """
        choice = self._choice(program[2])
        found = self._within_torques(A, program, choice, start, None)
        if found is None and above is not None:
            found = self._within_torques(A, program, choice, above, above)
        return found

    def _choice(self, ease: FloatArray) -> Choice:
        if id(ease) not in self._choices:
            at, task = self.at, self.at["task"]
            equal = np.concatenate([task, at["contact"]])
            own = equal[(ease[equal] > 0.0) & (ease[equal] < FREE)]
            hard = np.concatenate([at["contact"][ease[at["contact"]] == 0.0], at["loose"]])
            relaxed = bool((ease[np.concatenate([at["bound"], at["contact"]])] > 0.0).any())
            cone = at["cone"] if self.cones is None or relaxed else at["cone"][:0]
            above = task[ease[task] == 0.0]
            rows = np.concatenate([cone, above, hard]), np.concatenate([cone, above, at["torque"], hard])
            counts = len(cone), len(cone) + len(above), len(hard)
            self._choices[id(ease)] = Choice(ease, own, 1.0 / ease[own], rows, *counts, relaxed)
        return self._choices[id(ease)]

    def _within_torques(
        self, A: FloatArray, program: tuple[FloatArray, ...], choice: Choice, start: Any, near: Any
    ) -> Solution | None:
        low, high, torque = program[0], program[1], self.at["torque"]
        for limited in (True,) if choice.relaxed else (False, True):
            x = self._minimum(self._quadratic(A, program, choice, limited, near), choice, start)
            if x is None:
                break
            start, g = x, A @ x
            if limited or not ((g[torque] < low[torque]) | (g[torque] > high[torque])).any():
                return x, g
        return None

    def _quadratic(
        self, A: FloatArray, program: tuple[FloatArray, ...], choice: Choice, limited: bool, near: Any
    ) -> Quadratic:
        """With torque limits or without; bounds give way where the program is relaxed."""
        (low, high, ease, d, z), bounds = program, len(self.at["bound"])
        rows = A.take(choice.own, 0)
        weighed = rows.T * choice.price
        P, c = weighed @ rows, -d * z - weighed @ low.take(choice.own)
        P.ravel()[:: self.n + 1] += d
        if near is not None:
            P.ravel()[self.nv * (self.n + 1) :: self.n + 1] += STEADY
            c[self.nv :] -= STEADY * near[self.nv :]
        lower, upper = -self._unbounded, self._unbounded.copy()
        upper[self._column] = high.take(self._single) * self._unit
        lower[self._column[:bounds]] = (low.take(self._single) * self._unit)[:bounds]
        chosen, above = choice.rows[limited], slice(choice.cones, choice.unlimited)
        lows, highs, hard = low.take(chosen), high.take(chosen), len(chosen) - choice.equal
        highs[above] = lows[above] + BAND
        lows[above] -= BAND
        lows[: choice.cones] = -np.inf
        highs[hard:] = lows[hard:]
        s = Quadratic(P, c, A.take(chosen, 0), lows, highs, choice.equal, lower, upper)
        if not (choice.relaxed and bounds):
            return s
        return s.with_soft_bounds(self._column[:bounds], self._unit[:bounds] ** -2 / ease[self.at["bound"]])

    def _minimum(self, s: Quadratic, choice: Choice, start: Any) -> FloatArray | None:
        if self.cones is not None and not choice.relaxed:
            return minimise_in_cones(s, self.cones, self.nv)
        for within in EXACT if choice.relaxed else CLOSE:
            x = minimise(s, self.solver, None if choice.relaxed else start, within)
            if x is not None:
                return x[: self.n]
        return None


def places(blocks: Blocks, n: int) -> IntArray:
    """Where each number of a program is in the dense A (rows, n), raveled."""
    found = []
    for b, (first, last) in enumerate(zip(blocks.first[:-1], blocks.first[1:], strict=True)):
        rows = np.arange(blocks.row[b], blocks.row[b + 1])
        found.append((rows * n + blocks.column[first:last, None]).ravel())
    return np.concatenate(found)


def chosen_solver(name: str | None) -> str:
    """The solver of this name, or the first that is installed."""
    found = required("qpsolvers", "control", "bough.control.WholeBody").available_solvers
    if name is not None and name not in found:
        raise OptionError(f"qpsolvers has no solver {name!r} here; there are {', '.join(found) or 'none'}")
    usable = [name] if name else [s for s in SOLVERS if s in found] + [s for s in found if s not in SOLVERS]
    if not usable:
        raise MissingExtraError('bough.control.WholeBody needs a QP solver: pip install "bough[control]"')
    return str(usable[0])


def minimise(s: Quadratic, solver: str, start: FloatArray | None, within: float) -> FloatArray | None:
    """x, or None where there is none; `within` is the tolerance of DAQP."""
    if solver == "daqp":
        return _by_daqp(s, start, within)
    from qpsolvers import Problem, solve_problem

    problem = Problem(s.P, s.c, *s.below, *s.equations, s.lower, s.upper)
    warm = start if solver != "piqp" else None  # which takes no start
    try:
        found = solve_problem(problem, solver=solver, initvals=warm)
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return found.x if found.found and found.x is not None and np.isfinite(found.x).all() else None


def _by_daqp(s: Quadratic, start: FloatArray | None, within: float) -> FloatArray | None:
    """The same solver without what `qpsolvers` adds to a call, which is a quarter of its time."""
    program = s.P, s.c, s.A, np.concatenate([s.upper, s.high]), np.concatenate([s.lower, s.low])
    sense = _senses(len(program[-1]), s.equal)
    x, _, status, _ = _daqp().solve(*program, sense.copy(), primal_tol=within, primal_start=start)
    if status < INFEASIBLE:  # it cycles
        x, _, status, _ = _daqp().solve(*program, sense.copy(), primal_tol=within, eps_prox=PROXIMAL)
    return x if status > 0 and np.isfinite(x).all() else None


@cache
def _senses(rows: int, equal: int) -> Any:
    """Kinds of bounds and rows, in DAQP's numbers."""
    return np.where(np.arange(rows) < rows - equal, 0, EQUALITY).astype(np.int32)


@cache
def _daqp() -> Any:
    return import_module("daqp")
