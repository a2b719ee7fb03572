"""Peptides on their tree: coordinates there and back, J'F against differences, dihedrals and names, rigid groups."""

import numpy as np
import pytest

import bough
from bough.errors import ModelError, OptionError, ShapeError, UnknownNameError

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")

ALL = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture(scope="module")
def peptide():
    return mol.peptide(ALL)


@pytest.fixture(scope="module")
def q(peptide):
    return peptide.model.random_configuration(np.random.default_rng(4))


def angle(a, b, c, d):
    """A dihedral by its definition: the turn about b -> c that brings the plane of a onto that of d (IUPAC)."""
    z = (c - b) / np.linalg.norm(c - b)
    u, v = (a - b) - (a - b) @ z * z, (d - c) - (d - c) @ z * z
    return np.arctan2(np.cross(u, v) @ z, u @ v)


def test_the_structure_is_the_neutral_configuration(peptide):
    x = peptide.positions(peptide.model.neutral)
    np.testing.assert_allclose(x, peptide.atoms.positions, atol=1e-13)
    assert not peptide.model.mechanism.gravity.any()


def test_coordinates_there_and_back(peptide, q):
    x = peptide.positions(q)
    np.testing.assert_allclose(peptide.positions(peptide.fit(x)), x, rtol=0, atol=1e-9)
    both = peptide.positions(np.stack([q, peptide.model.neutral]))
    np.testing.assert_array_equal(both[0], x)


def test_bonds_and_angles_stay(peptide, q):
    atoms, x = peptide.atoms, peptide.positions(q)
    for pairs in (
        atoms.bonds,
        [(a, c) for b in range(len(atoms)) for a in atoms.neighbours[b] for c in atoms.neighbours[b]],
    ):
        a, b = np.array(pairs).T
        before = np.linalg.norm(atoms.positions[a] - atoms.positions[b], axis=1)
        np.testing.assert_allclose(np.linalg.norm(x[a] - x[b], axis=1), before, atol=1e-12)


def test_generalized_forces_are_differences_of_work(peptide, q):
    F = np.random.default_rng(5).normal(size=(len(peptide.atoms), 3))
    model, h = peptide.model, 1e-6
    expected = [
        np.sum((peptide.positions(model.integrate(q, h * e)) - peptide.positions(model.integrate(q, -h * e))) * F)
        / (2 * h)
        for e in np.eye(model.nv)
    ]
    found = peptide.generalized_forces(q, F)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    both = peptide.generalized_forces(np.stack([q, q]), np.stack([F, 2 * F]))
    np.testing.assert_allclose(both, [found, 2 * found], rtol=1e-12, atol=1e-12)


def test_kinetic_energy_is_that_of_the_atoms(peptide, q):
    model, h = peptide.model, 1e-6
    v = np.random.default_rng(6).normal(size=model.nv)
    velocity = (peptide.positions(model.integrate(q, h * v)) - peptide.positions(model.integrate(q, -h * v))) / (2 * h)
    expected = 0.5 * np.sum(peptide.atoms.masses[:, None] * velocity**2)
    assert peptide.dynamics.kinetic_energy(q, v) == pytest.approx(expected, rel=1e-7)
    assert np.linalg.eigvalsh(peptide.dynamics.mass_matrix(q))[0] > 1e-3


def test_dihedrals_have_names_and_values(peptide, q):
    atoms, x = peptide.atoms, peptide.positions(q)
    before = {k: atoms.place(k) for k in ("A/3/C", "A/4/N", "A/4/CA", "A/4/C", "A/4/CB", "A/4/CG", "A/5/N")}
    quads = {
        "A/4/phi": ("A/3/C", "A/4/N", "A/4/CA", "A/4/C"), "A/4/psi": ("A/4/N", "A/4/CA", "A/4/C", "A/5/N"),
        "A/4/chi1": ("A/4/N", "A/4/CA", "A/4/CB", "A/4/CG"),
    }  # fmt: skip
    for key, names in quads.items():
        assert peptide.dihedrals[key].atoms == tuple(before[name] for name in names)
        assert peptide.angles(q, key)[0] == pytest.approx(angle(*(x[before[name]] for name in names)), abs=1e-12)
    assert peptide.dihedrals["A/4/omega"].v is None
    phi, omega = peptide.angles(peptide.model.neutral, ["A/4/phi", "A/4/omega"])
    assert (phi, abs(omega)) == pytest.approx((-2.1, np.pi))
    turned = peptide.with_angles(q, {"A/4/phi": -1.0, "A/9/chi2": 3.0})
    np.testing.assert_allclose(peptide.angles(turned, ["A/4/phi", "A/9/chi2"]), [-1.0, 3.0], atol=1e-12)


