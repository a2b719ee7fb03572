"""Bonds that close loops of residues: in files, and while atoms are pulled."""

from dataclasses import replace

import numpy as np
import pytest

import bough

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")


@pytest.fixture(scope="module")
def ring():
    """The atoms of a cyclic peptide: the last residue is bonded to the first."""
    m = mol.peptide("GAGAGA", phi=-1.4, psi=1.3)
    ends = m.atoms.place("A/1/N"), m.atoms.place("A/6/C")
    hook = mol.distance(*ends, lower=0.132, upper=0.134, stiffness=1e5, linear=9.0)
    closed = m.minimize(mol.Repulsion(m, scale=0.5), restraints=[hook], calls=1000).positions
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
    assert found.notes == m.notes
    assert len(found.groups.cut) == 1


@pytest.mark.parametrize("fixed", [[], ["A/1"], ["A/6"]])
@pytest.mark.parametrize("error", [None, 0.01])
def test_a_ring_that_is_pulled_stays_closed(ring, fixed, error):
    m = mol.Molecule(ring, fixed=fixed)
    atom, (a, b) = m.atoms.place("A/3/CA"), np.array(m.loop_distances).T
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
        pairs = {frozenset(pair) for pair in m.loop_distances}
        assert len(pairs) == len(m.loop_distances)
