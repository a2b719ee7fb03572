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
    """Minimise x' P x / 2 + c' x subject to A x = b, low <= G x <= high, lower <= x <= upper."""

    P: FloatArray
    c: FloatArray
    A: FloatArray
    b: FloatArray
    G: FloatArray
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def below(self) -> tuple[FloatArray, FloatArray]:
        """The same rows of G with one side each, G x <= h."""
        some = np.isfinite(self.low)
        return np.concatenate([self.G, -self.G[some]]), np.concatenate([self.high, -self.low[some]])

    def with_soft_bounds(self, columns: IntArray, price: FloatArray) -> Quadratic:
        """The same with bounds of some variables that give way by t at price t^2 / 2; x is followed by all t."""
        n, k = len(self.c), len(columns)
        beside = ((0, 0), (0, k))
        P, rows = np.pad(self.P, (0, k)), np.zeros((k, n + k))
        P[range(n, n + k), range(n, n + k)] = price
        rows[range(k), columns], rows[range(k), range(n, n + k)] = 1.0, -1.0
        lower, upper = np.full((2, n + k), np.inf) * [[-1.0], [1.0]]
        lower[:n], upper[:n] = self.lower, self.upper
        lower[columns], upper[columns] = -np.inf, np.inf
        low = np.concatenate([self.low, self.lower[columns]])
        high = np.concatenate([self.high, self.upper[columns]])
        G = np.concatenate([np.pad(self.G, beside), rows])
        return Quadratic(P, np.pad(self.c, (0, k)), np.pad(self.A, beside), self.b, G, low, high, lower, upper)


Solution: TypeAlias = tuple[FloatArray, FloatArray]  # x and A x


class Choice(NamedTuple):
    """What rows of a program are, by their ease."""

    ease: FloatArray
    own: IntArray  # equations with a price
    hard: IntArray  # equations that hold exactly
    below: IntArray  # inequalities: cones, tasks of higher priorities, torque limits
    cones: int  # how many of `below` are cones, and how many come before the torque limits
    unlimited: int
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
        self._choices: dict[int, Choice] = {}

    def dense(self, a: FloatArray) -> FloatArray:
        """A (rows, n)."""
        A = np.zeros((self.count, self.n))
        A.ravel()[self._place] = a
        return A

    def __call__(self, A: FloatArray, program: tuple[FloatArray, ...], start: Any, above: Any) -> Solution | None:
        """x from a `start` and A x, or None where the solver finds none; `above` is x of the priority above, or None.

        Where the solver finds none below a priority, it is asked again with forces that stay near to `above`.
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
            below, unlimited = np.concatenate([cone, above, at["torque"]]), len(cone) + len(above)
            self._choices[id(ease)] = Choice(ease, own, hard, below, len(cone), unlimited, relaxed)
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
        rows = A[choice.own]
        weighed = rows.T / ease[choice.own]
        P, c = weighed @ rows, -d * z - weighed @ low[choice.own]
        P.ravel()[:: self.n + 1] += d
        if near is not None:
            P.ravel()[self.nv * (self.n + 1) :: self.n + 1] += STEADY
            c[self.nv :] -= STEADY * near[self.nv :]
        lower, upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        upper[self._column] = high[self._single] * self._unit
        lower[self._column[:bounds]] = (low[self._single] * self._unit)[:bounds]
        below, above = choice.below[: None if limited else choice.unlimited], slice(choice.cones, choice.unlimited)
        lows, highs = low[below], high[below]
        highs[above] = lows[above] + BAND
        lows[above] -= BAND
        lows[: choice.cones] = -np.inf
        s = Quadratic(P, c, A[choice.hard], low[choice.hard], A[below], lows, highs, lower, upper)
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

    problem = Problem(s.P, s.c, *s.below, s.A, s.b, s.lower, s.upper)
    warm = start if solver != "piqp" else None  # which takes no start
    try:
        found = solve_problem(problem, solver=solver, initvals=warm)
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return found.x if found.found and found.x is not None and np.isfinite(found.x).all() else None


def _by_daqp(s: Quadratic, start: FloatArray | None, within: float) -> FloatArray | None:
    """The same solver without what `qpsolvers` adds to a call, which is a quarter of its time."""
    upper, lower = np.concatenate([s.upper, s.high, s.b]), np.concatenate([s.lower, s.low, s.b])
    sense, rows = _senses(len(lower), len(s.b)), np.concatenate([s.G, s.A])
    x, _, status, _ = _daqp().solve(s.P, s.c, rows, upper, lower, sense.copy(), primal_tol=within, primal_start=start)
    if status < INFEASIBLE:  # it cycles
        x, _, status, _ = _daqp().solve(
            s.P, s.c, rows, upper, lower, sense.copy(), primal_tol=within, eps_prox=PROXIMAL
        )
    return x if status > 0 and np.isfinite(x).all() else None


@cache
def _senses(rows: int, equal: int) -> Any:
    """Kinds of bounds and rows, in DAQP's numbers."""
    return np.where(np.arange(rows) < rows - equal, 0, EQUALITY).astype(np.int32)


@cache
def _daqp() -> Any:
    return import_module("daqp")
