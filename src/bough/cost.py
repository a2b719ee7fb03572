"""Closed cost formulas of Featherstone 2005 (F05), Shimanovskij (S) and Featherstone 2010 (F10).

Trees are of bodies for kinematics and inertias, and expanded (one node for each DoF) for factorizations;
`rows` lists, for each task row, the last DoF of its body (b_e in F10). Joints are revolute, geometry
and inertia general; floating bases hang on the base. m, a, d: multiplications, additions, divisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

from numpy.typing import ArrayLike

from bough.compile.graph.program import OperationCount
from bough.errors import TreeError
from bough.tree import Tree

__all__ = [
    "ARTICULATED_STEP",
    "ARTICULATED_TRANSFORM",
    "BLOCK_STEP",
    "BLOCK_TRANSFORM",
    "DIAGONAL_STEP",
    "DIAGONAL_TRANSFORM",
    "FLOATING_RIGID_SAVING",
    "FLOATING_VECTOR_SAVING",
    "RIGID_ADD",
    "RIGID_TRANSFORM",
    "VECTOR_TRANSFORM",
    "DensityRule",
    "TreeSums",
    "aba",
    "balanced",
    "chang_khatib",
    "chang_khatib_products",
    "crba",
    "crba_forward_dynamics",
    "dense",
    "density_rule",
    "divisions_as_multiplications",
    "factor_multiply",
    "factor_solve",
    "jacobian_multiply",
    "jacobian_solve",
    "jacobian_transpose_multiply",
    "jbar",
    "ltdl",
    "ltdl_solve",
    "ltl",
    "ltl_solve",
    "nullspace",
    "outer_product",
    "rjk_articulated",
    "rjk_need",
    "rjk_omega",
    "rnea",
    "short_side_branches",
    "span_grid",
    "udut_forward",
    "unbranched",
]


def _ops(m: int = 0, a: int = 0, d: int = 0, sqrt: int = 0) -> OperationCount:
    return OperationCount(mul=m, add=a, div=d, sqrt=sqrt)


def _total(*terms: tuple[int, OperationCount]) -> OperationCount:
    """The sum of n operations of each price, for pairs (n, price)."""
    columns = zip(*([n * x for x in price.astuple()] for n, price in terms), strict=True)
    return OperationCount(*(sum(column) for column in columns))


def divisions_as_multiplications(cost: OperationCount) -> OperationCount:
    """The convention of F05, section 6."""
    return _ops(m=cost.mul + cost.div, a=cost.add, sqrt=cost.sqrt)


# Factorization, substitution and products (F05 Table 1; S Table 1). The tree is the expanded one.


def ltl(tree: Tree) -> OperationCount:
    """H = L' L: F05 Table 1 (and UU', S Table 1)."""
    return _ops(m=tree.D2, a=tree.D2, d=tree.D1, sqrt=tree.n)


def ltdl(tree: Tree) -> OperationCount:
    """H = L' D L: F05 Table 1 (and UDU', S Table 1)."""
    return _ops(m=tree.D2, a=tree.D2, d=tree.D1)


def ltl_solve(tree: Tree) -> OperationCount:
    """Back-substitution with an LTL factor, per vector: F05 Table 1."""
    return _ops(m=2 * tree.D1, a=2 * tree.D1, d=2 * tree.n)


def ltdl_solve(tree: Tree) -> OperationCount:
    """Back-substitution with an LTDL factor, per vector: F05 Table 1."""
    return _ops(m=2 * tree.D1, a=2 * tree.D1, d=tree.n)


def factor_multiply(tree: Tree, *, unit: bool) -> OperationCount:
    """L x or L' x, for a factor with or without a unit diagonal: F05 Table 1."""
    return _ops(m=tree.D1 + (0 if unit else tree.n), a=tree.D1)


def factor_solve(tree: Tree, *, unit: bool) -> OperationCount:
    """L^-1 x or L^-T x: F05 Table 1. Unit: backward substitution of UDU' (S Table 1)."""
    return _ops(m=tree.D1, a=tree.D1, d=0 if unit else tree.n)


def udut_forward(tree: Tree) -> OperationCount:
    """(U D)^-1 x: S Table 1."""
    return _ops(m=tree.D1, a=tree.D1, d=tree.n)


# Families of trees (F05 Table 2; S Table 2).


class TreeSums(NamedTuple):
    """Size and path sums of a tree; see `Tree.D1` and `Tree.D2`."""

    n: int
    D1: int
    D2: int


def unbranched(n: int) -> TreeSums:
    """A chain of n bodies, whose H is dense."""
    return TreeSums(n, (n**2 - n) // 2, (n**3 - n) // 6)


def short_side_branches(m: int) -> TreeSums:
    """A chain of m bodies, each with a side branch of one body."""
    return TreeSums(2 * m, m**2, (2 * m**3 + 3 * m**2 + m) // 6)


def balanced(m: int) -> TreeSums:
    """A balanced binary tree of m levels."""
    return TreeSums(2**m - 1, sum(i * 2**i for i in range(1, m)), sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, m)))