def test_dihedrals_are_those_of_biotite(peptide, q, tmp_path):
    structure, pdbx = pytest.importorskip("biotite.structure"), pytest.importorskip("biotite.structure.io.pdbx")
    peptide.write(tmp_path / "peptide.cif", q)
    with pytest.warns(UserWarning, match="fallback"):
        read = pdbx.get_structure(pdbx.CIFFile.read(tmp_path / "peptide.cif"), model=1)
    columns = dict(zip(("phi", "psi", "omega"), structure.dihedral_backbone(read), strict=True))
    columns |= {f"chi{k + 1}": chi for k, chi in enumerate(structure.dihedral_side_chain(read).T)}
    theirs = {f"A/{r + 1}/{name}": x for name, chi in columns.items() for r, x in enumerate(chi) if np.isfinite(x)}
    assert len(theirs) == 96  # 19 each of phi, psi and omega, and 39 chi
    gap = peptide.angles(q, theirs) - np.array([*theirs.values()])
    np.testing.assert_allclose(np.remainder(gap + np.pi, 2 * np.pi), np.pi, atol=5e-6)  # it reads in float32


def test_residues_are_left_handed_and_atoms_apart():
    m = mol.peptide(ALL)
    x, place = m.atoms.positions, m.atoms.places
    for r in range(1, len(ALL) + 1):
        if f"A/{r}/CB" in place:
            n, c, b = (x[place[f"A/{r}/{name}"]] - x[place[f"A/{r}/CA"]] for name in ("N", "C", "CB"))
            assert np.cross(n, c) @ b > 0.0
    gap = np.linalg.norm(x[:, None] - x[None], axis=-1) + np.eye(len(x))
    assert gap.min() > 0.09


def test_the_names_of_atoms_are_known_to_openmm():
    pytest.importorskip("openmm")
    energy, F = mol.OpenMM("amber14-all.xml", platform="Reference").on(mol.peptide(ALL))(
        mol.peptide(ALL).atoms.positions
    )
    assert np.isfinite(energy)
    assert F.shape == (len(mol.peptide(ALL).atoms), 3)


def counts(m):
    return {
        kind: sum(key.endswith("/" + kind) and v is not None for key, (_, v) in m.dihedrals.items())
        for kind in ("phi", "psi", "omega", "chi1")
    }


@pytest.mark.parametrize(
    ("rotatable", "expected"),
    [("all", (3, 5, 0, 3)), ("backbone", (3, 5, 0, 0)), ("sidechains", (0, 0, 0, 3)), (["all", "omega"], (3, 5, 4, 3)),
     (["A/2/phi", "chi1"], (1, 0, 0, 3))],
)  # fmt: skip
def test_rules_say_what_turns(rotatable, expected):
    found = counts(mol.peptide("SAPWD", rotatable=rotatable))
    assert (found["phi"], found["psi"], found["omega"], found["chi1"]) == expected


def test_unknown_names_are_refused(peptide):
    with pytest.raises(OptionError, match=r"there is no dihedral 'chj1'.*chi1"):
        mol.peptide("AS", rotatable="chj1")
    with pytest.raises(UnknownNameError, match="A/4/phi"):
        peptide.dihedrals["A/4/phj"]
    with pytest.raises(UnknownNameError, match="there is no atom 'A/4/CZ9'"):
        peptide.atoms.place("A/4/CZ9")
    with pytest.raises(ModelError, match="is rigid"):
        peptide.with_angles(peptide.model.neutral, {"A/4/omega": 0.0})
    with pytest.raises(OptionError, match="no residue 'B'"):
        mol.peptide("ABC")
    with pytest.raises(ShapeError, match=r"\(\d+, 3\)"):
        peptide.fit(np.zeros((3, 3)))


