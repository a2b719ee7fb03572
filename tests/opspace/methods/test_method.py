"""A method from outside: a file with an `InverseMethod` and a row in the table; nothing else knows names of methods."""

from __future__ import annotations

import numpy as np

from bough import zoo
from bough.opspace import METHODS, OperationalSpace, make_plan, pose
from bough.opspace.methods import InverseMethod
from bough.opspace.methods.ltdl import METHOD as LTDL


def test_a_row_in_the_table_is_all_that_a_method_needs(monkeypatch):
    half = InverseMethod("half", LTDL.prepare, lambda tasks, prepared: 1, by_factor=True)
    monkeypatch.setitem(METHODS, "half", half)
    model = zoo.arm(5)
    space = OperationalSpace(model, [pose("hand")], method="half", general=True)
    q = model.random_configuration(np.random.default_rng(0))
    np.testing.assert_array_equal(space.inverse_inertia(q), space.inverse_inertia(q, "ltdl"))
    plan = make_plan(space.tasks, every=True)
    assert plan.counts["half"] == plan.counts["ltdl"]
