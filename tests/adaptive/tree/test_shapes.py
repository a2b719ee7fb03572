"""Assembly trees of several shapes and of the user's own: the same solutions, and clear refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough import adaptive, zoo
from bough.adaptive.tree.assembly import assembly_tree, make_linkage
from bough.adaptive.tree.shapes import rows_of
from bough.errors import BoughError, ModelError, UnknownNameError
from bough.zoo.families import _family
from tests.adaptive.linkages import random_forces, random_linkage, simulate


def random_pairs(parent, rng):
    """Nested pairs over the bodies, joined in a random order that keeps to two ends of paths."""
    n = len(parent)
    top, far, tree = dict(enumerate(range(n))), dict.fromkeys(range(n), -1), {b: b for b in range(n)}
    home, below = list(range(n)), np.bincount([p for p in parent if p >= 0], minlength=n)
    while len(tree) > 1:
        choices = []
        for b in tree:
            p = parent[top[b]]
            if p < 0:
                continue
            a = home[p]
            left = below.copy()
            left[p] -= 1
            outside = {x for x in (far[a], top[b], far[b]) if x >= 0 and left[x] > 0}
            fits = len(outside) <= 1 and far[a] not in outside and p == (far[a] if far[a] >= 0 else top[a])
            # an end that carries two branches could not be joined to both
            if fits and not any(left[x] > 1 for x in outside):
                choices.append((a, b, outside.pop() if outside else -1))
        a, b, far[a] = choices[rng.integers(len(choices))]
        below[parent[top[b]]] -= 1
        tree[a] = (tree[a], tree.pop(b)) if rng.integers(2) else (tree.pop(b), tree[a])
        home = [a if x == b else x for x in home]
    return tree.popitem()[1]


def loaded(model, assembly, error=None, **options):
    rng = np.random.default_rng(3)
    sim = adaptive.QuasiStatics(model, error, "adaptive", assembly=assembly, **options)
    sim.configuration = model.random_configuration(rng)
    for body in rng.choice(len(model.body_names), 3).tolist():
        sim.apply_force(body, rng.normal(size=3))
    return sim


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 14), seed=st.integers(0, 10_000), chain=st.booleans())
def test_any_tree_of_pairs_gives_the_same_accelerations(n, seed, chain):
    rng = np.random.default_rng(seed)
    parent = np.arange(-1, n - 1) if chain else np.where(np.arange(n) == 0, -1, rng.integers(0, np.arange(n).clip(1)))
    model = _family("random_tree", parent, seed, "random")
    pairs = random_pairs(parent.tolist(), rng)
    expected = loaded(model, "balanced").accelerations()
    found = loaded(model, pairs)
    np.testing.assert_allclose(found.accelerations(), expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    coarse = loaded(model, pairs, adaptive.energy(0.3))
    qdd = coarse.accelerations()
    assert coarse.stats.bound <= 0.3
    assert ((qdd == 0.0) | np.isfinite(qdd)).all()


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("shape", ["chain_first", adaptive.near([7, 11])])
def test_shapes_give_the_same_accelerations(shape, floating):
    twin = random_linkage(4, 30, floating=floating)
    rng = np.random.default_rng(1)
    q, forces = twin.model.random_configuration(rng), random_forces(twin, rng)
    expected = simulate(twin.model, q, forces, method="aba").accelerations()
    for method in ("dca", "adaptive"):
        found = simulate(twin.model, q, forces, method=method, assembly=shape).accelerations()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_bodies_of_interest_lie_near_the_root():
    model = zoo.molecule(3000, seed=2)
    name = model.body_names[1700]
    depths = []
    for shape in ("balanced", adaptive.near([name])):
        tree = adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive", assembly=shape).solver.assemble()
        n, depth = int(tree.plan.leaf_up[tree.link.host[model.frames.body[model.frame(name)]]]), 0
        while n >= 0:
            n, depth = int(tree.plan.up[n]), depth + 1
        depths.append(depth)
    assert depths[1] < depths[0]
    assert depths[1] <= 6


def test_chains_first_follow_the_longest_way():
    # a long thin chain beside a heavy bush: the path of the ground's subtree goes into the chain
    parent = np.concatenate([[-1], np.arange(0, 9), np.zeros(1, int), np.full(30, 10)])
    heavy, longest = (assembly_tree(parent, longest=x) for x in (False, True))
    assert heavy.handles.tolist() != longest.handles.tolist()
    assert sorted(heavy.body.tolist()) != sorted(longest.body.tolist()) or heavy.left.tolist() != longest.left.tolist()


def test_rows_of_a_tree_make_it_again_and_survive_a_checkpoint(tmp_path):
    model = zoo.chain(7)
    pairs = (((0, 1), 2), ((3, (4, 5)), 6))
    sim = loaded(model, pairs, adaptive.energy(0.2))
    sim.run(3, h=1e-6)
    sim.checkpoint(tmp_path / "here")
    again = adaptive.QuasiStatics.resume(model, tmp_path / "here")
    assert rows_of(again.solver.tree.plan) == rows_of(sim.solver.tree.plan)
    for s in (sim, again):
        s.run(5, h=1e-6)
    np.testing.assert_array_equal(sim.configuration, again.configuration)
    for shape in ("chain_first", adaptive.near(["link3"])):
        sim = loaded(model, shape, adaptive.energy(0.2))
        sim.step(h=1e-6)
        sim.checkpoint(tmp_path / "here")
        assert adaptive.QuasiStatics.resume(model, tmp_path / "here").solver.assembly == shape


BAD = {
    "does not cover": ((0, 1), 2),
    "link1' is in two clusters": (((0, 1), 1), (2, 3)),
    "joined by no joint": ((0, 2), (1, 3)),
    "pair": (0, 1, 2, 3),
    "by name or place": ((0, 1), (2, 3.5)),
    "no body 9": ((0, 1), (2, 9)),
    "no body 'nose'|no frame 'nose'": ((0, 1), (2, "nose")),
    "one of balanced": "tall",
}


@pytest.mark.parametrize("match", BAD)
def test_trees_that_do_not_fit_are_refused(match):
    model = zoo.chain(4)
    for method in ("adaptive", "auto"):
        with pytest.raises((BoughError, ValueError), match=match):
            adaptive.QuasiStatics(model, adaptive.energy(0.1), method, assembly=BAD[match])


def test_what_is_apart_is_refused():
    model = zoo.star(3)
    with pytest.raises(ModelError, match="joined by no joint"):
        adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive", assembly=((0, 1), 2))
    adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive", assembly=((("world", 0), 1), 2))
    with pytest.raises(ValueError, match="at least one"):
        adaptive.near([])
    with pytest.raises(UnknownNameError):
        adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive", assembly=adaptive.near([7]))
    assert make_linkage(model).parent.tolist() == [-1, -1, -1]


def test_simulations_of_one_model_share_the_plan_and_what_rounding_does():
    model = zoo.chain(20)
    first, second = (adaptive.QuasiStatics(model, adaptive.relative_joint(0.1), "adaptive") for _ in range(2))
    for sim in (first, second):
        sim.apply_force(10, (1.0, 2.0, 3.0))
        sim.accelerations()
    assert first.solver.tree.plan is second.solver.tree.plan
    assert first.solver.tree.noise is second.solver.tree.noise
