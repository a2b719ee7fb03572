"""The step of inverse kinematics: what its formula says, by every execution, with few rows and with many."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.control.ik.step import step_routine
from bough.opspace import AimSet, TaskSet, posture
from bough.opspace.methods import Prepared
from models import random_twin

JOINTS = ["floating", "revolute", "prismatic", "spherical", "planar", "revolute"]


@pytest.mark.parametrize("rows", ["few", "many"])
@pytest.mark.parametrize("execution", ["interpreted", "general", "specialised"])
def test_the_step_is_its_formula(rows, execution):
    model = random_twin(3, [-1, 0, 1, 1, 2, 3], JOINTS).model
    rng = np.random.default_rng(1)
    tasks = TaskSet(model, [bough.pose("f4"), bough.relative("f5", "f1"), *([posture()] if rows == "many" else [])])
    aims, n = AimSet(tasks), tasks.size
    assert (n > model.nv) == (rows == "many")
    constants = (model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays)
    way = Prepared(step_routine(n, model.nv), constants, tasks.sizes | {"aims": aims.size, "small": min(n, model.nv)})
    q, other = model.random_configuration(rng, 2)
    dyn = bough.Dynamics(model, general=True)
    given = {t.name: t.position(dyn, other) for t in tasks.tasks}
    (target,), (goal,) = aims.targets(given, model.neutral)
    weight, pull = rng.uniform(0.5, 2.0, n), 0.1 * rng.normal(size=model.nv)
    free, damping = np.ones(model.nv), np.array([0.1, 1e-3])
    free[[2, 7]] = 0.0
    inputs = (q, target, goal, weight, damping, free, pull)
    if execution == "interpreted":
        moved, error, slope, step = interpret(*way, *inputs)
    else:
        moved, error, slope, step = way.bind(tasks, execution == "general").call(*inputs)

    e = np.concatenate([t.error(dyn, q, given[t.name]) for t in tasks.tasks])
    J = bough.OperationalSpace(model, tasks, general=True).jacobian(q)
    WJ, We = weight[:, None] * J, weight * e
    assert error == pytest.approx(e, abs=1e-9)
    assert slope == pytest.approx(WJ.T @ We, abs=1e-8)
    mu = 0.1 * We @ We + 1e-3
    WJ, z = WJ * free, free * pull
    d = z + np.linalg.solve(WJ.T @ WJ + mu * np.eye(model.nv), WJ.T @ (We - WJ @ z))
    assert step == pytest.approx(d, abs=1e-8)
    assert not step[[2, 7]].any()
    assert moved == pytest.approx(model.integrate(q, d), abs=1e-8)


def test_loops_stay_closed():
    """A four-bar linkage: its crank is where it was asked to be, and its last pin where it belongs."""
    builder, parent = bough.Builder("four-bar"), "world"
    for name, length in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.0)):
        place = {"crank": 0.0, "coupler": 1.0, "rocker": 3.0}[name]
        builder.add_body(name, parent, "revolute", (place, 0, 0), axis=(0, 0, 1), mass=length, inertia=np.eye(3))
        parent = name
    builder.add_frame("pin", "rocker", (2.0, 0, 0))
    builder.add_frame("ground", "world", (3.5, 0, 0))
    builder.add_closure("pin", "ground", kind="connect")
    model = builder.build()
    crank = bough.opspace.joint("crank")
    found = bough.ik.solve(model, {crank: 0.7}, q0=[0.2, 0.8, -1.5])
    assert found.success
    assert found.q[0] == pytest.approx(0.7, abs=1e-6)
    assert bough.Dynamics(model).placement(found.q, "pin")[:3, 3] == pytest.approx([3.5, 0, 0], abs=2e-6)
