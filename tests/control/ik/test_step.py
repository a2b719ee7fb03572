"""The step of inverse kinematics: what its formula says, by every execution, with few rows and with many."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

import bough
from bough.compile.routine import interpret
from bough.control.ik.problem import FAR, Bounds, Hierarchy, by_priority
from bough.control.ik.step import RIGID, Limited
from bough.opspace import AimSet, Loops, TaskSet, posture
from models import random_twin
from opspace.mechanisms import two_arms

JOINTS = ["floating", "revolute", "prismatic", "spherical", "planar", "revolute"]


def hierarchy(model, tasks, limited, weight, priorities=None, objective=False):
    names = {task.name: rows for task, rows in zip(tasks, weight, strict=True)}
    found = Hierarchy(Bounds(model), by_priority(tasks, priorities or {}), names, objective)
    found.bounds.limited = limited
    return found


class Case:
    """A random mechanism and tasks with errors; a joint at a limit, one that leaves it, and one that stops early."""

    def __init__(self, many=False):
        model = self.model = random_twin(3, [-1, 0, 1, 1, 2, 3], JOINTS).model
        rng = np.random.default_rng(1)
        self.given = [bough.pose("f4"), bough.relative("f5", "f1"), *([posture()] if many else [])]
        tasks = TaskSet(model, self.given)
        aims, n = AimSet(tasks), tasks.size
        self.q, other = model.random_configuration(rng, 2)
        dyn = bough.Dynamics(model, general=True)
        wanted = {t.name: t.position(dyn, other) for t in tasks.tasks}
        (self.target,), (self.goal,) = aims.targets(wanted, model.neutral)
        self.weight, self.pull = rng.uniform(0.5, 2.0, n), 0.1 * rng.normal(size=model.nv)
        self.weight[3] = 0.0
        self.weights = [self.weight[tasks.slices[t.name]] for t in tasks.tasks]
        self.offset = 0.01 * rng.normal(size=n)
        self.e = np.concatenate([t.error(dyn, self.q, wanted[t.name]) for t in tasks.tasks]) - self.offset
        J = bough.OperationalSpace(model, tasks, general=True).jacobian(self.q)
        self.WJ, self.We = self.weight[:, None] * J, self.weight * self.e

    def limited(self, slope):
        """The prismatic joint is pushed beyond a limit, one revolute leaves its own, and one stops early."""
        first, second, last = (self.model.joint(self.model.joint_names[k]) for k in (1, 2, 5))
        at, dof = ([getattr(j, x).start for j in (first, second, last)] for x in "qv")
        lower, upper, x = np.full(3, -FAR), np.full(3, FAR), self.q[at]
        for k, sign in ((0, 1.0), (1, -1.0)):
            side = upper if sign * slope[dof[k]] > 0 else lower
            side[k] = x[k]
        upper[2], lower[2] = x[2] + 1e-3, x[2] - 1e-3
        return Limited(np.array(at), np.array(dof), lower, upper, np.array([1e-3, 10.0, RIGID]))


def run(found, inputs, execution):
    if execution == "interpreted":
        return interpret(*found.prepared(), *inputs)
    if execution == "general":
        return found.prepared().bind(found.tasks, True).call(*inputs)
    return found.function().call(*inputs)


@pytest.mark.parametrize("rows", ["few", "many"])
@pytest.mark.parametrize("execution", ["interpreted", "general", "specialised"])
def test_the_step_is_its_formula(rows, execution):
    case = Case(rows == "many")
    model, We = case.model, case.We
    assert (len(We) > model.nv) == (rows == "many")
    limited = case.limited(case.WJ.T @ We)
    at, dof, lower, upper = limited[:4]
    state = np.array([[1e-3, 0.1, np.linalg.norm(We) * 0.9, 0.0]])
    found = hierarchy(model, case.given, limited, case.weights)
    moved, after = run(found, (case.q, case.target, case.goal, case.offset, case.weight, state), execution)

    free = np.ones(model.nv)
    free[dof[0]] = 0.0
    mu, WJ = 0.1 * We @ We + 1e-3, case.WJ * free
    d = np.linalg.solve(WJ.T @ WJ + mu * np.eye(model.nv), WJ.T @ We)
    expected = model.integrate(case.q, d)
    assert not lower[2] <= expected[at[2]] <= upper[2]
    expected[at] = np.clip(expected[at], lower, upper)
    assert moved == pytest.approx(expected, abs=1e-8)
    assert moved[at[0]] == case.q[at[0]]
    assert moved[at[2]] in (lower[2], upper[2])  # to the last bit
    # the error grew: the share of damping is four times as large
    size = np.linalg.norm(case.e[case.weight > 0])
    assert after[0] == pytest.approx([1e-3, 0.4, np.linalg.norm(We), size], abs=1e-9)


@pytest.mark.parametrize("execution", ["interpreted", "general", "specialised"])
def test_lower_priorities_and_the_objective_keep_what_is_above_them(execution):
    """Each against its definition: least squares on the null space of all that is above, by a dense basis."""
    case = Case()
    model, WJ, We = case.model, case.WJ, case.We
    none = np.zeros(0, np.int64)
    limited = Limited(none, none, np.zeros(0), np.zeros(0), np.array([1e-3, 10.0, RIGID]))
    found = hierarchy(model, case.given, limited, case.weights, {case.given[1].name: 1}, objective=True)
    state = np.tile([1e-3, 0.1, FAR, FAR], (2, 1))
    push = np.zeros((2, model.nv))
    inputs = (case.q, case.target, case.goal, case.offset, case.weight, state, case.pull, push)
    moved, after, pushed, wish = run(found, inputs, execution)

    S, B, e0, e1 = WJ[:6], WJ[6:], We[:6], We[6:]
    d = S.T @ np.linalg.solve(S @ S.T + (1e-3 + 0.1 * e0 @ e0) * np.eye(6), e0)
    Z = null_space(S[[0, 1, 2, 4, 5]])
    BZ = B @ Z
    d = d + Z @ np.linalg.solve(BZ.T @ BZ + (1e-3 + 0.1 * e1 @ e1) * np.eye(Z.shape[1]), BZ.T @ (e1 - B @ d))
    Z = null_space(np.delete(WJ, 3, axis=0))
    d = d + Z @ (Z.T @ (case.pull - d))
    assert wish == pytest.approx(d, abs=1e-6)
    assert moved == pytest.approx(model.integrate(case.q, d), abs=1e-6)
    assert pushed[1] == pytest.approx(wish, abs=1e-12)
    assert after[:, 2] == pytest.approx([np.linalg.norm(e0), np.linalg.norm(e1)])


def test_damping_follows_the_error_within_its_bounds():
    model = bough.zoo.arm(4)
    call = Hierarchy(Bounds(model), [[bough.position(model.body_names[-1])]], {}, False).function().call
    q = model.neutral
    target = np.r_[np.eye(3).ravel(), 0.3, 0.1, 0.2][None]

    def share(state):
        return call(q, target, q, np.zeros(3), np.ones(3), np.array([state]))[1][0, 1]

    assert share([1e-10, 0.1, FAR, FAR]) == pytest.approx(0.05)
    assert share([1e-10, 0.1, 0.0, 0.0]) == pytest.approx(0.4)
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
