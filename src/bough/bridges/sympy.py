"""SymPy expressions of a small mechanism: the equations of motion, to read and to teach with."""

from __future__ import annotations

import math
from typing import Any

from bough.arguments import explained
from bough.bridges.calls import Call, call_of
from bough.compile.graph.evaluate import evaluate
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
def expressions(model: Model, name: str, **options: Any) -> Any:
    """A function of `Dynamics` as a SymPy matrix in the symbols of `symbols(model, name)`; several outputs: a tuple.

    An energy is an expression. Numbers that are whole, fractions with small denominators or twelfths of pi, to 12
    digits, become exact.

    >>> bough.sympy.expressions(pendulum, "mass_matrix")
    """
    call = _call(model, name, options)
    traced = call.program()
    if len(traced.graph) > LARGEST:
        raise TooLargeError(
            f"{name} of {model.name!r} takes {len(traced.graph)} operations; at most {LARGEST:,} are shown"
        )
    results = evaluate(traced, [list(x) for x in _symbols(call)], FUNCTIONS)
    found = [_shaped(numbers, y) for numbers, y in zip(results, call.results, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def symbols(model: Model, name: str, **options: Any) -> tuple[Any, ...]:
    """The symbols of the arguments of a function, one tuple for each: q0, q1, ..., v0, ..."""
    return _symbols(_call(model, name, options))


def _call(model: Model, name: str, options: dict[str, Any]) -> Call:
    rest = dict(options)
    return call_of(model, name, rest, rest.pop("inputs", ()))


def _symbols(call: Call) -> tuple[Any, ...]:
    return tuple(tuple(sympy.Symbol(f"{x.name}{k}", real=True) for k in range(x.size)) for x in call.inputs)


def _shaped(numbers: list[Any], shape: tuple[int, ...]) -> Any:
    """A matrix, or what is one number as it is."""
    exact = [sympy.simplify(_exact(sympy.sympify(x))) for x in numbers]
    return sympy.Matrix(shape[0], len(exact) // shape[0], exact) if shape else exact[0]


def _exact(expression: Any) -> Any:
    """Floating-point numbers as the fractions, or parts of a turn, that they were meant to be, where there are any."""

    def fraction(x: Any) -> Any:
        turns = sympy.Integer(round(12 * float(x) / math.pi)) * sympy.pi / 12  # where joints start from
        simple = sympy.Rational(str(float(x))).limit_denominator(10_000)
        close = 1e-12 * max(1.0, abs(float(x)))
        return next((near for near in (simple, turns) if abs(float(near) - float(x)) <= close), x)

    return expression.replace(lambda x: x.is_Float, fraction)


def __dir__() -> list[str]:
    return sorted(__all__)
