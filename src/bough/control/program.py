"""Quadratic programs whose rows have names: solved through `qpsolvers`, or asked which of their rows conflict."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from bough.errors import MissingExtraError, OptionError, required
from bough.types import FloatArray

SOLVERS = ("daqp", "piqp", "proxqp", "quadprog")  # the fastest first, as measured on whole-body programs
CONFLICT = 1e-5  # relative to the row: what has to give way by more is named
PRESSING = 1e-3  # a multiplier above this, where those of rows that give way are 1
FAR, EQUALITY = 1e30, 5  # in the words of DAQP: no bound, and both bounds at once
GIVING = 1e-6  # weight of the program's own cost beside that of giving way


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


def minimise(P: FloatArray, c: FloatArray, s: Constraints, solver: str, start: FloatArray | None) -> FloatArray | None:
    """x that minimises x' P x / 2 + c' x, or None where there is none."""
    found = _solution(P, c, s, solver, start)
    return None if found is None else found.x


class Minimum(NamedTuple):
    """A solution: x, and the multipliers of the rows G."""

    x: FloatArray
    z: FloatArray


def _by_daqp(P: FloatArray, c: FloatArray, s: Constraints, start: FloatArray | None) -> Minimum | None:
    """The same solver without what `qpsolvers` adds to a call, which is a quarter of its time."""
    box, below = len(s.lower), len(s.h)
    none, sense = _senses(box, below, len(s.b))
    upper, lower = np.concatenate([s.upper, s.h, s.b]), np.concatenate([s.lower, none, s.b])
    rows = np.concatenate([s.G, s.A])
    x, _, status, more = _daqp().solve(P, c, rows, upper, lower, sense.copy(), primal_start=start)
    return Minimum(x, more["lam"][box : box + below]) if status > 0 and np.isfinite(x).all() else None


@cache
def _daqp() -> Any:
    return import_module("daqp")


@lru_cache
def _senses(box: int, below: int, equal: int) -> tuple[FloatArray, Any]:
    """No lower bounds for rows G, and what DAQP is told of each bound and row."""
    return np.full(below, -FAR), np.concatenate([np.zeros(box + below, np.int32), np.full(equal, EQUALITY, np.int32)])


def _solution(P: FloatArray, c: FloatArray, s: Constraints, solver: str, start: FloatArray | None) -> Any:
    if solver == "daqp":
        return _by_daqp(P, c, s, start)
    from qpsolvers import Problem, solve_problem

    problem = Problem(P, c, s.G, s.h, s.A, s.b, s.lower, s.upper)
    warm = start if solver != "piqp" else None  # which takes no start
    try:
        found = solve_problem(problem, solver=solver, initvals=warm)
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return found if found.found and found.x is not None and np.isfinite(found.x).all() else None


def relaxed(P: FloatArray, c: FloatArray, s: Constraints, solver: str) -> tuple[FloatArray | None, tuple[str, ...]]:
    """The x that breaks the constraints least, and the names of those that conflict.

    Each row may give way, in units of its own size: the sum of what is given is minimised, then the cost. Rows that
    give way, and rows that press against them (multipliers that are not small), are those in conflict.
    """
    n = len(c)
    box = [(j, sign, end) for sign, ends in ((1.0, s.upper), (-1.0, s.lower)) for j, end in enumerate(ends)]
    box = [(j, sign, end) for j, sign, end in box if np.isfinite(end)]
    B, d = np.zeros((len(box), n)), np.array([sign * end for _, sign, end in box])
    for r, (j, sign, _) in enumerate(box):
        B[r, j] = sign
    rows = np.concatenate([s.A, -s.A, s.G, B])
    ends = np.concatenate([s.b, -s.b, s.h, d])
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
    rows, ends = rows / size[:, None], ends / size
    give = len(ends)
    scale = GIVING / max(float(np.abs(P).max()), float(np.abs(c).max()), 1e-9)
    big = np.zeros((n + give, n + give))
    big[:n, :n], big[n:, n:] = scale * P + 1e-12 * np.eye(n), 1e-6 * np.eye(give)
    cost = np.concatenate([scale * c, np.ones(give)])
    none = Constraints(
        np.zeros((0, n + give)), np.zeros(0), np.hstack([rows, -np.eye(give)]), ends,
        np.concatenate([np.full(n, -np.inf), np.zeros(give)]), np.full(n + give, np.inf), ((), (), ()),
    )  # fmt: skip
    found = _solution(big, cost, none, solver, None)
    if found is None:
        return None, ()
    x = found.x
    names = (*s.names[0], *s.names[0], *s.names[1], *(s.names[2][j] for j, _, _ in box))
    if not (x[n:] > CONFLICT * np.maximum(1.0, np.abs(ends))).any():
        return x[:n], ()
    pressing = np.abs(found.z) > PRESSING
    return x[:n], tuple(dict.fromkeys(name for name, presses in zip(names, pressing, strict=True) if presses))
