"""Assembly trees: heavy paths bisected at their weighted median (the paper leaves the choice open).

The tree of bodies is cut into heavy paths (each body goes on into its largest subtree). A body first swallows its light
subtrees, smallest first; a hub with many of them is split into welded copies when that makes the tree lower. A path is
then merged by bisection. Every cluster has its outside joints on at most two bodies, the first and the last of a path
segment: at most two handles, whatever the tree. Depth is log2 n plus a few levels for each light edge passed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.kernel import kernel, loop_kernel
from bough.compile.run.direct import compiled
from bough.errors import ModelError, SettingError, ShapeError
from bough.joints import FREE, PLACED, Mechanism
from bough.model import Model
from bough.spatial import about_centre, adjugate
from bough.types import FloatArray, IntArray, Rows

# From a mechanism to what the divide-and-conquer algebra needs: bodies with invertible inertia, joints between them.
#
# A massless body with one child (inside a universal or cylindrical joint) becomes part of that child's joint, which
# then has several degrees of freedom along axes that depend on the configuration. Any other body needs an invertible
# inertia.


Int32Array = npt.NDArray[np.int32]

# A rotational inertia this much flatter than a sphere's is singular to rounding.
FLAT = 1e-14


class Linkage(NamedTuple):
    """Bodies of the algebra, N of them: each ends a chain of primitive bodies `first .. last` of the mechanism."""

    parent: Int32Array  # (N,) -1 = ground
    first: Int32Array  # (N,)
    last: Int32Array  # (N,)
    host: Int32Array  # (primitives,) the body that a primitive belongs to
    simple: Int32Array  # (N,) 1 where the joint frees axes of the body's own frame
    inverse: FloatArray  # (N, 10) inverse of the rotational inertia about the centre of mass, that centre, 1 / mass
    dof: Int32Array  # (N + 1,) degrees of freedom of the joint of body b are dof[b] .. dof[b + 1] - 1
    metric_index: Int32Array  # (N,) where the weight matrix of a joint begins
    metric_size: int


def make_linkage(model: Model) -> Linkage:
    """The linkage of a model; a body without invertible inertia, and a mimic joint, are refused by name."""
    m = model.mechanism
    if model.couplings:
        raise ModelError(f"joint {model.couplings[0].follower!r} mimics another: an assembly tree has none")
    ends = ~absorbed(m)
    last = np.flatnonzero(ends)
    host: Any = np.cumsum(ends) - ends
    first = np.concatenate([[0], last[:-1] + 1])
    up = m.parent[first]
    dof = np.concatenate([m.dof[first], m.dof[-1:]])
    size = np.diff(dof)
    if size.max(initial=0) > 6:
        raise ModelError(
            f"a chain of massless bodies ends at {body_name(model, int(last[size.argmax()]))} with more than 6 DoF"
        )
    squares = np.concatenate([[0], np.cumsum(size * size)])
    up = np.where(up < 0, -1, host[np.maximum(up, 0)])
    simple = first == last
    # half the memory of 64-bit numbers, and no linkage is too long for it
    ints = [np.asarray(a, np.int32) for a in (up, first, last, host, simple, dof, squares[:-1])]
    return Linkage._make([*ints[:5], inverse_inertia(model, last), *ints[5:], int(squares[-1])])


def absorbed(m: Mechanism) -> npt.NDArray[np.bool_]:
    """Massless primitives with one child, which follows them at once in depth-first order."""
    children = np.bincount(m.parent[m.parent >= 0], minlength=len(m.parent))
    return np.asarray(~m.inertia.any(axis=1) & (children == 1))


def is_flat(I: FloatArray) -> npt.NDArray[np.bool_]:
    """Which of these inertias (k, 10) are singular, to rounding."""
    return _centred(I)[0]


def _centred(I: FloatArray) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Which inertias (k, 10) are singular, and (k, 10): the inverse about the centre of mass, that centre, 1 / mass."""
    with np.errstate(divide="ignore", invalid="ignore"):  # singular ones have no inverse
        J, c = about_centre(tuple(I.T))
        adj, det = adjugate(J)
        flat = (I[:, 9] <= 0.0) | (det <= FLAT * (np.abs(J[:3]).sum(axis=0) / 3.0) ** 3)
        return flat, np.stack([*(a / det for a in adj), *c, 1.0 / I[:, 9]], axis=1)


