"""Assembly trees: heavy paths bisected at their weighted median (Redon & Lin 2005 leave the choice open).

The tree of bodies is cut into heavy paths (each body goes on into its largest subtree). A body first swallows its light
subtrees, smallest first; a hub with many of them is split into welded copies when that makes the tree lower. A path is
then merged by bisection. Every cluster has its outside joints on at most two bodies, the first and the last of a path
segment: at most two handles, whatever the tree. Depth is log2 n plus a few levels for each light edge passed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.compiled import compiled
from bough.compile.kernel import kernel
from bough.types import IntArray, Rows

# What joins the two halves of a node when no joint does
WELD, GROUND_WELD = -1, -2
_MAX_HEIGHT = 4096


class Assembly(NamedTuple):
    """Binary tree over bodies, children before parents; a child code c >= 0 is a node, ~c a leaf.

    Leaf b < N is body b, leaf N the ground; later leaves are further copies of split hubs.
    """

    left: IntArray  # (nodes,) the parent's side of the joint
    right: IntArray  # (nodes,) the child's side
    body: IntArray  # (nodes,) body whose joint this node closes, WELD or GROUND_WELD
    handles: IntArray  # (nodes,) 1 or 2 bodies with joints to the outside
    up: IntArray  # (nodes,) parent node, -1 at the root
    leaf_body: IntArray  # (leaves,) body, or N for the ground
    leaf_up: IntArray  # (leaves,) node that takes the leaf in
    copies: IntArray  # (N + 1,) into how many leaves a body is split
    node_of: IntArray  # (N,) the node that closes the joint of body b

    @property
    def root(self) -> int:
        return len(self.left) - 1

    @property
    def depth(self) -> IntArray:
        """Depth of each node, 1 at the root."""
        depth = np.ones(len(self.left), np.int64)
        compiled(_depths)(self.up, depth)
        return depth


def assembly_tree(parent: npt.ArrayLike, weight: IntArray | None = None, longest: bool = False) -> Assembly:
    """The assembly tree of bodies numbered depth-first, `parent[i] < i`, -1 = ground. O(n log n).

    Bodies of more `weight` lie nearer to the root; with `longest` a path goes on into the deepest subtree instead of
    the heaviest.
    """
    parent = np.ascontiguousarray(parent, np.int64)
    n = len(parent)
    size, heavy = np.append(np.ones(n, np.int64) if weight is None else weight, 1), np.full(n + 1, -1, np.int64)
    compiled(_sizes)(parent, size, heavy, np.zeros(n + 1, np.int64), int(longest))
    above = np.where(parent < 0, n, parent)
    # The ground begins no path: a floating base must be joined to it by the root node.
    light = np.flatnonzero((parent < 0) | (heavy[above] != np.arange(n)))
    order = light[np.lexsort((size[light], above[light]))]
    first = np.searchsorted(above[order], np.arange(n + 2))
    nodes, leaves = 2 * n + 2, 2 * n + 3
    out = [np.full(nodes, -1, np.int64) for _ in range(5)]
    leaf_body, leaf_up = np.full(leaves, -1, np.int64), np.full(leaves, -1, np.int64)
    leaf_body[: n + 1] = np.arange(n + 1)
    copies, node_of = np.ones(n + 1, np.int64), np.full(n, -1, np.int64)
    built = Assembly._make([*out, leaf_body, leaf_up, copies, node_of])
    lists = [np.zeros(n + 3, np.int64) for _ in range(12)]
    work = _Work._make([*lists, np.zeros(_MAX_HEIGHT, np.int64), np.array([0, n + 1])])
    compiled(_assemble)(heavy, size, order, first, built, work)
    used, leaves = int(work.count[0]), int(work.count[1])
    shortened = [a[:used].copy() for a in out] + [leaf_body[:leaves].copy(), leaf_up[:leaves].copy()]
    return Assembly._make([*shortened, copies, node_of])


class _Work(NamedTuple):
    is_head: Rows  # whether a path begins here
    cluster: Rows  # code of the cluster that a light subtree has become
    height: Rows  # its height
    path: Rows  # cluster of each body along the current path
    path_height: Rows
    path_body: Rows
    weight: Rows  # running sum of weights along the path
    low: Rows  # stack of path segments: first body, end, where it is cut
    high: Rows
    cut: Rows
    item: Rows  # clusters waiting to be joined
    item_height: Rows
    bucket: Rows  # how many copies of a hub have each height
    count: Rows  # nodes and leaves made so far


@kernel
def _sizes(parent: Rows, size: Rows, heavy: Rows, height: Rows, longest: int) -> None:
    n = len(parent)
    for i in range(n - 1, -1, -1):
        p = parent[i]
        if p < 0:
            p = n
        size[p] += size[i]
        height[p] = max(height[p], height[i] + 1)
        if p < n:
            rank = height if longest == 1 else size
            if heavy[p] < 0 or rank[i] >= rank[heavy[p]]:
                heavy[p] = i


@kernel
def _depths(up: Rows, depth: Rows) -> None:
    for i in range(len(up) - 2, -1, -1):
        depth[i] = depth[up[i]] + 1


@kernel
def _make(t: Assembly, w: _Work, left: int, right: int, body: int, handles: int) -> int:
    """A new node over two codes."""
    k = w.count[0]
    w.count[0] = k + 1
    t.left[k], t.right[k], t.body[k], t.handles[k] = left, right, body, handles
    for code in (left, right):
        if code >= 0:
            t.up[code] = k
        else:
            t.leaf_up[~code] = k
    if body >= 0:
        t.node_of[body] = k
    return k


@kernel
def _assemble(heavy: Rows, size: Rows, lights: Rows, first: Rows, t: Assembly, w: _Work) -> None:
    """Light subtrees have higher numbers than the path they hang on, so paths are done from the last head back."""
    n = len(heavy) - 1
    for k in range(len(lights)):
        w.is_head[lights[k]] = 1
    for head in range(n - 1, -1, -1):
        if w.is_head[head] == 1:
            length, v = 0, head
            w.weight[0] = 0
            while v >= 0:
                w.path_body[length] = v
                w.weight[length + 1] = w.weight[length] + size[v] - (size[heavy[v]] if heavy[v] >= 0 else 0)
                w.path[length], w.path_height[length] = _swallow(v, lights, first, t, w)
                length += 1
                v = heavy[v]
            w.cluster[head], w.height[head] = _bisect(length, t, w)
    _swallow(n, lights, first, t, w)


@kernel
def _swallow(v: int, lights: Rows, first: Rows, t: Assembly, w: _Work) -> tuple[int, int]:
    """The cluster (code, height) of body v with its light subtrees: one after the other, or on welded copies of v."""
    a, b = first[v], first[v + 1]
    height = 0
    for k in range(a, b):
        height = max(height, w.height[lights[k]]) + 1
    if b - a >= 4:
        count = _sort_copies(a, b, lights, w)
        if _weld(count, 0, WELD, t, w)[1] < height:
            _make_copies(v, a, b, lights, t, w)
            return _weld(count, 1, GROUND_WELD if v == len(first) - 2 else WELD, t, w)
    code = ~v
    for k in range(a, b):
        code = _make(t, w, code, w.cluster[lights[k]], lights[k], 1)
    return code, height


@kernel
def _pair_height(k: int, b: int, lights: Rows, w: _Work) -> int:
    """Height of a copy that carries light subtrees k and k + 1."""
    height = w.height[lights[k]] + 1
    if k + 1 < b:
        height = max(height, w.height[lights[k + 1]]) + 1
    return height


@kernel
def _sort_copies(a: int, b: int, lights: Rows, w: _Work) -> int:
    """Put the copies, two light subtrees each, in order of height; returns how many they are."""
    w.bucket[:] = 0
    for k in range(a, b, 2):
        w.bucket[_pair_height(k, b, lights, w) + 1] += 1
    for h in range(1, len(w.bucket)):
        w.bucket[h] += w.bucket[h - 1]
    for k in range(a, b, 2):
        h = _pair_height(k, b, lights, w)
        w.item_height[w.bucket[h]], w.item[w.bucket[h]] = h, k
        w.bucket[h] += 1
    return (b - a + 1) // 2


@kernel
def _make_copies(v: int, a: int, b: int, lights: Rows, t: Assembly, w: _Work) -> None:
    """Turn each copy from the number of its first light subtree into a cluster."""
    t.copies[v] = (b - a + 1) // 2
    for i in range(t.copies[v]):
        k, leaf = w.item[i], v
        if i > 0:
            leaf = w.count[1]
            w.count[1] = leaf + 1
            t.leaf_body[leaf] = v
        code = _make(t, w, ~leaf, w.cluster[lights[k]], lights[k], 1)
        if k + 1 < b:
            code = _make(t, w, code, w.cluster[lights[k + 1]], lights[k + 1], 1)
        w.item[i] = code


@kernel
def _weld(count: int, make: int, kind: int, t: Assembly, w: _Work) -> tuple[int, int]:
    """Join the two lowest again and again (two queues, as Huffman); without `make` only the height is found."""
    i, j, end = 0, count, count
    while True:
        code, height = w.item[end - 1], w.item_height[end - 1]
        if (count - i) + (end - j) == 1:
            return code, height
        for side in range(2):
            if j == end or (i < count and w.item_height[i] <= w.item_height[j]):
                k = i
                i += 1
            else:
                k = j
                j += 1
            if side == 0:
                code, height = w.item[k], w.item_height[k]
            else:
                height = max(height, w.item_height[k]) + 1
                if make == 1:
                    code = _make(t, w, code, w.item[k], kind, 1)
        w.item[end], w.item_height[end] = code, height
        end += 1


@kernel
def _median(lo: int, hi: int, weight: Rows) -> int:
    """Where to cut bodies lo .. hi - 1 so that both sides weigh as nearly the same as possible."""
    double = weight[lo] + weight[hi]
    a, b = lo + 1, hi - 1
    while a < b:
        middle = (a + b) // 2
        if 2 * weight[middle] < double:
            a = middle + 1
        else:
            b = middle
    if a > lo + 1 and double - 2 * weight[a - 1] < 2 * weight[a] - double:
        a -= 1
    return a


@kernel
def _bisect(length: int, t: Assembly, w: _Work) -> tuple[int, int]:
    """Merge the path: (code, height). A stack of segments; finished ones are collected on `item`."""
    top, done = 1, 0
    w.low[0], w.high[0], w.cut[0] = 0, length, -1
    while top > 0:
        lo, hi, cut = w.low[top - 1], w.high[top - 1], w.cut[top - 1]
        if hi - lo == 1:
            w.item[done], w.item_height[done] = w.path[lo], w.path_height[lo]
            done += 1
            top -= 1
        elif cut < 0:
            cut = _median(lo, hi, w.weight)
            w.cut[top - 1] = cut
            w.low[top], w.high[top], w.cut[top] = cut, hi, -1
            w.low[top + 1], w.high[top + 1], w.cut[top + 1] = lo, cut, -1
            top += 2
        else:
            handles = 1 if hi == length else 2
            done -= 1
            height = max(w.item_height[done - 1], w.item_height[done]) + 1
            w.item[done - 1] = _make(t, w, w.item[done - 1], w.item[done], w.path_body[cut], handles)
            w.item_height[done - 1] = height
            top -= 1
    return w.item[0], w.item_height[0]
