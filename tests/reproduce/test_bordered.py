"""The nested bordered form: no zero inside the envelope, hence no fill-in."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from bough.tree import Tree
from papers.featherstone2005.section2 import bordered_order, envelope
from strategies import random_matrix, seeds, trees


def test_equation_7_of_f05():
    """Printed: the envelope is H31, H32, H64, H65 and H71 .. H76."""
    tree = Tree([-1, 0, 0, 1, 1, 2, 2])
    p = bordered_order(tree)
    inside = envelope(random_matrix(tree, 0)[p][:, p])
    expected = {(3, 1), (3, 2), (6, 4), (6, 5), *((7, j) for j in range(1, 7))}
    assert {(i + 1, j + 1) for i, j in np.argwhere(inside).tolist()} == expected


@given(trees(), seeds)
def test_no_zero_inside_the_envelope_and_no_fill_in(tree, seed):
    p = bordered_order(tree)
    assert sorted(p.tolist()) == list(range(tree.n))
    H = random_matrix(tree, seed)[p][:, p]
    inside = envelope(H)
    assert inside.sum() == tree.D1
    assert not np.any(np.linalg.cholesky(H)[~inside & ~np.eye(tree.n, dtype=bool)])


def test_an_envelope_has_zeros_where_the_order_is_another():
    tree = Tree([-1, 0, 0, 1, 1, 2, 2])
    assert envelope(random_matrix(tree, 0)).sum() > tree.D1
