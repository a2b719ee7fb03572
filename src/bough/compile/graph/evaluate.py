"""A program on the numbers of someone else: anything that adds, multiplies and knows a few functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bough.compile.graph import twins
from bough.compile.graph.expr import ADD, CONST, DIV, INPUT, MUL, NEG, OP_NAMES, SUB
from bough.compile.graph.program import Program

ARITHMETIC: dict[int, Callable[..., Any]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: operator.truediv,
    NEG: operator.neg,
}


def evaluate(
    program: Program, inputs: Sequence[Sequence[Any]], functions: Mapping[str, Callable[[Any], Any]]
) -> list[list[Any]]:
    """The numbers of each output, row-major, from those of each input; `functions` has those of `expr.FUNCTIONS`."""
    program = twins.settle(program) if program.parameters else program
    graph = program.graph
    values: dict[int, Any] = {}
    for i in graph.live(program.flat_roots()):
        op, a, b = graph.op[i], graph.a[i], graph.b[i]
        if op == CONST:
            values[i] = graph.value[i]
        elif op == INPUT:
            values[i] = inputs[a][b]
        elif op in ARITHMETIC:
            values[i] = ARITHMETIC[op](values[a]) if b < 0 else ARITHMETIC[op](values[a], values[b])
        else:
            values[i] = functions[OP_NAMES[op]](values[a])
    return [[values[r] for r in roots] for roots in program.roots]
