"""Slow and obvious oracles, written from the definitions. Never imported by the package."""

from __future__ import annotations

import numpy as np

# Trees: parent arrays in any order, -1 = base.


def path(parent, i):
    return [*path(parent, parent[i]), i] if i >= 0 else []


def subtree(parent, i):
    return {j for j in range(len(parent)) if i in path(parent, j)}


def children(parent, i):
    return [j for j in range(len(parent)) if parent[j] == i]


def common_ancestor(parent, i, j):
    shared = [k for k in path(parent, i) if k in path(parent, j)]
    return shared[-1] if shared else -1


def depth_first(parent, i=-1):
    below = [k for child in children(parent, i) for k in depth_first(parent, child)]
    return below if i < 0 else [i, *below]


def pattern(parent):
    """True where i and j lie on one path."""
    paths = [set(path(parent, i)) for i in range(len(parent))]
    return np.array([[i in paths[j] or j in paths[i] for j in range(len(parent))] for i in range(len(parent))])


def sums(parent):
    """(D0, D1, D2) of Featherstone 2005."""
    d = [len(path(parent, i)) for i in range(len(parent))]
    return sum(min(1, x - 1) for x in d), sum(x - 1 for x in d), sum(x * (x - 1) // 2 for x in d)


# Factorizations: dense, in a numbering with parents before children.


def ltl(H):
    """Lower triangular L with H = L' L: Cholesky of H with rows and columns reversed."""
    return np.linalg.cholesky(H[::-1, ::-1])[::-1, ::-1].T


def ltdl(H):
    """Unit lower triangular L and d with H = L' diag(d) L."""
    L = ltl(H)
    return L / np.diag(L)[:, None], np.diag(L) ** 2
