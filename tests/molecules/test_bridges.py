"""Bonds that close loops of residues: in files, and while atoms are pulled."""

from dataclasses import replace

import numpy as np
import pytest

import bough

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")
dihedral_angles = pytest.importorskip("bough.molecules.atoms").dihedral_angles


@pytest.fixture(scope="module")
def ring():
    """The atoms of a cyclic peptide: the last residue is bonded to the first."""
    m = mol.peptide("GAGAGA", phi=-1.4, psi=1.3)
    ends = m.atoms.place("A/1/N"), m.atoms.place("A/6/C")
    apart = (("C", "N", 0.133), ("CA", "N", 0.243), ("O", "N", 0.225), ("C", "CA", 0.243), ("C", "H1", 0.205))
    hooks = [
        mol.distance(f"A/6/{a}", f"A/1/{b}", lower=d - 0.001, upper=d + 0.001, stiffness=1e5, linear=9.0)
        for a, b, d in apart
    ]
    hooks += [mol.plane([f"A/{key}" for key in ("6/CA", "6/C", "6/O", "1/N", "1/CA", "1/H1")], stiffness=1e5)]
    closed = m.minimize(mol.Repulsion(m, scale=0.5), restraints=hooks, calls=2000).positions
    assert np.linalg.norm(closed[ends[0]] - closed[ends[1]]) < 0.14
    atoms, kept = m.atoms, ~np.isin(m.atoms.name, ["OXT", "H2", "H3"])
    bonds = np.concatenate([atoms.bonds[kept[atoms.bonds].all(axis=1)], [ends]])
    return replace(
        atoms, name=atoms.name[kept], element=atoms.element[kept], residue=atoms.residue[kept], positions=closed[kept],
        bonds=(np.cumsum(kept) - 1)[bonds], b_factor=atoms.b_factor[kept],
    )  # fmt: skip


@pytest.mark.parametrize("suffix", [".pdb", ".cif"])
@pytest.mark.parametrize("chain", ["A", "_"])
def test_files_hold_bonds_that_no_reader_knows(ring, tmp_path, suffix, chain):
    m = mol.Molecule(replace(ring, chain=np.full(len(ring.chain), chain)))
    found = mol.from_file(m.write(tmp_path / f"ring{suffix}"))
    assert {tuple(pair) for pair in found.atoms.bonds.tolist()} == {tuple(pair) for pair in ring.bonds.tolist()}
    clash = "1 pairs of atoms are as near as bonds, which no record declares: A/1/O-A/6/N"
    assert found.notes == (clash.replace("A/", f"{chain}/"), *m.notes)
    assert len(found.groups.cut) == 1


@pytest.mark.parametrize("fixed", [[], ["A/1"], ["A/6"]])
@pytest.mark.parametrize("error", [None, 0.01])
def test_a_ring_that_is_pulled_stays_closed(ring, fixed, error):
    m = mol.Molecule(ring, fixed=fixed)
    atom, (a, b) = m.atoms.place("A/3/CA"), np.array(m.groups.held).T
    measure = None if error is None else bough.adaptive.energy(error)
    found = m.pull("A/3/CA", ring.positions[atom] + 0.1, error=measure, steps=60)
    gaps = [np.linalg.norm(x[a] - x[b], axis=1) for x in m.positions(found.frames)]
    np.testing.assert_allclose(gaps, np.broadcast_to(gaps[0], np.shape(gaps)), atol=3e-3)
    assert found.energies[0] == pytest.approx(1.5)  # 100 / 2 * 0.03
    assert found.energy < 0.8 * found.energies[0]


