"""The families of trees that the papers compare, by their parent arrays."""

from __future__ import annotations

from bough import zoo
from bough.tree import Tree


def chain(n: int) -> Tree:
    """Unbranched: H is full."""
    return Tree(range(-1, n - 1))


def side_branches(m: int, length: int = 1, per_node: int = 1) -> Tree:
    """A main chain of m bodies; `per_node` side branches of `length` bodies leave each."""
    parent = list(range(-1, m - 1))
    for i in range(m):
        for _ in range(per_node):
            parent.append(i)
            parent.extend(range(len(parent) - 1, len(parent) + length - 2))
    return Tree(parent)


def balanced(m: int) -> Tree:
    """A balanced binary tree of m levels."""
    return Tree([(i - 1) // 2 if i else -1 for i in range(2**m - 1)])


def span_grid(m: int) -> Tree:
    """A shortest-path spanning tree of an m by m grid."""
    return Tree([k - 1 if k % m else k - m if k else -1 for k in range(m * m)])


def forest(robots: int, n: int) -> Tree:
    """Several chains on the base."""
    return Tree([-1 if i % n == 0 else i - 1 for i in range(robots * n)])


def star(n: int) -> Tree:
    """Every body on the base: H is diagonal."""
    return Tree([-1] * n)


def small_trees() -> dict[str, Tree]:
    """Nine trees of all kinds, on which formulas are checked."""
    return {
        "Tree 1": zoo.tree1().dof_tree,
        "Tree 1, 11 DoF": zoo.tree1_expanded().dof_tree,
        "chain 30": chain(30),
        "side branches 16": side_branches(8),
        "balanced 15": balanced(4),
        "grid 16": span_grid(4),
        "humanoid 30": zoo.humanoid().dof_tree,
        "forest 3 x 5": forest(3, 5),
        "star 6": star(6),
    }
