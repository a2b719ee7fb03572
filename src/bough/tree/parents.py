"""Parent arrays: validation, depths, sizes of subtrees and depth-first order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bough.compile.kernel import kernel
from bough.compile.settings import interpreted
from bough.errors import TreeError
from bough.types import IntArray, Rows

COMPILED = 100_000  # nodes from which loops are compiled


def validated(parent: ArrayLike) -> IntArray:
    """A copy of `parent` as integers in -1 .. n - 1."""
    try:
        given = np.array(parent)
    except ValueError:
        raise TreeError("a parent array is a flat list of integers: got nested lists of different lengths") from None
    if given.ndim != 1:
        raise TreeError(f"a parent array has one dimension: got shape {given.shape}")
    if given.dtype.kind not in "iu":
        for i, above in enumerate(given.tolist()):
            if not isinstance(above, int) or isinstance(above, bool):
                raise TreeError(f"the parent of node {i} is {above!r}: expected an integer, -1 for the base")
    n = len(given)
    for node in np.flatnonzero((given < -1) | (given >= n)):
        raise TreeError(f"the parent of node {node} is {given[node]}, which does not exist: expected -1 to {n - 1}")
    return given.astype(np.int64)


def _cycle_error(parent: IntArray, start: int) -> TreeError:
    """Describes the cycle that the ancestors of `start` end in: an n-th ancestor lies on it."""
    for _ in range(len(parent)):
        start = int(parent[start])
    cycle = [start]
    while (above := int(parent[cycle[-1]])) != start:
        cycle.append(above)
    if len(cycle) == 1:
        return TreeError(f"node {start} is its own parent: expected a tree")
    lowest = cycle.index(min(cycle))
    shown = [str(i) for i in cycle[lowest:] + cycle[:lowest] + [min(cycle)]]
    text = " -> ".join(shown if len(shown) <= 20 else [*shown[:10], "...", shown[-1]])
    return TreeError(f"the parents of {len(cycle)} nodes form a cycle, {text}: expected a tree")


def numbering(parent: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Depth (1 for a child of the base), subtree size and place in depth-first order of each node. O(n)."""
    if (parent < np.arange(len(parent))).all():
        return _in_one_sweep(parent)
    order = _parents_first(parent)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    above = parent[order]
    depth, size, place = _in_one_sweep(np.where(above < 0, -1, rank[above]))
    return depth[rank], size[rank], place[rank]


def _parents_first(parent: IntArray) -> IntArray:
    """The nodes in an order in which parents come first and siblings keep theirs. A cycle is refused."""
    children: list[list[int]] = [[] for _ in range(len(parent) + 1)]
    for i, above in enumerate(parent.tolist()):
        children[above].append(i)
    order = children[-1]
    for i in order:  # which grows
        order += children[i]
    if len(order) < len(parent):
        raise _cycle_error(parent, int(np.setdiff1d(np.arange(len(parent)), order)[0]))
    return np.array(order, np.int64)


def _in_one_sweep(parent: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The same where parents come first."""
    n = len(parent)
    size, free, rank = np.ones(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    if n < COMPILED or interpreted():
        lists = [x.tolist() for x in (parent, size, free, rank)]
        _sweep(*lists)
        size, rank = np.array(lists[1], np.int64), np.array(lists[3], np.int64)
    else:
        from bough.compile.run import direct  # heavy, and not needed for small trees

        direct.call(_sweep, parent, size, free, rank)
    # a node lies below those that began before it and have not ended
    ended = np.cumsum(np.bincount(rank + size[:n], minlength=n + 1))
    return 1 + rank - ended[rank], size[:n].copy(), rank


@kernel
def _sweep(parent: Rows, size: Rows, free: Rows, rank: Rows) -> None:
    """Subtree sizes (ones before) and depth-first places; free: where the next child goes (zeros), the base last."""
    n = len(parent)
    for i in range(n - 1, 0, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    for i in range(n):
        p = parent[i]
        if p < 0:
            p = n
        place = free[p]
        rank[i] = place
        free[p] = place + size[i]
        free[i] = place + 1
