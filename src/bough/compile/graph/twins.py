"""Vectorise one evaluation over identical parts: isomorphic operations become one vector instruction.

The graph of data with identical parts has the same operations several times, on other numbers: isomorphic nodes,
here "twins". Inputs are marked with their part and their place in it. The marks give the part of every node and its
twins in the other parts. Twins do not depend on each other, so they are computed side by side.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bough.compile.graph.expr import ADD, ATAN, CONST, COS, INPUT, MUL, PARAMETERS, SIN, Graph
from bough.compile.graph.passes import operands
from bough.compile.graph.program import Mark, Part, Program, Unit


class Parameter(NamedTuple):
    """A constant that must not fold while a kernel is traced, because its twins may fold otherwise."""

    value: float
    mark: Mark


class Twins(NamedTuple):
    """Constants of a kernel with the numbers of their parts as parameters, and the marks of inputs along named axes."""

    constants: tuple[Any, ...]
    axes: Mapping[str, Mapping[int, Mark]]


def side_by_side(program: Program, width: int) -> tuple[Program, list[Unit]]:
    """The program with its parameters settled, and its operations in an order with up to `width` twins side by side."""
    program, found = find_units(program, width)
    return program, _ordered(program.graph, found)


def find_units(program: Program, width: int) -> tuple[Program, list[Unit]]:
    """The same in no order. A unit has 1, 2, 4, ... nodes; the last one is repeated to fill it up."""
    program, classes, _ = _align(program)
    program = settle(program)
    graph = program.graph
    found = []
    for twins in classes:
        computed = [i for i in twins if graph.op[i] >= ADD]
        found += [_filled(computed[k : k + width]) for k in range(0, len(computed), width)]
    return program, found


def settle(program: Program) -> Program:
    """Constants in place of parameters and of what depends on nothing else; nodes keep their numbers."""
    graph = program.graph.copy()
    folded, op = Graph(), graph.op  # the first only to evaluate constants
    for i, (x, y) in enumerate(zip(graph.a, graph.b, strict=True)):
        if op[i] == INPUT and x == PARAMETERS:
            op[i], graph.value[i] = CONST, program.parameters[y]
        elif op[i] >= ADD and op[x] == CONST and (y < 0 or op[y] == CONST):
            a, b = (folded.const(graph.value[k]) if k >= 0 else -1 for k in (x, y))
            result = folded.apply(op[i], a, b)
            if folded.op[result] == CONST:  # else a division by zero, which the compiled code makes
                op[i], graph.value[i] = CONST, folded.value[result]
    return replace(program, graph=graph, parameters=(), marks={})


def cost(program: Program, order: Sequence[Unit]) -> int:
    """An estimate of the number of instructions: operations, and moves between numbers and vectors."""
    graph, total = program.graph, 0
    lanes = {i: unit for unit in order for i in unit}
    moved: set[Any] = set()
    for unit in order:
        if graph.op[unit[0]] in (SIN, COS):
            continue
        total += 1
        for side in (graph.a, graph.b):
            read = tuple(side[i] for i in unit)
            if read[0] < 0 or lanes.get(read[0]) == read or all(graph.op[i] == CONST for i in read):
                continue
            if len(read) == 1:
                moved.update(i for i in read if len(lanes.get(i, ())) > 1)
            elif len({lanes.get(i) for i in read}) == 1 and read[0] in lanes:
                moved.add(read)
            else:
                moved.update([read] if len(set(read)) == 1 else [(read, k) for k in range(len(read))])
    moved.update(i for i in program.flat_roots() if len(lanes.get(i, ())) > 1)
    return total + len(moved)


def marks_of(program: Program, nodes: Sequence[int]) -> list[Mark]:
    """The part of each of some nodes, as if it were an input."""
    _, classes, part = _align(program)
    place = {i: k for k, twins in enumerate(classes) for i in twins}
    return [Mark(part[i], place[i]) for i in nodes]


def _align(program: Program) -> tuple[Program, list[list[int]], dict[int, Part]]:
    """Classes of live nodes that are the same operation on twins, each in the order of parts, and the part of each.

    In the program that comes with them, sums and products have their operands in the same order in all twins.
    """
    graph = program.graph.copy()
    part: dict[int, Part] = {}
    colour: dict[int, int] = {}
    found: list[list[int]] = []
    for level in _levels(graph, graph.live(program.flat_roots())):  # twins are equally far from the inputs
        classes: dict[Hashable, list[int]] = {}
        for i in level:
            if graph.op[i] < ADD:
                part[i], key = _leaf(program, i)
            else:
                part[i], key = _operation(graph, i, part, colour)
            classes.setdefault(key, []).append(i)
        for twins in classes.values():
            _lift_to_carrier(twins, part)
            for i in twins:
                colour[i] = len(found)
            found.append(sorted(twins, key=part.__getitem__) if len(twins) > 1 else twins)
    return replace(program, graph=graph), found, part


def _lift_to_carrier(twins: list[int], part: dict[int, Part]) -> None:
    """Nodes without a twin inside their own carrier, say sums over its parts, belong to what carries the parts."""
    while part[twins[0]] and len({part[i][:-1] for i in twins}) == len(twins):
        for i in twins:
            part[i] = part[i][:-1]


def _levels(graph: Graph, live: list[int]) -> list[list[int]]:
    """Nodes by the length of the longest way to them."""
    height = [0] * len(graph)
    levels: list[list[int]] = [[]]
    for i in live:
        if graph.op[i] >= ADD:
            height[i] = 1 + max(height[graph.a[i]], height[graph.b[i]] if graph.b[i] >= 0 else 0)
        if height[i] == len(levels):
            levels.append([])
        levels[height[i]].append(i)
    return levels


def _leaf(program: Program, i: int) -> tuple[Part, Hashable]:
    """The part of a constant or an input, and the key that it shares with its twins."""
    graph = program.graph
    if graph.op[i] == CONST:
        return (), (CONST, graph.value[i])
    mark = program.marks.get((graph.a[i], graph.b[i]))
    return (mark.part, (INPUT, graph.a[i], mark.place)) if mark else ((), (INPUT, graph.a[i], graph.b[i]))


def _operation(graph: Graph, i: int, part: dict[int, Part], colour: dict[int, int]) -> tuple[Part, Hashable]:
    """The same for an operation; operands of a sum or product are put in order."""
    op, a, b = graph.op[i], graph.a[i], graph.b[i]
    if op == ATAN:
        return (), (ATAN, i)  # a call, not an instruction
    if b < 0:
        return part[a], (op, colour[a])
    own = _meet(part[a], part[b])
    sides = [(colour[x], _within(part[x], own)) for x in (a, b)]
    if op in (ADD, MUL) and sides[0] > sides[1]:
        sides.reverse()
        graph.a[i], graph.b[i] = b, a
    return own, (op, *sides)


def _meet(a: Part, b: Part) -> Part:
    """The part of a result of numbers of two parts: the inner one, a pair of parts, or the part that has both."""
    for depth, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            both = tuple(sorted({*x, *y}))
            return (*a[:depth], both) if len(a) == len(b) == depth + 1 and len(both) == 2 else a[:depth]
    return max(a, b, key=len)


def _within(inner: Part, outer: Part) -> tuple[Any, ...]:
    """The relation of an operand's part to that of the result: the same for twins."""
    depth = len(outer)
    if len(inner) == depth and inner != outer:
        return tuple(outer[-1].index(one) for one in inner[-1])
    return inner[depth:]


def _filled(twins: list[int]) -> Unit:
    size = 1 << (len(twins) - 1).bit_length()
    return (*twins, *[twins[-1]] * (size - len(twins)))


def _ordered(graph: Graph, found: list[Unit]) -> list[Unit]:
    """The units so that operands come first; otherwise close to the order of the graph."""
    unit_of = {i: u for u, unit in enumerate(found) for i in unit}
    below = [{unit_of[x] for i in unit for x in operands(graph, i) if x in unit_of} for unit in found]
    above: list[list[int]] = [[] for _ in found]
    for u, sources in enumerate(below):
        for s in sources:
            above[s].append(u)
    waiting = [len(sources) for sources in below]
    ready = [(max(unit), u) for u, unit in enumerate(found) if not waiting[u]]
    heapq.heapify(ready)
    order = []
    while ready:
        u = heapq.heappop(ready)[1]
        order.append(found[u])
        for t in above[u]:
            waiting[t] -= 1
            if not waiting[t]:
                heapq.heappush(ready, (max(found[t]), t))
    return order
