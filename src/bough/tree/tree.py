"""Kinematic trees without physics: numbering, paths, subtrees and the counts that costs depend on.

The sets kappa (path to the root), nu (subtree) and mu (children), the expanded tree and the
sums D0, D1, D2 are those of Featherstone 2005 and 2010; 0-based here, with -1 for the base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bough.arguments import explained
from bough.errors import TreeError
from bough.tree.parents import numbering, validated
from bough.types import IntArray


class DHCounts(NamedTuple):
    """Nodes off the base (D0), and sums of subtrees (D1): a DH, b not DH, c DH children of floating bases."""

    D0a: int
    D1a: int
    D0b: int
    D1b: int
    D0c: int
    D1c: int


class Tree:
    """A forest given by its parent array; frozen, hashable by content.

    `parent[i]` is the parent of node i, or -1 for the base; a parent may come after its child.
    Questions are asked and answered in this order, the user's. Inside, nodes are numbered
    depth-first (siblings keep their order), so that a subtree is a slice and parents come first:
    `order[k]` is the user's number of the k-th node, `rank` the inverse, `regular` the parent array
    in that numbering. If the user's numbering is depth-first already, `order` is the identity.

    Building takes O(n) steps for n nodes, compiled for large trees whose parents come first.
    """

    parent: IntArray
    depth: IntArray
    size: IntArray
    order: IntArray
    rank: IntArray
    regular: IntArray

    @explained
    def __init__(self, parent: ArrayLike) -> None:
        parent = validated(parent)
        depth, size, rank = numbering(parent)
        order = np.empty_like(rank)
        order[rank] = np.arange(len(rank))
        above = parent[order]
        regular = np.where(above < 0, -1, rank[above])
        arrays = {"parent": parent, "depth": depth, "size": size, "order": order, "rank": rank, "regular": regular}
        self.__dict__.update({name: _frozen(array) for name, array in arrays.items()})

    def sorted(self) -> Tree:
        """The same tree with nodes numbered depth-first."""
        tree, places = object.__new__(Tree), np.arange(self.n)
        arrays = {"parent": self.regular, "depth": self.depth[self.order], "size": self.size[self.order]}
        arrays |= {"order": places, "rank": places, "regular": self.regular}
        tree.__dict__.update({name: _frozen(array) for name, array in arrays.items()})
        return tree

    # Identity: a tree is its parent array.

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tree is frozen: {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree, (self.parent,)

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.parent, other.parent) if isinstance(other, Tree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parent.tobytes())

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"Tree(n={self.n}, roots={len(self.children(-1))}, height={self.height}, D1={self.D1}, D2={self.D2})"

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    # Sets, in the user's numbering.

    def path(self, i: int) -> IntArray:
        """kappa(i): the nodes from the root down to and including i. O(depth)."""
        k = self._regular_index(i)
        ranks = np.empty(self.depth[i], dtype=np.int64)
        for position in range(len(ranks) - 1, -1, -1):
            ranks[position] = k
            k = int(self.regular[k])
        return self.order[ranks]

    def subtree(self, i: int) -> IntArray:
        """nu(i): node i and all its descendants, depth-first."""
        return self.order[self.span(self._regular_index(i))]

    def children(self, i: int) -> IntArray:
        """mu(i): the children of node i, in the user's order; i = -1 gives the roots."""
        if i != -1:
            self._regular_index(i)
        nodes, first = self._siblings
        return nodes[first[i + 1] : first[i + 2]]

    def common_ancestor(self, i: int, j: int) -> int:
        """The deepest node on both paths (i itself if j is in its subtree); -1 if the base alone is. O(depth)."""
        a, b = self._regular_index(i), self._regular_index(j)
        while a != b:  # the later of two different nodes cannot be an ancestor of the other
            if a > b:
                a = int(self.regular[a])
            else:
                b = int(self.regular[b])
        return int(self.order[a]) if a >= 0 else -1

    @cached_property
    def dh_child(self) -> IntArray:
        """For each node the child with the largest subtree (the first of equals), -1 for a leaf: its DH child."""
        best = np.full(self.n, -1, dtype=np.int64)
        ranked = np.lexsort((-self.size, self.parent))[::-1]
        ranked = ranked[self.parent[ranked] >= 0]
        best[self.parent[ranked]] = ranked  # reversed, so the best child of a parent is written last
        return _frozen(best)

    # Structure, in the depth-first numbering.

    def span(self, k: int) -> slice:
        """The subtree of the k-th node in depth-first order, as a slice of that order."""
        return slice(k, k + int(self.size[self.order[k]]))

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """Depth-first numbers of the nodes at depth 1, 2, ...: nodes of one level are independent of each other."""
        depth = self.depth[self.order]
        by_depth = _frozen(np.argsort(depth, kind="stable"))
        bounds = np.cumsum(np.bincount(depth, minlength=1))  # nothing is at depth 0
        return tuple(_frozen(by_depth[a:b]) for a, b in pairwise(bounds))

    @cached_property
    def rows(self) -> IntArray:
        """Offsets (n + 1) of packed ancestor rows: row k holds the path root..k, so its length is the depth of k."""
        rows = np.zeros(self.n + 1, dtype=np.int64)
        np.cumsum(self.depth[self.order], out=rows[1:])
        return _frozen(rows)

    @cached_property
    def ancestors(self) -> IntArray:
        """The column of each element of packed rows: the paths root..k of all k, concatenated (D1 + n)."""
        packed = np.empty(int(self.rows[-1]), dtype=np.int64)
        place, node = self.rows[1:] - 1, np.arange(self.n)
        while node.size:
            packed[place] = node
            above = self.regular[node]
            inside = above >= 0
            place, node = place[inside] - 1, above[inside]
        return _frozen(packed)

    # Counts.

    @property
    def height(self) -> int:
        """The largest depth; a child of the base has depth 1."""
        return int(self.depth.max(initial=0))

    @property
    def D0(self) -> int:
        """Number of nodes whose parent is not the base (Featherstone 2005, eq. 15)."""
        return int(np.count_nonzero(self.parent >= 0))

    @property
    def D1(self) -> int:
        """sum (d - 1): nonzeros of H below the diagonal (Featherstone 2005, eq. 8)."""
        return int(self.depth.sum()) - self.n

    @cached_property
    def D2(self) -> int:
        """sum d (d - 1) / 2: multiplications of a factorization (Featherstone 2005, eq. 9)."""
        nodes_at = np.bincount(self.depth).tolist()  # Python integers: a long chain would overflow 64 bits
        return sum(count * (d * (d - 1) // 2) for d, count in enumerate(nodes_at))

    @property
    def density(self) -> float:
        """alpha: the fraction of H that branches leave nonzero; 1 for an empty tree."""
        return (self.n + 2 * self.D1) / self.n**2 if self.n else 1.0

    def dh_counts(self, floating_roots: Sequence[int] = ()) -> DHCounts:
        """D0a .. D1c with the best DH children; `floating_roots` are the nodes that are floating bases.

        Featherstone 2005, eq. 19 and section 6; children of the base are in no class (erratum E11).
        """
        for i in floating_roots:
            if self._regular_index(i) >= 0 and self.parent[i] >= 0:
                raise TreeError(f"node {i} cannot be a floating base: its parent is {self.parent[i]}, not the base")
        off_base = self.parent >= 0
        is_dh = np.zeros(self.n, dtype=bool)
        is_dh[self.dh_child[self.dh_child >= 0]] = True
        under_floating = is_dh & np.isin(self.parent, list(floating_roots))
        classes = (off_base & is_dh, off_base & ~is_dh, under_floating)
        return DHCounts(*(int(x) for c in classes for x in (np.count_nonzero(c), self.size[c].sum())))

    def expanded(self, dofs: ArrayLike) -> ExpandedTree:
        """The tree in which node i is a chain of `dofs[i]` nodes, numbered consecutively in the user's order.

        Featherstone 2005, section 2; Featherstone 2010, Fig. 4.
        """
        counts = np.asarray(dofs)
        if counts.shape != (self.n,) or (self.n and counts.dtype.kind not in "iu"):
            raise TreeError(f"dofs must be {self.n} integers, one for each node: got {counts.dtype} {counts.shape}")
        for i in np.flatnonzero(counts < 1):
            raise TreeError(f"node {i} has {counts[i]} DoF: expected at least 1 (merge fixed joints first)")
        first = np.zeros(self.n + 1, dtype=np.int64)
        np.cumsum(counts, out=first[1:])
        parent = np.arange(-1, int(first[-1]) - 1, dtype=np.int64)
        parent[first[:-1]] = np.where(self.parent < 0, -1, first[1:][self.parent] - 1)
        node = np.repeat(np.arange(self.n), counts.astype(np.int64))
        arrays = self.__dict__ if len(parent) == self.n else Tree(parent).__dict__
        return ExpandedTree(arrays, _frozen(first), _frozen(node))

    @cached_property
    def _siblings(self) -> tuple[IntArray, IntArray]:
        """Nodes grouped by parent (base first), and where the group of each parent, shifted by one, begins."""
        first = np.zeros(self.n + 2, dtype=np.int64)
        np.cumsum(np.bincount(self.parent + 1, minlength=self.n + 1), out=first[1:])
        return _frozen(np.argsort(self.parent, kind="stable")), _frozen(first)

    def _regular_index(self, i: int) -> int:
        if not 0 <= i < self.n:
            raise TreeError(f"there is no node {i}: expected 0 to {self.n - 1}")
        return int(self.rank[i])


class ExpandedTree(Tree):
    """A tree of DoFs: node i of the original owns DoFs `first[i]:first[i + 1]`, and DoF k belongs to `node[k]`."""

    first: IntArray
    node: IntArray

    def __init__(self, arrays: Mapping[str, Any], first: IntArray, node: IntArray) -> None:
        """`arrays` are those of the same tree; they are shared."""
        self.__dict__.update(arrays, first=first, node=node)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExpandedTree, ({name: getattr(self, name) for name in Tree.__annotations__}, self.first, self.node)


def _frozen(array: IntArray) -> IntArray:
    array.setflags(write=False)
    return array
