"""What a scene is made of: bones that meet at joints, colours by branch, motions that fit."""

from dataclasses import replace

import numpy as np
import pytest

import bough
from bough.errors import OptionError, ShapeError, TooLargeError
from bough.sparsity.pattern import _sampled as sampled
from bough.sparsity.pattern import density
from bough.tree import Tree
from bough.view import Arrows, scene
from bough.view.colours import branch_colours, branches
from bough.view.pattern import pattern


def ends(part, T):
    """(k, 2, 3) both ends of rods in the world."""
    half = 0.5 * part.placement[:, :, 2]
    local = np.stack([part.placement[:, :, 3] - half, part.placement[:, :, 3] + half], axis=1)
    return np.einsum("kij,kej->kei", T[part.body, :3, :3], local) + T[part.body, None, :3, 3]


def test_bones_join_the_origins_of_joints():
    model = replace(bough.zoo.humanoid(), visuals=())
    q = model.random_configuration(np.random.default_rng(3))
    found = scene(model, q)
    rods = next(part for part in found.shapes if part.kind == "cylinder")
    points = ends(rods, found.placements()).reshape(-1, 3)
    dynamics = bough.Dynamics(model, general=True)
    for name in model.body_names:
        origin = dynamics.placement(q, name)[:3, 3]
        assert np.linalg.norm(points - origin, axis=1).min() < 1e-9, name


def test_a_robot_stands_on_its_base_and_one_that_floats_on_nothing():
    builder = bough.Builder("post")
    builder.add_body("arm", placement=(0, 0, 2.0), axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0))
    rod = next(part for part in scene(builder.build()).shapes if (part.body < 0).any())
    at = rod.body < 0
    np.testing.assert_allclose(rod.placement[at][0, :, 3], [0, 0, 1.0], atol=1e-9)
    assert not any((part.body < 0).any() for part in scene(bough.zoo.humanoid()).shapes)


def test_twin_limbs_have_one_colour_and_the_trunk_another():
    model = bough.zoo.asimo()
    colours, first = branch_colours(model.mechanism)
    of = {name: colours[model.frames.body[model.frame(name)]] for name in model.body_names}
    pairs = [
        (name, name.replace("left", "right")) for name in of if "left" in name and name.replace("left", "right") in of
    ]
    assert len(pairs) > 10
    for left, right in pairs:
        np.testing.assert_array_equal(of[left], of[right])
    assert not np.allclose(colours[0], of[pairs[0][0]])
    assert len(np.unique(first)) > 4


def test_a_branch_goes_on_with_the_only_or_largest_child():
    tree = Tree([-1, 0, 1, 1, 3, 0, 0])
    assert branches(tree).tolist() == [0, 0, 2, 0, 0, 5, 6]
    twins = Tree([-1, 0, 0])
    assert branches(twins).tolist() == [0, 1, 2]


def test_the_pattern_is_that_of_the_mass_matrix():
    model = bough.zoo.tree1()
    found = pattern(scene(model))
    H = bough.Dynamics(model, general=True).mass_matrix(model.random_configuration(np.random.default_rng(0)))
    np.testing.assert_array_equal(found[..., 3] > 0, H != 0.0)


def test_a_large_pattern_is_sampled():
    tree = bough.zoo.random_tree(3000, 1).dof_tree
    exact, some = density(tree, 20), sampled(tree, 20)
    assert np.abs(exact - some).max() < 0.15
    assert np.corrcoef(exact.ravel(), some.ravel())[0, 1] > 0.95


def test_what_does_not_fit_is_refused():
    model = bough.zoo.arm(3)
    with pytest.raises(ShapeError, match=r"\(3,\), got shape \(2,\)"):
        scene(model, [0.0, 0.0])
    with pytest.raises(ShapeError, match="finite"):
        scene(model, [0.0, np.nan, 0.0])
    found = scene(model)
    with pytest.raises(ShapeError, match=r"q \(T, 3\)"):
        found.playing([0.0, 1.0], np.zeros((3, 3)))
    with pytest.raises(ShapeError, match="track 'x'"):
        found.playing([0.0, 1.0], np.zeros((2, 3)), {"x": [1.0]})
    with pytest.raises(ShapeError, match="finite"):
        found.playing([0.0, 1.0], np.full((2, 3), np.inf))
    with pytest.raises(ShapeError, match="times must not decrease, got 2 and then 1 at sample 2"):
        found.playing([0.0, 2.0, 1.0], np.zeros((3, 3)))
    moving = found.playing([0.0, 1e12], np.zeros((2, 3)))
    with pytest.raises(TooLargeError, match="a video has at most 10,000 frames"):
        moving.video("a.gif")
    with pytest.raises(OptionError, match="there is no option 'sample'"):
        moving.video("a.gif", sample=3)
    with pytest.raises(OptionError, match="fps must be float, got 'x'"):
        moving.video("a.gif", fps="x")
    with pytest.raises(OptionError, match="there is no folder"):
        moving.save_html("/nowhere/at/all.html")


