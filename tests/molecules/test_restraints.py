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
    assert third.atoms == molecule.dihedral("A/3/phi").atoms
    assert (third.low, third.high) == pytest.approx((-np.pi / 3, np.pi / 6))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("assign (resid 99) (resid 1) 1 1 1", "has no atoms"), ("assign (resid 1) (resid 2) 1 x 1", "got 'x'"),
     ("assign (resid 1 (resid 2) 1 1 1", "does not close|expected resid"), ("restrain all", "expected `assign`"),
     ("assign (byres 1) (resid 2) 1 1 1", "got 'byres'"), ("assign (resid 1) 1 1 1", "two selections")],
)  # fmt: skip
def test_tables_with_other_words_are_refused(molecule, tmp_path, text, expected):
    file = tmp_path / "odd.tbl"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=f"odd.tbl, line 1: .*({expected})"):
        mol.read_table(file, molecule.atoms)


def test_odd_restraints_are_refused(molecule):
    with pytest.raises(SettingError, match="lower <= upper"):
        mol.distance("A/1/CA", "A/2/CA", lower=2.0, upper=1.0)
    with pytest.raises(SettingError, match="four atoms"):
        mol.plane(["A/1/CA"])
    with pytest.raises(UnknownNameError, match="no atom 'A/1/CX'"):
        molecule.minimize(restraints=[mol.distance("A/1/CX", "A/2/CA", upper=1.0)])
