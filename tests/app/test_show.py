"""Patterns for the terminal."""

import numpy as np
import pytest

from bough import Builder, zoo
from bough.app import show
from bough.app.commands.examine import facts
from bough.tree.tree import Tree


@pytest.mark.parametrize("size", [3, 7, 20])
def test_density_is_that_of_the_dense_pattern(size: int) -> None:
    tree = zoo.random_tree(20, seed=1).dof_tree
    dense = np.zeros((20, 20))
    for k in range(20):
        path = tree.path(k)
        dense[k, path] = dense[path, k] = 1
    cell = np.arange(20) * size // 20
    expected = [[dense[np.ix_(cell == i, cell == j)].mean() for j in range(size)] for i in range(size)]
    np.testing.assert_allclose(show.density(tree, size), expected)


def test_pattern_as_text() -> None:
    assert show.pattern(Tree([-1, 0, 0])).plain == "██▀\n▀ ▀"
    assert len(show.pattern(Tree(np.arange(-1, 199))).plain.splitlines()) == 64
    assert set(show.pattern(Tree(np.arange(-1, 19_999))).plain) == {"█", "\n"}


def test_limbs_that_are_alike_are_counted_by_kind() -> None:
    assert show.limb_groups([]) == "none"
    assert show.limb_groups([(4, 6)]) == "4 of 6 joints"
    assert show.limb_groups([(2, 1), (2, 10), (2, 1)]) == "2 of 1 joint on 2 bodies, 2 of 10 joints"


def test_mimic_joints_carry_their_bodies() -> None:
    builder, solid = Builder("carried"), {"mass": 1.0, "inertia": np.eye(3)}
    builder.add_body("a", **solid)
    builder.add_body("f", joint_name="slide", joint="prismatic", mimic=("a", 2, 0.5), **solid)
    builder.add_body("c", "f", **solid)
    model = builder.build()
    (_, slide) = show.branches(model).children
    assert slide.label.plain == "slide mimic 2 a + 0.5 f"
    assert [child.label.plain for child in slide.children] == ["c revolute v[1]"]
    assert [joint["parent"] for joint in facts(model)["joints"]] == [None, "slide"]
