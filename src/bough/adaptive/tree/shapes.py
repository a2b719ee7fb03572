"""Which assembly tree to take: one of several shapes, or a tree of the user's own, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.tree.assembly import Assembly, Linkage, assembly_tree
from bough.arguments import explained
from bough.errors import ModelError, SettingError, UnknownNameError, unknown_option
from bough.model import WORLD, Model
from bough.types import IntArray


class Join(NamedTuple):
    """Two parts and the body whose joint is between them: b < N a body, N the ground, N + 1 + k the k-th join."""

    above: int
    below: int
    joint: int


SHAPES = ("balanced", "chain_first")


@dataclass(frozen=True)
class NearBodies:
    """An assembly tree in which these bodies, and those around them, lie near the root."""

    bodies: tuple[str | int, ...]


@explained
def near(bodies: Iterable[str | int]) -> NearBodies:
    """For `assembly=`: bodies of interest, on which forces will act, get short ways to the root of the tree."""
    chosen = (bodies,) if isinstance(bodies, str) else tuple(bodies)
    if not chosen:
        raise SettingError("near: expected at least one body")
    return NearBodies(chosen)


@dataclass(frozen=True)
class NestedPairs:
    """A tree of a user's own, as `as_rows` has it."""

    rows: tuple[tuple[int, int], ...]


def rows_of(tree: Any) -> NestedPairs:
    """The rows of an assembly without copies, or of a layout."""
    n = len(tree.node_of)
    codes = np.stack([tree.left, tree.right], axis=1).astype(np.int64)
    return NestedPairs(tuple((a, b) for a, b in np.where(codes >= 0, n + 1 + codes, ~codes).tolist()))


def shaped_tree(model: Model, link: Linkage, shape: Any) -> Assembly:
    """The assembly tree of this shape."""
    if shape == "balanced":
        return assembly_tree(link.parent)
    if shape == "chain_first":
        return assembly_tree(link.parent, longest=True)
    if isinstance(shape, NearBodies):
        weight = np.bincount([_body(model, link, b) for b in shape.bodies], minlength=len(link.parent))
        return assembly_tree(link.parent, _weights(np.asarray(link.parent), np.flatnonzero(weight)))
    if isinstance(shape, str):
        raise unknown_option(f"there is no assembly {shape!r}", shape, [*SHAPES, "near(bodies)", "nested pairs"])
    return paired_tree(model, link, list(shape.rows) if isinstance(shape, NestedPairs) else as_rows(model, link, shape))


