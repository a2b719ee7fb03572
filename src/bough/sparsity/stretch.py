"""LTDL elimination of an unbranched stretch at once (block form of Featherstone 2005; Dongarra et al. 1990, dpotrf).

A stretch is a run of nodes each of which is the parent of the next. Its rows share their ancestors, so that they can be
eliminated together, in blocks of up to 192 nodes and groups of 8, bottom up:

    for g = 1, 2, ... groups of the block:  eliminate the nodes of the group from its rows, and keep H_k and H_k / D_k
        s = the largest power of two in g:  H_i -= sum_k (H_ki / D_k) H_k   over the last s groups, for the next s
    for each ancestor i of the block:       the same over all groups

Rows are kept in strips of eight columns (the panel), so that the sums run over eight rows and eight columns at a time
in registers, from memory that is read in order (Goto & van de Geijn 2008). The operations are those of the plain loop;
only the order in which an element is summed differs.
"""

from __future__ import annotations

from typing import TypeAlias

from bough.compile.kernel import inlined, kernel
from bough.compile.vectors import eight, over, plus, put_eight, scaled, subtract_eight
from bough.sparsity.ltdl import eliminate, eliminate_siblings
from bough.types import Rows, Scalar

GROUP, BLOCK = 8, 192  # nodes
TILE = 256  # columns whose strips stay in the second cache
DEEP = 64  # below this depth all rows of a path are in the first cache anyway

Eight: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Places: TypeAlias = tuple[int, int, int, int, int, int, int, int]


