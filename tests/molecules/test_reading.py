"""Files in and out: what is read, what is named in notes, what is refused."""

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest

from bough.errors import (
    FileFormatError,
    ModelError,
    NonFiniteError,
    OptionError,
    SettingError,
    ShapeError,
    TooLargeError,
    UnknownNameError,
)

mol = pytest.importorskip("bough.molecules")
gemmi = pytest.importorskip("gemmi")
write = pytest.importorskip("bough.molecules.writing").write


def edited(molecule, path, edit):
    """The molecule's file after `edit` of its lines."""
    molecule.write(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(edit(lines)) + "\n")
    return mol.from_file(path)


@pytest.mark.parametrize("suffix", [".pdb", ".cif", ".mmcif"])
def test_structures_come_back(tmp_path, suffix):
    m = mol.peptide("ACDEFGHIKLMNPQRSTVWY")
    found = mol.from_file(m.write(tmp_path / f"all{suffix}"))
    assert found.notes == ()
    assert found.model.joint_names == m.model.joint_names
    np.testing.assert_array_equal(found.atoms.bonds, m.atoms.bonds)
    np.testing.assert_allclose(found.atoms.positions, m.atoms.positions, atol=6e-5)


def test_trajectories_are_written(tmp_path):
    m = mol.peptide("GAS")
    found = m.minimize(restraints=[mol.distance("A/1/CA", "A/3/CA", upper=0.5)])
    data = found.write(tmp_path / "all.dcd").read_bytes()
    n, count = len(m.atoms), len(found.frames)
    assert data[4:8] == b"CORD"
    assert struct.unpack("<i", data[8:12])[0] == count
    head = 92 + 92 + 12
    assert len(data) == head + count * 3 * (4 * n + 8)
    last = np.frombuffer(data[head + (count - 1) * 3 * (4 * n + 8) :], "<f4").reshape(3, n + 2)[:, 1:-1].T
    np.testing.assert_allclose(last, 10 * found.positions, atol=1e-4)
    with pytest.raises(OptionError, match=r"got '.xyz'"):
        found.write(tmp_path / "all.xyz")


def test_alternative_locations_keep_the_larger_part(tmp_path):
    def edit(lines):
        out = []
        for line in lines:
            if line[12:16] == " OG " and line.startswith("ATOM"):
                a = line[:16] + "A" + line[17:54] + "  0.30" + line[60:]
                out += [a, a[:16] + "B" + a[17:30] + "   9.000" + a[38:54] + "  0.70" + a[60:]]
            else:
                out.append(line)
        return out

    found = edited(mol.peptide("ASA"), tmp_path / "alt.pdb", edit)
    assert found.atoms.positions[found.atoms.place("A/2/OG"), 0] == pytest.approx(0.9)
    assert any("1 atoms in alternative locations" in note for note in found.notes)


def test_what_may_be_a_bond_without_a_record_is_noted(tmp_path):
    """As of glycans and cyclic peptides in files without LINK."""
    m = mol.peptide("GNA")
    x, y, z = 10.0 * m.atoms.positions[m.atoms.place("A/2/HD21")]
    sugar = f"HETATM  900  C1  NAG B   1    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C"

    def edit(lines):
        return [*(line for line in lines if line.startswith("ATOM") and line[12:16] != "HD21"), sugar]

    found = edited(m, tmp_path / "link.pdb", edit)
    assert "1 pairs of atoms are as near as bonds, which no record declares: A/2/ND2-B/1/C1" in found.notes


def test_of_hydrogen_and_deuterium_at_one_place_one_is_kept(tmp_path):
    def edit(lines):
        out = []
        for line in lines:
            if line[12:16] == " H  ":
                out += [line[:16] + "A" + line[17:54] + "  0.30" + line[60:]]
                out += [line[:12] + " D  B" + line[17:54] + "  0.70" + line[60:76] + " D" + line[78:]]
            else:
                out.append(line)
        return out

    m = mol.peptide("ASA")
    found = edited(m, tmp_path / "neutron.pdb", edit)
    assert len(found.atoms) == len(m.atoms)
    assert len(found.atoms.neighbours[found.atoms.place("A/2/N")]) == 3
    assert "A/2/D" in found.atoms.places


