"""Derivatives of programs, exact, as programs.

Forward mode carries a tangent along with every node; reverse mode carries the sensitivity of the outputs back to
every node. Both write their operations into the graph of the program itself, so that derivatives share
every common subexpression with it and with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bough.compile.graph.expr import ADD, ATAN, COS, DIV, MUL, NEG, SIN, SQRT, STEP, SUB, Expr, Graph
from bough.compile.graph.program import Array, Program, count

Mode = Literal["forward", "reverse", "auto"]
Seeds = Mapping[tuple[int, int], Expr | float]
Weights = Sequence[Sequence[Expr | float]]


def forward(program: Program, seeds: Seeds) -> list[list[Expr]]:
    """The directional derivative of every output element.

    `seeds[array, offset]` is the tangent of that input element: a number, or an expression in the program's own graph;
    inputs that are not named stand still. One list for each output, in row-major order.
    """
    return _rates(program, program.graph.live(program.flat_roots()), seeds)


def reverse(program: Program, weights: Weights) -> list[list[Expr]]:
    """The gradient of `sum(weight * output element)` with respect to every input element.

    `weights` has one sequence for each output; its numbers may be expressions in the program's own graph.
    One list for each input, in row-major order.
    """
    return _gradients(program, program.graph.live(program.flat_roots()), weights)


def tangents(graph: Graph, roots: Sequence[int], seeds: Mapping[int, int]) -> dict[int, int]:
    """The tangent of every node that moves, on the way to `roots`, as the nodes of `seeds` move with their tangents."""
    return _push(graph, graph.live(roots), seeds)


def sensitivities(graph: Graph, roots: Sequence[int], weights: Sequence[int]) -> dict[int, int]:
    """The derivative of `sum(weight * root)` by every node that it depends on."""
    return _pull(graph, graph.live(roots), roots, weights)


def _push(graph: Graph, live: Sequence[int], seeds: Mapping[int, int]) -> dict[int, int]:
    """Forward mode over the nodes `live`."""
    zero = graph.const(0.0)
    moving = dict(seeds)
    for i in live:
        if i not in seeds and graph.op[i] >= ADD and (graph.a[i] in moving or graph.b[i] in moving):
            moving[i] = _tangent(graph, i, moving, zero)
    return moving


def _pull(graph: Graph, live: Sequence[int], roots: Sequence[int], weights: Sequence[int]) -> dict[int, int]:
    """Reverse mode over the nodes `live`."""
    zero = graph.const(0.0)
    sensitivity: dict[int, int] = {}
    for r, weight in zip(roots, weights, strict=True):
        sensitivity[r] = graph.add(sensitivity.get(r, zero), weight)
    for i in reversed(live):
        incoming = sensitivity.get(i, zero)
        if graph.op[i] >= ADD and incoming != zero:
            for operand, part in _contributions(graph, i, incoming):
                sensitivity[operand] = graph.add(sensitivity.get(operand, zero), part)
    return sensitivity


def _rates(program: Program, live: Sequence[int], seeds: Seeds) -> list[list[Expr]]:
    graph = program.graph
    zero = graph.const(0.0)
    moving = _push(graph, live, {graph.input(*place).id: graph.operand(seed) for place, seed in seeds.items()})
    return [[Expr(graph, moving.get(r, zero)) for r in roots] for roots in program.roots]


def _gradients(program: Program, live: Sequence[int], weights: Weights) -> list[list[Expr]]:
    graph = program.graph
    zero = graph.const(0.0)
    found = _pull(graph, live, program.flat_roots(), [graph.operand(w) for row in weights for w in row])
    return [
        [Expr(graph, found.get(graph.input(k, offset).id, zero)) for offset in range(array.size)]
        for k, array in enumerate(program.inputs)
    ]


def jacobian(program: Program, output: int, wrt: Sequence[int], mode: Mode = "auto") -> Program:
    """The program of d(output)/d(input) for each input number in `wrt`.

    The inputs are those of `program`; output k, called d_<output>_d_<input>, has the shape of the output followed by
    that of the input `wrt[k]`. With mode "auto" both ways are tried and the one with fewer operations is kept.
    """
    if mode == "auto":
        choices = [jacobian(program, output, wrt, "forward"), jacobian(program, output, wrt, "reverse")]
        return min(choices, key=lambda p: sum(count(p.graph, p.flat_roots()).astuple()))
    one = _copy(program, output)
    table = _by_columns(one, wrt) if mode == "forward" else _by_rows(one, wrt)
    y = program.outputs[output]
    arrays = [program.inputs[k] for k in wrt]
    outputs = tuple(Array(f"d_{y.name}_d_{x.name}", y.shape + x.shape) for x in arrays)
    roots = tuple(tuple(entry.id for row in block for entry in row) for block in table)
    return replace(one, outputs=outputs, roots=roots)


def _by_columns(program: Program, wrt: Sequence[int]) -> list[list[list[Expr]]]:
    """Blocks [wrt][row][column] of the Jacobian of the only output, one forward sweep for each column."""
    blocks, live = [], program.graph.live(program.flat_roots())
    for k in wrt:
        columns = [_rates(program, live, {(k, offset): 1.0})[0] for offset in range(program.inputs[k].size)]
        blocks.append([list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in program.roots[0]])
    return blocks


def _by_rows(program: Program, wrt: Sequence[int]) -> list[list[list[Expr]]]:
    """The same, one reverse sweep for each row."""
    blocks: list[list[list[Expr]]] = [[] for _ in wrt]
    size, live = program.outputs[0].size, program.graph.live(program.flat_roots())
    for row in range(size):
        gradient = _gradients(program, live, [[1.0 if r == row else 0.0 for r in range(size)]])
        for block, k in zip(blocks, wrt, strict=True):
            block.append(gradient[k])
    return blocks


def _copy(program: Program, output: int) -> Program:
    """A program of that one output, in a graph of its own."""
    outputs, roots = (program.outputs[output],), (program.roots[output],)
    return replace(program, graph=program.graph.copy(), outputs=outputs, roots=roots)


def _tangent(graph: Graph, i: int, tangents: Mapping[int, int], zero: int) -> int:
    """The derivative of node i from those of its operands."""
    op, a, b = graph.op[i], graph.a[i], graph.b[i]
    da, db = tangents.get(a, zero), tangents.get(b, zero)
    if op == ADD:
        return graph.add(da, db)
    if op == SUB:
        return graph.sub(da, db)
    if op == MUL:
        return graph.add(graph.mul(da, b), graph.mul(a, db))
    if op == DIV:  # d(a / b) = (da - (a / b) db) / b
        return graph.div(graph.sub(da, graph.mul(i, db)), b)
    return graph.mul(_slope(graph, i), da)


def _contributions(graph: Graph, i: int, s: int) -> list[tuple[int, int]]:
    """(operand, its share of the sensitivity) for a node i whose own sensitivity is s."""
    op, a, b = graph.op[i], graph.a[i], graph.b[i]
    if op == ADD:
        return [(a, s), (b, s)]
    if op == SUB:
        return [(a, s), (b, graph.neg(s))]
    if op == MUL:
        return [(a, graph.mul(s, b)), (b, graph.mul(s, a))]
    if op == DIV:
        share = graph.div(s, b)
        return [(a, share), (b, graph.neg(graph.mul(share, i)))]
    return [(a, graph.mul(_slope(graph, i), s))]


def _slope(graph: Graph, i: int) -> int:
    """The derivative of a function of one operand."""
    op, a = graph.op[i], graph.a[i]
    if op == NEG:
        return graph.const(-1.0)
    if op == SQRT:
        return graph.div(graph.const(0.5), i)
    if op == SIN:
        return graph.apply(COS, a)
    if op == STEP:
        return graph.const(0.0)
    if op == ATAN:
        return graph.div(graph.const(1.0), graph.add(graph.const(1.0), graph.mul(a, a)))
    return graph.neg(graph.apply(SIN, a))
