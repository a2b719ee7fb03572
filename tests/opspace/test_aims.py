"""Errors of task rows by the kernel: beside each task's own words, on random trees with all joint types."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.errors import NonFiniteError, ShapeError, TaskError
from bough.opspace import AimSet, TaskSet, joint, posture
from bough.opspace.methods import Prepared
from bough.opspace.sweeps.errors import ERRORS
from opspace.cases import random_case


def prepared(tasks):
    aims = AimSet(tasks)
    constants = (tasks.model.mechanism, tasks.with_placements, aims.arrays)
    return aims, Prepared(ERRORS, constants, tasks.sizes | {"aims": aims.size})


def aimed(tasks):
    """The tasks of a set that have a position; of those on one joint the last."""
    kept = {getattr(t, "joint", t.name): t for t in tasks.tasks}.values()
    kept = [t for t in kept if t.has_position and getattr(t, "reference", "") != "world"]
    return TaskSet(tasks.model, kept) if kept else None


@pytest.mark.parametrize("seed", range(30))
def test_errors_are_those_of_the_tasks(seed):
    twin, found = random_case(seed)
    tasks, rng = aimed(found), np.random.default_rng(seed)
    if tasks is None:
        return
    model, dynamics = twin.model, bough.Dynamics(twin.model, general=True)
    q, other = model.random_configuration(rng, 2)
    given = {t.name: t.position(dynamics, other) for t in tasks.tasks}
    aims, way = prepared(tasks)
    target, goal = aims.targets(given, model.neutral)
    (error,) = interpret(*way, q, target[0], goal[0])
    expected = np.concatenate([t.error(dynamics, q, given[t.name]) for t in tasks.tasks])
    assert error == pytest.approx(expected, abs=1e-9)
    assert way.bind(tasks, general=True).call(q, target[0], goal[0]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -2, 3)])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-7, np.pi])
def test_turns_of_any_angle(axis, angle):
    """Half a turn has an error of pi, not of zero."""
    axis = np.array(axis) / np.linalg.norm(axis)
    model = bough.zoo.floating_chain(2)
    tasks = TaskSet(model, [bough.orientation(model.body_names[0])])
    aims, way = prepared(tasks)
    turned = model.neutral.copy()
    turned[3:7] = [*np.sin(angle / 2) * axis, np.cos(angle / 2)]
    dynamics = bough.Dynamics(model, general=True)
    here = {tasks.names[0]: dynamics.placement(turned, model.body_names[0])}
    target, goal = aims.targets(here, model.neutral)
    (error,) = interpret(*way, model.neutral, target[0], goal[0])
    assert np.linalg.norm(error) == pytest.approx(angle, rel=1e-7, abs=1e-15)
    assert abs(error @ axis) == pytest.approx(angle, rel=1e-7, abs=1e-15)


def test_joints_and_postures_aim_at_coordinates():
    model = bough.zoo.arm(4)
    names = model.joint_names
    tasks = TaskSet(model, [joint(names[0]), posture(names[2:])])
    aims, way = prepared(tasks)
    target, goal = aims.targets({tasks.names[0]: 0.3, "posture": [9.0, 9.0, 0.1, 0.2]}, model.neutral)
    (error,) = interpret(*way, np.zeros(4), target[0], goal[0])
    assert error == pytest.approx([0.3, 0.1, 0.2])


def test_bad_targets_are_refused_by_name():
    model = bough.zoo.arm(4)
    hand = bough.pose(model.body_names[-1])
    aims = AimSet(TaskSet(model, [hand]))
    mirrored = np.diag([1.0, 1.0, -1.0, 1.0])
    for bad, error, words in (
        (np.zeros((4, 4)), TaskError, "no rotation"),
        (mirrored, TaskError, "no rotation"),
        (np.zeros(3), ShapeError, "placement"),
        (np.full((4, 4), np.nan), NonFiniteError, "not finite"),
    ):
        with pytest.raises(error, match=words):
            aims.targets({hand.name: bad}, model.neutral)
    with pytest.raises(TaskError, match="both have a target"):
        AimSet(TaskSet(model, [joint(model.joint_names[0]), posture()]))
    with pytest.raises(TaskError, match="no aim"):
        AimSet(TaskSet(model, [bough.momentum()]))
