"""Potentials of single joints: springs, torsion series, limits as barriers, functions of a user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.node import BARRIER, COSINE, HARMONIC
from bough.arguments import explained
from bough.errors import NonFiniteError, SettingError, ShapeError, short
from bough.types import FloatArray

# f(x, which) -> V, dV/dx, d2V/dx2, (k,) each, of the joints in these places of those that were named
Function = Callable[[FloatArray, npt.NDArray[np.int64]], tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]]


@dataclass(frozen=True)
class Potential:
    """Terms of one kind; each of their values is one number, or one for each joint."""

    kind: int
    terms: tuple[tuple[Any, ...], ...]
    max_h: float = math.inf  # the longest step for which it is meant

    def rows(self, count: int) -> FloatArray:
        """(terms, joints, 4) for so many joints."""
        found = np.zeros((len(self.terms), count, 4))
        for row, values in zip(found, self.terms, strict=True):
            for k, value in enumerate(values):
                a = np.asarray(value, float)
                if a.shape not in ((), (count,)):
                    raise ShapeError(f"potential: expected one number or one for each of {count} joints, got {a.shape}")
                row[:, k] = a
        return found


def _finite(what: str, *values: Any) -> None:
    for value in values:
        a = np.asarray(value, float)
        if not np.isfinite(a).all():
            raise NonFiniteError(f"{what}: expected finite numbers, got {a[~np.isfinite(a)].flat[0]}")


@explained
def harmonic(stiffness: npt.ArrayLike, rest: npt.ArrayLike = 0.0, *, max_h: float | None = None) -> Potential:
    """k/2 (x - rest)^2, stiffness in N m or N/m. A negative one needs `max_h` (s^2): longer steps are then refused."""
    _finite("harmonic", stiffness, rest)
    if np.min(stiffness, initial=0.0) < 0.0 and max_h is None:
        raise SettingError(
            f"harmonic: a stiffness of {np.min(stiffness):g} drives the joint away, and only short steps follow that: "
            f"give max_h, the longest step h in s^2"
        )
    if max_h is not None and not max_h > 0.0:
        raise SettingError(f"harmonic: max_h must be positive, got {max_h!r}")
    return Potential(HARMONIC, ((stiffness, rest),), math.inf if max_h is None else float(max_h))


@explained
def dihedral(amplitudes: npt.ArrayLike, multiplicities: npt.ArrayLike, phases: npt.ArrayLike = 0.0) -> Potential:
    """Sum over terms of A (1 + cos(n x - phase)), as force fields of molecules have it; (terms,) each, A in N m.

    Amplitudes (terms, joints) give every joint its own.
    """
    _finite("dihedral", amplitudes, multiplicities, phases)
    n = np.atleast_1d(np.asarray(multiplicities, float))
    A, phase = np.asarray(amplitudes, float), np.broadcast_to(np.asarray(phases, float), n.shape)
    A = np.broadcast_to(A, n.shape) if A.ndim == 0 else A
    if n.ndim != 1 or len(A) != len(n):
        raise ShapeError(f"dihedral: expected as many amplitudes as multiplicities {n.shape}, got {A.shape}")
    return Potential(COSINE, tuple(zip(A, n, phase, strict=True)))


@explained
def barrier(lower: npt.ArrayLike, upper: npt.ArrayLike, strength: float, gap: float | None = None) -> Potential:
    """-strength log of the distances to both limits, in N m or J; within `gap` of a limit and beyond, a parabola.

    The gap is a hundredth of the range unless it is given: a joint that is pressed against a limit by a force f passes
    it by about gap (f gap / strength - 2), if that is positive.
    """
    low, high = np.broadcast_arrays(np.asarray(lower, float), np.asarray(upper, float))
    _finite("barrier", low, high, strength)
    if not (high > low).all():
        raise SettingError("barrier: the lower limit must be below the upper one")
    width = 0.01 * (high - low) if gap is None else np.broadcast_to(np.asarray(gap, float), low.shape)
    if not (strength > 0.0 and (width > 0.0).all() and (width < 0.5 * (high - low)).all()):
        raise SettingError(f"barrier: strength is positive, gap less than half the range, got {strength!r}, {gap!r}")
    return Potential(BARRIER, ((low, high, strength, width),))


def evaluated(function: Function, x: FloatArray, which: npt.NDArray[np.int64]) -> FloatArray:
    """(k, 3) slopes, curvatures and energies of a user's function; no other shapes, no NaN."""
    found: Any = function(x, which)
    if not (isinstance(found, tuple) and len(found) == 3):
        raise ShapeError(f"potential: expected a tuple of V, V' and V'', got {type(found).__name__}")
    out = np.empty((len(x), 3))
    for column, name, value in zip((2, 0, 1), ("V", "V'", "V''"), found, strict=True):
        a = np.asarray(value)
        if a.dtype.kind not in "fiub":
            raise ShapeError(f"potential: {name} is {short(repr(value))}, expected numbers, one for each joint")
        if a.shape != x.shape and a.shape != ():
            raise ShapeError(f"potential: {name} has shape {a.shape}, expected {x.shape}, one for each joint")
        out[:, column] = a
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad):
        raise NonFiniteError(
            f"potential: V, V' and V'' must be finite, got {out[bad[0], [2, 0, 1]]} at x = {x[bad[0]]:g}"
        )
    return out
