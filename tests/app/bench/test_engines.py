"""A mechanism in other engines gives what Bough gives, function by function; nothing is timed here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks import batches
from benchmarks.engines import OTHERS
from bough import zoo
from bough.app.bench import compare
from bough.app.bench.engines import ENGINES, agreed
from bough.app.bench.states import Compared, check, end_effectors, layout, random_states
from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError, ModelError, NumericalError

MODULES = {"pinocchio": "pinocchio", "mujoco": "mujoco", "drake": "pydrake", "dart": "dartpy", "casadi": "casadi"}
MODELS = {"arm": lambda: zoo.arm(4), "walker": lambda: zoo.quadruped(), "binary": lambda: zoo.binary(4)}
LARGER = {Compared.FORWARD_BY, Compared.INVERSE_BY, Compared.REGRESSOR, Compared.LAMBDA, Compared.CONSTRAINED}


ALL = ENGINES | OTHERS
CASES = [(engine, name) for engine in ALL for name in MODELS if engine != "casadi" or name == "arm"]  # a minute each


def expected(model, states):
    dyn = Dynamics(model, general=True)
    return compare.single(dyn, compare.functions(dyn), states)[1]


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_engines_agree(engine, name):
    pytest.importorskip(MODULES[engine])
    model = MODELS[name]()
    states = random_states(model)
    found = agreed(ALL[engine], model, states, expected(model, states))
    assert Compared.MASS in found
    assert len({peer.label for peer in found.values()}) >= 5
    assert all(len(peer.calls) == len(states) for peer in found.values())


def test_states_change_from_call_to_call():
    for a, b in pairwise(random_states(zoo.quadruped(), 3)):
        assert not np.any(a.q == b.q)
        assert np.count_nonzero(a.v == b.v) == 6  # the base is at rest


def test_orders_are_permutations():
    model = zoo.humanoid()
    order = layout(model)
    assert sorted(order.q) == list(range(model.nq))
    assert sorted(order.v) == list(range(model.nv))


class Cached:
    """An engine that answers the first state from its cache for ever."""

    def __init__(self, model):
        self.kept, self.own = {}, np.eye(model.nv)

    def velocities(self, s):
        return self.own

    def calls(self, s):
        from bough.app.bench.engines import PeerCall

        result = lambda: self.kept.setdefault("H", s.q.sum())  # noqa: E731
        return {Compared.LAMBDA: PeerCall("cached", result, result)}


def test_an_engine_that_answers_from_its_cache_is_found_out(monkeypatch):
    monkeypatch.setattr("benchmarks.engines.dart.DartEngine", Cached)
    model = zoo.arm(3)
    states = random_states(model)
    agreed(ALL["dart"], model, states[:1], [{Compared.LAMBDA: states[0].q.sum()}])
    with pytest.raises(NumericalError, match="cached on arm differs"):
        agreed(ALL["dart"], model, states, [{Compared.LAMBDA: s.q.sum()} for s in states])


def test_other_results_are_not_timed():
    check("same", [1.0, 2.0], np.array([1.0, 2.0]))
    with pytest.raises(NumericalError, match=r"differs by 5\.0e-01"):
        check("other", [1.0, 3.0], np.array([1.0, 2.0]))
    with pytest.raises(NumericalError):
        check("not finite", [1.0, np.nan], np.array([1.0, 2.0]))


def test_what_an_engine_reads_otherwise_is_left_out():
    pytest.importorskip("pinocchio")
    model = zoo.arm(3)
    states = random_states(model)
    twice = [{case: 2 * x for case, x in found.items()} for found in expected(model, states)]
    with pytest.raises(NumericalError, match=r"on arm differs"):
        agreed(ALL["pinocchio"], model, states, twice)


def test_c_code_without_loops_is_for_small_robots():
    pytest.importorskip("casadi")
    with pytest.raises(ModelError, match="80 DoF would take a compiler minutes"):
        agreed(ALL["casadi"], zoo.chain(80), random_states(zoo.chain(80)), [{}, {}])


def test_pinocchio_is_not_asked_for_more_memory_than_there_is():
    pytest.importorskip("pinocchio")
    model = zoo.chain(1000)
    with pytest.raises(ModelError, match=r"four tensors of 1,000\^3 numbers, 32 GB"):
        agreed(ALL["pinocchio"], model, random_states(model), [{}, {}])


def test_an_engine_that_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pydrake.multibody.tree", None)
    with pytest.raises(MissingExtraError, match=r"needs pydrake\S*: pip install .bough\[peers\]"):
        agreed(ALL["drake"], zoo.arm(3), random_states(zoo.arm(3)), [{}, {}])


def test_a_mechanism_beside_all_engines():
    """Every row has Bough, single and in a batch, and at least one other."""
    pytest.importorskip("pinocchio")
    rows, notes, _ = compare.compare(zoo.arm(4), 0.0)
    ours = {"bough", compare.IN_BATCH}
    assert {case for case, row in rows.items() if row.keys() <= ours} == {Compared.PASS, Compared.STEP}
    single = {case for case, row in rows.items() if compare.IN_BATCH not in row}
    assert single == {Compared.FACTOR, Compared.SOLVE, Compared.PASS}  # some of the rows of a pass are singular
    assert all("pin." in " ".join(rows[case]) for case in LARGER)
    assert all(row.median.keys() == row.keys() for row in rows.values())
    assert not notes


def test_batches_in_both_precisions_on_one_thread_and_all():
    model = zoo.arm(4)
    rows = {row.case: row for row in batches.batch(model, Dynamics(model), 2, 0.0, [])}
    assert len(rows) == 15
    assert {case for case, row in rows.items() if len(row.seconds) != 4} <= {Compared.PASS}


def test_singular_end_effectors_are_named():
    """Two joints do not move an end effector along three axes: no pass, and a reason."""
    rows, notes, _ = compare.compare(zoo.arm(2), 0.0, {})
    assert notes[Compared.PASS].startswith("not measured: the tasks are singular")
    assert len(rows[Compared.CONSTRAINED]) == 2


def test_end_effectors_are_where_limbs_end():
    model = zoo.quadruped()
    frames = end_effectors(model)
    assert len(frames) == 4
    assert {int(model.frames.body[k]) for k in frames}.isdisjoint(model.mechanism.parent)
    chain = zoo.chain(5)
    assert [int(chain.frames.body[k]) for k in end_effectors(chain)] == [4]


def test_what_is_too_large_says_so(monkeypatch):
    """A cell that is left out has its reason; none is missing."""
    model = zoo.arm(3)
    monkeypatch.setattr(batches, "MOST", 10_000)
    monkeypatch.setattr(batches, "LONGEST", 0.0)
    rows = batches.batch(model, Dynamics(model), 300, 0.0, [])
    assert len(rows) == 15
    assert {row.note.split(": ")[0] for row in rows} == {"not measured"}
    assert {row.note.rpartition(" ")[2] for row in rows if row.case != Compared.PASS} == {"GB", "s"}
    assert not any(row.seconds for row in rows)