def test_ions_are_called_as_their_residue(tmp_path):
    """CHARMM and GROMOS write no elements, where gemmi reads carbon, sulphur and phosphorus."""
    ions = {"SOD": "Na", "CLA": "Cl", "POT": "K", "CAL": "Ca", "CL-": "Cl", "ZN2": "Zn"}

    def edit(lines):
        chain = [line for line in lines if line.startswith("ATOM")]
        return [*chain, *(f"ATOM    {900 + k}  {name} {name}     {k}    {20 + 5 * k:8.3f}   0.000   0.000  1.00  0.00"
                          for k, name in enumerate(ions))]  # fmt: skip

    m = mol.peptide("AA")
    found = edited(m, tmp_path / "ions.pdb", edit)
    assert found.atoms.element[len(m.atoms) :].tolist() == [*ions.values()]
    assert any("elements are missing or odd" in note for note in found.notes)
    assert len(mol.from_file(tmp_path / "ions.pdb", omit=["solvent"]).atoms) == len(m.atoms)


def test_names_of_residues_with_four_letters_are_no_chains(tmp_path):
    """As GROMACS writes them, in a column that gemmi takes for the chain."""
    m = mol.peptide("AKHA")
    for mark in ("A", " "):
        found = edited(m, tmp_path / "wide.pdb", lambda lines, mark=mark: [
            (line[:21] + mark + line[22:]).replace(f"LYS {mark}", f"LYSH{mark}").replace(f"HIS {mark}", f"HISE{mark}")
            if line.startswith("ATOM") else line for line in lines])  # fmt: skip
        assert set(found.atoms.chain.tolist()) == {mark.replace(" ", "_")}
        np.testing.assert_array_equal(found.atoms.bonds, m.atoms.bonds)
        assert found.notes == ("names of residues have four letters: the first three are read",)
    two = edited(m, tmp_path / "two.pdb", lambda lines: [
        line[:20] + "AB" + line[22:] if line.startswith("ATOM") else line for line in lines])  # fmt: skip
    assert set(two.atoms.chain.tolist()) == {"AB"}


def test_chains_of_unknown_residues_are_bonded(tmp_path):
    """gemmi knows no polymer where it does not know residues, such as CHARMM's nucleotides."""
    atoms = [("C3'", "GUA", 1, 0.0), ("O3'", "GUA", 1, 1.0)]
    atoms += [("P", "ADE", 2, 2.3), ("O5'", "ADE", 2, 3.6), ("C5'", "ADE", 2, 4.6)]
    path = tmp_path / "strand.pdb"
    path.write_text("\n".join([*(
        f"HETATM{k + 1:5d}  {name:3s} {kind} A{number:4d}    {x:8.3f}{k % 2:8.3f}   0.000  1.00  0.00{name[0]:>12}"
        for k, (name, kind, number, x) in enumerate(atoms)), "END\n"]))  # fmt: skip
    assert mol.from_file(path).atoms.bonds.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]


def test_of_residues_at_one_place_the_larger_part_is_kept(tmp_path):
    def edit(lines):
        alanine = [line for line in lines if line[17:20] == "ALA"]
        both = [line[:16] + "A" + line[17:54] + "  0.40" + line[60:] for line in alanine]
        both += [x[:16] + "BGLY" + x[20:54] + "  0.60" + x[60:] for x in both if x[12:16].strip() in "N CA C O"]
        return [*(line for line in lines if line[17:20] == "SER" and line.startswith("ATOM")), *both, "END"]

    found = edited(mol.peptide("SA"), tmp_path / "micro.pdb", edit)
    assert found.atoms.kind.tolist() == ["SER", "GLY"]
    assert "1 residues at the place of another (microheterogeneity) are omitted" in found.notes