def test_a_page_shows_atoms_and_energy(tmp_path):
    m = mol.peptide("GAS")
    found = m.minimize(restraints=[mol.distance("A/1/CA", "A/3/CA", upper=0.5)])
    scene = bough.view.page(found, tmp_path / "page.html")
    assert set(scene.motion.tracks) == {"energy, kJ/mol"}
    assert scene.facts["mass"] == "233 Da"
    assert (tmp_path / "page.html").stat().st_size > 10_000
    ball = next(part for part in scene.shapes if part.kind == "sphere")
    T = scene.placements(found.q)
    at = np.einsum("kij,kj->ki", T[ball.body, :3, :3], ball.placement[:, :, 3]) + T[ball.body, :3, 3]
    np.testing.assert_allclose(at, found.positions, atol=1e-9)
    rod = next(part for part in scene.shapes if part.kind == "cylinder")
    end = rod.placement[:, :, 3] + 0.5 * rod.placement[:, :, 2]
    end = np.einsum("kij,kj->ki", T[rod.body, :3, :3], end) + T[rod.body, :3, 3]
    n = len(m.atoms.bonds)
    np.testing.assert_allclose(end[:n], end[n : 2 * n], atol=1e-9)  # the two halves of a bond meet


def handedness(m, residue, *names):
    """The sign of the volume that three neighbours of the first atom span, in this order."""
    x = [m.atoms.positions[m.atoms.place(f"A/{residue}/{name}")] for name in names]
    return np.sign(np.linalg.det(np.array(x[1:]) - x[0]))


@pytest.mark.parametrize("names", [
    "G CA N C HA2", "K CB CA CG HB2", "K CG CB CD HG2", "K CD CG CE HD2", "K CE CD NZ HE2", "R CD CG NE HD2",
    "M CG CB SD HG2", "I CG1 CB CD1 HG12", "W CB CA CG HB2", "P CB CA CG HB2", "P CG CB CD HG2", "P CD CG N HD2",
    "L CD1 CG HD11 HD12", "A CB CA HB1 HB2",
])  # fmt: skip
def test_hydrogens_are_numbered_clockwise(peptide, names):
    # Markley et al. 1998; so they are in NMR structures such as 1L2Y, and in restraints on single hydrogens
    letter, *atoms = names.split()
    assert handedness(peptide, ALL.index(letter) + 1, *atoms) < 0.0


def test_branches_of_side_chains_have_their_own_names(peptide):
    for names in ("L CG CB CD1 CD2", "V CB CA CG1 CG2", "T CB CA CG2 OG1", "I CB CA CG2 CG1"):
        letter, *atoms = names.split()
        assert handedness(peptide, ALL.index(letter) + 1, *atoms) < 0.0, names


def test_bonds_of_ideal_geometry_have_the_lengths_of_amber(peptide):
    openmm = pytest.importorskip("openmm")
    app = pytest.importorskip("openmm.app")
    from bough.molecules.force_field import topology

    system = app.ForceField("amber14-all.xml").createSystem(topology(peptide.atoms))
    bonds = next(force for force in system.getForces() if isinstance(force, openmm.HarmonicBondForce))
    x = peptide.atoms.positions
    for a, b, length, _ in map(bonds.getBondParameters, range(bonds.getNumBonds())):
        assert np.linalg.norm(x[a] - x[b]) == pytest.approx(length._value, abs=0.006), peptide.atoms.key(a)


