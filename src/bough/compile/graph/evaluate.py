"""Evaluate a program on numbers of other libraries: types with arithmetic and a few functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bough.compile.graph import twins
from bough.compile.graph.expr import ADD, CONST, DIV, INPUT, MUL, NEG, OP_NAMES, SUB, UNARY, Graph
from bough.compile.graph.program import Program

ARITHMETIC: dict[int, Callable[..., Any]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: operator.truediv,
    NEG: operator.neg,
}


class Vectors(NamedTuple):
    """Vectors of a library that is slow with single numbers: pack numbers, and unpack them."""

    join: Callable[[list[Any]], Any]
    split: Callable[[Any], Sequence[Any]]


def evaluate(
    program: Program,
    inputs: Sequence[Sequence[Any]],
    functions: Mapping[str, Callable[[Any], Any]],
    vectors: Vectors | None = None,
) -> list[list[Any]]:
    """The numbers of each output, row-major, from those of each input; `functions` has those of `expr.FUNCTIONS`.

    With `vectors`, equal operations that are independent are one vector operation.
    """
    program = twins.settle(program) if program.parameters else program
    graph = program.graph
    values: dict[int, Any] = {}
    live = list(graph.live(program.flat_roots()))
    for op, nodes in _at_once(graph, live) if vectors else ((graph.op[i], [i]) for i in live):
        if op == CONST:
            results: Iterable[Any] = [graph.value[i] for i in nodes]
        elif op == INPUT:
            results = [inputs[graph.a[i]][graph.b[i]] for i in nodes]
        else:
            operate = ARITHMETIC.get(op) or functions[OP_NAMES[op]]
            places = (graph.a,) if op in UNARY else (graph.a, graph.b)
            operands = [[values[place[i]] for i in nodes] for place in places]
            if vectors and len(nodes) > 1:
                results = vectors.split(operate(*map(vectors.join, operands)))
            else:
                results = [operate(*numbers) for numbers in zip(*operands, strict=True)]
        values.update(zip(nodes, results, strict=True))
    return [[values[r] for r in roots] for roots in program.roots]


def _at_once(graph: Graph, live: Iterable[int]) -> list[tuple[int, list[int]]]:
    """Operations with the nodes that share one vector operation, in an order of evaluation."""
    level: dict[int, int] = {}
    found: dict[tuple[int, int], list[int]] = {}
    for i in live:
        op = graph.op[i]
        waits = () if op in (CONST, INPUT) else (graph.a[i],) if op in UNARY else (graph.a[i], graph.b[i])
        level[i] = max((level[k] + 1 for k in waits), default=0)
        found.setdefault((level[i], op), []).append(i)
    return [(op, nodes) for (_, op), nodes in sorted(found.items())]
