"""H, C, J, J v, Jdot v and errors in one call: the same as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.opspace import AimSet
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.complete import WHOLE
from opspace.cases import random_case


@pytest.mark.parametrize("seed", range(8))
def test_one_call_gives_what_many_give(seed):
    twin, tasks = random_case(seed, size=6)
    model, rng = twin.model, np.random.default_rng(seed)
    kept = [t for t in tasks.tasks if getattr(t, "reference", "") != "world"] or [bough.center_of_mass()]
    tasks = bough.opspace.TaskSet(model, kept)
    aims = AimSet(tasks, all_rows=False)
    constants = (model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays)
    way = Prepared(WHOLE, constants, tasks.sizes | {"aims": aims.size})
    q, other = model.random_configuration(rng, 2)
    v, dyn = rng.normal(size=model.nv), bough.Dynamics(model, general=True)
    given = {t.name: t.position(dyn, other) for t in kept if t.has_position}
    target, goal = aims.targets(given, model.neutral)
    space = bough.OperationalSpace(model, tasks, general=True)
    error = np.concatenate(
        [t.error(dyn, q, given[t.name]) if t.has_position else np.zeros(_rows(tasks, t)) for t in kept]
    )
    expected = (dyn.mass_matrix(q), dyn.bias_force(q, v), space.jacobian(q), space.jacobian(q) @ v, space.drift(q, v))
    for found in (
        interpret(*way, q, v, target[0], goal[0]),
        way.bind(tasks, general=True).call(q, v, target[0], goal[0]),
    ):
        for x, y in zip(found, (*expected, error), strict=True):
            assert x == pytest.approx(y, abs=1e-8, rel=1e-8)


def _rows(tasks, task):
    rows = tasks.slices[task.name]
    return rows.stop - rows.start
