"""Restraints and soft spheres: their energies by definition, their forces by differences."""

import itertools

import numpy as np
import pytest

from bough.errors import FileFormatError, SettingError, UnknownNameError

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")


@pytest.fixture(scope="module")
def molecule():
    return mol.peptide("ACDPFGHIK", phi=-1.1, psi=2.0)


@pytest.fixture(scope="module")
def x(molecule):
    return molecule.positions(molecule.model.random_configuration(np.random.default_rng(1)))


def differences(energy, x, atoms, h=1e-6):
    found = np.zeros((len(atoms), 3))
    for i, c in itertools.product(range(len(atoms)), range(3)):
        values = []
        for sign in (1, -1):
            y = x.copy()
            y[atoms[i], c] += sign * h
            values.append(energy(y)[0])
        found[i, c] = -(values[0] - values[1]) / (2 * h)
    return found


def gap(m, x, a, b):
    return np.linalg.norm(x[m.atoms.place(a)] - x[m.atoms.place(b)])


CASES = {
    "upper": mol.distance("A/1/CA", "A/9/CA", upper=0.3, linear=9.0),
    "linear": mol.distance("A/1/CA", "A/9/CA", upper=0.1, linear=0.05),
    "lower": mol.distance("A/1/CA", "A/2/CA", lower=1.0, linear=9.0),
    "ambiguous": mol.distance(["A/1/CA", "A/2/CA"], ["A/7/CA", "A/8/CB"], upper=0.2, linear=9.0),
    "dihedral": mol.dihedral("A/3/phi", 1.0, width=0.1),
    "far dihedral": mol.dihedral(["A/1/CA", "A/3/CA", "A/5/CA", "A/7/CA"], -3.0),
    "position": mol.position("CA", np.zeros((9, 3)), width=0.1),
    "plane": mol.plane(["A/1/CA", "A/3/CA", "A/5/CA", "A/7/CA", "A/9/CA"]),
}


@pytest.mark.parametrize("name", CASES)
def test_forces_are_differences_of_the_energy(molecule, x, name):
    energy = mol.RestraintEnergy(molecule, [CASES[name]])
    value, F = energy(x)
    moved = np.flatnonzero(np.abs(F).sum(axis=1))
    assert value > 0.0
    assert len(moved)
    np.testing.assert_allclose(F[moved], differences(energy, x, moved), rtol=1e-6, atol=1e-6 * np.abs(F).max())
    np.testing.assert_allclose(F.sum(axis=0), 0.0 if name != "position" else F.sum(axis=0), atol=1e-8)


def test_energies_are_those_of_the_definitions(molecule, x):
    def value(name):
        return mol.RestraintEnergy(molecule, [CASES[name]])(x)[0]

    d = gap(molecule, x, "A/1/CA", "A/9/CA")
    assert value("upper") == pytest.approx(500.0 * max(d - 0.3, 0.0) ** 2)
    assert value("linear") == pytest.approx(1000.0 * 0.05 * (d - 0.1 - 0.025))
    assert value("lower") == pytest.approx(500.0 * (1.0 - gap(molecule, x, "A/1/CA", "A/2/CA")) ** 2)
    pairs = itertools.product(["A/1/CA", "A/2/CA"], ["A/7/CA", "A/8/CB"])
    d = sum(gap(molecule, x, a, b) ** -6 for a, b in pairs) ** (-1 / 6)
    assert value("ambiguous") == pytest.approx(500.0 * max(d - 0.2, 0.0) ** 2)
    angle = molecule.angles(molecule.fit(x), "A/3/phi")[0]
    off = abs((angle - 1.0 + np.pi) % (2 * np.pi) - np.pi) - 0.1
    assert value("dihedral") == pytest.approx(500.0 * max(off, 0.0) ** 2)
    points = x[[molecule.atoms.place(a) for a in CASES["plane"].atoms]]
    least = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[-1]
    assert value("plane") == pytest.approx(500.0 * least**2)


def test_nothing_pulls_inside_the_bounds(molecule, x):
    d = gap(molecule, x, "A/1/CA", "A/9/CA")
    energy = mol.RestraintEnergy(molecule, [mol.distance("A/1/CA", "A/9/CA", lower=0.9 * d, upper=1.1 * d)])
    value, F = energy(x)
    assert value == 0.0
    assert not F.any()
    assert not energy.violations(x).any()


def test_spheres_repel_where_they_overlap(molecule, x):
    near = 0.6 * x
    repulsion = mol.Repulsion(molecule)
    value, F = repulsion(near)
    bonds, group = molecule.atoms.neighbours, molecule.groups.group
    expected, count = 0.0, 0
    for i in range(len(x)):
        apart, edge = {i}, {i}
        for _ in range(3):
            edge = {k for j in edge for k in bonds[j]}
            apart |= edge
        for j in range(i + 1, len(x)):
            s, d = 0.8 * (molecule.atoms.radii[i] + molecule.atoms.radii[j]), np.linalg.norm(near[i] - near[j])
            if j not in apart and group[i] != group[j] and d < s:
                expected += 2000.0 / 8.0 * s * s * (1.0 - d * d / s / s) ** 2
                count += 1
    assert count > 50
    assert value == pytest.approx(expected, rel=1e-12)
    moved = np.argsort(-np.abs(F).sum(axis=1))[:5]
    np.testing.assert_allclose(F[moved], differences(repulsion, near, moved), rtol=1e-5, atol=1e-4)


