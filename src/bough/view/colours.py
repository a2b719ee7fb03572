"""Colours: one for each branch of the tree, the same for identical limbs."""

from __future__ import annotations

import numpy as np

from bough.joints import Mechanism
from bough.model import find_limbs
from bough.tree import Tree
from bough.types import FloatArray, IntArray

TWIG = 120
TRUNK = (0.36, 0.42, 0.50)
PALETTE = (
    (0.16, 0.50, 0.73), (0.93, 0.49, 0.19), (0.20, 0.63, 0.45), (0.78, 0.29, 0.38), (0.51, 0.42, 0.72),
    (0.85, 0.68, 0.20), (0.24, 0.67, 0.72), (0.72, 0.44, 0.60), (0.50, 0.60, 0.24), (0.58, 0.42, 0.33),
)  # fmt: skip


def branches(tree: Tree) -> IntArray:
    """For each node the first node of its branch, in the user's numbering.

    A node goes on with the branch of its parent if it is the only child, or has a larger subtree than every sibling,
    or if it is a twig: less than a part in TWIG of the tree.
    """
    parent, size = np.asarray(tree.parent), np.asarray(tree.size)
    inside = parent >= 0
    largest = np.zeros(tree.n + 1, np.int64)
    np.maximum.at(largest, parent, size)  # of the roots in the last place
    ties = np.zeros(tree.n + 1, np.int64)
    np.add.at(ties, parent, size == largest[parent])
    goes_on = inside & (((size == largest[parent]) & (ties[parent] == 1)) | (size * TWIG < tree.n))
    first = np.where(goes_on, parent, np.arange(tree.n))
    while not np.array_equal(first, first[first]):
        first = first[first]
    return first


def branch_colours(m: Mechanism) -> tuple[FloatArray, IntArray]:
    """(N, 3) colours of bodies, and for each body its branch: identical branches have one colour, the trunk is grey."""
    tree = Tree(np.asarray(m.parent))
    first = branches(tree)
    place = np.asarray(find_limbs(m)[1], np.int64)
    colours = np.tile(np.array(TRUNK), (tree.n, 1))
    trunk = first[np.flatnonzero(np.asarray(m.parent) < 0)]
    lone = len(np.unique(first)) == 1
    known: dict[int, int] = {}
    for branch in np.unique(first).tolist():
        if branch in trunk and len(trunk) == 1 and not lone:
            continue
        known.setdefault(int(place[branch]), len(known))
    number = np.array([known.get(int(place[b]), -1) for b in first.tolist()], np.int64)
    shown = number >= 0
    colours[shown] = np.array(PALETTE)[number[shown] % len(PALETTE)]
    # the same hue again is lighter or darker
    again = (number[shown] // len(PALETTE)) % 3
    colours[shown] = np.clip(colours[shown] * np.array([1.0, 0.75, 1.25])[again][:, None], 0.0, 1.0)
    return colours, first
