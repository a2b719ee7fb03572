"""The step of inverse kinematics: what its formula says, by every execution, with few rows and with many."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.control.ik.problem import FAR, Bounds
from bough.control.ik.step import Limited, step_routine
from bough.opspace import AimSet, Loops, TaskSet, posture
from bough.opspace.methods import Prepared
from models import random_twin
from opspace.mechanisms import two_arms

JOINTS = ["floating", "revolute", "prismatic", "spherical", "planar", "revolute"]


def prepared(model, tasks, limited):
    aims, n = AimSet(tasks), tasks.size
    constants = (model.mechanism, tasks.with_placements, tasks.pattern, aims.arrays, limited)
    sizes = tasks.sizes | {"aims": aims.size, "small": min(n, model.nv)}
    return Prepared(step_routine(n, model.nv), constants, sizes)


@pytest.mark.parametrize("rows", ["few", "many"])
@pytest.mark.parametrize("execution", ["interpreted", "general", "specialised"])
def test_the_step_is_its_formula(rows, execution):
    model = random_twin(3, [-1, 0, 1, 1, 2, 3], JOINTS).model
    rng = np.random.default_rng(1)
    tasks = TaskSet(model, [bough.pose("f4"), bough.relative("f5", "f1"), *([posture()] if rows == "many" else [])])
    aims, n = AimSet(tasks), tasks.size
    assert (n > model.nv) == (rows == "many")
    q, other = model.random_configuration(rng, 2)
    dyn = bough.Dynamics(model, general=True)
    given = {t.name: t.position(dyn, other) for t in tasks.tasks}
    (target,), (goal,) = aims.targets(given, model.neutral)
    weight, pull = rng.uniform(0.5, 2.0, n), 0.1 * rng.normal(size=model.nv)
    weight[3] = 0.0

    e = np.concatenate([t.error(dyn, q, given[t.name]) for t in tasks.tasks])
    J = bough.OperationalSpace(model, tasks, general=True).jacobian(q)
    WJ, We = weight[:, None] * J, weight * e
    slope = WJ.T @ We
    # the prismatic joint at a limit beyond which it is pushed, one revolute at a limit that it leaves; one stops early
    first, second, last = (model.joint(name) for name in (model.joint_names[k] for k in (1, 2, 5)))
    at, dof = [j.q.start for j in (first, second, last)], [j.v.start for j in (first, second, last)]
    lower, upper = np.full(3, -FAR), np.full(3, FAR)
    for k, sign in ((0, 1.0), (1, -1.0)):
        side = upper if sign * slope[dof[k]] > 0 else lower
        side[k] = q[at[k]]
    upper[2], lower[2] = q[at[2]] + 1e-3, q[at[2]] - 1e-3
    limited = Limited(np.array(at), np.array(dof), lower, upper, np.array([1e-3, 10.0]))

    state = np.array([1e-3, 0.1, np.linalg.norm(We) * 0.9, 0.0])
    inputs = (q, target, goal, weight, state, pull)
    way = prepared(model, tasks, limited)
    if execution == "interpreted":
        moved, after, motion = interpret(*way, *inputs)
    else:
        moved, after, motion = way.bind(tasks, execution == "general").call(*inputs)

    free = np.ones(model.nv)
    free[dof[0]] = 0.0
    mu = 0.1 * We @ We + 1e-3
    WJ, z = WJ * free, free * pull
    d = z + np.linalg.solve(WJ.T @ WJ + mu * np.eye(model.nv), WJ.T @ (We - WJ @ z))
    assert motion == pytest.approx(d, abs=1e-8)
    assert motion[dof[0]] == 0.0
    expected = model.integrate(q, d)
    assert not lower[2] <= expected[at[2]] <= upper[2]
    expected[at] = np.clip(expected[at], lower, upper)
    assert moved == pytest.approx(expected, abs=1e-8)
    assert moved[at[2]] in (lower[2], upper[2])  # to the last bit
    # the error grew: the share of damping doubles
    assert after == pytest.approx([1e-3, 0.2, np.linalg.norm(We), np.linalg.norm(e[weight > 0])], abs=1e-9)


def test_damping_follows_the_error_within_its_bounds():
    model = bough.zoo.arm(4)
    tasks = TaskSet(model, [bough.position(model.body_names[-1])])
    limited = Bounds(model).limited
    call = prepared(model, tasks, limited).bind(tasks).call
    q, rest = model.neutral, np.zeros(model.nv)
    target = np.r_[np.eye(3).ravel(), 0.3, 0.1, 0.2][None]

    def share(state):
        return call(q, target, q, np.ones(3), np.array(state), rest)[1][1]

    assert share([1e-10, 0.1, FAR, FAR]) == pytest.approx(0.05)
    assert share([1e-10, 0.1, 0.0, 0.0]) == pytest.approx(0.2)
    assert share([1e-10, 1e-3, FAR, FAR]) == pytest.approx(1e-3)
    assert share([1e-10, 8.0, 0.0, 0.0]) == pytest.approx(10.0)


def four_bar():
    builder, parent = bough.Builder("four-bar"), "world"
    for name, length in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.0)):
        place = {"crank": 0.0, "coupler": 1.0, "rocker": 3.0}[name]
        builder.add_body(name, parent, "revolute", (place, 0, 0), axis=(0, 0, 1), mass=length, inertia=np.eye(3))
        parent = name
    builder.add_frame("pin", "rocker", (2.0, 0, 0))
    builder.add_frame("ground", "world", (3.5, 0, 0))
    builder.add_closure("pin", "ground", kind="connect")
    return builder.build()


def test_loops_stay_closed():
    """A four-bar linkage: its crank is where it was asked to be, and its last pin where it belongs."""
    model = four_bar()
    crank = bough.opspace.joint("crank")
    found = bough.ik.solve(model, {crank: 0.7}, q0=[0.2, 0.8, -1.5])
    assert found.success
    assert found.q[0] == pytest.approx(0.7, abs=1e-6)
    assert bough.Dynamics(model).placement(found.q, "pin")[:3, 3] == pytest.approx([3.5, 0, 0], abs=2e-6)


def test_loops_stay_closed_where_the_target_is_out_of_reach():
    """The end of the crank is asked to leave its circle: the nearest point of it is found, and the loop is not bent."""
    model, dyn = four_bar(), bough.Dynamics(four_bar(), general=True)
    goals = np.array([[2.0, 2.0, 0.0], [0.0, 5.0, 0.0], [np.cos(0.7), np.sin(0.7), 0.0]])
    found = bough.ik.solve(model, {"coupler": goals}, q0=[0.2, 0.8, -1.5])
    assert found.success.tolist() == [False, False, True]
    place = dyn.placement(found.q, "pin")[:, :3, 3]
    assert place == pytest.approx(np.tile([3.5, 0, 0], (3, 1)), abs=2e-6)
    assert found.error[:2] == pytest.approx([np.sqrt(8) - 1, 4.0], abs=1e-3)
    assert found.error[:2] == pytest.approx(
        np.linalg.norm(dyn.placement(found.q, "coupler")[:2, :3, 3] - goals[:2], axis=1)
    )


@pytest.mark.parametrize("kind", ["hinge", "slide", "cylindrical", "distance"])
def test_loops_of_every_kind_are_closed(kind):
    """Wherever the frames have turned about the axis that is free."""
    model, rng = two_arms(kind), np.random.default_rng(4)
    place, q0 = bough.position("base"), model.random_configuration(rng, 20)
    found = bough.ik.solve(model, {place: np.zeros(3)}, q0=q0, starts=1)
    loops = Loops(model, dynamics=bough.Dynamics(model, general=True))
    assert found.success.mean() > 0.8
    assert np.abs(loops.gap(found.q[found.success])).max() < 1e-6
