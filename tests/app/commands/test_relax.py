"""`bough relax`, and structures in other commands."""

import json

import pytest

pytest.importorskip("gemmi")


def test_a_structure_is_relaxed_under_restraints(run, tmp_path):
    out, page, table = tmp_path / "out.pdb", tmp_path / "out.html", tmp_path / "noe.tbl"
    table.write_text("assign (resid 1 and name CA) (resid 6 and name CA) 5.0 3.0 1.0\n")
    run("relax", "peptide:GASGAS", "--force-field", "none", "-o", str(tmp_path / "start.pdb"))
    words = ["relax", str(tmp_path / "start.pdb"), "--force-field", "none", "--restraints", str(table)]
    found = json.loads(run(*words, "-o", str(out), "--page", str(page), "--json"))
    assert found["energy"] < 1e-2 < found["start"]
    assert found["rmsd"] > 0.1
    assert found["files"] == [str(out), str(page)]
    assert out.read_text().startswith("ATOM")
    shown = json.loads(run("info", str(out), "--json"))
    assert shown["molecule"]["residues"] == 6
    assert "residues: 6" in run("info", str(out))
    run("view", str(out), "--html", str(page))
    assert "Da" in page.read_text()


def test_files_that_cannot_be_written_are_refused_before_the_search(run, monkeypatch, tmp_path):
    from bough.molecules import Molecule

    monkeypatch.setattr(Molecule, "minimize", lambda *_, **__: pytest.fail("the search began"))
    for name, said in (("out.txt", "got '.txt'"), ("none/out.pdb", "there is no folder")):
        with pytest.raises(Exception, match=said):
            run("relax", "peptide:GA", "--force-field", "none", "-o", str(tmp_path / name))


def test_a_force_field_is_the_default(run):
    pytest.importorskip("openmm")
    found = json.loads(run("relax", "peptide:GA", "--calls", "20", "--json"))
    assert found["energy"] < found["start"]


def test_options_of_robots_are_refused(run):
    with pytest.raises(Exception, match="none of the options of robots"):
        run("info", "peptide:GA", "--floating-base")