def test_pairs_are_listed_again_when_atoms_have_moved(molecule, x):
    moving, steps = mol.Repulsion(molecule), np.linspace(1.0, 0.5, 40)
    for scale in steps:
        assert moving(scale * x)[0] == pytest.approx(mol.Repulsion(molecule)(scale * x)[0], rel=1e-12)


def test_pairs_between_clusters_that_moved_are_all_pairs():
    """Few joints move, or all, or the molecule as a whole; a fixed chain stays."""
    both = [mol.peptide("GASPDKLW" * 3, phi=-1.1, psi=-0.7).atoms for _ in range(2)]
    n, r = len(both[0]), len(both[0].chain)
    atoms = mol.Atoms(
        *(np.concatenate([getattr(a, name) for a in both]) for name in ("name", "element")),
        np.concatenate([both[0].residue, both[1].residue + r]),
        np.concatenate([both[0].positions, both[1].positions + [0.0, 0.9, 0.0]]),
        np.concatenate([both[0].bonds, both[1].bonds + n]), np.repeat(["A", "B"], r),
        *(np.concatenate([getattr(a, name) for a in both]) for name in ("number", "kind", "hetero", "b_factor")),
    )  # fmt: skip
    rng, far = np.random.default_rng(1), ~np.eye(2 * n, dtype=bool)
    for k in range(2 * n):
        edge = {k}
        for _ in range(3):
            edge |= {j for i in edge for j in atoms.neighbours[i]}
        far[k, list(edge)] = False
    for fixed in ([], ["B"]):
        m = mol.Molecule(atoms, fixed=fixed)
        repulsion, model, q = mol.Repulsion(m, scale=0.9), m.model, np.array(m.model.neutral)
        i, j = np.nonzero(np.triu(far & (m.groups.group[:, None] != m.groups.group)))
        reach, by_tree = 0.9 * (atoms.radii[i] + atoms.radii[j]), 0
        for step in range(25):
            v = np.where(rng.random(model.nv) < (1.0 if step % 8 == 7 else 0.02), rng.normal(size=model.nv), 0.0)
            q = model.integrate(q, v)
            x = m.positions(q)
            u = np.maximum(1.0 - np.sum((x[i] - x[j]) ** 2, axis=1) / reach**2, 0.0)
            expected = 250.0 * np.sum((reach * u) ** 2)
            assert repulsion.add(x, np.zeros_like(x), q) == pytest.approx(expected, rel=1e-9)
            clusters = len(set(repulsion._hierarchy.cluster.tolist()))
            by_tree += step > 0 and 1 < clusters < 0.1 * len(m.groups.parent)
        assert by_tree > 5


def test_tables_are_read(molecule, tmp_path):
    file = tmp_path / "noe.tbl"
    file.write_text(
        "! distances\n"
        "assign (resid 1 and name CA) (resid 9 and name HB*) 4.0 2.2 1.0 ! weak\n"
        "assign (resid 1 and name CA)\n  (segid A and resid 9 and name CA)\n"
        "  or (resid 2 and name HN) (resid 8 and name CA)  4.0 2.2 1.0\n"
        "assign (resid 2 and name C) (resid 3 and name N) (resid 3 and name CA) (resid 3 and name C) 1.0 -60.0 30.0 2\n"
    )
    first, second, third = mol.read_table(file, molecule.atoms)
    place = molecule.atoms.place
    assert first.atoms == ((place("A/1/CA"), place("A/9/HB2")), (place("A/1/CA"), place("A/9/HB3")))
    assert (first.low, first.high) == pytest.approx((0.18, 0.5))
    assert second.atoms == ((place("A/1/CA"), place("A/9/CA")), (place("A/2/H"), place("A/8/CA")))
    assert third.atoms == molecule.dihedrals["A/3/phi"].atoms
    assert (third.low, third.high) == pytest.approx((-np.pi / 3, np.pi / 6))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("resid 2 and name CA or resid 3 and name CA", "2/CA 3/CA"),  # and binds before or
        ("name CA and (resid 2 or resid 3)", "2/CA 3/CA"), ("name CA and resid 7:9", "7/CA 8/CA 9/CA"),
        ("name CA and not resid 1:7 and not resn LYS", "8/CA"), ('segid "A   " and resi 2 and name ca', "2/CA"),
        ("resid 2 and name HB1", "2/HB3"), ("resid 2 and name HB2", "2/HB2"), ("resid 1 and name HB1", "1/HB1"),
        ("resid 6 and name HA1", "6/HA3"), ("resid 8 and name HG11", "8/HG13"), ("resid 2 and name HB+", "2/HB2 2/HB3"),
        ("resid 2 and name %B", "2/CB"), ("resid 2 and name HN", "2/H"), ("not all or resid 1 and name C", "1/C"),
    ],
)  # fmt: skip
def test_selections_of_tables(molecule, tmp_path, selection, expected):
    file = tmp_path / "one.tbl"
    file.write_text(f"assign ({selection}) (resid 5 and name CA) 4 2 1")
    (found,) = mol.read_table(file, molecule.atoms)
    assert [molecule.atoms.key(a) for a, _ in found.atoms] == [f"A/{key}" for key in expected.split()]


