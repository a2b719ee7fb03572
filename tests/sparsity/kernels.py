"""Kernels on packed rows as they stand, on a small tree in depth-first order, beside dense matrices."""

import numpy as np

from bough.tree import Tree
from strategies import random_matrix

TREE = Tree([-1, 0, 1, 1, 0, 4, 4])
PARENT, ROWS = TREE.parent, TREE.rows


def matrix(seed=0):
    return random_matrix(TREE, seed)


def pack(A):
    """The entries of A on the ways to the root, row by row."""
    return np.concatenate([A[i, TREE.path(i)] for i in range(TREE.n)])


def unpack(packed):
    """The lower triangle that packed rows hold."""
    A = np.zeros((TREE.n, TREE.n))
    for i in range(TREE.n):
        A[i, TREE.path(i)] = packed[ROWS[i] : ROWS[i + 1]]
    return A
