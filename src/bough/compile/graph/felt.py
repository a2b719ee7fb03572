"""Which inputs are felt by the outputs: where one of their numbers is not finite, no more is an output.

Sums, differences, products, square roots, sines and cosines of what is not finite are not finite, and neither is a
quotient of it; only what divides by an infinity may come out finite. So whoever looks at the outputs need not look at
these inputs, too.
"""

from __future__ import annotations

from collections import Counter

from bough.compile.graph.expr import ADD, COS, DIV, INPUT, MUL, NEG, SIN, SQRT, SUB
from bough.compile.graph.program import Program

BY_BOTH = frozenset((ADD, SUB, MUL))
BY_FIRST = frozenset((DIV, NEG, SQRT, SIN, COS))


def felt_inputs(program: Program) -> frozenset[int]:
    """The input arrays each of whose numbers is felt. The program must be without parameters."""
    graph = program.graph
    op, a, b = graph.op, graph.a, graph.b
    felt = bytearray(len(graph))
    for root in program.flat_roots():
        felt[root] = 1
    numbers: Counter[int] = Counter()
    for i in reversed(graph.live(program.flat_roots())):
        if not felt[i]:
            continue
        if op[i] == INPUT:
            numbers[a[i]] += 1
        elif op[i] in BY_BOTH:
            felt[a[i]] = felt[b[i]] = 1
        elif op[i] in BY_FIRST:
            felt[a[i]] = 1
    return frozenset(k for k, array in enumerate(program.inputs) if array.size and numbers[k] == array.size)