def panel_size(height: int) -> int:
    """Numbers in the panel for paths of so many nodes: strips of H_k and of L_k, and room for a result behind each."""
    return 2 * (-(-height // GROUP) * BLOCK * GROUP + GROUP**2) if height >= DEEP else 0


@kernel
def ltdl_in_blocks(parent: Rows, rows: Rows, H: Rows, panel: Rows) -> None:
    """Replace H by L and D as `ltdl` does, deep unbranched stretches in blocks: the choice for any tree."""
    k = len(parent) - 1
    while k >= 0:
        top = top_of_block(parent, rows, k)
        if k - top >= GROUP - 1:
            eliminate_block(parent, rows, H, panel, (top, k))
            k = top - 1
        elif k > 0 and parent[k] == parent[k - 1]:
            eliminate_siblings(parent, rows, H, k, k - 1)
            k -= 2
        else:
            eliminate(parent, rows, H, k)
            k -= 1


@kernel
def top_of_block(parent: Rows, rows: Rows, k: int) -> int:
    """The first node of the block that ends with k: at the top of the stretch, or at the left end of a strip."""
    top = k
    if rows[k + 1] - rows[k] >= DEEP:
        while top > 0 and parent[top] == top - 1 and k - top < BLOCK - 1:
            top -= 1
        if top > 0 and parent[top] == top - 1:
            top += -(rows[top + 1] - rows[top] - 1) % GROUP
    return top


@kernel
def eliminate_block(parent: Rows, rows: Rows, H: Rows, panel: Rows, block: tuple[int, int]) -> None:
    """Eliminate the first to the last node of a block; places in the panel are counted from the first."""
    top, bottom = block
    last, done = bottom, 0
    while last >= top:
        first = max(top, last - (rows[last + 1] - rows[last] - 1) % GROUP)
        eliminate_group(rows, H, first, last)
        keep_group(rows, H, panel, (first, last), top)
        done += 1
        span = GROUP
        while done % (2 * span // GROUP) == 0:
            span = 2 * span
        if first > top:
            kept = first - top, min(bottom, first + span - 1) - top
            subtract_nodes(parent, rows, H, panel, kept, (first - 1, min(span, first - top)))
        last = first - 1
    if parent[top] >= 0:
        subtract_nodes(parent, rows, H, panel, (0, bottom - top), (parent[top], rows[top + 1] - rows[top] - 1))


@kernel
def eliminate_group(rows: Rows, H: Rows, top: int, bottom: int) -> None:
    """Eliminate each node of a group from the rows of those above it."""
    for k in range(bottom, top, -1):
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
def keep_group(rows: Rows, H: Rows, panel: Rows, group: tuple[int, int], top: int) -> None:
    """Keep the rows of a group, left of it, and their quotients by D in the panel; the quotients replace them in H."""
    first, last = group
    columns = rows[first + 1] - rows[first] - 1
    for k in range(first, last + 1):
        r, D, at, half = rows[k], H[rows[k + 1] - 1], (k - top) * GROUP, len(panel) // 2
        for c in range(0, columns - GROUP + 1, GROUP):
            y = eight(H, r + c)
            l = over(y, D)
            put_eight(panel, at, y)
            put_eight(panel, half + at, l)
            put_eight(H, r + c, l)
            at += BLOCK * GROUP
        for c in range(columns % GROUP):
            p = rows[k] + columns - columns % GROUP + c
            panel[at + c], panel[half + at + c] = H[p], H[p] / D
            H[p] = panel[half + at + c]


@kernel
def subtract_nodes(
    parent: Rows, rows: Rows, H: Rows, panel: Rows, kept: tuple[int, int], path: tuple[int, int]
) -> None:
    """Subtract the nodes in these places of the panel from the rows of a node and so many ancestors, in tiles."""
    start, count = path
    deepest = rows[start + 1] - rows[start] - 1
    for left in range(0, deepest + 1, TILE):
        i, p, end = start, deepest, max(left, deepest + 1 - count)
        while p >= end:
            low = max(end, p - p % GROUP)
            subtract_strip(parent, rows, H, panel, kept, (i, p, low, left))
            while p >= low:
                i = parent[i]
                p -= 1


@kernel
def subtract_strip(
    parent: Rows, rows: Rows, H: Rows, panel: Rows, kept: tuple[int, int], strip: tuple[int, int, int, int]
) -> None:
    """The same for one tile, from column `left` on, of the rows of node i at depth p to that at depth `low`."""
    i, p, low, left = strip
    first, count, half, size = kept[0] * GROUP, kept[1] - kept[0] + 1, len(panel) // 2, BLOCK * GROUP
    l, c, right = half + p // GROUP * size + first, left, min(left + TILE, p + 1)
    if p - low == GROUP - 1:
        r = starts(parent, rows, i)
        while c + GROUP <= min(right, low):
            x = products(panel, l, c // GROUP * size + first, count)
            for n in (0, 1, 2, 3, 4, 5, 6, 7):
                subtract_eight(H, r[7 - n] + c, x[n])
            c += GROUP
    while c < right:  # of fewer rows, or right of the diagonal, only what there is
        x = products(panel, l, c // GROUP * size + first, count)
        for n in (0, 1, 2, 3, 4, 5, 6, 7):
            put_eight(panel, half - GROUP * GROUP + GROUP * n, x[n])
        k, row = i, p
        while row >= low:
            at = half - GROUP * GROUP + GROUP * (row % GROUP) - c
            for j in range(c, min(c + GROUP, row + 1)):
                H[rows[k] + j] = H[rows[k] + j] - panel[at + j]
            k = parent[k]
            row -= 1
        c += GROUP


@kernel
def starts(parent: Rows, rows: Rows, i: int) -> Places:
    """Where the rows of node i and its next seven ancestors begin."""
    a = parent[i]
    b = parent[a]
    c = parent[b]
    d = parent[c]
    e = parent[d]
    f = parent[e]
    return rows[i], rows[a], rows[b], rows[c], rows[d], rows[e], rows[f], rows[parent[f]]


@inlined
@kernel
def products(panel: Rows, l: int, y: int, count: int) -> tuple[Eight, Eight, Eight, Eight, Eight, Eight, Eight, Eight]:
    """sum_k L_ki H_kj for eight rows i and eight columns j, whose strips begin at l and y."""
    z = eight(panel, y)
    a, b, c, d = scaled(panel[l], z), scaled(panel[l + 1], z), scaled(panel[l + 2], z), scaled(panel[l + 3], z)
    e, f, g, h = scaled(panel[l + 4], z), scaled(panel[l + 5], z), scaled(panel[l + 6], z), scaled(panel[l + 7], z)
    for _ in range(1, count):
        l += GROUP
        y += GROUP
        z = eight(panel, y)
        a, b = plus(a, panel[l], z), plus(b, panel[l + 1], z)
        c, d = plus(c, panel[l + 2], z), plus(d, panel[l + 3], z)
        e, f = plus(e, panel[l + 4], z), plus(f, panel[l + 5], z)
        g, h = plus(g, panel[l + 6], z), plus(h, panel[l + 7], z)
    return a, b, c, d, e, f, g, h
