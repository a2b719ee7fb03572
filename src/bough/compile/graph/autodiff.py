"""Derivatives in a graph, exact.

Forward mode carries a tangent along with every node; reverse mode carries the sensitivity of the outputs back to
every node. Both write their operations into the graph itself, so that derivatives share every common subexpression
with it and with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bough.compile.graph.expr import ADD, ATAN, COS, DIV, MUL, NEG, SIN, SQRT, STEP, SUB, Graph


def tangents(graph: Graph, roots: Sequence[int], seeds: Mapping[int, int]) -> dict[int, int]:
    """The tangent of every node that moves, on the way to `roots`, as the nodes of `seeds` move with their tangents."""
    zero = graph.const(0.0)
    moving = dict(seeds)
    for i in graph.live(roots):
        if i not in seeds and graph.op[i] >= ADD and (graph.a[i] in moving or graph.b[i] in moving):
            moving[i] = _tangent(graph, i, moving, zero)
    return moving


def sensitivities(graph: Graph, roots: Sequence[int], weights: Sequence[int]) -> dict[int, int]:
    """The derivative of `sum(weight * root)` by every node that it depends on."""
    zero = graph.const(0.0)
    sensitivity: dict[int, int] = {}
    live = graph.live(roots)
    for r, weight in zip(roots, weights, strict=True):
        sensitivity[r] = graph.add(sensitivity.get(r, zero), weight)
    for i in reversed(live):
        incoming = sensitivity.get(i, zero)
        if graph.op[i] >= ADD and incoming != zero:
            for operand, part in _contributions(graph, i, incoming):
                sensitivity[operand] = graph.add(sensitivity.get(operand, zero), part)
    return sensitivity


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
