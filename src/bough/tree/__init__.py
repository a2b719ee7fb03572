"""Trees without physics: parent arrays, paths, orders and the numbers D0, D1, D2 that follow from them.

Belongs here: everything that a parent array alone decides. Does not belong here: matrices (`sparsity`), joints, masses.
"""

from __future__ import annotations

from bough.tree.tree import DHCounts, ExpandedTree, Tree

__all__ = ["DHCounts", "ExpandedTree", "Tree"]