def test_helices_have_a_ribbon_that_joins_and_moves_along():
    m = mol.peptide("A" * 12, phi=-1.05, psi=-0.8)
    found = m.minimize(restraints=[mol.position("CA", m.atoms.positions[m.atoms.select("CA")])], calls=5)
    for shown, q in ((m, m.model.neutral), (found, found.q)):
        scene = bough.view.page(shown)
        (band,) = (part for part in scene.shapes if part.kind == "box")
        assert len(band) == 8 * 10  # of nine peptide bonds between ten residues
        T = m.body_placements(q)[band.body]
        center = np.einsum("kij,kj->ki", T[:, :3, :3], band.placement[:, :, 3]) + T[:, :3, 3]
        length = np.linalg.norm(band.placement[:, :, 2], axis=1)
        assert (np.linalg.norm(np.diff(center, axis=0), axis=1) < (length[1:] + length[:-1]) / 2).all()
        carbons = m.positions(q)[m.atoms.select("CA")]
        assert np.linalg.norm(center[:, None] - carbons, axis=-1).min(axis=1).max() < 0.25
    extended = bough.view.page(mol.peptide("GGGG", phi=1.0, psi=1.0))
    assert not any(part.kind == "box" for part in extended.shapes)


@pytest.mark.parametrize("base", ["N9 C4", "N1 C2"])
def test_bases_turn_about_chi(base):
    """Of purines and pyrimidines: a sugar's corner and a base's, 1.1 rad apart."""
    from bough.molecules.peptide import placed
    from bough.molecules.reading import with_bonds

    x = [np.zeros(3), np.array([0.142, 0.0, 0.0])]
    x.append(placed(np.array([0.0, 0.1, 0.0]), *x, 0.147, 1.9, 0.4))
    x.append(placed(*x, 0.137, 2.2, 1.1))
    names = ["O4'", "C1'", *base.split()]
    bare = mol.Atoms(
        np.array(names), np.array([name[0] for name in names]), np.zeros(4, np.int64), np.array(x),
        np.zeros((0, 2), np.int64), np.array(["A"]), np.array(["1"]), np.array(["DA"]), np.array([False]), np.zeros(4),
    )  # fmt: skip
    m = mol.Molecule(with_bonds(bare, [], []))
    assert m.angles(m.model.neutral, "A/1/chi")[0] == pytest.approx(1.1)
    assert m.dihedrals["A/1/chi"].v == 6


def test_units_are_those_of_molecules(peptide):
    assert "Da" in repr(peptide.model)
    assert "kg" not in repr(peptide.model)
    assert peptide.model.welded_at(peptide.model.neutral, ["A/2/phi"]).units == ("nm", "Da")


def test_a_bond_that_is_short_for_a_moment_turns():
    """In a snapshot of dynamics, single bonds of a ligand are as short as double ones now and then."""
    from bough.molecules.hydrogens import hydrogens_on
    from bough.molecules.peptide import placed
    from bough.molecules.reading import with_bonds

    x = [np.zeros(3), np.array([0.154, 0.0, 0.0])]
    x.append(placed(np.array([0.0, 0.1, 0.0]), *x, 0.139, 1.9, 1.0))
    x.append(placed(*x, 0.154, 1.9, 2.0))
    names, elements, places = ["C1", "C2", "C3", "C4"], ["C"] * 4, list(x)
    for k, (ends, count) in enumerate((([1], 3), ([0, 2], 2), ([1, 3], 2), ([2], 3))):
        beyond = [x[2]] if k == 0 else [x[1]] if k == 3 else []
        for h in hydrogens_on(x[k], "C", [x[e] for e in ends], beyond, count, False):
            names, elements, places = [*names, f"H{len(names)}"], [*elements, "H"], [*places, h]
    n = len(names)
    butane = mol.Atoms(
        np.array(names), np.array(elements), np.zeros(n, np.int64), np.array(places), np.zeros((0, 2), np.int64),
        np.array(["A"]), np.array(["1"]), np.array(["BUT"]), np.array([True]), np.zeros(n),
    )  # fmt: skip
    found = mol.Molecule(with_bonds(butane, [], []))
    assert len(found.atoms.bonds) == 13
    assert "A/1/C2-C3" in found.model.joint_names
