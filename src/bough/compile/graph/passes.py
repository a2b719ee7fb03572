"""Rewriting passes: small functions from a program to a program of the same value.

A graph is append-only, so a pass walks the live nodes in evaluation order and rebuilds them in a new graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from bough.compile.graph.expr import (
    ADD,
    CONST,
    COS,
    DIV,
    INPUT,
    MUL,
    NEG,
    SIN,
    SQRT,
    SUB,
    Graph,
)
from bough.compile.graph.program import Program

Step = Callable[[Graph, int, int, int], int]

SWAPPED, BY_A, BY_B = 1, 2, 3  # how a node is computed with the other sign


def operands(graph: Graph, i: int) -> tuple[int, ...]:
    """The distinct nodes that node i reads: none for a constant or an input."""
    if graph.op[i] < ADD:
        return ()
    a, b = graph.a[i], graph.b[i]
    return (a,) if b < 0 or b == a else (a, b)


def use_counts(program: Program) -> list[int]:
    """How often each node is used, by live nodes and by outputs."""
    graph, roots = program.graph, program.flat_roots()
    uses = [0] * len(graph)
    for i in graph.live(roots):
        if graph.op[i] >= ADD:
            uses[graph.a[i]] += 1
            if graph.b[i] >= 0:
                uses[graph.b[i]] += 1
    for r in roots:
        uses[r] += 1
    return uses


def rebuild(program: Program, order: Iterable[int], step: Step | None = None) -> Program:
    """The program with its nodes rebuilt in `order`.

    `step(new, i, a, b)` returns the node of the new graph for the old node i, whose operands have
    become a and b; without it the same operation is applied again.
    """
    old, new = program.graph, Graph()
    moved = [-1] * len(old)
    for i in order:
        op, a, b = old.op[i], old.a[i], old.b[i]
        if op == CONST:
            moved[i] = new.const(old.value[i])
        elif op == INPUT:
            moved[i] = new.node(INPUT, a, b)
        elif step is None:
            moved[i] = new.apply(op, moved[a], moved[b] if b >= 0 else -1)
        else:
            moved[i] = step(new, i, moved[a], moved[b] if b >= 0 else -1)
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


def absorb_negations(program: Program) -> Program:
    """Drop each negation whose operand can be computed with the other sign at no cost.

    -(a - b) becomes b - a, -(c x) becomes (-c) x, and so on down single-use operands. Exact. The
    signs that folding prefers are not kept, so this pass comes after the ones that fold.
    """
    graph = program.graph
    flips = _free_flips(program)

    def negated(new: Graph, old: int, moved: int) -> int:
        return new.const(-graph.value[old]) if graph.op[old] == CONST else moved

    def step(new: Graph, i: int, a: int, b: int) -> int:
        op, flip = graph.op[i], flips[i]
        if op == NEG and flips[graph.a[i]]:
            return a
        if flip == SWAPPED:
            return new.node(SUB, b, a)
        if flip == BY_A:
            return new.node(SUB if op == ADD else op, negated(new, graph.a[i], a), b)
        if flip == BY_B:
            b = negated(new, graph.b[i], b)
            return new.node(SUB, b, a) if op == ADD else new.node(op, a, b)
        return new.node(op, a, b)

    return rebuild(program, graph.live(program.flat_roots()), step)


def _free_flips(program: Program) -> list[int]:
    """For each node: whether it is to be computed with the other sign, and how (0 = as it is)."""
    graph, uses = program.graph, use_counts(program)
    live = graph.live(program.flat_roots())
    free = [0] * len(graph)
    for i in live:
        op = graph.op[i]
        if op == SUB and uses[i] == 1:
            free[i] = SWAPPED
        elif op in (ADD, MUL, DIV) and uses[i] == 1:
            a, b = graph.a[i], graph.b[i]
            free[i] = BY_A if free[a] or graph.op[a] == CONST else BY_B if free[b] or graph.op[b] == CONST else 0
    flips = [0] * len(graph)
    for i in reversed(live):
        if graph.op[i] == NEG:
            flips[graph.a[i]] = free[graph.a[i]]
        elif flips[i] in (BY_A, BY_B):
            operand = graph.a[i] if flips[i] == BY_A else graph.b[i]
            flips[operand] = free[operand]
    return flips


BY_BOTH = frozenset((ADD, SUB, MUL))
BY_FIRST = frozenset((DIV, NEG, SQRT, SIN, COS))


def unchecked_inputs(program: Program) -> frozenset[int]:
    """The input arrays that need no check: where one of their numbers is not finite, neither is some output.

    Sums, differences, products, square roots, sines and cosines of what is not finite are not finite, and neither is a
    quotient of it; only what divides by an infinity may come out finite. The program must be without parameters.
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