def inverse_inertia(model: Model, bodies: Any) -> FloatArray:
    """(N, 10) for these primitives: what a free body needs to turn a force into an acceleration."""
    flat, inverse = _centred(model.mechanism.inertia[bodies])
    if flat.any():
        name = body_name(model, int(bodies[flat.argmax()]))
        raise ModelError(f'{name} has a singular inertia: expected inertia about every axis, or method="aba"')
    return inverse


def body_name(model: Model, primitive: int) -> str:
    """The user's name of a primitive body."""
    at = np.flatnonzero(np.asarray(model.frames.body) == primitive)
    return f"body {model.frames.names[int(at[0])]!r}" if len(at) else f"a massless part of body number {primitive}"


def is_floating_base(m: Mechanism, link: Linkage) -> npt.NDArray[np.bool_]:
    """Bodies that float on the ground: their six DoF are no joint and carry no weight in error measures."""
    return np.asarray((link.parent < 0) & (m.kind[link.last] == FREE) & (link.simple == 1))


# Joint metrics: one symmetric positive definite matrix for each joint, by which its acceleration counts.


def make_metric(model: Model, link: Linkage, metric: str | npt.ArrayLike | None) -> FloatArray:
    """Weight matrices of all joints, flat. None: all ones; "lever": (reach of what a joint carries)^2, or (nv,)
    weights.

    Joint accelerations of several DoF may also be given as {joint name: (d, d) matrix}. A floating base is no
    joint: its weights are zero and its motion is always computed.
    """
    m = model.mechanism
    size = np.diff(link.dof)
    body = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(body)) - link.dof[body]
    diagonal = link.metric_index[body] + place * (size[body] + 1)
    weights = np.zeros(link.metric_size)
    weights[diagonal] = 1.0
    if isinstance(metric, str):
        if metric != "lever":
            raise SettingError(f'a metric is None, "lever", weights (nv,) or matrices by joint name; got {metric!r}')
        turning = m.axis <= 2
        weights[diagonal] = np.where(turning, lever(model, link)[body] ** 2, 1.0)
    elif isinstance(metric, dict):
        for name, matrix in metric.items():
            _put_matrix(model, link, weights, name, np.asarray(matrix, float))
    elif metric is not None:
        given = np.asarray(metric, float)
        if given.shape != (model.nv,):
            raise ShapeError(f"metric: expected weights of shape ({model.nv},), got {given.shape}")
        if not (np.isfinite(given).all() and (given > 0.0).all()):
            worst = int(np.argmin(np.where(np.isfinite(given), given, -np.inf)))
            raise ModelError(f"metric: weights must be finite and positive, got {given[worst]} for velocity {worst}")
        weights[diagonal] = given[m.v_index]
    weights[diagonal[is_floating_base(m, link)[body]]] = 0.0
    return weights


def _put_matrix(model: Model, link: Linkage, weights: FloatArray, name: str, matrix: FloatArray) -> None:
    v = model.joint(name).v
    dofs = np.flatnonzero((model.mechanism.v_index >= v.start) & (model.mechanism.v_index < v.stop))
    body = int(np.searchsorted(link.dof, dofs[0], side="right")) - 1
    d = int(link.dof[body + 1] - link.dof[body])
    if matrix.shape != (d, d):
        raise ShapeError(f"metric of joint {name!r}: expected a matrix ({d}, {d}), got {matrix.shape}")
    symmetric = np.isfinite(matrix).all() and np.abs(matrix - matrix.T).max() <= 1e-12 * np.abs(matrix).max()
    if not symmetric or np.linalg.eigvalsh(matrix).min() <= 0.0:
        raise ModelError(f"metric of joint {name!r}: the matrix is not symmetric and positive definite")
    at = int(link.metric_index[body])
    weights[at : at + d * d] = matrix.ravel()


