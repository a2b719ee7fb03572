"""Minimising in torsion space: against a force field, under restraints, from a start with clashes."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bough.errors import ModelError, OptionError, ShapeError

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")


def test_a_minimum_of_a_force_field_is_one():
    pytest.importorskip("openmm")
    m = mol.peptide(["ACE", "ALA", "NME"])
    field = mol.OpenMM("amber14-all.xml", platform="Reference")
    found = m.minimize(field, force=1e-3, calls=300)
    assert found.converged
    assert found.energy == pytest.approx(field.on(m)(found.positions)[0], rel=1e-9)
    rng, energy = np.random.default_rng(3), field.on(m)
    for _ in range(20):
        nearby = m.model.integrate(found.q, 1e-2 * rng.normal(size=m.model.nv))
        assert energy(m.positions(nearby))[0] > found.energy - 1e-6


def test_forces_of_a_force_field_are_differences_in_torsion_space():
    pytest.importorskip("openmm")
    from bough.molecules.energy import TorsionEnergy

    m = mol.peptide("GAS")
    energy = TorsionEnergy(m, [mol.OpenMM("amber14-all.xml", platform="Reference").on(m)])
    q, h = m.model.neutral, 1e-5
    _, gradient = energy(q)
    for k in range(6, m.model.nv):
        e = h * np.eye(m.model.nv)[k]
        slope = (energy(m.model.integrate(q, e))[0] - energy(m.model.integrate(q, -e))[0]) / (2 * h)
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-4)


def test_restraints_are_satisfied():
    m = mol.peptide("GASGASGA")
    held = [mol.distance("A/1/CA", "A/8/CA", upper=0.6), mol.dihedral("A/4/phi", -1.0, width=0.1)]
    found = m.minimize(mol.Repulsion(m), restraints=held, calls=500)
    assert mol.RestraintEnergy(m, held).violations(found.positions).max() < 1e-2
    assert found.energies[0] > found.energy
    assert (np.diff(found.energies) <= 0.0).all()


def test_clashes_of_the_start_are_eased():
    m = mol.peptide("AAAAAAAA", phi=0.3, psi=0.2)
    assert mol.Repulsion(m, scale=0.6)(m.atoms.positions)[0] > 10.0
    found = m.minimize(mol.Repulsion(m, scale=0.6))
    assert found.energy < 1e-3


def test_forces_of_a_bad_start_are_capped():
    """Two atoms under r^-12 from 0.02 nm: 1e20 kJ/mol at the start."""
    m = mol.peptide("GAS")
    a, b = m.atoms.place("A/1/CA"), m.atoms.place("A/3/CA")

    def wall(x):
        gap, F = (
            x[a] - x[b] + np.array([0.02, 0.0, 0.0]) - (m.atoms.positions[a] - m.atoms.positions[b]),
            np.zeros_like(x),
        )
        r2 = gap @ gap
        F[a] = 12.0 * 0.5**12 / r2**7 * gap
        F[b] = -F[a]
        return 0.5**12 / r2**6, F

    found = m.minimize(wall, calls=200)
    assert found.energies[0] == pytest.approx((0.5 / 0.02) ** 12)
    assert found.energy == pytest.approx(wall(found.positions)[0], rel=1e-6)
    assert found.energy < 1e-3 * found.energies[0]
    assert (np.diff(found.energies) <= 0.0).all()


def test_a_clash_that_nothing_resolves_leaves_the_rest_its_minimum():
    m = mol.peptide("GASG")
    held = mol.RestraintEnergy(m, [mol.distance("A/1/CA", "A/4/CA", upper=0.6)])

    def high(x):
        energy, F = held(x)
        return energy + 1e8, F

    found = m.minimize(high, calls=300, force=0.1)
    assert found.converged
    assert held.violations(found.positions).max() < 1e-3


def test_what_is_no_energy_is_refused():
    m = mol.peptide("GA")
    with pytest.raises(OptionError, match="nothing to minimise"):
        m.minimize()
    with pytest.raises(OptionError, match="an energy is OpenMM"):
        m.minimize(3.0)
    with pytest.raises(ShapeError, match=r"forces of shape \(2, 3\)"):
        m.minimize(lambda x: (0.0, np.zeros((2, 3))), ease=False)


def test_a_force_field_says_what_it_does_not_know(tmp_path):
    pytest.importorskip("openmm")
    m = mol.peptide("GA")
    heavy = m.atoms.element != "H"
    file = m.write(tmp_path / "all.pdb")
    file.write_text("\n".join(line for line in file.read_text().splitlines() if line[76:78] != " H"))
    bare = mol.from_file(file)
    assert len(bare.atoms) == heavy.sum()
    with pytest.raises(ModelError, match=r"know A/1 \(GLY\), A/2 \(ALA\): .* missing 3 H atoms; .*add_hydrogens"):
        bare.minimize(mol.OpenMM("amber14-all.xml"))
    full = mol.from_file(file, add_hydrogens=7.0)
    assert sorted(full.atoms.element) == sorted(m.atoms.element)
    assert "hydrogens were added" in full.notes[-1]


def test_residues_get_the_hydrogens_that_they_lack(tmp_path):
    """Files of united atoms have those of N and O alone, by other names; others lack some of a residue, or all."""
    pytest.importorskip("openmm")
    m = mol.peptide("ASGAA")
    file = m.write(tmp_path / "all.pdb")
    lines = file.read_text().splitlines()

    def read(keep, rename):
        lacks = [line for line in lines if line[:4] != "ATOM" or line[76:78] != " H" or keep(line)]
        other = [line[:12] + rename(line[12:16]) + line[16:] if line[76:78] == " H" else line for line in lacks]
        file.write_text("\n".join(other) + "\n")
        return mol.from_file(file, add_hydrogens=7.0)

    polar = read(lambda line: line[12:16] == " H  ", lambda name: " HN ")
    whole = read(lambda line: True, lambda name: f" X{name.strip()[1:]:2s}")
    half = read(lambda line: int(line[22:26]) < 4, lambda name: name)
    one = read(lambda line: line[12:16] != " HB1", lambda name: f" X{name.strip()[1:]:2s}")
    same = read(lambda line: True, lambda name: name)
    for found in (polar, whole, half, one, same):
        assert sorted(found.atoms.element) == sorted(m.atoms.element)
        assert np.isfinite(mol.OpenMM("amber14-all.xml").on(found)(found.atoms.positions)[0])
    assert {"A/2/HN", "A/2/HB2"} <= polar.atoms.places.keys()
    assert "A/2/XB2" in whole.atoms.places
    methyl = [one.atoms.place(f"A/1/{name}") for name in ("CB", "XB2", "XB3")]  # the third one has an ideal place
    both = [one.atoms.positions[k] - one.atoms.positions[one.atoms.place("A/1/CA")] for k in methyl]
    assert np.ptp([np.linalg.norm(x) for x in both[1:]]) < 1e-3
    assert "A/2/HB2" in half.atoms.places
    assert not any("hydrogens" in note for note in [*whole.notes, *same.notes])
    np.testing.assert_allclose(same.atoms.positions, m.atoms.positions, atol=6e-5)


def hydrogens(molecule, residue):
    """How many a residue has."""
    return int((molecule.atoms.element[molecule.atoms.residue == residue] == "H").sum())


@pytest.mark.parametrize("bare", [True, False])
def test_states_and_old_names_of_residues_get_their_hydrogens(tmp_path, bare):
    """Names of Amber, CHARMM and GROMACS say how many there are, or the hydrogens that are there do."""
    pytest.importorskip("openmm")
    states = {
        "HSD": ("HIS", 7), "HIE": ("HIS", 7), "HSP": ("HIS", 8), "ASH": ("ASP", 5), "GLH": ("GLU", 7),
        "LYN": ("LYS", 12), "CYM": ("CYS", 4), "LSN": ("LYS", 12), "ILE": ("ILE", 11), "MSE": ("MET", 9),
    }  # fmt: skip
    file = mol.peptide(["ALA", *(kind for kind, _ in states.values()), "ALA"]).write(tmp_path / "states.pdb")
    here = {"LYN": " HZ3", "LSN": " HZ3", "CYM": " HG "}  # what these have not
    lines = []
    for line in file.read_text().splitlines():
        if line.startswith("ATOM"):
            kind = ["ALA", *states, "ALA"][int(line[22:26]) - 1]
            if line[76:78] == " H" and (bare or line[12:16] in (here.get(kind), " HA ")):
                continue
            line = (line[:17] + kind + line[20:]).replace(" CD1 ILE", " CD  ILE").replace("SD  MSE", "SE  MSE")
        lines.append(line)
    file.write_text("\n".join(lines) + "\n")
    found = mol.from_file(file, add_hydrogens=7.0)
    expected = [count for _, count in states.values()]
    if not bare:
        expected = [7, 7, 7, 4, 6, *expected[5:]]  # the peptide has histidine with one, and acids without hydrogen
    assert [hydrogens(found, k + 1) for k in range(len(states))] == expected
    assert "A/9/CD" in found.atoms.places
    assert found.atoms.kind.tolist() == ["ALA", *states, "ALA"]


def test_ends_of_chains_and_gaps_are_completed(tmp_path):
    """Many files lack OXT and loops; force fields know chains that end properly."""
    pytest.importorskip("openmm")
    m = mol.peptide("AGSAAK")
    file = m.write(tmp_path / "gap.pdb")
    kept = [line for line in file.read_text().splitlines() if line[76:78] != " H" and line[12:16] != " OXT"]
    file.write_text("\n".join(line for line in kept if line[22:26] != "   3") + "\n")
    found = mol.from_file(file, add_hydrogens=7.0)
    assert any("OXT is added to 2 residues at ends of chains: A/2, A/6" in note for note in found.notes)
    assert any("broken between A/2 and A/4" in note for note in found.notes)
    assert [hydrogens(found, k) for k in range(5)] == [7, 3, 7, 5, 13]
    end, same = (x.atoms.positions[x.atoms.place("A/6/OXT")] for x in (found, m))
    assert np.linalg.norm(end - same) < 0.02
    assert np.isfinite(mol.OpenMM("amber14-all.xml").on(found)(found.atoms.positions)[0])
    assert mol.from_file(file).atoms.places.keys() < found.atoms.places.keys()
    file.write_text("\n".join(kept).replace("LYS", "LYX") + "\n")  # what is not known may be an aldehyde
    assert not any("OXT" in note for note in mol.from_file(file, add_hydrogens=7.0).notes)
    cut = [line for line in kept if line[12:16] not in (" NE2", " CD2")]
    file.write_text("\n".join(cut).replace("SER", "HIS") + "\n")
    with pytest.raises(ModelError, match=r"hydrogens cannot be added: A/3 \(HIS\) misses atoms of its ring"):
        mol.from_file(file, add_hydrogens=7.0)


def test_bonds_between_side_chains_take_the_place_of_hydrogens():
    """Modeller knows of no bonds to other residues: amides of lysine, glycans, phosphates that begin a strand."""
    pytest.importorskip("openmm")
    from bough.molecules.hydrogens import with_hydrogens

    atoms = mol.peptide("KAAD").atoms
    heavy = atoms.kept((atoms.element != "H") & (atoms.name != "OD2"))
    link = [[heavy.place("A/1/NZ"), heavy.place("A/4/CG")]]
    found = with_hydrogens(replace(heavy, bonds=np.concatenate([heavy.bonds, link])), 7.0, [])
    near = [found.key(k) for k in found.neighbours[found.place("A/1/NZ")]]
    assert len(near) == 3
    assert {"A/1/CE", "A/4/CG"} < set(near)


def test_what_a_force_field_does_not_know_is_named_and_omitted(tmp_path):
    pytest.importorskip("openmm")
    file = mol.peptide("GA").write(tmp_path / "bound.pdb")
    ligand = "HETATM  902  C1  XYZ B   2       7.000  60.000  60.000  1.00  9.00           C  "
    file.write_text(file.read_text().replace("END", ligand + "\nEND"))
    field = mol.OpenMM("amber14-all.xml")
    with pytest.raises(ModelError, match=r"does not know B/2 \(XYZ\): .*omit="):
        mol.from_file(file).minimize(field)
    found = mol.from_file(file, omit=["B"])
    assert any("1 residues are omitted: B/2 (XYZ)" in note for note in found.notes)
    assert np.isfinite(found.minimize(field, calls=3).energy)
    with pytest.raises(ModelError, match="leaves no atom"):
        mol.from_file(file, omit=["A", "B"])
    with pytest.raises(OptionError, match="omit: there is no chain or residue 'Q'"):
        mol.from_file(file, omit=["Q"])


def test_hydrogens_that_are_added_have_ideal_places(tmp_path):
    pytest.importorskip("openmm")
    m = mol.peptide("ACDEFGHIKLMNPQRSTVWY")
    file = m.write(tmp_path / "all.pdb")
    heavy = [line[:60] + " 42.00" + line[66:] for line in file.read_text().splitlines() if line[76:78] != " H"]
    extra = [
        "HETATM  901  O   HOH B   1      60.000  60.000  60.000  1.00  9.00           O  ",
        "HETATM  902  C1  XYZ B   2      70.000  60.000  60.000  1.00  9.00           C  ",
    ]
    file.write_text("\n".join([*(line for line in heavy if line.startswith("ATOM")), *extra, "END"]) + "\n")
    found = mol.from_file(file, add_hydrogens=7.0)
    assert any("1 residues get no hydrogens, as OpenMM does not know theirs: B/2 (XYZ)" in n for n in found.notes)
    both = sorted(m.atoms.places.keys() & found.atoms.places.keys())
    assert len(both) >= len(m.atoms) - 2  # OpenMM calls the first hydrogen H, and may put that of histidine on ND1
    own, same = ([atoms.place(key) for key in both] for atoms in (found.atoms, m.atoms))
    np.testing.assert_allclose(found.atoms.positions[own], m.atoms.positions[same], atol=5e-4)
    assert (found.atoms.b_factor[own] == 42.0).all()
    o, h1, h2 = (found.atoms.positions[found.atoms.place(f"B/1/{name}")] for name in ("O", "H1", "H2"))
    assert np.linalg.norm(h1 - o) == pytest.approx(0.096)
    assert (h1 - o) @ (h2 - o) / 0.096**2 == pytest.approx(np.cos(np.radians(104.52)))


def test_adenylate_kinase_closes_on_a_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("openmm")
    example = Path(__file__).parents[2] / "examples" / "close_adenylate_kinase.py"
    monkeypatch.setattr(sys, "argv", ["close", "--out", str(tmp_path)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(example), run_name="__main__")
    out = capsys.readouterr().out
    assert float(out.split(" nm")[0].rsplit(" ", 1)[1]) < 0.05
    assert "0 pairs closer than 0.6 (5 before) and 0 pairs closer than 0.7" in out
    page = (tmp_path / "close_adenylate_kinase.html").read_text("utf8")
    for shown in ("wall time", "energy, kJ/mol", "RMSD of alpha carbons, nm"):
        assert shown in page
