"""Operational space: Featherstone 2010 (F10), by the sparse factorization and by Rodriguez, Jain & Kreutz-Delgado."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

from bough.compile.graph.program import OperationCount
from bough.cost.operations import ops, total
from bough.errors import TreeError
from bough.tree import Tree

# Operational space by the sparse factorization (F10 Table 1). The tree is the expanded one.


def jacobian_multiply(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """J x."""
    depths = sum(_depths(tree, rows))
    return ops(m=depths, a=depths - len(rows))


def jacobian_transpose_multiply(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """J' x."""
    depths = sum(_depths(tree, rows))
    return ops(m=depths, a=depths)


def jacobian_solve(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """Y = J L^-1; also Y_d = J L_d^-1 together with Y_d D^-1."""
    pairs = sum(d * (d - 1) // 2 for d in _depths(tree, rows))
    return ops(m=pairs, a=pairs, d=sum(_depths(tree, rows)))


def outer_product(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """The lower triangle of Y Y', or of Y_D Y_d'."""
    shared = [_shared_depth(tree, i, j) for i, j in combinations_with_replacement(rows, 2)]
    return ops(m=sum(shared), a=sum(max(0, d - 1) for d in shared))


def jbar(tree: Tree, rows: Sequence[int], *, unit: bool) -> OperationCount:
    """The generalised inverse of J: L^-1 (Y' Lam), or with a unit factor L_d^-1 (Y_D' Lam)."""
    products = len(rows) * (tree.D1 + sum(_depths(tree, rows)))
    return ops(m=products, a=products, d=0 if unit else len(rows) * tree.n)


def nullspace(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """N = 1 - Jbar J."""
    products = tree.n * sum(_depths(tree, rows))
    return ops(m=products, a=products + tree.n)


def dense(n: int, m: int) -> dict[str, OperationCount]:
    """The cost of the operations above with standard matrix arithmetic on n DoF and m task rows."""
    pairs = n * (n - 1) // 2
    return {
        "ltdl": ops(m=(n**3 - n) // 6, a=(n**3 - n) // 6, d=pairs),
        "jacobian_multiply": ops(m=m * n, a=m * (n - 1)),
        "jacobian_transpose_multiply": ops(m=m * n, a=(m - 1) * n),
        "jacobian_solve": ops(m=m * pairs, a=m * pairs, d=m * n),
        "outer_product": ops(m=m * (m + 1) // 2 * n, a=m * (m + 1) // 2 * (n - 1)),
        "jbar": ops(m=m * (m * n + pairs), a=m * (m * n + pairs - n)),
        "nullspace": ops(m=m * n**2, a=(m - 1) * n**2 + n),
    }


def _depths(tree: Tree, rows: Sequence[int]) -> list[int]:
    return [int(tree.depth[i]) for i in rows]


def _shared_depth(tree: Tree, i: int, j: int) -> int:
    k = tree.common_ancestor(i, j)
    return int(tree.depth[k]) if k >= 0 else 0


# Operational space by the recursive algorithm of Rodriguez, Jain & Kreutz-Delgado (F10 appendix B, Table 4).

ARTICULATED_TRANSFORM = {2: ops(m=60, a=62), 3: ops(m=98, a=102)}  # phi (tau P) phi'
DIAGONAL_TRANSFORM = {2: ops(m=76, a=80), 3: ops(m=114, a=120)}  # phi' Omega_pp phi
BLOCK_TRANSFORM = {2: ops(m=120, a=72), 3: ops(m=144, a=108)}  # Omega_ip phi
ARTICULATED_STEP = ops(m=5 + 15, a=15 + 21)  # tau, tau P, and the sum into the parent
DIAGONAL_STEP = ops(m=35, a=28 + 1)  # tau' (...) tau, and the sum
BLOCK_STEP = ops(m=30, a=24)  # (...) tau


def rjk_articulated(tree: Tree) -> OperationCount:
    """D_i^-1 and tau_i of all bodies: F10 eq. 39."""
    return transforms(tree, tree.order.tolist(), ARTICULATED_TRANSFORM, ARTICULATED_STEP) + ops(d=tree.n)


def rjk_omega(tree: Tree, bodies: Sequence[int], *, as_printed: bool = False) -> OperationCount:
    """The blocks Omega_ij that tasks on these bodies need: F10 eq. 40."""
    diagonal, moved = [], []
    for i, j in rjk_need(tree, bodies, as_printed=as_printed):
        if i == j:
            diagonal.append(i)
        else:
            moved.extend([j] if _shared_depth(tree, i, j) == tree.depth[i] else [i, j])
    return transforms(tree, diagonal, DIAGONAL_TRANSFORM, DIAGONAL_STEP) + transforms(
        tree, moved, BLOCK_TRANSFORM, BLOCK_STEP
    )


def rjk_need(tree: Tree, bodies: Sequence[int], *, as_printed: bool = False) -> set[tuple[int, int]]:
    """Pairs (i, j), i not after j in depth-first order, of the nonzero blocks needed: F10 Fig. 15.

    The printed figure loses pairs whose parents are in the other order (erratum E1); `as_printed` loses them too. Which
    these are depends on the numbering, so that it takes the tree's own one, in which parents must come first.
    """
    number = _own_numbers(tree) if as_printed else tree.rank.tolist()
    given = sorted({int(b) for b in bodies}, key=number.__getitem__)
    waiting, need = list(combinations_with_replacement(given, 2)), set()
    while waiting:
        i, j = waiting.pop()
        shared = -1 if (i, j) in need or i < 0 else tree.common_ancestor(i, j)
        if shared < 0:
            continue
        need.add((i, j))
        p, q = int(tree.parent[i]), int(tree.parent[j])
        if i == j:
            waiting.append((p, p))
        elif shared == i:
            waiting.append((i, q))
        elif number[p] <= number[q]:
            waiting.append((p, q))
        elif not as_printed:
            waiting.append((q, p))
    return need


def _own_numbers(tree: Tree) -> list[int]:
    """0, 1, 2, ...: the numbering of F10, from the base to the tips."""
    for i in range(tree.n):
        if tree.parent[i] >= i:
            raise TreeError(f"node {i} has parent {tree.parent[i]}: F10 Fig. 15 has parents before their children")
    return list(range(tree.n))


def transforms(
    tree: Tree, bodies: Sequence[int], transform: dict[int, OperationCount], step: OperationCount
) -> OperationCount:
    """Moving something between each of these bodies and its parent, 2 screws for a DH child and 3 for another."""
    off_base = [i for i in bodies if tree.parent[i] >= 0]
    three = sum(1 for i in off_base if tree.dh_child[tree.parent[i]] != i)
    two = len(off_base) - three
    return total((two, transform[2]), (three, transform[3]), (len(off_base), step))
