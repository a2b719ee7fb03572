"""Rewriting passes: small functions from a program to a program of the same value.

A graph is append-only, so a pass walks the live nodes in evaluation order and rebuilds them in a new graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from bough.compile.graph.expr import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIN, SQRT, SUB, Graph
from bough.compile.graph.program import Program

Step = Callable[[Graph, int, int, int], int]


def operands(graph: Graph, i: int) -> tuple[int, ...]:
    """The distinct nodes that node i reads: none for a constant or an input."""
    if graph.op[i] < ADD:
        return ()
    a, b = graph.a[i], graph.b[i]
    return (a,) if b < 0 or b == a else (a, b)


def rebuild(program: Program, order: Iterable[int], step: Step | None = None) -> Program:
    """The program with its nodes rebuilt in `order`.

    `step(new, i, a, b)` returns the node of the new graph for the old node i, whose operands have
    become a and b; without it the same operation is applied again.
    """
    old, new = program.graph, Graph()
    moved, turns = [-1] * len(old), old.turns[::-1]
    for i in order:
        while turns and i >= turns[-1]:
            turns.pop()
            new.turns.append(len(new))
        op, a, b = old.op[i], old.a[i], old.b[i]
        if op == CONST:
            moved[i] = new.const(old.value[i])
        elif op == INPUT:
            moved[i] = new.node(INPUT, a, b)
        elif step is None:
            moved[i] = new.apply(op, moved[a], moved[b] if b >= 0 else -1)
        else:
            moved[i] = step(new, i, moved[a], moved[b] if b >= 0 else -1)
    new.turns += [len(new)] * len(turns)
    roots = tuple(tuple(moved[r] for r in output) for output in program.roots)
    return replace(program, graph=new, roots=roots)


def drop_dead_code(program: Program) -> Program:
    """Keep only the nodes that an output needs."""
    return rebuild(program, program.graph.live(program.flat_roots()))


def share_reciprocals(program: Program) -> Program:
    """x / d with a `d` that divides more than once becomes x * (1 / d), the reciprocal computed once."""
    graph = program.graph
    live = graph.live(program.flat_roots())
    divisions = Counter(graph.b[i] for i in live if graph.op[i] == DIV)

    def step(new: Graph, i: int, a: int, b: int) -> int:
        if graph.op[i] == DIV and divisions[graph.b[i]] > 1:
            return new.mul(a, new.div(new.const(1.0), b))
        return new.apply(graph.op[i], a, b)

    return rebuild(program, live, step)


BY_BOTH = frozenset((ADD, SUB, MUL))
BY_FIRST = frozenset((DIV, NEG, SQRT, SIN, COS))


def unchecked_inputs(program: Program) -> frozenset[int]:
    """The input arrays that need no check: if one of their numbers is not finite, some output is not finite either.

    Sums, differences, products, quotients, square roots, sines and cosines of numbers that are not finite are not
    finite; only a division by infinity may be finite. The program must be without parameters.
    """
    graph = program.graph
    op, a, b = graph.op, graph.a, graph.b
    passed_on = bytearray(len(graph))
    for root in program.flat_roots():
        passed_on[root] = 1
    numbers: Counter[int] = Counter()
    for i in reversed(graph.live(program.flat_roots())):
        if not passed_on[i]:
            continue
        if op[i] == INPUT:
            numbers[a[i]] += 1
        elif op[i] in BY_BOTH:
            passed_on[a[i]] = passed_on[b[i]] = 1
        elif op[i] in BY_FIRST:
            passed_on[a[i]] = 1
    return frozenset(k for k, array in enumerate(program.inputs) if array.size and numbers[k] == array.size)
