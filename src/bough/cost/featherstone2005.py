"""Factors, families of trees and dynamics: Featherstone 2005 (F05), and Shimanovskij (S) on UDU'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from bough.compile.graph.program import OperationCount
from bough.cost.operations import ops, total
from bough.tree import Tree

# Factorization, substitution and products (F05 Table 1; S Table 1). The tree is the expanded one.


def ltl(tree: Tree) -> OperationCount:
    """H = L' L: F05 Table 1 (and UU', S Table 1)."""
    return ops(m=tree.D2, a=tree.D2, d=tree.D1, sqrt=tree.n)


def ltdl(tree: Tree) -> OperationCount:
    """H = L' D L: F05 Table 1 (and UDU', S Table 1)."""
    return ops(m=tree.D2, a=tree.D2, d=tree.D1)


def ltl_solve(tree: Tree) -> OperationCount:
    """Back-substitution with an LTL factor, per vector: F05 Table 1."""
    return ops(m=2 * tree.D1, a=2 * tree.D1, d=2 * tree.n)


def ltdl_solve(tree: Tree) -> OperationCount:
    """Back-substitution with an LTDL factor, per vector: F05 Table 1."""
    return ops(m=2 * tree.D1, a=2 * tree.D1, d=tree.n)


def factor_multiply(tree: Tree, *, unit: bool) -> OperationCount:
    """L x or L' x, for a factor with or without a unit diagonal: F05 Table 1."""
    return ops(m=tree.D1 + (0 if unit else tree.n), a=tree.D1)


def factor_solve(tree: Tree, *, unit: bool) -> OperationCount:
    """L^-1 x or L^-T x: F05 Table 1. Unit: backward substitution of UDU' (S Table 1)."""
    return ops(m=tree.D1, a=tree.D1, d=0 if unit else tree.n)


def udut_forward(tree: Tree) -> OperationCount:
    """(U D)^-1 x: S Table 1."""
    return ops(m=tree.D1, a=tree.D1, d=tree.n)


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
    """The ratio of dense to sparse operations: by the rule of thumb, and exactly."""

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

RIGID_ADD = ops(a=10)
RIGID_TRANSFORM = {2: ops(m=32, a=33), 3: ops(m=47, a=48)}  # by the number of axial screws: 2 at a DH node
VECTOR_TRANSFORM = {2: ops(m=20, a=12), 3: ops(m=24, a=18)}
FLOATING_RIGID_SAVING = ops(m=18, a=21)
FLOATING_VECTOR_SAVING = ops(m=12, a=8)


def crba(tree: Tree, floating_roots: Sequence[int] = ()) -> OperationCount:
    """H by the composite-rigid-body algorithm: F05 eq. 21 (eq. 20 without a floating base)."""
    D = tree.dh_counts(floating_roots)
    return total(
        (D.D0a, RIGID_ADD + RIGID_TRANSFORM[2]),
        (D.D1a, VECTOR_TRANSFORM[2]),
        (D.D0b, RIGID_ADD + RIGID_TRANSFORM[3]),
        (D.D1b, VECTOR_TRANSFORM[3]),
        (-D.D0c, FLOATING_RIGID_SAVING),
        (-D.D1c, FLOATING_VECTOR_SAVING),
    )


def rnea(tree: Tree, floating_roots: Sequence[int] = ()) -> OperationCount:
    """The recursive Newton-Euler algorithm (Balafoutis, Patel & Misra 1988), corrected as in F05 section 6."""
    return total(
        (tree.n, ops(m=93, a=81)),
        (-len(tree.children(-1)), ops(m=69, a=66)),
        (len(floating_roots), ops(m=7, a=13)),
        (tree.dh_counts().D0b, ops(m=4, a=8)),
    )


def aba(tree: Tree) -> OperationCount:
    """The articulated-body algorithm (McMillan & Orin 1995), every root a floating base; F05 section 6."""
    roots = len(tree.children(-1))
    return total(
        (tree.n - roots, ops(m=224, a=205)), (-roots, ops(m=30, a=37)), (tree.dh_counts().D0b, ops(m=66, a=57))
    )


def crba_forward_dynamics(tree: Tree, dofs: ArrayLike, floating_roots: Sequence[int] = ()) -> OperationCount:
    """RNEA, CRBA, LTDL and one back-substitution, without tau - C: F05 section 6."""
    expanded = tree.expanded(dofs)
    return rnea(tree, floating_roots) + crba(tree, floating_roots) + ltdl(expanded) + ltdl_solve(expanded)
