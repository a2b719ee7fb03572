"""Mobilities of bodies by one-sided products: any list of blocks that reaches all pairs gives Lambda^-1."""

import numpy as np
import pytest

from bough.compile.routine import interpret
from bough.opspace.methods.blocks import BlockList, block_routine, prepare_blocks, seed_pairs
from bough.tree import Tree
from opspace.cases import definition, random_case


def down_from_the_meeting_point(tasks):
    """For each pair of its own: the common ancestor's block, taken down one way, then the other."""
    parent = tasks.model.mechanism.parent.tolist()
    found = BlockList(Tree(tasks.model.mechanism.parent))
    pairs = seed_pairs(tasks)

    def path(i):
        return [] if i < 0 else [*path(parent[i]), i]

    found.add_diagonals({k for i, j in pairs for k in (*path(i), *path(j))})
    blocks = {}
    for i, j in pairs:
        common = [k for k in path(i) if k in path(j)][-1]
        block = (found.diagonals[common], False)
        for k in path(j)[len(path(common)) :]:
            block = (found.product(block, k), False)
        for k in path(i)[len(path(common)) :]:
            block = (found.product(block, k, columns=True), False)
        blocks[i, j] = block
    return found.finish(blocks)


@pytest.mark.parametrize("seed", range(12))
def test_a_way_of_our_own(seed):
    twin, tasks = random_case(seed)
    q = twin.model.random_configuration(np.random.default_rng(seed))
    prepared = prepare_blocks(block_routine("own"), tasks, down_from_the_meeting_point(tasks))
    (actual,) = interpret(*prepared, q)
    expected = definition(tasks, q)
    np.testing.assert_allclose(actual, expected, atol=1e-10 * np.abs(expected).max())


def test_pairs_are_of_one_tree_and_each_is_there_once():
    _, tasks = random_case(3)
    pairs = seed_pairs(tasks)
    assert len({frozenset(p) for p in pairs}) == len(pairs)
    root = tasks.seeds.root
    assert all(root[i] == root[j] for i, j in pairs)
