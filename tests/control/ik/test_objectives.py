"""Motions that are wished besides the tasks: towards a posture, and up the slope of manipulability."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.control.ik.objectives import PIVOTS, POSTURE_GAIN, away_from_singularity
from bough.opspace.methods import Prepared


@pytest.fixture
def tasks():
    return bough.opspace.TaskSet(zoo.arm(5), [bough.position("hand")])


def manipulability(tasks, q):
    J = bough.OperationalSpace(tasks.model, tasks).jacobian(q)
    return np.sqrt(np.linalg.det(J @ J.T))


def test_pivots_are_those_of_the_gram_matrix(tasks):
    q = tasks.model.random_configuration(np.random.default_rng(0))
    way = Prepared(PIVOTS, (tasks.model.mechanism, tasks.with_placements, tasks.pattern), tasks.sizes)
    v = np.full(5, 0.1)
    D = way.bind(tasks).call(q, v)
    assert np.sqrt(np.prod(D)) == pytest.approx(manipulability(tasks, tasks.model.integrate(q, v)), rel=1e-10)


def test_the_slope_is_the_limit_of_differences(tasks):
    q = tasks.model.random_configuration(np.random.default_rng(1))
    found = away_from_singularity(tasks, 1e-3)(q[None])[0]
    step = 1e-6
    for k, e in enumerate(np.eye(5)):
        ahead, back = (np.log(manipulability(tasks, q + s * e)) for s in (step, -step))
        assert found[k] == pytest.approx(1e-3 * (ahead - back) / (2 * step), abs=1e-9)


def test_near_a_singular_pose_the_motion_is_short_and_finite(tasks):
    found = away_from_singularity(tasks, 1.0)(np.zeros((1, 5)))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 0.2 * (1 + 1e-15)


def test_a_posture_and_sums(tasks):
    q = tasks.model.random_configuration(np.random.default_rng(2), 3)
    goal = np.full(5, 0.3)
    solver = bough.ik.InverseKinematics(tasks.model, tasks.tasks, posture=goal)
    np.testing.assert_allclose(solver.objective(q), POSTURE_GAIN * (goal - q))
    both = bough.ik.InverseKinematics(tasks.model, tasks.tasks, posture=goal, manipulability=0.1)
    slope = away_from_singularity(tasks, 0.1)(q)
    np.testing.assert_allclose(both.objective(q), POSTURE_GAIN * (goal - q) + slope)
    assert bough.ik.InverseKinematics(tasks.model, tasks.tasks).objective is None


def test_more_rows_than_dofs_are_refused():
    many = bough.opspace.TaskSet(zoo.arm(2), [bough.position("hand")])
    with pytest.raises(bough.BoughError, match="3 rows and 2 DoFs"):
        away_from_singularity(many, 1.0)