def _weights(parent: IntArray, chosen: IntArray) -> IntArray:
    """How bodies count where a path is cut: less and less with their distance, in joints, from the chosen ones."""
    n = len(parent)
    far = np.full(n + 1, n, np.int64)
    far[chosen] = 0
    above = parent.tolist()
    found = far.tolist()
    for i in range(n - 1, -1, -1):
        found[above[i]] = min(found[above[i]], found[i] + 1)  # the ground is last
    for i in range(n):
        found[i] = min(found[i], found[above[i]] + 1)
    return np.maximum(1, n // (1 + np.array(found[:n], np.int64)) ** 2)


# Trees of the user's own


def _body(model: Model, link: Linkage, name: Any) -> int:
    """The body of the algebra that a name or a place in `body_names` means; N for the ground."""
    if isinstance(name, str) and name == WORLD:
        return len(link.parent)
    if not isinstance(name, (str, int, np.integer)) or isinstance(name, bool):
        raise ModelError(f"assembly: expected bodies by name or place, and pairs of them, got {name!r}")
    if not isinstance(name, str) and not 0 <= int(name) < len(model.joints):
        raise UnknownNameError(f"assembly: there is no body {name}: expected 0 to {len(model.joints) - 1}")
    k = model.frame(name) if isinstance(name, str) else model.body_frames[int(name)]
    primitive = int(model.frames.body[k])
    if primitive < 0 or int(link.last[link.host[primitive]]) != primitive:
        raise ModelError(f"assembly: {name!r} is no body with mass of its own")
    return int(link.host[primitive])


def as_rows(model: Model, link: Linkage, pairs: Any) -> list[tuple[int, int]]:
    """Nested pairs as rows of two numbers, parts first: b < N a body, N the ground, N + 1 + k the cluster of row k."""
    n, rows = len(link.parent), []
    waiting: list[Any] = [pairs]
    done: list[int] = []
    join = object()
    while waiting:
        item = waiting.pop()
        if item is join:
            b, a = done.pop(), done.pop()
            rows.append((a, b))
            done.append(n + len(rows))
        elif isinstance(item, (tuple, list)):
            if len(item) != 2:
                raise ModelError(f"assembly: a cluster is a pair of bodies or clusters, got {len(item)} of them")
            waiting += [join, item[1], item[0]]
        else:
            done.append(_body(model, link, item))
    if not any(n in row for row in rows) and done[0] != n:
        rows.append((n, done[0]))
    return rows


def paired_tree(model: Model, link: Linkage, rows: list[tuple[int, int]]) -> Assembly:
    """The assembly of rows of pairs; refused, by name, where it does not cover the linkage or joins what is apart.

    Where a cluster has joints to the outside on more than the two ends of a path, heavy paths are cut instead, at the
    joints that the rows close last.
    """
    parent = [p if p >= 0 else len(link.parent) for p in link.parent.tolist()]
    missing = sorted(set(range(len(parent) + 1)) - {x for row in rows for x in row})
    if missing:
        name = _named(model, link, missing[0])
        raise ModelError(f"assembly: the tree does not cover the linkage: {name} is in no cluster")
    joins = _joins(model, link, rows, parent)
    ends = _ends(joins, parent)
    if ends is None:
        rank = np.empty(len(parent), np.int64)
        rank[[join.joint for join in joins]] = np.arange(len(joins))
        return assembly_tree(link.parent, rank=rank)
    n = len(parent)
    made = Assembly._make([np.full(n, -1, np.int64) for _ in range(5)] + [
        np.arange(n + 1), np.full(n + 1, -1, np.int64), np.ones(n + 1, np.int64), np.full(n, -1, np.int64)
    ])  # fmt: skip
    for k, (a, b, joint) in enumerate(joins):
        made.left[k], made.right[k] = (x - n - 1 if x > n else ~x for x in (a, b))
        made.body[k], made.handles[k], made.node_of[joint] = joint, 1 + (ends[k] >= 0), k
        for x in (a, b):
            (made.up if x > n else made.leaf_up)[x - n - 1 if x > n else x] = k
    return made


def _joins(model: Model, link: Linkage, rows: list[tuple[int, int]], parent: list[int]) -> list[Join]:
    """Which of each pair is above, and the joint between them; what is used twice or apart is refused by name."""
    n = len(parent)
    home, used = [*range(n + 1 + len(rows))], [False] * (n + 1 + len(rows))  # the cluster around each, followed upwards
    top, joins = [*range(n + 1)], []

    def find(x: int) -> int:
        while home[x] != x:
            home[x] = home[home[x]]
            x = home[x]
        return x

    for k, pair in enumerate(rows):
        for x in pair:
            if used[x]:
                raise ModelError(f"assembly: {_named(model, link, top[x])} is in two clusters")
            used[x] = True
        if k >= n:
            raise ModelError(f"assembly: {len(rows)} joins are too many for {n} bodies")
        sides = [(a, b) for a, b in (pair, pair[::-1]) if top[b] < n and find(parent[top[b]]) == a]
        if not sides:
            names = [_named(model, link, top[x]) for x in pair]
            raise ModelError(f"assembly: clusters that begin with {names[0]} and {names[1]} are joined by no joint")
        a, b = sides[0]
        joins.append(Join(a, b, top[b]))
        home[a] = home[b] = n + 1 + k
        top.append(top[a])
    return joins


def _ends(joins: list[Join], parent: list[int]) -> list[int] | None:
    """The body of each cluster, beside its top, that has joints to the outside, -1 = none; None if one has too many."""
    n = len(parent)
    below = np.bincount(parent, minlength=n + 1).tolist()
    top, far = [*range(n + 1)], [-1] * (n + 1)
    for a, b, joint in joins:
        below[parent[joint]] -= 1
        outside = {x for x in (far[a], top[b], far[b]) if x >= 0 and below[x] > 0}
        on_end = parent[joint] == (far[a] if far[a] >= 0 else top[a])
        if len(outside) > 1 or far[a] in outside or not on_end or (top[a] == n and outside):
            return None
        top.append(top[a])
        far.append(outside.pop() if outside else -1)
    return far[n + 1 :]


def _named(model: Model, link: Linkage, body: int) -> str:
    if body == len(link.parent):
        return "the ground"
    at = np.flatnonzero(np.asarray(model.frames.body) == link.last[body])
    return repr(model.frames.names[int(at[0])])
