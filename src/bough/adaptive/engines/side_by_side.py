"""All nodes of a large tree redone on several threads: disjoint subtrees side by side, then what lies above them.

A node needs its children only, so every thread count gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.node import Blueprint, State, full, scratch_space
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.settings import interpreted, threads
from bough.joints import Mechanism
from bough.types import IntArray, Rows

LARGE = 20_000  # nodes from which on threads pay
SHARES = 4  # subtrees for each thread, about


@loop_kernel
def redo(m: Mechanism, plan: Blueprint, st: State, nodes: Rows, keeps: int) -> None:
    """Some nodes in full, children first."""
    for k in range(len(nodes)):
        full(m, plan, st, nodes[k], keeps)


@kernel
def _label(up: Rows, size: Rows, label: Rows, most: int) -> None:
    """Number the subtrees of at most so many nodes that are in no larger one of them; -1 above them."""
    for n in range(len(up) - 1):
        size[up[n]] += size[n]
    found = 0
    for n in range(len(up) - 1, -1, -1):
        if n < len(up) - 1 and label[up[n]] >= 0:
            label[n] = label[up[n]]
        elif size[n] <= most:
            label[n] = found
            found += 1


def subtrees(up: IntArray, parts: int) -> tuple[list[IntArray], IntArray]:
    """Disjoint subtrees of at most a share of all nodes, the largest first, and the nodes above them; ascending."""
    label = np.full(len(up), -1, np.int64)
    compiled(_label)(np.ascontiguousarray(up), np.ones(len(up), np.int64), label, max(1, len(up) // parts))
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(label.max(initial=-1) + 2))
    groups = [order[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    return sorted(groups, key=len, reverse=True), order[: int(ends[0])]


def workers(nodes: int) -> int:
    """On how many threads a tree of so many nodes is redone."""
    return 1 if nodes < LARGE or interpreted() else threads()


class Crew:
    """The threads of a tree: a state for each of them, which differ in their scratch space only."""

    def __init__(self, m: Mechanism, plan: Blueprint, state: State) -> None:
        self.mechanism, self.plan, self.state = m, plan, state
        self.states = [state]
        self._jobs: dict[int, tuple[list[IntArray], IntArray]] = {}

    def gather(self) -> int:
        """As many as there may be now."""
        count = workers(len(self.plan.left))
        while len(self.states) < count:
            self.states.append(self.state._replace(scratch=scratch_space()))
        return count

    def each(self, run: Callable[[int, State], None], count: int) -> None:
        """Do something on each of so many threads."""
        if count == 1:
            run(0, self.states[0])
        else:
            with ThreadPoolExecutor(count) as pool:
                list(pool.map(run, range(count), self.states[:count]))

    def redo_all(self, count: int, keeps: int) -> None:
        """Every node in full."""
        if count not in self._jobs:
            self._jobs[count] = subtrees(self.plan.up, SHARES * count)
        groups, above = self._jobs[count]

        def run(who: int, state: State) -> None:
            for nodes in groups[who::count]:
                compiled(redo)(self.mechanism, self.plan, state, nodes, keeps)

        self.each(run, count)
        compiled(redo)(self.mechanism, self.plan, self.state, above, keeps)
