"""The protocol of Redon & Lin on small linkages; the recorded runs are whole."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bough.adaptive import QuasiStatics, relative_joint
from bough.errors import RecordingError
from bough.zoo import chain, molecule
from papers.redon_lin import equations, linkages, molecules, protocol, table1
from papers.redon_lin.protocol import Experiment, displacement_error, parts
from papers.redon_lin.recording import at_once, cells, chosen, main, missing, record
from sizes import size

SMALL = Experiment("small", "adjacent", (1, 3), (3, 11), 20)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(protocol.LINKAGES, "small", lambda: chain(60))
    return SMALL


def test_cells(small):
    found = dict(cells((small,)))
    assert list(found) == [f"small/adjacent/{f}/{e}" for f in (1, 3) for e in ("exact", 3, 11)]
    for forces in (1, 3):
        coarse, fine = found[f"small/adjacent/{forces}/3"], found[f"small/adjacent/{forces}/11"]
        assert coarse["joints"] <= fine["joints"] <= 60
        assert fine["error_end"] <= coarse["error_end"]
        assert coarse["method"] == "adaptive"
        assert coarse["steps"] == 20


def test_a_recording_goes_on_where_it_stopped(small, tmp_path):
    path, said = tmp_path / "run.json", []
    whole = record(path, (small,), said.append)
    assert len(said) == 6
    partial = {name: cell for name, cell in whole.items() if name not in ("small/adjacent/3/11",)}
    path.write_text(json.dumps(partial))
    said.clear()
    again = record(path, (small,), said.append)
    assert [text.split(":")[0] for text in said] == ["small/adjacent/3/exact", "small/adjacent/3/11"]
    assert again["small/adjacent/3/11"]["joints"] == whole["small/adjacent/3/11"]["joints"]
    assert json.loads(path.read_text()) == again


def test_a_damaged_recording_is_refused_and_kept(small, tmp_path):
    path = tmp_path / "run.json"
    path.write_text("{")
    with pytest.raises(RecordingError, match=r"run.json' is damaged, or no recording"):
        record(path, (small,))
    assert path.read_text() == "{"


def test_cells_of_other_lengths_are_run_again(small):
    known = {f"small/adjacent/{f}/{e}": {"steps": 20} for f in (1, 3) for e in (3, 11)}
    assert not missing((small,), known)
    known["small/adjacent/3/11"]["steps"] = 5
    assert missing((small,), known) == [(small._replace(exponents=(11,)), 3)]


def test_cells_by_the_beginning_of_their_names():
    assert [(p.linkage, p.where, p.forces, len(p.exponents)) for p in chosen(["molecule/adjacent/1000/1", "mill"])] == [
        ("molecule", "adjacent", (1000,), 11),
        *((name, "middle", (1,), 20) for name in protocol.MILLIPEDES),
    ]
    assert sum(len(p.exponents) for p in chosen([])) == 20 * 20


def test_processes_side_by_side_find_the_same(tmp_path):
    plan = Experiment("bicycle chain", "adjacent", (1,), (3, 7), 20)
    one, two = dict(cells((plan,))), dict(at_once((plan,), {}, 2))
    assert set(one) == set(two)
    for name in ("bicycle chain/adjacent/1/3", "bicycle chain/adjacent/1/7"):
        assert {k: x for k, x in one[name].items() if k != "seconds"} == {
            k: x for k, x in two[name].items() if k != "seconds"
        }


def test_a_recording_from_the_command_line(tmp_path, monkeypatch, capsys):
    whole = {f"bicycle chain/adjacent/1/{e}": {"steps": 10_000} for e in range(20)}
    (tmp_path / "run.json").write_text(json.dumps(whole))
    main(["bicycle", "--to", str(tmp_path / "run.json")])
    assert json.loads((tmp_path / "run.json").read_text()) == whole
    assert capsys.readouterr().out == ""


def test_scattered_forces_are_the_same_for_all_thresholds(small):
    model = chain(60)
    plan = small._replace(where="scattered")
    one, two = (protocol.simulation(model, plan, 5, e, "adaptive") for e in (3, 11))
    np.testing.assert_array_equal(one.configuration, two.configuration)


def test_displacement_errors_are_differences():
    moved = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    assert displacement_error(moved, moved) == 0.0
    assert displacement_error(0 * moved, moved) == 1.0
    assert parts(25) == [2, 3, 2, 3, 2, 3, 2, 3, 2, 3]
    assert parts(3) == [1, 1, 1]


def test_the_table_is_made_from_the_recorded_runs(monkeypatch):
    monkeypatch.setattr(table1, "cells", lambda plans: iter(()))
    result = table1.run()
    joints = [row for row in result.rows if row.what.endswith(": joints") and row.what.startswith("molecule")]
    assert len(joints) == 20
    assert {row.paper for row in joints} >= {"25", "37", "47", "59", "73", "206"}
    assert all(row.status == "measured" for row in result.rows)
    chains = [result.data["recorded"][f"chain/adjacent/1/{e}"]["joints"] for e in (3, 7, 11, 15, 19)]
    assert np.all(np.array(chains) <= (25, 37, 47, 59, 73))
    assert [figure.name for figure in result.figures] == ["figure7", "scattered", "figure5", "figure8"]


def test_small_drawings(monkeypatch):
    monkeypatch.setattr(linkages, "STEPS", 20)
    result = linkages.run()
    assert len(result.rows) == 3
    errors = [float(row.ours) for row in result.rows]
    assert errors[0] > errors[2]


def test_the_molecule_of_the_paper(monkeypatch):
    """A backbone with short side groups needs about as many joints as the paper prints; a bush needs far more."""
    monkeypatch.setattr(molecules, "BONDS", size(1000, 300))
    result = molecules.run()
    apart = {row.what.partition(":")[0]: float(row.ratio.rstrip("x")) for row in result.rows[:-1]}
    assert apart["molecule, window 2"] < 1.5 < apart["molecule, window 30"]
    assert len([name for name in apart if name.startswith("molecule, window 30, ")]) == 6


def test_the_complexity_of_a_motion():
    """The share of joints computed: more at a finer threshold, all of them where everything is exact."""
    shares = []
    for error in (relative_joint(2.0**-3), relative_joint(2.0**-11), None):
        sim = QuasiStatics(molecule(200, window=2).with_gravity((0, 0, 0)), error, "adaptive")
        sim.apply_force(199, (0.0, 0.0, 1.0))
        sim.step(1e-3)
        shares.append(sim.stats.complexity)
    assert 0 < shares[0] < shares[1] < shares[2] == 1.0


def test_equations_hold_as_printed(monkeypatch):
    """All but the relative joint bound, which erratum E30 corrects."""
    monkeypatch.setattr(equations, "LEAVES", 64)
    monkeypatch.setattr(equations, "UPDATED", (1, 16))
    assert all(equations.equations(0).values())
    rows = {row.what: row for row in equations.bounds(trials=20)}
    assert [row.status for row in rows.values()].count("exact") == 5
    assert rows["relative joint error, beside the root of A as printed <= eps"].status == "corrected (erratum E30)"
    assert next(row.ours for row in equations.updates()) == "7"
