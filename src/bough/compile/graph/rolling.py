"""Loop rerolling: turns of a loop that a trace has unrolled become a loop again.

A kernel that sweeps four times traces to four equal runs of operations, each reading the results of the one before.
As a loop they take a fraction of the compile time, and of the instruction cache of a GPU. The trace records where turns
begin (`scalar.turn`). Turns are equal if each operation has its counterpart in the next turn, with operands that are
either values from before all turns or counterparts, too. The operands of the first turn initialise the loop; a first
turn that differs stays outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bough.compile.graph.expr import ADD, Graph
from bough.compile.graph.program import Unit

WORTH = 128  # units that a loop must save


class Loop(NamedTuple):
    """Equal runs of units one after the other, `period` units each."""

    units: Sequence[Unit]
    period: int
    start: Mapping[tuple[int, int], int]  # by (place in a run, place in its unit) of a result that the next run reads
    kept: Sequence[int]  # places in the last run of results that are read later
    former: Sequence[int]  # the same in the run before it

    @property
    def turns(self) -> int:
        return len(self.units) // self.period

    @property
    def last(self) -> Sequence[Unit]:
        return self.units[-self.period :]

    @property
    def before_last(self) -> Sequence[Unit]:
        return self.units[-2 * self.period : -self.period]


def roll(graph: Graph, order: Sequence[Unit], roots: Sequence[int]) -> list[Unit | Loop]:
    """Units and loops in the order of evaluation."""
    if not graph.turns:
        return [*order]
    table = _Table(graph, order, roots)
    latest = np.sort([max(unit) for unit in order])
    at = np.searchsorted(latest, graph.turns).tolist()
    found: list[Unit | Loop] = []
    done = k = 0
    while k + 2 < len(at):
        period, count = at[k + 1] - at[k], 1
        while k + count + 1 < len(at) and at[k + count + 1] - at[k + count] == period:
            count += 1
        if (count - 1) * period >= WORTH and table.is_loop(at[k], period, count):
            found += [*order[done : at[k]], table.loop(at[k], period, count)]
            done = at[k] + count * period
            k += count
        else:
            k += 1
    return [*found, *order[done:]]


class _Table:
    """Units by their numbers: operations, and places of operands."""

    def __init__(self, graph: Graph, order: Sequence[Unit], roots: Sequence[int]) -> None:
        width = max(map(len, order))
        nodes = np.array([[*unit, *[unit[-1]] * (width - len(unit))] for unit in order], np.int64)
        self.order, self.unit, self.place = order, np.full(len(graph) + 1, -1), np.zeros(len(graph) + 1, np.int64)
        for lane in range(width)[::-1]:
            self.unit[nodes[:, lane]], self.place[nodes[:, lane]] = np.arange(len(order)), lane
        ops, a, b = (np.array(x, np.int64) for x in (graph.op, graph.a, graph.b))
        self.kind = ops[nodes[:, 0]] * (width + 1) + [len(unit) for unit in order]
        self.read = np.stack([a[nodes], b[nodes]], axis=2).reshape(len(order), -1)  # -1: no operand
        self.source = self.unit[self.read]  # -1: a leaf
        self.results = np.unique(self.unit[[r for r in roots if graph.op[r] >= ADD]])

    def is_loop(self, begin: int, period: int, count: int) -> bool:
        """Whether runs are equal, and results are read in the same run or the next, of the last two runs also later."""
        last, after = begin + (count - 1) * period, begin + count * period
        if ((self.results >= begin) & (self.results < last)).any():
            return False
        reader, column = np.nonzero((self.source >= begin) & (self.source < last))
        source = self.source[reader, column]
        apart = (reader - begin) // period - (source - begin) // period
        if not (((reader < after) & (apart <= 1)) | ((reader >= after) & (source >= last - period))).all():
            return False
        here, there = slice(begin, last), slice(begin + period, after)
        x, y, at, to = self.read[here], self.read[there], self.source[here], self.source[there]
        same = np.where(to < begin, x == y, (at == to - period) & (self.place[x] == self.place[y]))
        first = np.zeros(same.shape, bool)  # what starts the loop
        first[:period] = (to[:period] >= begin) & (to[:period] < begin + period)
        if (self.kind[here] != self.kind[there]).any() or not (same | first).all():
            return False
        start = self._start(begin, period)
        places = zip(to[first] - begin, self.place[y[first]], x[first], strict=True)
        return bool((at[first] < begin).all()) and all(start[int(u), int(lane)] == i for u, lane, i in places)

    def loop(self, begin: int, period: int, count: int) -> Loop:
        """The loop of some runs."""
        after = begin + period * count
        later = np.unique(np.concatenate([self.source[after:].ravel(), self.results]))
        runs = (after - period, after - 2 * period)
        kept, former = ([int(u) - first for u in later if first <= u < first + period] for first in runs)
        return Loop(self.order[begin:after], period, self._start(begin, period), kept, former)

    def _start(self, begin: int, period: int) -> dict[tuple[int, int], int]:
        """Operands of the first run where the second one reads results of the first."""
        x, y = self.read[begin : begin + period], self.read[begin + period : begin + 2 * period]
        to = self.unit[y]
        here = (to >= begin) & (to < begin + period)
        places = zip(to[here] - begin, self.place[y[here]], x[here], strict=True)
        found: dict[tuple[int, int], int] = {}
        for u, lane, i in places:
            found.setdefault((int(u), int(lane)), int(i))
        return found
