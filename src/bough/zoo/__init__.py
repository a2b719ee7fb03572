"""The mechanisms of the papers and parametric families, with seeded random but physically valid geometry."""

from __future__ import annotations

from bough.arguments import explain_package
from bough.zoo.elastic import cable, hair, tree
from bough.zoo.enzyme import adenylate_kinase
from bough.zoo.families import bicycle_chain, binary, chain, grid, millipede, molecule, random_tree, side_branches, star
from bough.zoo.proteins import fold, protein
from bough.zoo.robots import (
    ASIMO_VARIANTS,
    arm,
    asimo,
    asimo_tasks,
    ck_standin,
    floating_chain,
    humanoid,
    quadruped,
    shimanovskij,
    tree1,
    tree1_expanded,
)

__all__ = [
    "ASIMO_VARIANTS",
    "adenylate_kinase",
    "arm",
    "asimo",
    "asimo_tasks",
    "bicycle_chain",
    "binary",
    "cable",
    "chain",
    "ck_standin",
    "floating_chain",
    "fold",
    "grid",
    "hair",
    "humanoid",
    "millipede",
    "molecule",
    "protein",
    "quadruped",
    "random_tree",
    "shimanovskij",
    "side_branches",
    "star",
    "tree",
    "tree1",
    "tree1_expanded",
]

explain_package(__name__)
