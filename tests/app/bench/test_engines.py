"""Twins of a mechanism in other engines give what Bough gives, function by function; nothing is timed here."""

from __future__ import annotations

import numpy as np
import pytest

from bough import zoo
from bough.app.bench import larger, own
from bough.app.bench.engines import ENGINES, agreed, expected, random_state
from bough.app.bench.engines.common import Compared, check, ours
from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError, ModelError, NumericalError

MODULES = {"pinocchio": "pinocchio", "mujoco": "mujoco", "drake": "pydrake", "dart": "dartpy", "casadi": "casadi"}
MODELS = {"arm": lambda: zoo.arm(4), "walker": lambda: zoo.quadruped()}


CASES = [(engine, name) for engine in ENGINES for name in MODELS if (engine, name) != ("casadi", "walker")]  # a minute


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_engines_agree(engine, name):
    pytest.importorskip(MODULES[engine])
    model = MODELS[name]()
    state = random_state(model)
    wanted = expected(ours(model, Dynamics(model, general=True), state), model, state)
    found = agreed(engine, model, state, wanted)
    assert Compared.MASS in found
    assert len({call.label for call in found.values()}) >= 5


def test_other_results_are_not_timed():
    check("same", [1.0, 2.0], np.array([1.0, 2.0]))
    with pytest.raises(NumericalError, match=r"differs by 5\.0e-01"):
        check("other", [1.0, 3.0], np.array([1.0, 2.0]))
    with pytest.raises(NumericalError):
        check("not finite", [1.0, np.nan], np.array([1.0, 2.0]))


def test_what_an_engine_cannot_have_is_left_out():
    model = zoo.arm(3)
    state = random_state(model)
    wanted = expected(ours(model, Dynamics(model, general=True), state), model, state)
    with pytest.raises(NumericalError, match=r"on arm differs"):
        agreed("pinocchio", model, state, {case: 2 * x for case, x in wanted.items()})


def test_c_code_without_loops_is_for_small_robots():
    pytest.importorskip("casadi")
    with pytest.raises(ModelError, match="80 DoF would take a compiler minutes"):
        agreed("casadi", zoo.chain(80), random_state(zoo.chain(80)), {})


def test_pinocchio_is_not_asked_for_more_memory_than_there_is():
    pytest.importorskip("pinocchio")
    model = zoo.chain(1000)
    with pytest.raises(ModelError, match=r"four tensors of 1,000\^3 numbers, 32 GB"):
        agreed("pinocchio", model, random_state(model), {})


def test_an_engine_that_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pydrake.multibody.tree", None)
    with pytest.raises(MissingExtraError, match=r"needs pydrake\S*: pip install .bough\[peers\]"):
        agreed("drake", zoo.arm(3), random_state(zoo.arm(3)), {})


def test_a_mechanism_beside_all_engines():
    """Every row has Bough and at least one other; batches have four of ours."""
    found = own.compare(zoo.arm(3), 0.0, (2,))
    rows = {(row.group, row.case): row for row in found.rows}
    alone = {case for (group, case), row in rows.items() if group == "single call" and set(row.seconds) == {"bough"}}
    assert alone <= {larger.PASS}
    assert all(row.median.keys() == row.seconds.keys() for row in found.rows)
    assert len([name for name in rows["batch of 2", "one step of 1 ms"].seconds if name.startswith("bough")]) == 4


def test_what_is_too_large_says_so(monkeypatch):
    """A cell that is left out has its reason; none is missing."""
    model = zoo.arm(3)
    monkeypatch.setattr(own, "MOST", 10_000)
    monkeypatch.setattr(own, "LONGEST", 0.0)
    rows = own.batch(model, Dynamics(model), 300, 0.0, [])
    assert len(rows) == len(own.batched(Dynamics(model), "hand")) + 6
    assert {row.note.split(": ")[0] for row in rows} == {"not measured"}
    assert {row.note.rpartition(" ")[2] for row in rows if row.case != larger.PASS} == {"GB", "s"}
    assert not any(row.seconds for row in rows)
