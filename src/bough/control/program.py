"""Quadratic programs whose rows have names: solved through `qpsolvers`, with rows that give way where they must."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from bough.errors import MissingExtraError, OptionError, required
from bough.types import FloatArray

SOLVERS = ("daqp", "piqp", "proxqp", "quadprog")  # the fastest first, as measured on whole-body programs
CONFLICT = 1e-5  # relative: what gives way by more is named
# weights beside tasks of weight 1: of bounds and contacts that give way, and of all variables then, against cycling
SOFT_BOUND, SOFT_CONTACT, SMALL = 1e1, 1e3, 1e-4
EQUALITY, INFEASIBLE = 5, -1  # in the words of DAQP: both bounds at once, and a status
PROXIMAL = 1e-6  # regularisation by proximal points, where it cycles without
CLOSE, NEAR, EXACT = (
    1e-6,
    1e-8,
    1e-10,
)  # how far it may break constraints, in its units; the last makes degenerate programs cycle


class Constraints(NamedTuple):
    """Rows A x = b and low <= G x <= high, each with a name, and lower <= x <= upper."""

    A: FloatArray
    b: FloatArray
    G: FloatArray
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # of rows of A, of rows of G, of x

    @property
    def below(self) -> tuple[FloatArray, FloatArray]:
        """The same rows of G with one side each, G x <= h."""
        some = np.isfinite(self.low)
        return np.concatenate([self.G, -self.G[some]]), np.concatenate([self.high, -self.low[some]])

    def with_rows(self, G: FloatArray, low: FloatArray, high: FloatArray, names: tuple[str, ...]) -> Constraints:
        """The same and rows low <= G x <= high."""
        below, lows, highs = (np.concatenate(x) for x in ((self.G, G), (self.low, low), (self.high, high)))
        return self._replace(G=below, low=lows, high=highs, names=(self.names[0], self.names[1] + names, self.names[2]))


def chosen_solver(name: str | None) -> str:
    """The solver of this name, or the first that is installed."""
    found = required("qpsolvers", "control", "bough.control.WholeBody").available_solvers
    if name is not None and name not in found:
        raise OptionError(f"qpsolvers has no solver {name!r} here; there are {', '.join(found) or 'none'}")
    usable = [name] if name else [s for s in SOLVERS if s in found] + [s for s in found if s not in SOLVERS]
    if not usable:
        raise MissingExtraError('bough.control.WholeBody needs a QP solver: pip install "bough[control]"')
    return str(usable[0])


def minimise(
    P: FloatArray, c: FloatArray, s: Constraints, solver: str, start: FloatArray | None, within: float = CLOSE
) -> FloatArray | None:
    """x that minimises x' P x / 2 + c' x, or None where there is none; `within` is the tolerance of DAQP."""
    if solver == "daqp":
        return _by_daqp(P, c, s, start, within)
    from qpsolvers import Problem, solve_problem

    problem = Problem(P, c, *s.below, s.A, s.b, s.lower, s.upper)
    warm = start if solver != "piqp" else None  # which takes no start
    try:
        found = solve_problem(problem, solver=solver, initvals=warm)
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return found.x if found.found and found.x is not None and np.isfinite(found.x).all() else None


def _by_daqp(
    P: FloatArray, c: FloatArray, s: Constraints, start: FloatArray | None, within: float
) -> FloatArray | None:
    """The same solver without what `qpsolvers` adds to a call, which is a quarter of its time."""
    upper, lower = np.concatenate([s.upper, s.high, s.b]), np.concatenate([s.lower, s.low, s.b])
    sense = _senses(len(lower), len(s.b)).copy()
    rows = np.concatenate([s.G, s.A])
    x, _, status, _ = _daqp().solve(P, c, rows, upper, lower, sense.copy(), primal_tol=within, primal_start=start)
    if status < INFEASIBLE:  # it cycles
        x, _, status, _ = _daqp().solve(P, c, rows, upper, lower, sense.copy(), primal_tol=within, eps_prox=PROXIMAL)
    return x if status > 0 and np.isfinite(x).all() else None


@cache
def _senses(rows: int, equal: int) -> Any:
    """Kinds of bounds and rows, in DAQP's numbers."""
    return np.where(np.arange(rows) < rows - equal, 0, EQUALITY).astype(np.int32)


@cache
def _daqp() -> Any:
    return import_module("daqp")


def softened(
    P: FloatArray, c: FloatArray, s: Constraints, solver: str, soft: int, equal: FloatArray
) -> tuple[FloatArray | None, tuple[str, ...]]:
    """The same minimum where some constraints give way, and the names of those that do.

    The bounds of the first `soft` variables give way at the price of `SOFT_BOUND` times the square of what they give,
    and rows `equal` of A at `SOFT_CONTACT` times it. All other constraints are hard.
    """
    n, hard = len(c), np.setdiff1d(np.arange(len(s.b)), equal)
    wide = np.zeros((n + soft, n + soft))
    wide[:n, :n] = P + SOFT_CONTACT * s.A[equal].T @ s.A[equal] + SMALL * np.eye(n)
    wide[n:, n:] = SOFT_BOUND * np.eye(soft)
    rows = np.zeros((len(s.G) + soft, n + soft))  # lower <= x - t <= upper
    rows[: len(s.G), :n] = s.G
    rows[len(s.G) :, :soft], rows[len(s.G) :, n:] = np.eye(soft), -np.eye(soft)
    A, free = np.zeros((len(hard), n + soft)), np.full(soft, np.inf)
    A[:, :n] = s.A[hard]
    ends = [np.concatenate(x) for x in ((s.low, s.lower[:soft]), (s.high, s.upper[:soft]))]
    box = [np.concatenate(x) for x in ((-free, s.lower[soft:], -free), (free, s.upper[soft:], free))]
    cost = np.concatenate([c - SOFT_CONTACT * s.A[equal].T @ s.b[equal], np.zeros(soft)])
    # solvers have tolerances that know no units: in units of `scale`, all numbers are near 1
    scale = max(1.0, *(float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (*ends, s.b)))
    low, high, lower, upper = (x / scale for x in (*ends, *box))
    whole = Constraints(A, s.b[hard] / scale, rows, low, high, lower, upper, ((), (), ()))
    for within in (EXACT, NEAR, CLOSE):
        found = minimise(wide, cost / scale, whole, solver, None, within)
        if found is not None:
            break
    if found is None:
        return None, ()
    x, given = scale * found[:n], scale * np.abs(found[n:])
    gap = np.abs(s.A[equal] @ x - s.b[equal])
    names = [*s.names[2][:soft], *(s.names[0][k] for k in equal)]
    return x, gave_way(names, np.concatenate([given, gap]), np.concatenate([x[:soft], s.b[equal]]))


def gave_way(names: Sequence[str], gaps: FloatArray, sizes: FloatArray) -> tuple[str, ...]:
    """The names of rows with gaps that are not small beside their sizes."""
    large = np.flatnonzero(gaps > CONFLICT * np.maximum(1.0, np.abs(sizes)))
    return tuple(dict.fromkeys(names[k] for k in large.tolist()))