def test_atoms_and_residues_of_one_name_are_all_read(tmp_path):
    """Some programs call all hydrogens of a ligand H, and numbers of waters start again after 9999."""
    lines = [
        "HETATM    1  C   CH4 A   1       0.000   0.000   0.000  1.00  0.00           C  ",
        *(f"HETATM    2  H   CH4 A   1    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           H  "
          for x, y, z in 0.628 * np.array([(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)])),
        "HETATM    6  O   HOH A   2       5.000   0.000   0.000  1.00  0.00           O  ",
        "HETATM    7  O   HOH A   3       8.000   0.000   0.000  1.00  0.00           O  ",
        "HETATM    8  O   HOH A   2      11.000   0.000   0.000  1.00  0.00           O  ",
    ]  # fmt: skip
    path = tmp_path / "same.pdb"
    path.write_text("\n".join([*lines, "END"]) + "\n")
    found = mol.from_file(path)
    assert len(found.atoms) == 8
    assert len(found.atoms.bonds) == 4
    assert "4 atoms share their name with another: it stands for the first" in found.notes
    again = mol.from_file(found.write(tmp_path / "again.cif"))
    np.testing.assert_allclose(
        np.sort(again.atoms.positions, axis=0), np.sort(found.atoms.positions, axis=0), atol=6e-5
    )


def test_atoms_that_lie_on_each_other(tmp_path):
    """A file that has its atoms twice, and one with a second chain at the place of the first."""
    m = mol.peptide("GCA")
    twice = edited(m, tmp_path / "twice.pdb", lambda lines: [x for x in lines if x.startswith("ATOM")] * 2)
    assert twice.model.nv == m.model.nv
    assert f"{len(m.atoms)} atoms that lie on another of the same name are omitted" in twice.notes

    def both(lines):
        chain = [line for line in lines if line.startswith("ATOM")]
        return [*chain, *(line[:21] + "B" + line[22:] for line in chain)]

    found = edited(m, tmp_path / "both.pdb", both)
    assert len(found.atoms.bonds) == 2 * len(m.atoms.bonds)
    assert found.model.nv == 2 * m.model.nv


def test_hydrogens_without_heavy_atoms_take_one_note(tmp_path):
    found = edited(mol.peptide("GA"), tmp_path / "h.pdb", lambda lines: [x for x in lines if x[76:78] == " H"])
    assert len(found.notes) == 2
    said = "10 hydrogens are near no atom of their residue and move on their own: A/1/HA2, A/1/HA3, A/1/H1, "
    assert found.notes[0].startswith(said)
    assert found.notes[0].endswith(" and 5 more")


def test_a_byte_order_mark_hides_no_atom(tmp_path):
    path = mol.peptide("GA").write(tmp_path / "mark.pdb")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(FileFormatError, match="line 1: expected ASCII"):
        mol.from_file(path)


def test_elements_follow_from_names_where_the_column_is_blank(tmp_path):
    def edit(lines):
        # as CHARMM writes: names from column 13 on, where CA would be calcium, and a chain in columns 73 to 76
        moved = [line[:12] + f"{line[12:16].strip():4s}" + line[16:66] + "      PROT" for line in lines]
        dummy = "HETATM  900 MW   SOL B   9      20.000   3.000   4.000  1.00  0.00"
        return [*(line for line in moved if line.startswith("ATOM")), dummy, "END"]

    m = mol.peptide("ACDEFGHIKLMNPQRSTVWY")
    found = edited(m, tmp_path / "blank.pdb", edit)
    np.testing.assert_array_equal(found.atoms.element, m.atoms.element)
    np.testing.assert_array_equal(found.atoms.bonds, m.atoms.bonds)
    assert any("elements are missing or odd" in note for note in found.notes)
    assert any("1 atoms called 'MW' of unknown element are omitted" in note for note in found.notes)


def test_names_of_charmm_have_dihedrals(tmp_path):
    def edit(lines):
        renamed = (line.replace(" CD1 ILE", " CD  ILE").replace(" OXT ", " OT2 ").replace(" O   ALA", " OT1 ALA")
                   for line in lines)  # fmt: skip
        return list(renamed)

    found = edited(mol.peptide("GIA"), tmp_path / "charmm.pdb", edit)
    assert {"A/2/chi2", "A/3/psi"} < set(found.dihedrals)
    assert not found.notes


@pytest.mark.parametrize("kind", ["HSD", "XHI"])
def test_states_of_residues_need_no_column_of_elements(tmp_path, kind):
    """CHARMM writes names from column 14 on and no elements: gemmi reads calcium, cerium, helium, neodymium."""

    def edit(lines):
        plain = [
            f"{line[:12]} {line[12:16].strip():3}{line[16:66]}" if line.startswith("ATOM") else line for line in lines
        ]
        return [line.replace("HIS", kind) for line in plain]

    like, found = mol.peptide("AHA"), edited(mol.peptide("AHA"), tmp_path / "charmm.pdb", edit)
    assert found.atoms.element.tolist() == like.atoms.element.tolist()
    np.testing.assert_array_equal(found.atoms.bonds, like.atoms.bonds)
    assert ("A/2/chi1" in found.dihedrals) == (kind != "XHI")


