"""About how many operations the sweeps of the methods take: for models whose graphs are too large to be counted."""

from __future__ import annotations

import numpy as np

from bough import cost
from bough.opspace.methods.method import Prepared, dof_tree
from bough.opspace.taskset import TaskSet
from bough.tree import Tree

# Operations of one step of each sweep, on average
BODY, TRANSFORM, RIGID = 190, 42, 75


def inertias(tasks: TaskSet) -> int:
    """The articulated inertias of all bodies, with which every recursion begins."""
    return BODY * len(tasks.model.mechanism.parent)


def by_factor(tasks: TaskSet, prepared: Prepared) -> int:
    """H, J, the factor and the products of the sparse methods."""
    m, p = tasks.model.mechanism, tasks.pattern
    tree, expanded = Tree(m.parent), Tree(dof_tree(tasks).parent)
    lengths = np.diff(p.of_row)
    shared = tasks.size * (tasks.size + 1) // 2 * float(lengths.mean() if len(lengths) else 0)
    kinematics = (RIGID + TRANSFORM) * len(m.parent) + TRANSFORM * tree.D1 + 11 * len(p.dof)
    return int(kinematics + cost.ltdl(expanded).total + (lengths * lengths).sum() + 2 * shared)
