"""The zoo: topologies of the papers, general and valid geometry, reproducible, vectorised."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import BoughError, ModelError, OptionError
from bough.io.named import mechanisms
from bough.joints import FREE, X_SCREW, ZX_SCREWS
from models import laid_placements
from strategies import FACTS

SMALL = {
    "tree1": zoo.tree1,
    "tree1_expanded": zoo.tree1_expanded,
    "shimanovskij": zoo.shimanovskij,
    "humanoid": zoo.humanoid,
    "floating_chain": zoo.floating_chain,
    "ck_standin": zoo.ck_standin,
    "bicycle_chain": zoo.bicycle_chain,
    "arm": lambda seed=0: zoo.arm(7, seed),
    "chain": lambda seed=0: zoo.chain(12, seed),
    "parallel chain": lambda seed=0: zoo.chain(12, seed, "parallel"),
    "straight chain": lambda seed=0: zoo.chain(12, seed, "straight"),
    "binary": lambda seed=0: zoo.binary(4, seed),
    "side_branches": lambda seed=0: zoo.side_branches(8, seed),
    "grid": lambda seed=0: zoo.grid(4, seed),
    "star": lambda seed=0: zoo.star(6, seed),
    "random_tree": lambda seed=0: zoo.random_tree(20, seed),
    "millipede": lambda seed=0: zoo.millipede(seed, legs=4),
    "molecule": lambda seed=0: zoo.molecule(40, seed),
    "hair": lambda seed=0: zoo.hair(3, 5, seed=seed),
    "tree": lambda seed=0: zoo.tree(2, 3, 4, seed),
} | {f"asimo {v}": lambda seed=0, v=v: zoo.asimo(v, seed) for v in zoo.ASIMO_VARIANTS}
GENERAL = ["tree1", "humanoid", "floating_chain", "arm", "ck_standin", "chain", "binary", "asimo HF", "asimo hands FTF"]


# Topologies


@pytest.mark.parametrize(
    ("name", "fact"),
    [("tree1", "tree1"), ("chain", None), ("binary", "balanced15"), ("side_branches", "short_m8"), ("grid", "grid16"),
     ("star", "star6"), ("humanoid", "humanoid30"), ("asimo HF", "asimo40"), ("tree1_expanded", "tree1_exp")],
)  # fmt: skip
def test_sums_are_those_of_the_papers(name, fact):
    tree, expected = SMALL[name]().dof_tree, FACTS["trees"].get(fact, {"D1": 66, "D2": 286})
    assert (tree.D1, tree.D2) == (expected["D1"], expected["D2"])


@pytest.mark.parametrize(
    ("name", "fact"),
    [("humanoid", "humanoid"), ("floating_chain", "chain25"), ("tree1_expanded", "tree1_expanded"),
     ("shimanovskij", "s_tree1"), ("asimo HF", "asimo")],
)  # fmt: skip
def test_bodies_and_freedoms_are_those_of_the_papers(name, fact):
    model, expected = SMALL[name](), FACTS["expansions"][fact]
    assert model.parent.tolist() == expected["parent"]
    assert [j.v.stop - j.v.start for j in model.joints] == expected["dofs"]
    assert model.dof_tree.parent.tolist() == expected["expanded"]


@pytest.mark.parametrize(("row", "variant"), [*zip(FACTS["table3"], zoo.ASIMO_VARIANTS, strict=True)])
def test_asimo_variants_are_the_rows_of_table_3(row, variant):
    model = zoo.asimo(variant)
    assert model.parent.tolist() == row["parent"]
    assert [j.v.stop - j.v.start for j in model.joints] == row["dofs"]
    assert (model.dof_tree.D1, model.dof_tree.D2) == (row["D1"], row["D2"])
    # tasks sit on the bodies of the paper, in its order
    rank = model.tree.rank
    assert [model.frames.body[model.frame(f)] for f in zoo.asimo_tasks(variant)] == [rank[b] for b in row["bodies"]]


TABLE2 = {
    "unbranched": zoo.chain,
    "short_side_branches": zoo.side_branches,
    "balanced": zoo.binary,
    "span_grid": zoo.grid,
}


@pytest.mark.parametrize("table", TABLE2)
def test_families_follow_table_2(table):
    for size, (D1, D2) in FACTS["table2"][table].items():
        if int(size) <= 16:
            tree = TABLE2[table](int(size)).tree
            assert (tree.D1, tree.D2) == (D1, D2)


def test_end_effectors_have_names():
    assert {"left_hand", "right_hand", "left_foot", "right_foot"} <= {*zoo.humanoid().frame_names}
    assert {"left_hand", "right_foot", "head", "left_thumb"} <= {*zoo.asimo().frame_names}
    assert "hand" in zoo.arm(3).frame_names
    assert {"left_hand", "right_hand", "head"} <= {*zoo.ck_standin().frame_names}


def test_millipede_has_the_links_and_joints_of_the_paper():
    model = zoo.millipede(floating=True)
    assert len(model.joints) == 13_000
    assert sum(t == "revolute" for t in model.joints.types) == 12_999
    assert np.bincount(np.bincount(model.parent[1:]))[3] == 500  # spine links with two legs
    assert zoo.millipede().nv == 13_000


@pytest.mark.parametrize("floating", [False, True])
def test_molecule_has_at_most_four_bonds_to_an_atom(floating):
    model = zoo.molecule(5000, floating=floating)
    assert sum(t == "revolute" for t in model.joints.types) == 5000
    assert np.bincount(model.parent[1:]).max() == 3
    assert (np.arange(len(model.parent)) - model.parent)[1:].max() <= 30


# Geometry


@pytest.mark.parametrize("name", SMALL)
def test_inertias_are_those_of_bodies(name):
    """Second moments about the centre of mass are positive definite: the triangle inequality, and more."""
    I = SMALL[name]().mechanism.inertia
    I = I[I[:, 9] > 0.0]
    J = I[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    second = np.trace(J, axis1=1, axis2=2)[:, None, None] / 2 * np.eye(3) - J
    h = I[:, 6:9]
    about_com = second - h[:, :, None] * h[:, None, :] / I[:, 9, None, None]
    assert (np.linalg.eigvalsh(about_com) > 0.0).all()


@pytest.mark.parametrize("name", GENERAL)
def test_general_geometry_has_no_accidental_zeros(name):
    model = SMALL[name]()
    m, dh = model.mechanism, model.tree.dh_child
    is_dh = np.isin(np.arange(len(dh)), dh)[model.tree.order]
    base = m.kind == FREE
    on_base = np.isin(m.parent, np.flatnonzero(base)) & is_dh
    screws = ~base & ~on_base
    assert (m.fixed_kind[screws] == np.where(is_dh, X_SCREW, ZX_SCREWS)[screws]).all()
    assert (m.fixed[screws, 3:6] != 0.0).all()
    assert (m.fixed[screws & ~is_dh, :6] != 0.0).all()
    assert (np.abs(np.sin(np.arctan2(m.fixed[screws, 4], m.fixed[screws, 3]))) > 0.3).all()
    assert (m.inertia[:, :10] != 0.0).all()
    leaf = ~np.isin(np.arange(len(m.parent)), m.parent)
    assert (m.offset[screws & ~leaf, :2] != 0.0).all()


@pytest.mark.parametrize("name", ["humanoid", "floating_chain", "asimo HF", "asimo 8 limbs HF"])
def test_a_floating_base_is_laid_on_its_dh_child(name):
    model = SMALL[name]()
    child = model.tree.rank[model.tree.dh_child[0]]
    m = model.mechanism
    assert m.fixed[child, :6].tolist() == [1, 0, 0, 1, 0, 0]
    assert m.offset[child].tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "name", [n for n in SMALL if n not in ("tree1_expanded", "shimanovskij", "molecule", "hair", "tree")]
)
def test_link_frames_are_the_frames_inside(name):
    frames = SMALL[name]().frames
    assert (frames.R == np.eye(3)).all()
    assert not frames.p.any()


def test_geometries_of_chains():
    for geometry, direction in (("parallel", [0, 0, 1]), ("straight", [1, 0, 0])):
        model = zoo.chain(9, geometry=geometry)
        R, p = laid_placements(model, model.neutral)
        if geometry == "straight":
            assert np.abs(np.cross(p - p[0], direction)).max() < 1e-15
            assert np.abs(np.sum(R[1:, 2::3] * R[:-1, 2::3], axis=1)).max() < 1e-15  # axes at right angles
        else:
            assert (R[:, 2::3] == direction).all()


def test_atoms_of_a_molecule_are_a_bond_apart():
    model = zoo.molecule(200)
    R, p = laid_placements(model, model.neutral)
    body, R = model.frames.body[1:], R.reshape(-1, 3, 3)
    atom = p[body] + np.einsum("nij,nj->ni", R[body], model.frames.p[1:])
    bond = atom[1:] - atom[model.parent[1:]]
    assert np.abs(np.linalg.norm(bond, axis=1) / 0.15 - 1.0).max() < 0.06
    # a joint turns about its bond
    assert np.abs(np.cross(bond, R[body[1:], :, 2])).max() < 1e-12


# Seeds, sizes, refusals


@pytest.mark.parametrize("name", SMALL)
def test_geometry_follows_the_seed(name):
    make = SMALL[name]
    assert make() == make(0)
    assert make(1) != make(0)


@pytest.mark.parametrize("make", [zoo.chain, zoo.molecule, zoo.random_tree, zoo.star])
def test_large_models(make):
    model = make(100_000)
    assert (len(model.joints), model.nq, model.nv) == (100_000, 100_000, 100_000)
    last = model.joints[99_999]
    assert (last.name, last.body, last.q) == ("joint99999", "link99999", slice(99_999, 100_000))
    assert model.frame("link99999") == 100_000


def test_refusals():
    with pytest.raises(OptionError, match="no ASIMO variant 'big'"):
        zoo.asimo("big")
    with pytest.raises(OptionError, match="no geometry 'curly'"):
        zoo.chain(3, geometry="curly")
    for make in (zoo.chain, zoo.star, zoo.binary, zoo.grid, zoo.side_branches, zoo.random_tree, zoo.molecule, zoo.arm):
        with pytest.raises(ModelError, match="at least"):
            make(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: zoo.chain(10**9), "more than 10,000,000 bodies"),
        (lambda: zoo.binary(10**6), "more than 10,000,000 bodies"),
        (lambda: zoo.grid(10**5), "more than 10,000,000 bodies"),
        (lambda: zoo.millipede(legs=10**6), "more than 10,000,000 bodies"),
        (lambda: zoo.chain("abc"), "n must be a whole number, got 'abc'"),
        (lambda: zoo.chain(2.5), "n must be a whole number"),
        (lambda: zoo.molecule(10, window=0), "window must be at least 1"),
        (lambda: zoo.arm(0), "n must be at least 1"),
        (lambda: zoo.humanoid(seed=-1), "a seed is a whole number"),
        (lambda: zoo.random_tree(3, seed="x"), "a seed is a whole number"),
    ],
)
def test_sizes_and_seeds_are_checked_before_anything_is_allocated(make, words: str) -> None:
    with pytest.raises(BoughError, match=words):
        make()


def test_a_random_tree_along_a_walk():
    plain, walked = zoo.random_tree(60), zoo.random_tree(60, depth_first=True)
    assert sorted(plain.tree.depth) == sorted(walked.tree.depth)
    assert (walked.tree.order == np.arange(60)).all()
    assert (plain.tree.order != np.arange(60)).any()


def test_every_mechanism_has_sensible_defaults():
    for name in mechanisms():
        assert bough.load(f"zoo:{name}").nv > 0