def test_insertion_codes_breaks_and_missing_atoms_are_kept_apart(tmp_path):
    def edit(lines):
        kept = [line for line in lines if not (line[22:26] == "   2" and line[12:16].strip() in ("C", "O"))]
        return [
            line[:22] + "   2B" + line[27:] if line[22:26] == "   3" and line.startswith("ATOM") else line
            for line in kept
        ]

    found = edited(mol.peptide("AAAA"), tmp_path / "odd.pdb", edit)
    assert "A/2B/CA" in found.atoms.places
    for name in ("again.pdb", "again.cif"):
        again = mol.from_file(found.write(tmp_path / name))
        assert again.atoms.places.keys() == found.atoms.places.keys()
    assert any("A/2 (C, O)" in note for note in found.notes)
    assert sum(kind == "floating" for kind in found.model.joints.types) == 2


def test_a_broken_chain_is_noted(tmp_path):
    def edit(lines):
        return [
            line[:30] + f"{float(line[30:38]) + 20.0:8.3f}" + line[38:]
            if line.startswith("ATOM") and int(line[22:26]) > 2
            else line
            for line in lines
        ]

    found = edited(mol.peptide("AAAA"), tmp_path / "gap.pdb", edit)
    assert any("broken between A/2 and A/3" in note for note in found.notes)


def test_ions_and_water_move_or_stay(tmp_path):
    def edit(lines):
        return [
            *(line for line in lines if not line.startswith("END")),
            "HETATM  900 ZN    ZN B 201      20.000   3.000   4.000  1.00  0.00          ZN",
            "HETATM  901  O   HOH C 301      10.000  13.000   4.000  1.00  0.00           O",
            "HETATM  902  H1  HOH C 301      10.957  13.000   4.000  1.00  0.00           H",
            "HETATM  903  H2  HOH C 301       9.760  13.927   4.000  1.00  0.00           H",
            "HETATM  904  O   HOH C 302      10.000  23.000   4.000  1.00  0.00           O",
        ]

    path = tmp_path / "wet.pdb"
    found = edited(mol.peptide("AG"), path, edit)
    types = found.model.joints.types
    assert (types.count("floating"), types.count("prismatic")) == (2, 6)
    q = found.model.random_configuration(np.random.default_rng(2))
    x = found.positions(q)
    np.testing.assert_allclose(found.positions(found.fit(x)), x, atol=1e-9)
    F = np.ones((len(x), 3))
    tau, first = found.generalized_forces(q, F), found.model.joint_names.index("B/201/base/x")
    assert tau[found.model.joints[first].v][0] == pytest.approx(1.0)
    still = mol.from_file(path, fixed=["solvent"])
    assert still.model.joints.types.count("prismatic") == 0
    x = still.positions(still.model.random_configuration(np.random.default_rng(3)))
    wet = [still.atoms.place(key) for key in ("B/201/ZN", "C/301/H1", "C/302/O")]
    np.testing.assert_array_equal(x[wet], still.atoms.positions[wet])
    with pytest.raises(OptionError, match="no chain or residue 'Q'"):
        mol.from_file(path, fixed=["Q"])


def test_disulphides_are_found_among_many():
    """As in a ribosome or a large antibody complex."""
    from bough.molecules.reading import with_bonds

    n = 600
    x = np.arange(3.0 * n).reshape(n, 3)
    x[-1] = x[0] + [0.2, 0.0, 0.0]
    atoms = mol.Atoms(
        np.full(n, "SG"), np.full(n, "S"), np.arange(n), x, np.zeros((0, 2), np.int64), np.full(n, "A"),
        np.arange(n).astype(str), np.full(n, "CYS"), np.zeros(n, bool), np.zeros(n),
    )  # fmt: skip
    np.testing.assert_array_equal(with_bonds(atoms, [], []).bonds, [[0, n - 1]])


