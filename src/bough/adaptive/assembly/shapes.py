"""Which assembly tree to take: one of several shapes, or a tree of the user's own, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.assembly.linkage import Linkage
from bough.adaptive.assembly.tree import Assembly, assembly_tree
from bough.errors import ModelError, SettingError, UnknownNameError
from bough.model import WORLD, Model
from bough.types import IntArray

SHAPES = ("balanced", "chain_first")


@dataclass(frozen=True)
class NearBodies:
    """An assembly tree in which these bodies, and those around them, lie near the root."""

    bodies: tuple[str | int, ...]


def near(bodies: Iterable[str | int]) -> NearBodies:
    """For `assembly=`: bodies of interest, on which forces will act, get short ways to the root of the tree."""
    chosen = (bodies,) if isinstance(bodies, str) else tuple(bodies)
    if not chosen:
        raise SettingError("near: expected at least one body")
    return NearBodies(chosen)


@dataclass(frozen=True)
class GivenPairs:
    """A tree of a user's own, as `as_rows` has it."""

    rows: tuple[tuple[int, int], ...]


def rows_of(tree: Any) -> GivenPairs:
    """The rows of an assembly without copies, or of a blueprint."""
    n = len(tree.node_of)
    codes = np.stack([tree.left, tree.right], axis=1).astype(np.int64)
    return GivenPairs(tuple((a, b) for a, b in np.where(codes >= 0, n + 1 + codes, ~codes).tolist()))


def shaped_tree(model: Model, link: Linkage, shape: Any) -> Assembly:
    """The assembly tree that was asked for."""
    if shape == "balanced":
        return assembly_tree(link.parent)
    if shape == "chain_first":
        return assembly_tree(link.parent, longest=True)
    if isinstance(shape, NearBodies):
        weight = np.bincount([_body(model, link, b) for b in shape.bodies], minlength=len(link.parent))
        return assembly_tree(link.parent, _weights(np.asarray(link.parent), np.flatnonzero(weight)))
    if isinstance(shape, str):
        raise SettingError(f"there is no assembly {shape!r}; known: {', '.join(SHAPES)}, near(bodies), nested pairs")
    return given_tree(model, link, list(shape.rows) if isinstance(shape, GivenPairs) else as_rows(model, link, shape))


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


class _Clusters(NamedTuple):
    """What is known of bodies, the ground and clusters, by number."""

    top: list[int]  # the body nearest to the ground
    far: list[int]  # another body with joints to the outside, -1 = none
    code: list[int]  # in the assembly
    used: list[bool]


def given_tree(model: Model, link: Linkage, rows: list[tuple[int, int]]) -> Assembly:
    """The assembly of rows of pairs; refused, by name, where it does not cover the linkage or joins what is apart."""
    parent = [p if p >= 0 else len(link.parent) for p in link.parent.tolist()]
    missing = sorted(set(range(len(parent) + 1)) - {x for row in rows for x in row})
    if missing:
        name = _named(model, link, missing[0])
        raise ModelError(f"assembly: the tree does not cover the linkage: {name} is in no cluster")
    n, below = len(parent), np.bincount(parent, minlength=len(parent) + 1).tolist()
    size = n + 1 + len(rows)
    home = [*range(n + 1), *([-1] * len(rows))]  # of each body, the cluster that it is in, followed upwards
    c = _Clusters([*range(n + 1)], [-1] * (n + 1), [~b for b in range(n + 1)], [False] * size)
    made = Assembly._make([np.full(n, -1, np.int64) for _ in range(5)] + [
        np.arange(n + 1), np.full(n + 1, -1, np.int64), np.ones(n + 1, np.int64), np.full(n, -1, np.int64)
    ])  # fmt: skip

    def find(x: int) -> int:
        while home[x] not in (x, -1):
            home[x] = home[home[x]] if home[home[x]] != -1 else home[x]
            x = home[x]
        return x

    for k, (x, y) in enumerate(rows):
        for one in (x, y):
            if c.used[one]:
                raise ModelError(f"assembly: {_named(model, link, c.top[one])} is in two clusters")
            c.used[one] = True
        if k >= n:
            raise ModelError(f"assembly: {len(rows)} joins are too many for {n} bodies")
        new = n + 1 + k
        a, b = _sides(model, link, c, (x, y), parent, find)
        joint = c.top[b]
        below[parent[joint]] -= 1
        far = _far(model, link, c, (a, b), parent[joint], below)
        if c.top[a] == n and far >= 0:
            raise ModelError(
                f"assembly: the ground is joined to whole branches, got a part of that of {_named(model, link, joint)}"
            )
        home[a] = home[b] = home[new] = new
        made.left[k], made.right[k], made.body[k], made.handles[k] = c.code[a], c.code[b], joint, 1 + (far >= 0)
        made.node_of[joint] = k
        for code in (c.code[a], c.code[b]):
            (made.up if code >= 0 else made.leaf_up)[code if code >= 0 else ~code] = k
        c.top.append(c.top[a])
        c.far.append(far)
        c.code.append(k)
    return made


def _named(model: Model, link: Linkage, body: int) -> str:
    if body == len(link.parent):
        return "the ground"
    at = np.flatnonzero(np.asarray(model.frames.body) == link.last[body])
    return repr(model.frames.names[int(at[0])])


def _sides(model: Model, link: Linkage, c: _Clusters, pair: tuple[int, int], parent: list[int], find: Any) -> Any:
    """The cluster on the parent's side of the joint between two, and the other."""
    n = len(parent)
    for a, b in (pair, pair[::-1]):
        if c.top[b] < n and find(parent[c.top[b]]) == a:
            return a, b
    names = [_named(model, link, c.top[x]) for x in pair]
    raise ModelError(f"assembly: the clusters that begin with {names[0]} and {names[1]} are not joined by any joint")


def _far(model: Model, link: Linkage, c: _Clusters, pair: tuple[int, int], joined: int, below: list[int]) -> int:
    """The body of a new cluster, beside its top, that has joints to the outside; at most one may."""
    a, b = pair
    outside = {x for x in (c.far[a], c.top[b], c.far[b]) if x >= 0 and below[x] > 0}
    on_handle = joined == (c.far[a] if c.far[a] >= 0 else c.top[a])
    if len(outside) > 1 or c.far[a] in outside or not on_handle:
        names = [_named(model, link, c.top[x]) for x in pair]
        raise ModelError(
            f"assembly: joining the clusters that begin with {names[0]} and {names[1]} leaves joints to the outside on "
            f"more than the two ends of a path: join side branches to their body first"
        )
    return outside.pop() if outside else -1