def test_fifty_thousand_bodies_are_a_few_parts():
    found = scene(bough.zoo.molecule(50_000, 1))
    assert len(found.shapes) <= 3
    assert 40_000 < sum(len(part) for part in found.shapes) < 120_000
    assert repr(found) == f"Scene('molecule', 50000 bodies, {sum(map(len, found.shapes))} shapes)"


def test_every_kind_of_joint_is_drawn(every_joint):
    found = scene(every_joint)
    assert {part.kind for part in found.shapes} >= {"cylinder", "sphere"}
    assert np.isfinite(found.shapes[0].placement).all()


def test_what_slides_has_a_rail_along_its_axis():
    builder = bough.Builder("slide")
    builder.add_body("a", "world", "prismatic", (0, 0, 1), axis=(0, 1, 0), mass=1.0, lower=-0.2, upper=0.6)
    found = scene(builder.build())
    rods = next(part for part in found.shapes if part.kind == "cylinder")
    post, rail = np.flatnonzero(rods.body == -1)
    for k, wanted in ((post, [[0, 0, 0], [0, 0, 1]]), (rail, [[0, -0.2, 1], [0, 0.6, 1]])):
        half = 0.5 * rods.placement[k, :, 2]
        ends = np.array([rods.placement[k, :, 3] - half, rods.placement[k, :, 3] + half])
        np.testing.assert_allclose(ends, wanted, atol=1e-12)


def test_a_single_ball_is_drawn():
    builder = bough.Builder("ball")
    builder.add_body("a", "world", "spherical", mass=1.0, inertia=np.eye(3), com=(0.1, 0, 0))
    assert {part.kind for part in scene(builder.build()).shapes} == {"cylinder", "sphere"}


def test_arrows_are_seen_beside_an_impact():
    """What acts most of the time is drawn long, what hits once is cut; directions are kept."""
    force = np.tile([[0.0, 0.0, 5.0], [0.0, 1.0, 2.0]], (100, 1, 1))
    force[3] = [0.0, 0.0, 5000.0], [0.0, 0.0, 0.0]
    drawn = Arrows(np.zeros(2, int), np.zeros((2, 3)), force).drawn(2.0)
    np.testing.assert_allclose(drawn[0], 0.9 / 5.0 * force[0])
    np.testing.assert_allclose(drawn[3], [[0.0, 0.0, 1.4], [0.0, 0.0, 0.0]])
    once = np.where(np.arange(100)[:, None, None] == 7, force[:1], 0.0)
    np.testing.assert_allclose(Arrows(np.zeros(2, int), np.zeros((2, 3)), once).drawn(2.0)[7], drawn[0])
    assert not Arrows(np.zeros(2, int), np.zeros((2, 3)), 0.0 * force).drawn(2.0).any()


def test_scenes_beside_each_other_have_the_bodies_of_both():
    arm, chain = bough.zoo.arm(3), bough.zoo.floating_chain(bodies=4)
    rng = np.random.default_rng(0)
    q = [np.array([model.random_configuration(rng) for _ in range(3)]) for model in (arm, chain)]
    one, other = scene(arm).playing([0.0, 1.0, 2.0], q[0]), scene(chain).playing([0.1, 1.9, 5.0], q[1])
    shift = np.array([1.0, -2.0, 0.5])
    both = one.beside(other.moved(shift).ghost(), scene(arm, q[0][2]))
    n, m = len(one.links.parent), len(other.links.parent)
    for sample, nearest in enumerate((0, 1, 1)):  # of the other motion
        T = both.placements(both.motion.q[sample])
        np.testing.assert_allclose(T[:n], one.placements(q[0][sample]), atol=1e-12)
        expected = other.placements(q[1][nearest])
        expected[:, :3, 3] += shift
        np.testing.assert_allclose(T[n : n + m], expected, atol=1e-12)
        np.testing.assert_allclose(T[n + m :], one.placements(q[0][2]), atol=1e-12)
    assert sum(map(len, both.shapes)) == 2 * sum(map(len, one.shapes)) + sum(map(len, other.shapes))
    assert max(part.body.max() for part in both.shapes) == n + m + n - 1
    assert both.html()
    with pytest.raises(ShapeError, match="vector"):
        one.moved((1.0, 2.0))
