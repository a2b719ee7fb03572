"""`bough count`."""

import json

import bough


def test_counts_are_those_of_the_library_beside_formulas(run):
    found = json.loads(run("count", "zoo:humanoid", "forward_dynamics", "mass_matrix", "--json"))
    rows = {(row["function"], row["method"]): row for row in found["functions"]}
    model = bough.zoo.humanoid()
    for method in ("aba", "crba"):
        counted = bough.count(model, "forward_dynamics", method=method)
        assert rows["forward_dynamics", method]["counted"]["mul"] == counted.mul
    formula = rows["forward_dynamics", "aba"]["formula"]
    assert (formula["mul"], formula["add"], formula["div"]) == (5544, 5054, 0)
    assert "Featherstone 2005" in rows["mass_matrix", "mass_matrix"]["source"]
    text = run("count", "zoo:humanoid", "forward_dynamics")
    assert "4,980" in text
    assert "5,544m + 5,054a" in text


def test_all_functions_by_name_and_those_of_a_frame(run):
    assert " jacobian" not in run("count", "zoo:arm:2")
    shown = run("count", "zoo:arm:2", "--frame", "hand")
    for words in ("jacobian", "gravity", "factorize"):
        assert words in shown


def test_formulas_know_revolute_joints_only(run):
    rows = json.loads(run("count", "zoo:tree1_expanded", "mass_matrix", "--json"))["functions"]
    assert rows[0]["formula"] is None


def test_the_plan_of_tasks(run):
    found = json.loads(run("count", "zoo:arm", "--task", "pose:hand", "--task", "center_of_mass", "--json"))
    plan = bough.OperationalSpace(bough.zoo.arm(), [bough.pose("hand"), bough.center_of_mass()]).plan()
    assert found["plan"]["choice"] == plan.choice
    assert found["plan"]["total"] == plan.total
    assert found["functions"] == []
    shown = run("count", "zoo:arm", "--task", "position:hand")
    assert "<- chosen" in shown
    assert "fewest operations" in shown
