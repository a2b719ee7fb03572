"""RJK (Rodriguez, Jain & Kreutz-Delgado 1992), as optimised in Featherstone 2010, appendix B: O(N + m^2 d).

The blocks that are needed follow from Fig. 15, corrected: parents may come out in the other order (erratum E1).
"""

from __future__ import annotations

from bough.cost import rjk_need
from bough.opspace.methods.blocks import (
    Block,
    BlockList,
    Blocks,
    Pair,
    block_routine,
    estimate,
    prepare_blocks,
    seed_pairs,
)
from bough.opspace.methods.method import InverseMethod, Prepared
from bough.opspace.taskset import TaskSet
from bough.tree import Tree

RJK = block_routine("rjk")


def need(tree: Tree, pairs: list[Pair]) -> set[Pair]:
    """Pairs (i, j), i <= j, of the blocks that these pairs of bodies need; the tree is numbered depth-first."""
    bodies = {i for pair in pairs for i in pair}
    every = len(bodies) * (len(bodies) + 1) // 2
    if len(pairs) == every:
        return rjk_need(tree, sorted(bodies))
    return set().union(*(rjk_need(tree, pair) for pair in pairs))


def rjk_program(tasks: TaskSet) -> Blocks:
    """Omega_ij = P_i X_i Omega_pp X_j' P_j', or one-sided where i is an ancestor of j."""
    program = BlockList(Tree(tasks.model.mechanism.parent))
    pairs, parent = seed_pairs(tasks), program.parent
    needed = need(program.tree, pairs)
    program.add_diagonals({i for i, j in needed if i == j})
    depth = program.tree.depth
    block: dict[Pair, int] = {(i, i): b for i, b in program.diagonals.items()}
    for i, j in sorted((p for p in needed if p[0] != p[1]), key=lambda p: (depth[p[0]] + depth[p[1]], p)):
        if program.tree.common_ancestor(i, j) == i:
            block[i, j] = program.product(_find(block, i, parent[j]), j)
        else:
            half = program.product(_find(block, parent[i], parent[j]), j)
            block[i, j] = program.product((half, False), i, columns=True)
    return program.finish({(i, j): _find(block, i, j) for i, j in pairs})


def _find(block: dict[Pair, int], i: int, j: int) -> Block:
    return (block[i, j], False) if i <= j else (block[j, i], True)


def prepare(tasks: TaskSet) -> Prepared:
    return prepare_blocks(RJK, tasks, rjk_program(tasks))


METHOD = InverseMethod("rjk", prepare, estimate)