def lever(model: Model, link: Linkage) -> FloatArray:
    """(N,) how far the farthest body origin or centre of mass below each joint can be, whatever the configuration."""
    m = model.mechanism
    # |p| of the fixed part and of the joint's own offset bounds the distance between origins, sliding ignored
    placed = m.fixed_kind == PLACED
    fixed = np.where(placed, np.linalg.norm(m.fixed[:, 9:12], axis=1), np.abs(m.fixed[:, 2]) + np.abs(m.fixed[:, 5]))
    step = np.add.reduceat(fixed + np.abs(m.offset[:, 1]), link.first)
    reach = np.linalg.norm(link.inverse[:, 6:9], axis=1)
    compiled(_longest)(link.parent, step, reach)
    return np.where(reach > 0.0, reach, 1.0)


@loop_kernel
def _longest(parent: Rows, step: Rows, reach: Rows) -> None:
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            reach[parent[i]] = max(reach[parent[i]], step[i] + reach[i])


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


def assembly_tree(
    parent: npt.ArrayLike, weight: IntArray | None = None, longest: bool = False, rank: IntArray | None = None
) -> Assembly:
    """The assembly tree of bodies numbered depth-first, `parent[i] < i`, -1 = ground. O(n log n).

    Bodies of more `weight` lie nearer to the root; with `longest` a path goes on into the deepest subtree instead of
    the heaviest. With `rank` (n,) a path is cut at the joint of the highest rank instead of its weighted median, light
    subtrees follow in the order of their ranks, and no hub is split.
    """
    parent = np.ascontiguousarray(parent, np.int64)
    n = len(parent)
    size, heavy = np.append(np.ones(n, np.int64) if weight is None else weight, 1), np.full(n + 1, -1, np.int64)
    compiled(_sizes)(parent, size, heavy, np.zeros(n + 1, np.int64), int(longest))
    above = np.where(parent < 0, n, parent)
    # The ground begins no path: a floating base must be joined to it by the root node.
    light = np.flatnonzero((parent < 0) | (heavy[above] != np.arange(n)))
    order = light[np.lexsort(((size if rank is None else rank)[light], above[light]))]
    first = np.searchsorted(above[order], np.arange(n + 2))
    nodes, leaves = 2 * n + 2, 2 * n + 3
    out = [np.full(nodes, -1, np.int64) for _ in range(5)]
    leaf_body, leaf_up = np.full(leaves, -1, np.int64), np.full(leaves, -1, np.int64)
    leaf_body[: n + 1] = np.arange(n + 1)
    copies, node_of = np.ones(n + 1, np.int64), np.full(n, -1, np.int64)
    built = Assembly._make([*out, leaf_body, leaf_up, copies, node_of])
    lists = [np.zeros(n + 3, np.int64) for _ in range(12)]
    ranks = np.zeros(0, np.int64) if rank is None else np.asarray(rank, np.int64)
    work = _Work._make([*lists, np.zeros(_MAX_HEIGHT, np.int64), np.array([0, n + 1]), ranks])
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
    rank: Rows  # of the joints of bodies; empty where paths are cut at their weighted median


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
    if b - a >= 4 and len(w.rank) == 0:
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
def _highest(lo: int, hi: int, w: _Work) -> int:
    """Where bodies lo .. hi - 1 have the joint of the highest rank."""
    cut = lo + 1
    for k in range(lo + 2, hi):
        if w.rank[w.path_body[k]] > w.rank[w.path_body[cut]]:
            cut = k
    return cut


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
            cut = _median(lo, hi, w.weight) if len(w.rank) == 0 else _highest(lo, hi, w)
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
