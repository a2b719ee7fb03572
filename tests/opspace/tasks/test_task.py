"""A type of task defined outside the library is served by everything: one class, no other file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import TaskError
from bough.opspace import METHODS, Hierarchy, OperationalSpace, Task, TaskSet, Tracker, pose
from bough.opspace.sweeps.wrenches import ALIGNED
from bough.opspace.tasks.task import Seed, attachment


@dataclass(frozen=True)
class Middle(Task):
    """The point half-way between two frames."""

    first: str
    second: str

    def seeds(self, model):
        ends = [attachment(model, frame) for frame in (self.first, self.second)]
        pushes = [np.concatenate([np.zeros(3), 0.5 * axis]) for axis in np.eye(3)]
        return [[Seed(ALIGNED, end.body, push, end.p) for end in ends] for push in pushes]

    def position(self, dynamics, q):
        return sum(dynamics.placement(q, frame)[:3, 3] for frame in (self.first, self.second)) / 2


@pytest.fixture(scope="module")
def case():
    model = zoo.asimo()
    hands = zoo.asimo_tasks()[:2]
    space = OperationalSpace(model, [Middle("middle", *hands), pose(hands[0])], general=True)
    rng = np.random.default_rng(0)
    return space, model.random_configuration(rng), rng.normal(size=model.nv)


def test_jacobian_is_the_derivative_of_the_position(case):
    space, q, v = case
    h, tracker, task = 1e-6, Tracker(space), space.tasks.tasks[0]
    ends = [task.position(space.dynamics, space.model.integrate(q, s * h * v)) for s in (-1, 1)]
    np.testing.assert_allclose(space(q, v).velocity[:3], (ends[1] - ends[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(tracker.errors(q, {"middle": ends[1]})[:3], ends[1] - task.position(space.dynamics, q))


def test_every_method_and_the_rest_serve_it(case):
    space, q, v = case
    op = space(q, v)
    expected = op.J @ np.linalg.solve(space.mass_matrix(q), op.J.T)
    for method in METHODS:
        np.testing.assert_allclose(space.inverse_inertia(q, method), expected, atol=1e-12)
    np.testing.assert_allclose(op.J @ op.jbar, np.eye(9), atol=1e-9)
    wanted = Hierarchy(space).forces(op.inverse_inertia, op.bias, np.ones(9))
    np.testing.assert_allclose(wanted.acceleration, 1.0, atol=1e-9)
    assert space.tasks.row_names[:3] == ("middle.0", "middle.1", "middle.2")


def test_what_the_sweeps_cannot_serve_is_refused():
    arm = zoo.arm(4)
    with pytest.raises(TaskError, match="two seeds on one body"):
        TaskSet(arm, [Middle("middle", "hand", "hand")])
    with pytest.raises(TaskError, match="expected tasks such as"):
        TaskSet(arm, ["hand"])
    with pytest.raises(TaskError, match="tasks are a list such as"):
        TaskSet(arm, "hand")
    with pytest.raises(TaskError, match=r"target has shape \(3,\)"):
        Middle("middle", "hand", "link1").error(bough.Dynamics(arm, general=True), arm.neutral, np.zeros(4))
