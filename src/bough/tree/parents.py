"""Parent arrays: validation, depths, sizes of subtrees and depth-first order, in vectorised steps."""

from __future__ import annotations

from collections.abc import Iterator

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


def _ancestors(parent: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """For r = 0, 1, ...: the nodes that have a 2^r-th ancestor, and that ancestor. A cycle is refused."""
    ancestor = parent.copy()
    nodes = np.flatnonzero(parent >= 0)
    above = parent[nodes]
    for _ in range(len(parent).bit_length()):
        if not nodes.size:
            return
        yield nodes, above
        above = ancestor[nodes] = ancestor[above]
        inside = above >= 0
        nodes, above = nodes[inside], above[inside]
    if nodes.size:
        raise _cycle_error(parent, int(above[0]))


def _cycle_error(parent: IntArray, start: int) -> TreeError:
    """Describes the cycle through `start`: an n-th ancestor, if there is one, lies on a cycle."""
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
    """Depth (1 for a child of the base), subtree size and place in depth-first order of each node."""
    if (parent < np.arange(len(parent))).all():
        return _in_one_sweep(parent)
    depth, size = depth_and_size(parent)
    return depth, size, depth_first_rank(parent, size)


def _in_one_sweep(parent: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The same where parents come first: plain loops, which are quicker than doubling on deep trees."""
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


def depth_and_size(parent: IntArray) -> tuple[IntArray, IntArray]:
    """Depth (1 for a child of the base) and subtree size of each node, by pointer doubling."""
    depth = np.ones(len(parent), dtype=np.int64)
    size = np.ones(len(parent), dtype=np.int64)
    for nodes, above in _ancestors(parent):
        depth[nodes] += depth[above]
        size += np.bincount(above, weights=size[nodes], minlength=len(parent)).astype(np.int64)
    return depth, size


def depth_first_rank(parent: IntArray, size: IntArray) -> IntArray:
    """Position of each node in depth-first order: the sum along its path of 1 + sizes of earlier siblings, less 1."""
    siblings = np.argsort(parent, kind="stable")
    before = np.cumsum(size[siblings]) - size[siblings]
    is_first = np.diff(parent[siblings], prepend=-2) != 0
    group_start = before[is_first][np.cumsum(is_first) - 1]
    step = np.empty_like(size)
    step[siblings] = 1 + before - group_start
    for nodes, above in _ancestors(parent):
        step[nodes] += step[above]
    return step - 1
