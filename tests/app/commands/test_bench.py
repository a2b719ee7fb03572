"""`bough bench --model`: a user's robot beside the engines that are installed."""

import json
from contextlib import nullcontext
from importlib.util import find_spec

import numpy as np
import pytest

from bough import zoo
from bough.app.bench import larger, own
from bough.app.bench.engines import common
from bough.errors import NumericalError


@pytest.mark.parametrize("model", ["zoo:arm?n=3", "zoo:humanoid", "zoo:star?n=4"])
def test_peers_take_part_after_a_check(run, model, monkeypatch):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    if model != "zoo:arm?n=3":  # derivatives of others take long to compile
        monkeypatch.setattr(larger, "functions", lambda dyn, tips: {})
    found = json.loads(run("bench", "--model", model, "--seconds", 0.001, "--json"))
    missing = {engine for engine, module in (("drake", "pydrake"), ("dart", "dartpy")) if not find_spec(module)}
    assert set(found["left_out"]) == missing
    first = found["rows"][0]
    assert set(first["seconds"]) >= {"bough", "pin.aba", "mj_forward"}
    assert {row["case"] for row in found["rows"]} >= {"forward dynamics", "mass matrix", "inverse mass matrix"}


def test_what_differs_is_not_timed():
    with pytest.raises(NumericalError, match="differs by"):
        common.check("Pinocchio", np.array([1.0, 2.0]), np.array([1.0, 2.1]))


def test_an_engine_that_is_missing_or_differs_is_named(run, monkeypatch):
    pytest.importorskip("pinocchio")
    check = common.check
    wrong = lambda name, found, wanted: check(name, found + ("pin." in name), wanted)  # noqa: E731
    monkeypatch.setattr(common, "check", wrong)
    monkeypatch.setattr(larger, "functions", lambda dyn, tips: {})
    said = run("bench", "--model", "zoo:arm?n=2", "--seconds", 0.001)
    assert "pinocchio is left out" in said.lower()
    assert "differs by" in said


def test_what_is_measured_shows_that_it_goes_on(run, monkeypatch):
    seen = []
    monkeypatch.setattr("bough.app.commands.tour.working", lambda what: seen.append(what) or nullcontext())
    monkeypatch.setattr("bough.app.bench.own.compare", lambda model, seconds: own.OwnComparison([], {}))
    run("bench", "--model", "zoo:arm:2", "--json")
    assert seen == ["measuring"]


def test_orders_are_permutations():
    model = zoo.humanoid()
    state = own.random_state(model)
    assert sorted(state.q_order) == list(range(model.nq))
    assert sorted(state.v_order) == list(range(model.nv))
