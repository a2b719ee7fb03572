"""The builder: what it refuses, what it merges, how mimic joints are tied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough import Builder
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, ModelError, OptionError, UnknownNameError

SOLID = {"mass": 1.0, "inertia": np.eye(3)}
NAN = float("nan")

BAD_BODIES = {
    "empty name": ({"name": ""}, "cannot be called ''"),
    "world": ({"name": "world"}, "cannot be called 'world'"),
    "same name": ({"name": "base"}, "the name is taken"),
    "same joint": ({"joint_name": "base"}, "a joint called 'base' exists already"),
    "joint type": ({"joint": "bendy"}, "unknown joint type 'bendy'; expected one of revolute"),
    "option": ({"colour": 1}, "unknown option 'colour'"),
    "placement shape": ({"placement": np.eye(2)}, "a placement is None"),
    "placement pair": ({"placement": (np.eye(2), np.zeros(3))}, "needs shapes"),
    "placement words": ({"placement": "here"}, "a placement is None"),
    "no rotation": ({"placement": (2 * np.eye(3), np.zeros(3))}, "is no rotation"),
    "reflection": ({"placement": (np.diag([1, 1, -1]), np.zeros(3))}, "is no rotation"),
    "placement NaN": ({"placement": (0, NAN, 0)}, "placement must be finite"),
    "zero axis": ({"axis": (0, 0, 0)}, "axis of its revolute joint is zero"),
    "axis shape": ({"axis": (0, 1)}, "needs 1 axis"),
    "axis NaN": ({"axis": (0, 1, NAN)}, "axis must be finite"),
    "axis words": ({"axis": "z"}, "needs 1 axis"),
    "parallel axes": ({"joint": "universal", "axis": [[1, 0, 0], [2, 0, 0]]}, "are parallel"),
    "negative mass": ({"mass": -1.0}, "mass must be finite and not negative, at most 1e.15 kg, got -1"),
    "mass NaN": ({"mass": NAN}, "mass must be finite"),
    "mass words": ({"mass": "heavy"}, "must be numbers"),
    "com shape": ({"com": (0, 0)}, "com needs shape"),
    "com infinite": ({"com": (0, 0, np.inf)}, "com must be finite"),
    "inertia NaN": ({"inertia": np.full((3, 3), NAN)}, "inertia must be finite"),
    "asymmetric": ({"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
    "not positive": ({"inertia": np.diag([1, 1, -1])}, "not positive"),
    "triangle": ({"inertia": np.diag([1, 1, 3])}, "one exceeds the sum of the others"),
    "inertia alone": ({"mass": 0.0}, "an inertia but no mass"),
    "no pitch": ({"joint": "helical"}, "need a pitch"),
    "pitch": ({"pitch": 0.1}, "need a pitch"),
    "armature": ({"armature": -1.0}, "armature must be finite and not negative"),
    "armature of a free body": ({"joint": "floating", "armature": 0.1}, "a floating joint takes no armature"),
    "armature in a plane": ({"joint": "planar", "armature": 0.1}, "a planar joint takes no armature"),
    "damping": ({"damping": "much"}, "damping must be a number"),
    "limits": ({"lower": 1.0, "upper": -1.0}, "exceeds its upper"),
}


@pytest.mark.parametrize("what", BAD_BODIES)
def test_bad_bodies_are_refused_by_name(what: str) -> None:
    change, sentence = BAD_BODIES[what]
    builder = Builder()
    builder.add_body("base", **SOLID)
    with pytest.raises(OptionError if what in ("option", "joint type") else ModelError, match=sentence):
        builder.add_body(**({"name": "arm", "parent": "base", **SOLID} | change))


def test_unknown_names() -> None:
    builder = Builder()
    builder.add_body("base", **SOLID)
    with pytest.raises(UnknownNameError, match="'arm': the model has no body 'bass'; did you mean 'base'"):
        builder.add_body("arm", "bass", **SOLID)
    with pytest.raises(UnknownNameError, match="no body 'bass'"):
        builder.add_frame("tip", "bass")
    with pytest.raises(ModelError, match="'base': the name is taken"):
        builder.add_frame("base", "base")


def test_bad_models() -> None:
    with pytest.raises(ModelError, match="has no moving body"):
        Builder().build()
    with pytest.raises(ModelError, match="gravity must be three finite numbers"):
        Builder(gravity=[9.81])
    with pytest.raises(ModelError, match="gravity must be three finite numbers"):
        Builder(gravity=[0, 0, NAN])
    builder = Builder()
    builder.add_body("leaf")
    with pytest.raises(ModelError, match=r"'leaf' moves on joint 'leaf', but neither it nor what it carries has mass"):
        builder.build()
    with pytest.raises(OptionError, match="expected one of honour, independent"):
        builder.build("perhaps")


@pytest.mark.parametrize(("joint", "where"), [("revolute", "about"), ("prismatic", "along")])
def test_leaves_must_resist_their_joint(joint: str, where: str) -> None:
    """A point mass on the axis of a hinge, or an inertia without mass on a slide, would make H singular."""
    builder = Builder(check=False)
    builder.add_body("base", **SOLID)
    dead = {"mass": 1.0, "com": (0, 0, 1)} if joint == "revolute" else {"inertia": np.eye(3)}
    builder.add_body("leaf", "base", joint, **dead)
    with pytest.raises(ModelError, match=f"'leaf' has no inertia {where} the axis of its joint 'leaf'"):
        builder.build()
    builder.add_body("weight", "leaf", axis=(1, 0, 0), **SOLID)
    assert builder.build().nv == 3


def test_massless_bodies_that_carry_something_are_legal() -> None:
    builder = Builder()
    builder.add_body("cross")
    builder.add_body("arm", "cross", axis=(0, 1, 0), **SOLID)
    builder.add_body("rotor", "arm", armature=0.1)
    assert builder.build().nv == 3


def test_unchecked_builder_takes_harmless_nonsense() -> None:
    builder = Builder(check=False)
    builder.add_body("flat", inertia=np.diag([1, 1, 3]), mass=1.0, lower=1.0, upper=-1.0)
    builder.add_body("light", "flat", inertia=np.eye(3))
    assert builder.build().nv == 2
    builder.add_body("wrong", "light", mass=1.0, inertia=np.diag([1, 1, -1]))
    with pytest.raises(ModelError, match="'wrong', with all that is welded to it: the inertia matrix is not positive"):
        builder.build()


def test_welds_are_merged_and_stay_frames() -> None:
    """A rod of two welded halves is one body with the inertia of the whole."""
    half = {"mass": 1.0, "inertia": np.diag([0, 1 / 12, 1 / 12]), "com": (0.5, 0, 0)}
    whole, halves = Builder(), Builder()
    whole.add_body("rod", axis=(0, 1, 0), mass=2.0, com=(1, 0, 0), inertia=np.diag([0, 8 / 12, 8 / 12]))
    halves.add_body("inner", axis=(0, 1, 0), **half)
    halves.add_body("outer", "inner", "fixed", (1, 0, 0), **half)
    halves.add_frame("tip", "outer", (1, 0, 0))
    model = halves.build()
    assert model.nv == 1
    assert model.frame_names == ("world", "inner", "outer", "tip")
    np.testing.assert_allclose(model.mechanism.inertia, whole.build().mechanism.inertia, atol=1e-15)
    np.testing.assert_allclose(Dynamics(model, general=True).placement([0.0], "tip")[:3, 3], [2, 0, 0], atol=1e-15)


def random_builder(seed: int, n: int, followers: int) -> Builder:
    rng = np.random.default_rng(seed)
    builder, names = Builder(), ["world"]
    tied = set(rng.choice(n, followers, replace=False).tolist())
    free = [k for k in range(n) if k not in tied]
    for k in range(n):
        mimic = (f"j{rng.choice(free)}", rng.normal(), rng.normal()) if k in tied else None
        builder.add_body(
            f"b{k}", names[rng.integers(max(0, k - 2), k + 1)], rng.choice(["revolute", "prismatic"]),
            rng.normal(size=3), axis=rng.normal(size=3), mass=1.0, com=rng.normal(size=3), inertia=np.eye(3),
            joint_name=f"j{k}", mimic=mimic, armature=0.1,
        )  # fmt: skip
        names.append(f"b{k}")
    return builder


def tie_matrix(tied, free) -> np.ndarray:
    """v_free = G v_tied."""
    G = np.zeros((free.nv, tied.nv))
    ties = {c.follower: c for c in tied.couplings}
    for joint in free.joints:
        leader, ratio = (ties[joint.name].leader, ties[joint.name].ratio) if joint.name in ties else (joint.name, 1.0)
        G[joint.v.start, tied.joint(leader).v.start] = ratio
    return G


@given(st.integers(0, 10**6), st.integers(2, 12))
def test_coupled_tree_holds_the_coupled_matrix(seed: int, n: int) -> None:
    """Every entry of G' H G lies between an ancestor and a descendant of the elimination tree."""
    builder = random_builder(seed, n, n // 3)
    tied, free = builder.build(), builder.build("independent")
    G, pattern = tie_matrix(tied, free), np.zeros((free.nv, free.nv))
    for k in range(free.nv):
        path = free.dof_tree.path(k)
        pattern[k, path] = pattern[path, k] = 1
    rows, columns = np.nonzero(np.abs(G).T @ pattern @ np.abs(G))
    tree = tied.dof_tree
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        assert tree.common_ancestor(i, j) in (i, j)


@pytest.mark.parametrize("seed", range(8))
def test_tied_dynamics_is_the_projected_dynamics(seed: int) -> None:
    builder = random_builder(seed, 9, 3)
    tied, free = builder.build(), builder.build("independent")
    G, offset = tie_matrix(tied, free), np.zeros(free.nv)
    for c in tied.couplings:
        offset[free.joint(c.follower).v.start] = c.offset
    rng = np.random.default_rng(seed)
    q, v, tau = rng.normal(size=(3, tied.nv))
    one, other = Dynamics(tied, general=True), Dynamics(free, general=True)
    H = G.T @ other.mass_matrix(G @ q + offset) @ G
    C = G.T @ other.bias_force(G @ q + offset, G @ v)
    np.testing.assert_allclose(one.mass_matrix(q), H, rtol=1e-12, atol=1e-12 * np.abs(H).max())
    np.testing.assert_allclose(one.forward_dynamics(q, v, tau), np.linalg.solve(H, tau - C), rtol=1e-9)


def test_chains_of_mimics_end_at_one_leader() -> None:
    builder = Builder()
    builder.add_body("a", mimic=("b", 2.0, 0.5), **SOLID)  # a = 2 b + 0.5, before its leader is known
    builder.add_body("b", "a", mimic=("c", 3.0, 0.1), damping=0.5, **SOLID)
    builder.add_body("c", "b", damping=1.0, **SOLID)
    model = builder.build()
    assert model.joint_names == ("c",)
    assert model.couplings == (("a", "c", 6.0, 0.7), ("b", "c", 3.0, 0.1))
    assert model.damping.tolist() == [1.0 + 9 * 0.5]
    assert model.parent.tolist() == [-1]


@pytest.mark.parametrize(
    ("mimic", "sentence"),
    [
        (("ghost", 1, 0), "joint 'f' mimics 'ghost': the model has no moving joint 'ghost'"),
        (("f", 1, 0), "in a circle: 'f'"),
        (("ball", 1, 0), "'ball', spherical, has not one DoF"),
        (("hinge", np.inf, 0), "must be finite"),
        ("hinge", r"mimic is \(joint, ratio, offset\)"),
    ],
)
def test_bad_mimics(mimic, sentence: str) -> None:
    builder = Builder()
    builder.add_body("hinge", **SOLID)
    builder.add_body("ball", "hinge", "spherical", **SOLID)
    builder.add_body("f", "ball", mimic=mimic, **SOLID)
    with pytest.raises((ModelError, UnknownNameError), match=sentence):
        builder.build()
    assert builder.build("independent").nv == 5


def test_bodies_from_arrays_are_those_added_one_by_one():
    rng, n = np.random.default_rng(2), 12
    parent = [-1, -1, *(int(rng.integers(0, k)) for k in range(2, n))]
    kinds = ["floating", "revolute", *rng.choice(["revolute", "prismatic", "spherical"], n - 2)]
    names, axes, origins = [f"b{k}" for k in range(n)], rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    mass, com = rng.uniform(1.0, 2.0, n), rng.normal(size=(n, 3))
    J = np.array([a @ a.T for a in rng.normal(size=(n, 3, 3))])
    J = np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J  # which some body has
    one = Builder("one")
    for k in range(n):
        up = names[parent[k]] if parent[k] >= 0 else "world"
        one.add_body(names[k], up, kinds[k], origins[k], axis=axes[k], mass=mass[k], com=com[k], inertia=J[k])
    expected = one.build()
    all_at_once = Builder("all")
    ups = [names[p] if p >= 0 else "world" for p in parent]
    all_at_once.add_bodies(names, ups, kinds, origins, expected.inertias, axes=axes)
    found = all_at_once.build()
    assert found.joint_names == expected.joint_names
    for a, b in zip(found.mechanism, expected.mechanism, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parents": ["world", "b9"]}, "b9"),
        ({"names": ["b0", "b0"]}, "the name is taken"),
        ({"origins": np.zeros((3, 3))}, r"origins \(2, 3\).*got 2, 2, 2, \(3, 3\)"),
        ({"joint": "helical"}, "no helical joints"),
        ({"joint": ["revolute", "hinge"]}, "'b1'.*'hinge'"),
        ({"axes": [[0, 0, 1], [0, 0, 0]]}, "axis of its revolute joint is zero"),
        ({"inertias": [[1, 0, 0, 0, 1, 0, 1, 0, 0, 1], [-1, 0, 0, 0, 1, 0, 1, 0, 0, 1]]}, "'b1': mass"),
        (
            {"inertias": [[1, 0, 0, 0, 1, 0, 1, 0, 0, 3], [1, 0, 0, 0, 1, 0, 1, 0, 0, 1]]},
            "'b0' is not physical",
        ),
        ({"inertias": np.full((2, 10), np.nan)}, "inertias must be finite"),
    ],
)
def test_arrays_of_bodies_that_cannot_be_are_refused(change, words):
    inertia = [1, 0, 0, 0, 1, 0, 1, 0, 0, 1]
    arrays = {"names": ["b0", "b1"], "parents": ["world", "b0"], "joint": "revolute", "origins": np.zeros((2, 3))}
    arrays |= {"inertias": [inertia, inertia], **change}
    axes = arrays.pop("axes", None)
    with pytest.raises(BoughError, match=words):
        Builder("odd").add_bodies(**arrays, axes=axes)
