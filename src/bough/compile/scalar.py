"""Functions of one scalar that must work on floats, on symbols and compiled alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.compile.graph.expr import ATAN, COS, SIN, SQRT, STEP, Expr
from bough.compile.kernel import kernel
from bough.types import Scalar


def _unary(op: int, function: Callable[[Any], float], x: Any) -> Any:
    """On numpy's numbers as in compiled code: NaN instead of a complex number, and no error for a division by zero."""
    if isinstance(x, Expr):
        return x.unary(op)
    if not isinstance(x, np.float64):
        return function(x)
    try:
        return np.float64(function(x))
    except ValueError:
        return np.float64(math.nan)


def _sqrt(x: Any) -> Any:
    return _unary(SQRT, math.sqrt, x)


def _sin(x: Any) -> Any:
    return _unary(SIN, math.sin, x)


def _cos(x: Any) -> Any:
    return _unary(COS, math.cos, x)


def _atan(x: Any) -> Any:
    return _unary(ATAN, math.atan, x)


def _step(x: Any) -> Any:
    return x.unary(STEP) if isinstance(x, Expr) else float(x >= 0.0)


def ahead(array: Any, k: int) -> None:
    """Prefetch element k of a vector; only compiled loops use it."""


def turn(x: Any) -> None:
    """A turn of a loop begins here, or the last one has ended: a trace remembers it, so that turns which are alike can
    be a loop again. `x` is any number of the trace."""
    if isinstance(x, Expr):
        x.graph.turns.append(len(x.graph))


# What a compiler must know
PRIMITIVES = {
    "sqrt": _sqrt, "sin": _sin, "cos": _cos, "atan": _atan, "step": _step, "ahead": ahead, "turn": turn,
}  # fmt: skip


@kernel
def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    return _sqrt(x)


@kernel
def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    """(sine, cosine) of one angle."""
    return _sin(x), _cos(x)


@kernel
def atan(x: Scalar) -> Scalar:
    """Arc tangent, between -pi/2 and pi/2."""
    return _atan(x)


@kernel
def step(x: Scalar) -> Scalar:
    """1 where x >= 0, else 0: kernels must not branch on numbers, but may weigh with this."""
    return _step(x)


@kernel
def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, but no less than low and no more than high."""
    y = low + step(x - low) * (x - low)
    return high - step(high - y) * (high - y)


@kernel
def positive(x: Scalar) -> Scalar:
    """x, or 0 below it."""
    return step(x) * x


@kernel
def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two numbers; exact where it is a."""
    return a + positive(b - a)


@kernel
def size(x: Scalar) -> Scalar:
    """|x|."""
    return positive(x) + positive(-x)