def test_tables_of_haddock_and_aria(molecule, tmp_path):
    file = tmp_path / "ambig.tbl"
    file.write_text(
        "{* several\n lines, and assign (nothing) *}\nnoe\n class air ! { open\n"
        "assign ( resid 1 and segid A and name CA)\n       (\n        ( resid 7 and segid A and name CA)\n     or\n"
        "        ( resid 9 and segid A and name CA)\n       )  2.0 2.0 0.0\n"
        "scale air 50\n"
        'ASSI {    6}\n   (( segid "   A" and resid 5 and name HA ))\n   (( segid "   A" and resid 6 and name HN ))\n'
        "   2.500 0.700 0.700 peak 6 spectrum 1 weight 0.50000E+00 volume 0.1E+01 ppm1 4.5 ppm2 8.2 CV 1\n"
        ' OR {    6}\n   (( segid "   A" and resid 7 and name HA ))\n   (( segid "   A" and resid 6 and name HN ))\n'
        "end\n"
    )
    first, second = mol.read_table(file, molecule.atoms)
    place = molecule.atoms.place
    assert first.atoms == ((place("A/1/CA"), place("A/7/CA")), (place("A/1/CA"), place("A/9/CA")))
    assert (first.low, first.high, first.stiffness) == pytest.approx((0.0, 0.2, 1000.0))
    assert second.atoms == ((place("A/5/HA"), place("A/6/H")), (place("A/7/HA"), place("A/6/H")))
    assert (second.low, second.high, second.stiffness) == pytest.approx((0.18, 0.32, 500.0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("assign (resid 99) (resid 1) 1 1 1", "has no atoms"), ("assign (resid 1) (resid 2) 1 x 1", "got 'x'"),
     ("assign (resid 1 (resid 2) 1 1 1", r"expected `and`, `or` or \)"), ("hold all", "expected `assign`"),
     ("assign (byres 1) (resid 2) 1 1 1", "got 'byres'"), ("assign (resid 1) 1 1 1", "two selections"),
     ("assign (resid 1) (resid 2) -1 0 0", "0 <= lower"), ("assign (resid 1) (resid 2) nan 0 0", "0 <= lower"),
     ("assign (resid 1) (resid 2) 3 1 1 weight", "got the end"), ("assign (resid 1", "does not close"),
     ("assign () (resid 2) 3 1 1", r"got '\)'"), ("assign (resid 1 resid 2) (resid 2) 3 1 1", "got 'resid'"),
     ("assign (resid 1) (resid 2 and name CX) 3 1 1", r"\( resid 2 and name CX \) has no atoms"),
     ("assign (resid 1) (resid 2) (resid 3) (resid 4) 1 60 30 2", "expected one atom")],
)  # fmt: skip
def test_tables_with_other_words_are_refused(molecule, tmp_path, text, expected):
    file = tmp_path / "odd.tbl"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=f"odd.tbl, line 1: .*({expected})"):
        mol.read_table(file, molecule.atoms)


def test_odd_restraints_are_refused(molecule):
    with pytest.raises(SettingError, match="lower <= upper"):
        mol.distance("A/1/CA", "A/2/CA", lower=2.0, upper=1.0)
    for odd in (["A/1/CA"], ["A/1/CA"] * 4):
        with pytest.raises(SettingError, match="four different atoms"):
            mol.plane(odd)
    with pytest.raises(SettingError, match="four different atoms"):
        mol.dihedral([1, 1, 2, 3], 0.5)
    with pytest.raises(SettingError, match="linear must be positive, got -1"):
        mol.distance("A/1/CA", "A/2/CA", upper=1.0, linear=-1.0)
    with pytest.raises(SettingError, match="distance: A/1/CA stands at both ends"):
        mol.RestraintEnergy(molecule, [mol.distance("A/1/CA", ["A/2/CA", molecule.atoms.place("A/1/CA")])])
    with pytest.raises(UnknownNameError, match="no atom 'A/1/CX'"):
        molecule.minimize(restraints=[mol.distance("A/1/CX", "A/2/CA", upper=1.0)])