def test_disulphides_are_cut_and_held():
    m = mol.peptide("CGGGC")
    ends = [m.atoms.place(f"A/{r}/SG") for r in (1, 5)]
    hooked = m.minimize(restraints=[mol.distance(*ends, lower=0.204, upper=0.206, stiffness=1e4)], calls=400)
    atoms = m.atoms
    keep = ~np.isin(atoms.name, ["HG"])
    number = np.cumsum(keep) - 1
    bonds = number[atoms.bonds[keep[atoms.bonds].all(axis=1)]]
    bonds = np.concatenate([bonds, [[number[ends[0]], number[ends[1]]]]])
    bridged = mol.Molecule(
        mol.Atoms(
            atoms.name[keep], atoms.element[keep], atoms.residue[keep], hooked.positions[keep], bonds,
            atoms.chain, atoms.number, atoms.kind, atoms.hetero, atoms.b_factor[keep],
        )
    )  # fmt: skip
    assert len(bridged.groups.cut) == 1
    assert "close loops" in bridged.notes[0]
    assert len(bridged.model.closures) == 3
    pulled = bridged.minimize(restraints=[mol.distance("A/1/CA", "A/5/CA", lower=2.0)], calls=300)
    a, b = number[ends]
    assert np.linalg.norm(pulled.positions[a] - pulled.positions[b]) == pytest.approx(0.205, abs=0.02)


def test_what_lies_beyond_a_cut_bond_does_not_measure_a_torsion():
    m = mol.peptide("KAAD")
    bonds = np.concatenate([m.atoms.bonds, [[m.atoms.place("A/1/NZ"), m.atoms.place("A/4/CG")]]])
    bridged = mol.Molecule(replace(m.atoms, bonds=bonds))
    assert len(bridged.groups.cut) == 1
    x = bridged.positions(bridged.model.random_configuration(np.random.default_rng(6)))
    np.testing.assert_allclose(bridged.positions(bridged.fit(x)), x, atol=1e-9)


@pytest.mark.parametrize("hydrogens", [True, False])
def test_rings_of_single_bonds_turn_if_told(tmp_path, hydrogens):
    path = mol.peptide("APWA").write(tmp_path / "ring.pdb")
    if not hydrogens:
        path.write_text("\n".join(line for line in path.read_text().splitlines() if line[76:78] != " H"))
    rigid, m = mol.from_file(path), mol.from_file(path, rotatable=["all", "rings"])
    assert len(m.groups.cut) == 1  # that of proline; tryptophan stays flat
    torsions = m.model.nv - rigid.model.nv
    assert torsions == (4 if hydrogens else 2)
    assert len(m.groups.held) == torsions - 1  # one degree of freedom is left
    quad = ["A/2/N", "A/2/CA", "A/2/CB", "A/2/CG"]
    found = m.minimize(restraints=[mol.dihedral(quad, -0.3, stiffness=300.0)], calls=600)
    (a, b), x = m.groups.cut[0], found.positions
    lengths = [np.linalg.norm(y[a] - y[b]) for y in (x, m.atoms.positions)]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.01)
    turned = mol.RestraintEnergy(m, [mol.dihedral(quad, 0.0)])
    turned(x)
    assert turned.turns.value[0] < 0.1  # the pucker has changed


