"""Quadratic programs whose rows have names: solved through `qpsolvers`, with rows that give way where they must."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from bough.errors import MissingExtraError, OptionError, required
from bough.types import FloatArray

SOLVERS = ("daqp", "piqp", "proxqp", "quadprog")  # the fastest first, as measured on whole-body programs
CONFLICT = 1e-5  # relative: what gives way by more is named
BOUND, ROW = 1e1, 1e3  # prices of what gives way, beside tasks of weight 1
SMALL = 1e-4  # price of all variables there, without which solvers cycle
FAR, EQUALITY, INFEASIBLE = 1e30, 5, -1  # in the words of DAQP: no bound, both bounds at once, and a status
PROXIMAL = 1e-6  # regularisation by proximal points, where it cycles without
CLOSE, EXACT = 1e-6, 1e-10  # how far it may break constraints, in its units; the second makes degenerate programs cycle


class Constraints(NamedTuple):
    """Rows A x = b and G x <= h, each with a name, and lower <= x <= upper."""

    A: FloatArray
    b: FloatArray
    G: FloatArray
    h: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # of rows of A, of rows of G, of x


def chosen_solver(wanted: str | None) -> str:
    """The solver wanted, or the first that is installed."""
    found = required("qpsolvers", "control", "bough.control.WholeBody").available_solvers
    if wanted is not None and wanted not in found:
        raise OptionError(f"qpsolvers has no solver {wanted!r} here; there are {', '.join(found) or 'none'}")
    usable = [wanted] if wanted else [s for s in SOLVERS if s in found] + [s for s in found if s not in SOLVERS]
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

    problem = Problem(P, c, s.G, s.h, s.A, s.b, s.lower, s.upper)
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
    box, below = len(s.lower), len(s.h)
    none, sense = _senses(box, below, len(s.b))
    upper, lower = np.concatenate([s.upper, s.h, s.b]), np.concatenate([s.lower, none, s.b])
    rows = np.concatenate([s.G, s.A])
    x, _, status, _ = _daqp().solve(P, c, rows, upper, lower, sense.copy(), primal_tol=within, primal_start=start)
    if status < INFEASIBLE:  # it cycles
        x, _, status, _ = _daqp().solve(P, c, rows, upper, lower, sense.copy(), primal_tol=within, eps_prox=PROXIMAL)
    return x if status > 0 and np.isfinite(x).all() else None


@cache
def _daqp() -> Any:
    return import_module("daqp")


@lru_cache
def _senses(box: int, below: int, equal: int) -> tuple[FloatArray, Any]:
    """No lower bounds for rows G, and what DAQP is told of each bound and row."""
    return np.full(below, -FAR), np.concatenate([np.zeros(box + below, np.int32), np.full(equal, EQUALITY, np.int32)])


def softened(
    P: FloatArray, c: FloatArray, s: Constraints, solver: str, soft: int, equal: FloatArray
) -> tuple[FloatArray | None, tuple[str, ...]]:
    """The same minimum where some constraints give way, and the names of those that do.

    The bounds of the first `soft` variables give way at the price of `BOUND` times the square of what they give, and
    rows `equal` of A at `ROW` times it. All other constraints are hard.
    """
    n, hard = len(c), np.setdiff1d(np.arange(len(s.b)), equal)
    low, high = np.flatnonzero(np.isfinite(s.lower[:soft])), np.flatnonzero(np.isfinite(s.upper[:soft]))
    wide = np.zeros((n + soft, n + soft))
    wide[:n, :n] = P + ROW * s.A[equal].T @ s.A[equal] + SMALL * np.eye(n)
    wide[n:, n:] = BOUND * np.eye(soft)
    cost = np.concatenate([c - ROW * s.A[equal].T @ s.b[equal], np.zeros(soft)])
    box = np.hstack([np.eye(soft, n), -np.eye(soft)])  # x - t <= upper, -x - t <= -lower
    rows = np.concatenate(
        [np.pad(s.G, ((0, 0), (0, soft))), box[high], np.hstack([-np.eye(soft, n), -np.eye(soft)])[low]]
    )
    lower, upper = np.r_[s.lower, np.zeros(soft)], np.r_[s.upper, np.full(soft, np.inf)]
    lower[:soft], upper[:soft] = -np.inf, np.inf
    ends = np.concatenate([s.h, s.upper[high], -s.lower[low]])
    # solvers have tolerances that know no units: in units of `scale`, all numbers are near 1
    scale = max(1.0, float(np.abs(ends).max(initial=0.0)), float(np.abs(s.b).max(initial=0.0)))
    A, b = np.pad(s.A[hard], ((0, 0), (0, soft))), s.b[hard] / scale
    whole = Constraints(A, b, rows, ends / scale, lower / scale, upper / scale, ((), (), ()))
    found = minimise(wide, cost / scale, whole, solver, None, EXACT)
    if found is None:
        return None, ()
    x, given = scale * found[:n], scale * found[n:]
    gap = np.abs(s.A[equal] @ x - s.b[equal])
    names = [s.names[2][k] for k in np.flatnonzero(given > CONFLICT * np.maximum(1.0, np.abs(x[:soft])))]
    names += [s.names[0][equal[k]] for k in np.flatnonzero(gap > CONFLICT * np.maximum(1.0, np.abs(s.b[equal])))]
    return x, tuple(dict.fromkeys(names))
