"""LTDL elimination of an unbranched stretch at once (block form of Featherstone 2005; Dongarra et al. 1990, dpotrf).

A stretch is a run of nodes each of which is the parent of the next. Its rows share their ancestors, so that they can be
eliminated together, in blocks of up to 192 nodes and groups of 8, bottom up:

    for each group G of the block:  eliminate its nodes from the rows of the group
                                    H_i -= sum_{k in G} (H_ki / D_k) H_k   for the rows i of the block above it
    for each ancestor i of the block:  H_i -= sum over all k of the block

The sums run over three rows i and eight k at a time, in tiles that stay in the first cache, so that an element of H is
moved once for eight products instead of once for each. The operations are those of the plain loop, in the same order
for each element; from the second tile on, a quotient is taken once for each tile.
"""

from __future__ import annotations

from typing import TypeAlias

from bough.compile.kernel import kernel
from bough.sparsity.ltdl import eliminate, eliminate_siblings
from bough.types import Rows, Scalar

GROUP, BLOCK = 8, 192  # nodes
TILE, CHUNK = 384, 128  # columns, rows
DEEP = 64  # below this depth all rows of a path are in the first cache anyway

Eight: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Places: TypeAlias = tuple[int, int, int, int, int, int, int, int]


@kernel
def ltdl_in_blocks(parent: Rows, rows: Rows, H: Rows) -> None:
    """Replace H by L and D as `ltdl` does, deep unbranched stretches in blocks: the choice for any tree."""
    k = len(parent) - 1
    while k >= 0:
        top = top_of_block(parent, rows, k)
        if top <= k:
            eliminate_block(parent, rows, H, top, k)
            k = top - 1
        elif k > 0 and parent[k] == parent[k - 1]:
            eliminate_siblings(parent, rows, H, k, k - 1)
            k -= 2
        else:
            eliminate(parent, rows, H, k)
            k -= 1


@kernel
def top_of_block(parent: Rows, rows: Rows, k: int) -> int:
    """The first node of the block that ends with k: whole groups of one stretch; k + 1 if there is none."""
    if rows[k + 1] - rows[k] < DEEP:
        return k + 1
    top = k
    while top > 0 and parent[top] == top - 1 and k - top < BLOCK - 1:
        top -= 1
    return k + 1 - (k + 1 - top) // GROUP * GROUP


@kernel
def eliminate_block(parent: Rows, rows: Rows, H: Rows, top: int, bottom: int) -> None:
    """Eliminate the nodes top..bottom of a stretch."""
    for k in range(bottom + 1 - GROUP, top - 1, -GROUP):
        eliminate_group(rows, H, k)
        # the rows of the block above this group; after the last group the ancestors, from which all groups are due
        last, start, stop = k + GROUP - 1, k - 1, rows[top + 1] - rows[top] - 1
        if k == top:
            last, start, stop = bottom, parent[top], 0
        if start >= 0:
            subtract_block(parent, rows, H, (k, last), start, stop)


@kernel
def eliminate_group(rows: Rows, H: Rows, top: int) -> None:
    """Eliminate each of eight nodes from the rows of those above it."""
    for k in range(top + GROUP - 1, top, -1):
        first, last = rows[k], rows[k + 1] - 1
        p = last - 1
        for i in range(k - 1, top - 1, -1):
            a = H[p] / H[last]
            update = rows[i] - first
            for j in range(first, p + 1):
                H[update + j] = H[update + j] - H[j] * a
            H[p] = a
            p -= 1


@kernel
def subtract_block(parent: Rows, rows: Rows, H: Rows, block: tuple[int, int], start: int, stop: int) -> None:
    """Subtract the groups of a block from the rows of the node `start` and its ancestors down to depth `stop`."""
    top, bottom = block
    deepest = rows[start + 1] - rows[start] - 1
    for left in range(0, deepest + 1, TILE):
        i, p, low = start, deepest, max(stop, left)
        while p >= low:
            end = max(low, p + 1 - CHUNK)
            for k in range(bottom + 1 - GROUP, top - 1, -GROUP):
                subtract_group(parent, rows, H, k, (i, p, end), left)
            while p >= end:
                i = parent[i]
                p -= 1


@kernel
def subtract_group(parent: Rows, rows: Rows, H: Rows, k: int, path: tuple[int, int, int], left: int) -> None:
    """Subtract the group k.. from one tile of the rows of a path: from node i at depth p up to depth `end`.

    L replaces H in column p of the group as soon as no row needs it any more.
    """
    i, p, end = path
    b, D, right = starts(rows, k), pivots(rows, H, k), left + TILE
    while p >= end:
        start, count = left, 1
        if p >= end + 2:
            start, count = min(right, p - 1), 3
            second = parent[i]
            r, s, t = rows[i], rows[second], rows[parent[second]]
            l = ratios(column(H, b, p), D)
            m = ratios(column(H, b, p - 1), D)
            n = ratios(column(H, b, p - 2), D)
            for j in range(left, start):
                y = column(H, b, j)
                H[r + j] = minus(H[r + j], l, y)
                H[s + j] = minus(H[s + j], m, y)
                H[t + j] = minus(H[t + j], n, y)
        for _ in range(count):
            finish_row(H, b, rows[i], ratios(column(H, b, p), D), (start, p, right))
            i = parent[i]
            p -= 1


@kernel
def finish_row(H: Rows, b: Places, r: int, l: Eight, columns: tuple[int, int, int]) -> None:
    """Subtract a group from the row r at depth p, from column `start` to its end or that of the tile; then keep L."""
    start, p, right = columns
    for j in range(start, min(right, p + 1)):
        H[r + j] = minus(H[r + j], l, column(H, b, j))
    if p < right:
        put_column(H, b, p, l)


# Eight rows, and one element of each


@kernel
def starts(rows: Rows, k: int) -> Places:
    """Where the rows of the group k.. begin."""
    return rows[k], rows[k + 1], rows[k + 2], rows[k + 3], rows[k + 4], rows[k + 5], rows[k + 6], rows[k + 7]


@kernel
def pivots(rows: Rows, H: Rows, k: int) -> Eight:
    """D of the group k.., which ends each row."""
    return column(H, starts(rows, k + 1), -1)


@kernel
def column(H: Rows, b: Places, j: int) -> Eight:
    """Element j of each row."""
    upper = (H[b[0] + j], H[b[1] + j], H[b[2] + j], H[b[3] + j])
    return upper + (H[b[4] + j], H[b[5] + j], H[b[6] + j], H[b[7] + j])


@kernel
def put_column(H: Rows, b: Places, j: int, x: Eight) -> None:
    """Replace element j of each row."""
    H[b[0] + j], H[b[1] + j], H[b[2] + j], H[b[3] + j] = x[0], x[1], x[2], x[3]
    H[b[4] + j], H[b[5] + j], H[b[6] + j], H[b[7] + j] = x[4], x[5], x[6], x[7]


@kernel
def ratios(x: Eight, D: Eight) -> Eight:
    """x / D"""
    upper = (x[0] / D[0], x[1] / D[1], x[2] / D[2], x[3] / D[3])
    return upper + (x[4] / D[4], x[5] / D[5], x[6] / D[6], x[7] / D[7])


@kernel
def minus(x: Scalar, a: Eight, y: Eight) -> Scalar:
    """x - a y, the deepest node first"""
    x = x - a[7] * y[7] - a[6] * y[6] - a[5] * y[5] - a[4] * y[4]
    return x - a[3] * y[3] - a[2] * y[2] - a[1] * y[1] - a[0] * y[0]