@pytest.mark.parametrize("content", ["", "hello\n", "data_x\nloop_\n_atom_site.id\n1\n2\n"])
def test_files_that_are_no_structures_are_refused(tmp_path, content):
    for suffix in (".pdb", ".cif"):
        file = tmp_path / f"odd{suffix}"
        file.write_text(content)
        with pytest.raises(FileFormatError, match=r"no atoms|no PDB or mmCIF"):
            mol.from_file(file)
    with pytest.raises(FileFormatError, match="there is no file"):
        mol.from_file(tmp_path / "ghost.pdb")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda line: line[:30] + b"********" + line[38:], "line 1: expected three coordinates in columns 31 to 54"),
        (lambda line: line[:30] + b" " * 8 + line[38:], "line 1: expected three coordinates in columns 31 to 54"),
        (lambda line: line[:17] + b"\xe9" + line[18:], "line 1: expected ASCII"),
        (lambda line: line.replace(b"\n", b"\r"), "line 1: expected ASCII, and lines that end in LF or CRLF"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_atoms_that_are_no_numbers_are_refused(tmp_path, edit, said, packed):
    """gemmi reads such coordinates as 0, and one atom where carriage returns end the lines."""
    first, rest = mol.peptide("GA").write(tmp_path / "a.pdb").read_bytes().split(b"\n", 1)
    content, path = edit(first + b"\n") + rest, tmp_path / ("b.pdb" + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(FileFormatError, match=said):
        mol.from_file(path)


def test_what_a_pdb_cannot_hold_is_not_written(tmp_path):
    m = mol.peptide("GA")
    far = m.atoms.positions + 1000.0
    with pytest.raises(TooLargeError, match=r"write \.cif instead"):
        write(tmp_path / "far.pdb", m.atoms, far[None])
    for long in (
        replace(m.atoms, kind=np.array(["GLY", "A1BCD"])),
        replace(m.atoms, name=np.char.add(m.atoms.name, "xyz")),
    ):
        with pytest.raises(TooLargeError, match="three for residues"):
            write(tmp_path / "long.pdb", long, long.positions[None])
    found = mol.from_file(write(tmp_path / "far.cif", m.atoms, far[None]))
    np.testing.assert_allclose(found.atoms.positions, far, atol=6e-5)
    with pytest.raises(OptionError, match="there is no folder"):
        m.write(tmp_path / "none" / "a.pdb")


def test_names_that_files_cannot_hold_are_refused(tmp_path):
    m = mol.peptide("GA")
    for odd in (replace(m.atoms, number=np.array(["1", "?"])), replace(m.atoms, chain=np.array(["A", "A B"]))):
        with pytest.raises(ModelError, match=r"residue 'A.*/.' cannot be written: expected a number such as 57"):
            write(tmp_path / "odd.cif", odd, odd.positions[None])


def test_other_units_are_noted(tmp_path):
    m, path = mol.peptide("GAS"), tmp_path / "nm.cif"
    small = mol.from_file(write(path, m.atoms, 0.1 * m.atoms.positions[None]))
    assert any("within 0.05 nm of another of their residue" in note and "angstrom" in note for note in small.notes)
    app = pytest.importorskip("openmm.app")
    pdb = app.PDBFile(str(m.write(tmp_path / "a.pdb")))
    assert not mol.from_openmm(pdb.topology, pdb.positions).notes
    large = mol.from_openmm(pdb.topology, 10.0 * np.array(m.atoms.positions))
    assert "30 bonds are longer than 0.35 nm: A/1/N-A/1/CA" in large.notes[0]
    assert "positions are in nm" in large.notes[0]


def test_messages_of_readers_take_one_line(tmp_path):
    path = tmp_path / "short.pdb"
    path.write_text("ATOM      1  N   GLY A   1       0.428\n")
    with pytest.raises(FileFormatError, match="too short") as error:
        mol.from_file(path)
    assert "\n" not in str(error.value)


def test_what_is_no_angle_and_no_energy_is_refused():
    m = mol.peptide("GAS")
    for odd in (float("nan"), -60.0):  # degrees
        with pytest.raises(SettingError, match="dihedral: expected an angle in rad, from -2 pi to 2 pi"):
            mol.dihedral("A/2/phi", odd)
        with pytest.raises(SettingError, match="dihedral 'A/2/phi': expected an angle in rad"):
            m.with_angles(m.model.neutral, {"A/2/phi": odd})
    with pytest.raises(SettingError, match="peptide: psi: expected an angle in rad, from -2 pi to 2 pi, got 140"):
        mol.peptide("GA", psi=140.0)
    with pytest.raises(SettingError, match="a width in rad, up to pi, got 30"):
        mol.dihedral("A/2/phi", 1.0, width=30.0)
    with pytest.raises(ShapeError, match=r"an energy gave 1, expected \(energy, forces"):
        m.minimize(lambda x: 1)
    with pytest.raises(UnknownNameError, match="did you mean 'A/2/phi'"):
        m.dihedrals["A/2/phj"]
    with pytest.raises(NonFiniteError, match="q must be finite"):
        m.anneal(q=np.full(m.model.nq, np.inf), steps=20)
    with pytest.raises(SettingError, match="expected two temperatures, the first and the last"):
        m.anneal(temperatures=(300.0,), steps=20)
    with pytest.raises(SettingError, match="1 sample at least"):
        m.hybrid_monte_carlo(mol.Repulsion(m), samples=0, steps=1, dt=0.001)
