"""SymPy expressions of a small mechanism: the equations of motion, to read and to teach with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bough.arguments import explained
from bough.compile.graph.evaluate import evaluate
from bough.compile.graph.program import Array
from bough.dynamics.functions import program
from bough.errors import TooLargeError, required
from bough.model import Model

__all__ = ["expressions", "symbols"]

sympy = required("sympy", "sympy", at_least="1.10")
FUNCTIONS = {
    "sqrt": sympy.sqrt,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "atan": sympy.atan,
    "step": lambda x: sympy.Heaviside(x, 1),
}
LARGEST = 5_000  # operations: more are not read by anyone, and SymPy would take minutes


@explained
def expressions(model: Model, name: str, *, simplify: bool = True, digits: int = 12, **options: Any) -> Any:
    """A function of `Dynamics` as a SymPy matrix in the symbols of `symbols(model, name)`; several outputs: a tuple.

    Numbers that are whole, fractions with small denominators or twelfths of pi, to `digits` digits, become exact.

    >>> bough.sympy.expressions(pendulum, "mass_matrix")
    """
    traced = program(model, name, **options)
    if len(traced.graph) > LARGEST:
        raise TooLargeError(
            f"{name} of {model.name!r} takes {len(traced.graph)} operations; at most {LARGEST:,} are shown"
        )
    results = evaluate(traced, [list(x) for x in _symbols(traced.inputs)], FUNCTIONS)
    found = [_matrix(numbers, y, simplify, digits) for numbers, y in zip(results, traced.outputs, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def symbols(model: Model, name: str, **options: Any) -> tuple[Any, ...]:
    """The symbols of the arguments of a function, one tuple for each: q0, q1, ..., v0, ..."""
    return _symbols(program(model, name, **options).inputs)


def _symbols(inputs: Sequence[Array]) -> tuple[Any, ...]:
    return tuple(tuple(sympy.Symbol(f"{x.name}{k}", real=True) for k in range(x.size)) for x in inputs)


def _matrix(numbers: list[Any], array: Array, simplify: bool, digits: int) -> Any:
    rows = array.shape[0] if array.shape else 1
    exact = [_exact(sympy.sympify(x), digits) for x in numbers]
    return sympy.Matrix(rows, len(exact) // rows, [sympy.simplify(x) for x in exact] if simplify else exact)


def _exact(expression: Any, digits: int) -> Any:
    """Floating-point numbers as the fractions, or parts of a turn, that they were meant to be, where there are any."""

    def fraction(x: Any) -> Any:
        turns = sympy.Integer(round(12 * float(x) / math.pi)) * sympy.pi / 12  # where joints start from
        simple = sympy.Rational(str(float(x))).limit_denominator(10_000)
        close = 10.0**-digits * max(1.0, abs(float(x)))
        return next((near for near in (simple, turns) if abs(float(near) - float(x)) <= close), x)

    return expression.replace(lambda x: x.is_Float, fraction)
