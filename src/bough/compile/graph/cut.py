"""Cut a long program into two, one after the other: values that the second needs go through memory.

The cut is where few values are live. Two short kernels take less time than a long one, which overflows the instruction
cache and the registers of a GPU, and each runs with its own number of threads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from bough.compile.graph import twins
from bough.compile.graph.expr import ADD, INPUT, Graph
from bough.compile.graph.passes import drop_dead_code, operands, rebuild
from bough.compile.graph.program import Array, Program

BETWEEN = "between"  # the array that the first half gives to the second
MARGIN = 0.2  # of all operations, before and after the cut
NEARLY = 1.05  # times the fewest values: as good, and better if it is later


class Halves(NamedTuple):
    """The second half takes the inputs of the whole, and after them the output of the first."""

    first: Program
    second: Program


def cut(program: Program) -> Halves:
    """The halves of a program."""
    graph, live = program.graph, program.graph.live(program.flat_roots())
    order = [i for i in live if graph.op[i] >= ADD]
    end = _place(graph, order, program)
    before, needed = set(order[:end]), {*program.flat_roots()}
    for i in order[end:]:
        needed.update(operands(graph, i))
    between = [i for i in order[:end] if i in needed]
    where = {i: offset for offset, i in enumerate(between)}
    array, number = Array(BETWEEN, (len(between),)), len(program.inputs)
    marks = dict(program.marks)
    if marks:
        found = twins.marks_of(program, between)
        marks |= {(number, offset): mark for offset, mark in enumerate(found)}
    first = drop_dead_code(replace(program, outputs=(array,), roots=(tuple(between),)))

    def again(new: Graph, i: int, a: int, b: int) -> int:
        if i in where:
            return new.node(INPUT, number, where[i])
        return -1 if i in before else new.node(graph.op[i], a, b)

    whole = replace(program, inputs=(*program.inputs, array), marks=marks)
    return Halves(first, drop_dead_code(rebuild(whole, live, again)))


def _place(graph: Graph, order: list[int], program: Program) -> int:
    """The number of operations before the cut: the most, where about the fewest values are live."""
    last = {x: k for k, i in enumerate(order) for x in operands(graph, i)}
    last |= dict.fromkeys(program.flat_roots(), len(order))
    ends = [0] * (len(order) + 1)
    waiting, count = [0] * len(order), 0
    for i in order:
        ends[last[i]] += 1
    for k in range(len(order)):
        count += 1 - ends[k]
        waiting[k] = count
    middle = range(int(MARGIN * len(order)), int((1.0 - MARGIN) * len(order)))
    fewest = min(waiting[k] for k in middle)
    return max(k for k in middle if waiting[k] <= NEARLY * fewest) + 1
