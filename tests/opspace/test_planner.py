"""The planner's choice is the cheapest method, for the reason it gives."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import operations, trace
from bough.errors import OptionError
from bough.opspace import OperationalSpace, TaskSet, count, make_plan, planner, pose, position
from bough.opspace.methods import METHODS, prepare
from bough.opspace.planner import price
from opspace.cases import random_case


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 220), marks=pytest.mark.slow)])
def test_the_choice_is_the_true_minimum(seeds):
    for seed in seeds:
        _, tasks = random_case(seed, size=6)
        plan = make_plan(tasks)
        true = {name: price(operations(prepare(name, tasks).program(tasks))) for name in METHODS}
        assert plan.exact
        assert true[plan.choice] == min(true.values()), (seed, plan, true)


def test_plan_of_asimo_is_a_table_with_a_reason():
    space = OperationalSpace(zoo.asimo(), [pose(f) for f in zoo.asimo_tasks()])
    plan = space.plan()
    assert plan.choice == space.method == "pv"
    assert set(plan.total) == set(METHODS)
    assert "fewest operations" in str(plan)
    assert str(plan.counts["pv"]) in str(plan)
    assert plan.total["pv"] == bough.count(zoo.asimo(), "inverse_inertia", method="pv", tasks=space.tasks.tasks).total


def test_a_factor_that_is_wanted_anyway_changes_the_choice():
    tasks = TaskSet(zoo.asimo(), [pose(f) for f in zoo.asimo_tasks()])
    plan = make_plan(tasks, also=["jbar", "nullspace"])
    assert plan.choice == "ltdl"
    assert "jbar and nullspace included" in plan.reason


def test_a_choice_is_counted_once_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    arm = zoo.arm(7)
    first, second = TaskSet(arm, [pose("hand")]), TaskSet(arm, [pose("hand", name="again")])
    assert first.hash == second.hash != TaskSet(arm, [position("hand")]).hash
    assert planner.choose(first, (), np.float64) == make_plan(first).choice
    monkeypatch.setattr(planner, "make_plan", None)
    assert planner.choose(second, (), np.float64) == make_plan(first).choice
    with pytest.raises(TypeError):  # another question
        planner.choose(second, ("jbar",), np.float64)


def test_single_precision_and_wide_scales_prefer_recursions():
    tasks = TaskSet(zoo.asimo(), [pose(f) for f in zoo.asimo_tasks()])
    plan = make_plan(tasks, also=["factor"], dtype=np.float32)
    assert not METHODS[plan.choice].by_factor
    assert "single precision" in plan.reason
    builder = bough.Builder("lopsided")
    builder.add_body("light", "world", "revolute", mass=1e-4, inertia=1e-4 * np.eye(3))
    builder.add_body("heavy", "light", "revolute", (1, 0, 0), axis=(0, 1, 0), mass=1e4, inertia=1e4 * np.eye(3))
    plan = make_plan(TaskSet(builder.build(), [pose("heavy")]))
    assert not METHODS[plan.choice].by_factor
    assert "masses" in plan.reason


def test_estimates_rank_methods_as_counts_do():
    for model, frames in (
        (zoo.asimo("+12 HF"), zoo.asimo_tasks("+12 HF")),
        (zoo.chain(30), (zoo.chain(30).frame_names[-1],)),
    ):
        tasks = TaskSet(model, [pose(f) for f in frames])
        prepared = {name: prepare(name, tasks) for name in ("pv", "ltdl", "rjk")}
        guess = {name: METHODS[name].estimate(tasks, p) for name, p in prepared.items()}
        true = {name: operations(trace(*p)).total for name, p in prepared.items()}
        assert min(guess, key=guess.get) == min(true, key=true.get)
        for name in guess:
            assert 0.4 < guess[name] / true[name] < 2.5, name


def test_large_models_are_planned_by_estimates():
    model = zoo.chain(600)
    plan = make_plan(TaskSet(model, [pose(model.frame_names[-1])]))
    assert not plan.exact
    assert not METHODS[plan.choice].by_factor


def test_counting():
    tasks = [pose("hand")]
    assert count(zoo.arm(7), "inverse_inertia", "ltdl", tasks).sqrt == 0
    assert count(zoo.arm(7), "inverse_inertia", "ltl", tasks).sqrt > 0
    with pytest.raises(OptionError, match="inverse_inertia"):
        count(zoo.arm(7), "forward_dynamics", None, tasks)
