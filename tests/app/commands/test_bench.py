"""`bough bench --model`: a user's robot beside the engines that are installed."""

import json
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import pytest

import bough
from benchmarks.engines import OTHERS
from bough.app.bench import compare, engines

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("model", ["zoo:arm?n=3", "zoo:humanoid", "zoo:star?n=4"])
def test_peers_take_part_after_a_check(run, model, monkeypatch):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    if model != "zoo:arm?n=3":  # derivatives of others, and CasADi's C code, take long to compile
        monkeypatch.setattr(compare, "ends_of", lambda model, dyn: None)
        monkeypatch.delitem(OTHERS, "casadi")
    found = json.loads(run("bench", "--model", model, "--seconds", 0.001, "--json"))
    missing = {engine for engine, module in (("drake", "pydrake"), ("dart", "dartpy")) if not find_spec(module)}
    assert set(found["absent"]) == missing
    first = found["rows"][0]
    assert set(first["seconds"]) >= {"bough", "pin.aba", "mj_forward"}
    assert {row["case"] for row in found["rows"]} >= {"forward dynamics", "mass matrix", "inverse mass matrix"}


def test_an_engine_that_is_missing_or_differs_is_named(run, monkeypatch):
    pytest.importorskip("pinocchio")
    check = engines.check
    wrong = lambda name, found, wanted: check(name, found + ("pin." in name), wanted)  # noqa: E731
    monkeypatch.setattr(engines, "check", wrong)
    monkeypatch.setattr(compare, "ends_of", lambda model, dyn: None)
    said = run("bench", "--model", "zoo:arm?n=2", "--seconds", 0.001)
    assert "pinocchio does not take part" in said.lower()
    assert "differs by" in said


def test_what_is_measured_shows_that_it_goes_on(run, monkeypatch):
    seen = []
    monkeypatch.setattr("bough.app.commands.tour.working", lambda what: seen.append(what) or nullcontext())
    monkeypatch.setattr("bough.app.bench.compare.compare", lambda *given: compare.Comparison({}, {}, {}))
    run("bench", "--model", "zoo:arm:2", "--json")
    assert seen == ["measuring"]


def test_a_model_is_loaded_with_the_options_of_other_commands(run, refused, monkeypatch):
    seen = []

    def look(model, seconds, engines):
        assert engines == compare.ENGINES | OTHERS
        seen.append(model)
        return compare.Comparison({}, {}, {})

    monkeypatch.setattr("bough.app.bench.compare.compare", look)
    run(
        "bench",
        "--model",
        EXAMPLES / "arm.urdf",
        "--weld",
        "upper_joint=0.3",
        "--free-mimics",
        "--floating-base",
        "--json",
    )
    whole = bough.load(EXAMPLES / "arm.urdf")
    assert seen[0].nv == whole.nv - 1 + 6
    assert "the model has no joint 'ghost'" in refused("bench", "--model", EXAMPLES / "arm.urdf", "--weld", "ghost")
