"""Operational space by the recursive algorithm of Chang & Khatib 2001, Table 1, at the prices of F10 Table 4."""

from __future__ import annotations

from collections.abc import Sequence

from bough.compile.graph.program import OperationCount
from bough.cost.featherstone2010 import (
    BLOCK_STEP,
    BLOCK_TRANSFORM,
    DIAGONAL_STEP,
    DIAGONAL_TRANSFORM,
    rjk_articulated,
    transforms,
)
from bough.tree import Tree


def chang_khatib(tree: Tree, bodies: Sequence[int]) -> OperationCount:
    """D_i^-1 and tau_i, V_ii on the paths of these bodies, and the blocks of step 4: Lambda^-1 in link frames."""
    paths = sorted({int(k) for b in bodies for k in tree.path(b)})
    return (
        rjk_articulated(tree)
        + transforms(tree, paths, DIAGONAL_TRANSFORM, DIAGONAL_STEP)
        + transforms(tree, chang_khatib_products(tree, bodies), BLOCK_TRANSFORM, BLOCK_STEP)
    )


def chang_khatib_products(tree: Tree, bodies: Sequence[int]) -> list[int]:
    """For each product V_ij = V_i,parent(j) L_j of step 4 the body j: each block once, bodies in the given order.

    At most n (2 m - 1) for m bodies, so that all blocks take O(n m); the transpose of a block costs nothing.
    """
    listed = list(dict.fromkeys(int(b) for b in bodies))
    known: set[tuple[int, int]] = set()
    moved: list[int] = []
    for a, first in enumerate(listed):
        for second in listed[a + 1 :]:
            shared, i, j = tree.common_ancestor(first, second), first, second
            while shared >= 0 and i != j and (i, j) not in known and (j, i) not in known:
                if j == shared:
                    i, j = j, i
                known.add((i, j))
                moved.append(j)
                j = int(tree.parent[j])
    return moved