def span_grid(m: int) -> TreeSums:
    """Any shortest-path spanning tree of an m by m grid."""
    return TreeSums(m**2, m**3 - m**2, (7 * m**4 - 6 * m**3 - m**2) // 12)


class DensityRule(NamedTuple):
    """How many times cheaper than dense ones sparse operations are: by the rule of thumb, and exactly."""

    density: float  # alpha
    factorize: float  # 1 / alpha^2
    exact_factorize: float
    solve: float  # 1 / alpha
    exact_solve: float


def density_rule(tree: Tree) -> DensityRule:
    """F05 section 4.1, S section 2: with a share alpha of nonzeros, alpha^2 of the work to factorize, alpha to solve.

    Beside it what D1 and D2 give, all operations weighted 1. Infinite where the sparse operation costs nothing.
    """
    alpha, full = tree.density, Tree(range(-1, tree.n - 1))
    dense, sparse = (2 * t.D2 + t.D1 for t in (full, tree))
    exact = dense / sparse if sparse else float("inf") if dense else 1.0
    solving = ltdl_solve(full).total / ltdl_solve(tree).total if tree.n else 1.0
    return DensityRule(alpha, 1 / alpha**2, exact, 1 / alpha, solving)


# Dynamics (F05 sections 5 and 6). The tree is that of the bodies.

RIGID_ADD = _ops(a=10)
RIGID_TRANSFORM = {2: _ops(m=32, a=33), 3: _ops(m=47, a=48)}  # by the number of axial screws: 2 at a DH node
VECTOR_TRANSFORM = {2: _ops(m=20, a=12), 3: _ops(m=24, a=18)}
FLOATING_RIGID_SAVING = _ops(m=18, a=21)
FLOATING_VECTOR_SAVING = _ops(m=12, a=8)


def crba(tree: Tree, floating_roots: Sequence[int] = ()) -> OperationCount:
    """H by the composite-rigid-body algorithm: F05 eq. 21 (eq. 20 without a floating base)."""
    D = tree.dh_counts(floating_roots)
    return _total(
        (D.D0a, RIGID_ADD + RIGID_TRANSFORM[2]),
        (D.D1a, VECTOR_TRANSFORM[2]),
        (D.D0b, RIGID_ADD + RIGID_TRANSFORM[3]),
        (D.D1b, VECTOR_TRANSFORM[3]),
        (-D.D0c, FLOATING_RIGID_SAVING),
        (-D.D1c, FLOATING_VECTOR_SAVING),
    )


def rnea(tree: Tree, floating_roots: Sequence[int] = ()) -> OperationCount:
    """The recursive Newton-Euler algorithm (Balafoutis, Patel & Misra 1988), corrected as in F05 section 6."""
    return _total(
        (tree.n, _ops(m=93, a=81)),
        (-len(tree.children(-1)), _ops(m=69, a=66)),
        (len(floating_roots), _ops(m=7, a=13)),
        (tree.dh_counts().D0b, _ops(m=4, a=8)),
    )


def aba(tree: Tree) -> OperationCount:
    """The articulated-body algorithm (McMillan & Orin 1995), every root a floating base; F05 section 6."""
    roots = len(tree.children(-1))
    return _total(
        (tree.n - roots, _ops(m=224, a=205)),
        (-roots, _ops(m=30, a=37)),
        (tree.dh_counts().D0b, _ops(m=66, a=57)),
    )


def crba_forward_dynamics(tree: Tree, dofs: ArrayLike, floating_roots: Sequence[int] = ()) -> OperationCount:
    """RNEA, CRBA, LTDL and one back-substitution, tau - C left out: F05 section 6."""
    expanded = tree.expanded(dofs)
    return rnea(tree, floating_roots) + crba(tree, floating_roots) + ltdl(expanded) + ltdl_solve(expanded)


# Operational space by the sparse factorization (F10 Table 1). The tree is the expanded one.


def jacobian_multiply(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """J x."""
    total = sum(_depths(tree, rows))
    return _ops(m=total, a=total - len(rows))


def jacobian_transpose_multiply(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """J' x."""
    total = sum(_depths(tree, rows))
    return _ops(m=total, a=total)


def jacobian_solve(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """Y = J L^-1; also Y_d = J L_d^-1 together with Y_d D^-1."""
    pairs = sum(d * (d - 1) // 2 for d in _depths(tree, rows))
    return _ops(m=pairs, a=pairs, d=sum(_depths(tree, rows)))


def outer_product(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """The lower triangle of Y Y', or of Y_D Y_d'."""
    shared = [_shared_depth(tree, i, j) for i, j in combinations_with_replacement(rows, 2)]
    return _ops(m=sum(shared), a=sum(max(0, d - 1) for d in shared))


def jbar(tree: Tree, rows: Sequence[int], *, unit: bool) -> OperationCount:
    """The generalised inverse of J: L^-1 (Y' Lam), or with a unit factor L_d^-1 (Y_D' Lam)."""
    products = len(rows) * (tree.D1 + sum(_depths(tree, rows)))
    return _ops(m=products, a=products, d=0 if unit else len(rows) * tree.n)


def nullspace(tree: Tree, rows: Sequence[int]) -> OperationCount:
    """N = 1 - Jbar J."""
    products = tree.n * sum(_depths(tree, rows))
    return _ops(m=products, a=products + tree.n)


def dense(n: int, m: int) -> dict[str, OperationCount]:
    """What the operations above cost with standard matrix arithmetic on n DoF and m task rows."""
    pairs = n * (n - 1) // 2
    return {
        "ltdl": _ops(m=(n**3 - n) // 6, a=(n**3 - n) // 6, d=pairs),
        "jacobian_multiply": _ops(m=m * n, a=m * (n - 1)),
        "jacobian_transpose_multiply": _ops(m=m * n, a=(m - 1) * n),
        "jacobian_solve": _ops(m=m * pairs, a=m * pairs, d=m * n),
        "outer_product": _ops(m=m * (m + 1) // 2 * n, a=m * (m + 1) // 2 * (n - 1)),
        "jbar": _ops(m=m * (m * n + pairs), a=m * (m * n + pairs - n)),
        "nullspace": _ops(m=m * n**2, a=(m - 1) * n**2 + n),
    }


def _depths(tree: Tree, rows: Sequence[int]) -> list[int]:
    return [int(tree.depth[i]) for i in rows]


def _shared_depth(tree: Tree, i: int, j: int) -> int:
    k = tree.common_ancestor(i, j)
    return int(tree.depth[k]) if k >= 0 else 0


# Operational space by the recursive algorithm of Rodriguez, Jain & Kreutz-Delgado (F10 appendix B, Table 4).

ARTICULATED_TRANSFORM = {2: _ops(m=60, a=62), 3: _ops(m=98, a=102)}  # phi (tau P) phi'
DIAGONAL_TRANSFORM = {2: _ops(m=76, a=80), 3: _ops(m=114, a=120)}  # phi' Omega_pp phi
BLOCK_TRANSFORM = {2: _ops(m=120, a=72), 3: _ops(m=144, a=108)}  # Omega_ip phi
ARTICULATED_STEP = _ops(m=5 + 15, a=15 + 21)  # tau, tau P, and the sum into the parent
DIAGONAL_STEP = _ops(m=35, a=28 + 1)  # tau' (...) tau, and the sum
BLOCK_STEP = _ops(m=30, a=24)  # (...) tau


def rjk_articulated(tree: Tree) -> OperationCount:
    """D_i^-1 and tau_i of all bodies: F10 eq. 39."""
    return _transforms(tree, tree.order.tolist(), ARTICULATED_TRANSFORM, ARTICULATED_STEP) + _ops(d=tree.n)


def rjk_omega(tree: Tree, bodies: Sequence[int], *, as_printed: bool = False) -> OperationCount:
    """The blocks Omega_ij that tasks on these bodies need: F10 eq. 40."""
    diagonal, moved = [], []
    for i, j in rjk_need(tree, bodies, as_printed=as_printed):
        if i == j:
            diagonal.append(i)
        else:
            moved.extend([j] if _shared_depth(tree, i, j) == tree.depth[i] else [i, j])
    return _transforms(tree, diagonal, DIAGONAL_TRANSFORM, DIAGONAL_STEP) + _transforms(
        tree, moved, BLOCK_TRANSFORM, BLOCK_STEP
    )


def rjk_need(tree: Tree, bodies: Sequence[int], *, as_printed: bool = False) -> set[tuple[int, int]]:
    """Pairs (i, j), i not after j in depth-first order, of the blocks needed: F10 Fig. 15, zero blocks left out.

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


# Operational space by the recursive algorithm of Chang & Khatib 2001, Table 1, at the prices of F10 Table 4.


def chang_khatib(tree: Tree, bodies: Sequence[int]) -> OperationCount:
    """D_i^-1 and tau_i, V_ii on the paths of these bodies, and the blocks of step 4: Lambda^-1 in link frames."""
    paths = sorted({int(k) for b in bodies for k in tree.path(b)})
    return (
        rjk_articulated(tree)
        + _transforms(tree, paths, DIAGONAL_TRANSFORM, DIAGONAL_STEP)
        + _transforms(tree, chang_khatib_products(tree, bodies), BLOCK_TRANSFORM, BLOCK_STEP)
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


def _own_numbers(tree: Tree) -> list[int]:
    """0, 1, 2, ...: the numbering of F10, from the base to the tips."""
    for i in range(tree.n):
        if tree.parent[i] >= i:
            raise TreeError(f"node {i} has parent {tree.parent[i]}: F10 Fig. 15 has parents before their children")
    return list(range(tree.n))


def _transforms(
    tree: Tree, bodies: Sequence[int], transform: dict[int, OperationCount], step: OperationCount
) -> OperationCount:
    """Moving something between each of these bodies and its parent, 2 screws for a DH child and 3 for another."""
    off_base = [i for i in bodies if tree.parent[i] >= 0]
    three = sum(1 for i in off_base if tree.dh_child[tree.parent[i]] != i)
    two = len(off_base) - three
    return _total((two, transform[2]), (three, transform[3]), (len(off_base), step))
