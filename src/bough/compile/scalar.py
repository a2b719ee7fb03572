"""Functions of one scalar that must work on floats, on symbols and compiled alike."""

from __future__ import annotations

import math
from typing import Any

from bough.compile.graph.expr import ATAN, COS, SIN, SQRT, STEP, Expr
from bough.compile.kernel import kernel


def _sqrt(x: Any) -> Any:
    return x.unary(SQRT) if isinstance(x, Expr) else math.sqrt(x)


def _sin(x: Any) -> Any:
    return x.unary(SIN) if isinstance(x, Expr) else math.sin(x)


def _cos(x: Any) -> Any:
    return x.unary(COS) if isinstance(x, Expr) else math.cos(x)


def _atan(x: Any) -> Any:
    return x.unary(ATAN) if isinstance(x, Expr) else math.atan(x)


def _step(x: Any) -> Any:
    return x.unary(STEP) if isinstance(x, Expr) else float(x >= 0.0)


# What a compiler must know
PRIMITIVES = {"sqrt": _sqrt, "sin": _sin, "cos": _cos, "atan": _atan, "step": _step}


@kernel
def sqrt(x: Any) -> Any:
    """Square root."""
    return _sqrt(x)


@kernel
def sincos(x: Any) -> Any:
    """(sine, cosine) of one angle."""
    return _sin(x), _cos(x)


@kernel
def atan(x: Any) -> Any:
    """Arc tangent, between -pi/2 and pi/2."""
    return _atan(x)


@kernel
def step(x: Any) -> Any:
    """1 where x >= 0, else 0: kernels must not branch on numbers, but may weigh with this."""
    return _step(x)


@kernel
def clip(x: Any, low: Any, high: Any) -> Any:
    """x, but no less than low and no more than high."""
    y = low + step(x - low) * (x - low)
    return high - step(high - y) * (high - y)


@kernel
def positive(x: Any) -> Any:
    """x, or 0 below it."""
    return step(x) * x


@kernel
def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers; exact where it is a."""
    return a + positive(b - a)


@kernel
def size(x: Any) -> Any:
    """|x|."""
    return positive(x) + positive(-x)
