"""The choice between algorithms that give the same: made by exact counts, kept on disk, apart for batches."""

import numpy as np
import pytest

from bough import zoo
from bough.compile.executions import traced
from bough.compile.run.specialised import cost
from bough.dynamics import engine
from bough.dynamics.aba import ABA
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import bind, cheapest
from bough.dynamics.forward_by_factor import FORWARD_CRBA, dof_rows
from bough.model.limbs import mark_limbs


def candidates(model):
    return {"aba": (ABA, ()), "crba": (FORWARD_CRBA, (dof_rows(model.dof_tree),))}


@pytest.mark.parametrize("make", [zoo.humanoid, zoo.tree1, lambda: zoo.star(6), lambda: zoo.chain(12)])
@pytest.mark.parametrize("batch", [False, True])
def test_the_cheapest_has_the_lowest_cost(make, batch):
    model = make()
    costs = {
        name: cost(traced(routine, (model.grouped, *constants), model.sizes, None if batch else mark_limbs))
        for name, (routine, constants) in candidates(model).items()
    }
    assert cheapest(model, candidates(model), batch=batch) == min(costs, key=costs.get)


def test_a_choice_is_counted_once(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = zoo.chain(4)
    first = cheapest(model, candidates(model), batch=True)
    monkeypatch.setattr(engine, "_cheapest", None)
    assert cheapest(model, candidates(model), batch=True) == first
    with pytest.raises(TypeError):  # another question
        cheapest(model, candidates(model), batch=False)


def test_large_models_take_the_first():
    model = zoo.chain(30_000)
    assert cheapest(model, {"aba": (ABA, ()), "other": (ABA, ())}, batch=False) == "aba"


def test_code_is_chosen_when_it_is_needed():
    model, asked = zoo.chain(3), []
    forward = bind(ABA, model)

    def choose(batch):
        asked.append(batch)
        return forward

    late = forward.with_code_of(choose)
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    assert not asked
    np.testing.assert_array_equal(late(q, v, v), forward(q, v, v))
    assert asked == [False]
    late(np.zeros((3, model.nq)), np.zeros((3, model.nv)), np.zeros((3, model.nv)))
    assert asked == [False, True]


def test_one_call_and_a_batch_agree_whatever_is_chosen():
    model, rng = zoo.asimo(), np.random.default_rng(0)
    dynamics, q = Dynamics(model), model.random_configuration(rng, batch=3)
    single = np.array([dynamics.inverse_mass_matrix(row) for row in q])
    np.testing.assert_allclose(dynamics.inverse_mass_matrix(q), single, rtol=0, atol=1e-11 * np.abs(single).max())