def test_two_cut_bonds_may_share_what_holds_them(ring):
    """A square of four residues of one atom each, with both diagonals; and atoms that share their names."""
    x = np.array([[0.0, 0, 0], [0.15, 0, 0], [0.15, 0.15, 0], [0, 0.15, 0.02]])
    bonds = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)])
    for numbers in (["1", "2", "3", "4"], ["1"] * 4):
        atoms = mol.Atoms(
            np.full(4, "C1"), np.full(4, "C"), np.arange(4), x, bonds, np.full(4, "A"), np.array(numbers),
            np.full(4, "LIG"), np.full(4, True), np.zeros(4),
        )  # fmt: skip
        m = mol.Molecule(atoms)
        assert len(m.groups.cut) == 3
        pairs = {frozenset(pair) for pair in m.groups.held.tolist()}
        assert len(pairs) == len(m.groups.held)


def out_of_plane(x, quads):
    """The sine of the angle between the first bond of each quad (b, a, c, d) and the plane of the others."""
    r = [x[quads[:, k]] - x[quads[:, 1]] for k in (0, 2, 3)]
    r = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in r]
    normal = np.cross(r[1], r[2])
    return np.abs(np.sum(r[0] * normal, axis=1)) / np.linalg.norm(normal, axis=1)


@pytest.mark.parametrize("way", ["minimize", "anneal", "pull"])
def test_a_chain_between_two_fixed_residues_is_not_torn(way):
    """As where a loop is modelled on a structure that stays."""
    start = mol.peptide("GAGAGAGA", phi=-1.4, psi=1.3).atoms
    m = mol.Molecule(start, fixed=["A/1", "A/8"])
    assert m.notes[-1].startswith("1 bonds close loops and are held by closures, not by the tree: A/7/CA-A/7/C")
    near = [mol.distance("A/2/CA", "A/5/CA", upper=0.5)]
    if way == "minimize":
        found = m.minimize(mol.Repulsion(m), restraints=near, calls=500)
    elif way == "anneal":
        found = m.anneal(restraints=near, steps=2000, temperatures=(500.0, 50.0), seed=1)
    else:
        found = m.pull("A/4/CA", start.positions[m.atoms.place("A/4/CA")] + 0.1)
    x, (a, b) = found.positions, start.bonds.T
    angles = np.array([(c, d) for k in range(len(start)) for c in start.neighbours[k] for d in start.neighbours[k]])
    for pairs, far in (((a, b), 2e-3), (angles[angles[:, 0] < angles[:, 1]].T, 1e-2)):
        gap = [np.linalg.norm(y[pairs[0]] - y[pairs[1]], axis=1) for y in (x, start.positions)]
        np.testing.assert_allclose(*gap, rtol=0, atol=far)
    assert mol.rmsd(x, start.positions) > 0.01
    if way != "pull":
        assert out_of_plane(x, m.groups.flat).max() < 0.15


@pytest.mark.parametrize("hydrogen", [True, False])
def test_the_peptide_bond_that_closes_a_ring_stays_flat(ring, hydrogen):
    kept = np.full(len(ring), True) if hydrogen else ring.name != "H1"
    bonds = (np.cumsum(kept) - 1)[ring.bonds[kept[ring.bonds].all(axis=1)]]
    columns = {name: getattr(ring, name)[kept] for name in ("name", "element", "residue", "positions", "b_factor")}
    m = mol.Molecule(replace(ring, bonds=bonds, **columns))
    n, c = m.atoms.place("A/1/N"), m.atoms.place("A/6/C")
    assert m.groups.group[n] == m.groups.group[c]
    assert len(m.groups.cut) == 1
    quad = np.array([[m.atoms.place("A/6/CA"), c, n, m.atoms.place("A/1/CA")]])
    assert abs(np.sin(dihedral_angles(m.atoms.positions, quad)[0])) < 0.01
    for seed in range(3):
        hot = m.anneal(steps=1000, seed=seed).q
        x = m.minimize(mol.Repulsion(m), q=hot).positions
        assert abs(np.sin(dihedral_angles(x, quad)[0])) < 0.05
        a, b = m.atoms.bonds.T
        gap = [np.linalg.norm(y[a] - y[b], axis=1) for y in (x, m.atoms.positions)]
        np.testing.assert_allclose(*gap, rtol=0, atol=5e-3)
