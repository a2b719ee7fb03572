"""An order of evaluation with short live ranges, so that values stay in registers and the workspace stays small."""

from __future__ import annotations

import heapq

from bough.compile.graph.expr import ADD
from bough.compile.graph.passes import drop_dead_code, operands, rebuild, share_reciprocals
from bough.compile.graph.program import Program


def schedule(program: Program) -> Program:
    """The program in the order of `late_order` if that lowers the peak of live values, else as it is.

    A kernel's own order is usually good, and has the turns of loops one after the other; the order of derivatives is
    not.
    """
    graph = program.graph
    if len({*graph.turns}) > 2:
        return program
    order = late_order(program)
    if peak_live(program, order) >= peak_live(program, graph.live(program.flat_roots())):
        return program
    return rebuild(program, order, lambda new, i, a, b: new.node(graph.op[i], a, b))


def optimise(program: Program) -> Program:
    """All passes, in the order that suits the backends."""
    return schedule(tidied(program))


def tidied(program: Program) -> Program:
    """All passes but the last, for callers with an order of their own."""
    return share_reciprocals(drop_dead_code(program))


def peak_live(program: Program, order: list[int]) -> int:
    """The largest number of computed values that wait for a use at one time."""
    graph = program.graph
    last_use: dict[int, int] = {}
    for position, i in enumerate(order):
        for operand in operands(graph, i):
            last_use[operand] = position
    ends = [0] * len(order)
    for operand, position in last_use.items():
        ends[position] += graph.op[operand] >= ADD
    live = peak = 0
    for position, i in enumerate(order):
        live += (i in last_use and graph.op[i] >= ADD) - ends[position]
        peak = max(peak, live)
    return peak


def late_order(program: Program) -> list[int]:
    """List scheduling from the end: operations are placed late, for short live ranges.

    Going backwards, an operation may be placed when all its users are. The choice is the one that leaves the fewest
    values live above it (its own value is not, its operands are), the latest first.
    """
    graph = program.graph
    live = graph.live(program.flat_roots())
    users: dict[int, list[int]] = {i: [] for i in live}
    for i in live:
        for operand in operands(graph, i):
            users[operand].append(i)
    waiting = {i: len(users[i]) for i in live}
    wanted: set[int] = set()
    current: dict[int, tuple[int, int]] = {}  # the valid key of each operation in the heap
    heap: list[tuple[int, int]] = []

    def offer(i: int) -> None:
        growth = sum(graph.op[x] >= ADD and x not in wanted for x in operands(graph, i)) - (i in wanted)
        current[i] = (growth, -i)
        heapq.heappush(heap, current[i])

    for i in live:
        if not users[i] and graph.op[i] >= ADD:
            offer(i)
    backwards = []
    while heap:
        entry = heapq.heappop(heap)
        i = -entry[1]
        if current.get(i) != entry:
            continue
        del current[i]
        backwards.append(i)
        wanted.discard(i)
        for x in operands(graph, i):
            waiting[x] -= 1
            if graph.op[x] < ADD:
                continue
            if x not in wanted:
                wanted.add(x)
                for user in users[x]:
                    if user in current:
                        offer(user)
            if waiting[x] == 0:
                offer(x)
    return [i for i in live if graph.op[i] < ADD] + backwards[::-1]
