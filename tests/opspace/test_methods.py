"""Every method for Lambda^-1 against J H^-1 J', on random trees and task sets and on real robots."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import interpret
from bough.dynamics.engine import bind_arrays
from bough.opspace import OperationalSpace, TaskSet, center_of_mass, momentum, pose, position, relative
from bough.opspace.methods import METHODS, prepare
from opspace.cases import definition, interpreted_jacobian, pinocchio_jacobian, random_case

CASES = range(220)


@pytest.mark.parametrize("seed", CASES)
def test_all_methods_give_the_same_matrix(seed):
    twin, tasks = random_case(seed)
    q = twin.model.random_configuration(np.random.default_rng(seed))
    J = interpreted_jacobian(tasks, q)
    np.testing.assert_allclose(J, pinocchio_jacobian(twin, tasks, q), atol=1e-12 * max(1, np.abs(J).max()))
    expected = definition(tasks, q)
    for method in METHODS:
        (actual,) = interpret(*prepare(method, tasks), q)
        np.testing.assert_allclose(actual, expected, atol=1e-11 * np.abs(expected).max(), err_msg=method)
        np.testing.assert_array_equal(actual, actual.T, err_msg=method)


@pytest.mark.parametrize("method", METHODS)
def test_general_code_agrees(method):
    for seed in range(30):
        twin, tasks = random_case(seed, size=14)
        q = twin.model.random_configuration(np.random.default_rng(seed), batch=2)
        function = bind_arrays(*prepare(method, tasks), general=True)
        expected = [definition(tasks, x) for x in q]
        np.testing.assert_allclose(function(q), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_specialised_code_agrees(method):
    for seed in range(2):
        twin, tasks = random_case(seed, size=6)
        q = twin.model.random_configuration(np.random.default_rng(seed))
        function = prepare(method, tasks).bind(tasks)
        expected = definition(tasks, q)
        np.testing.assert_allclose(function(q), expected, atol=1e-11 * np.abs(expected).max())


def test_a_robot_far_from_the_origin_loses_no_digits():
    model = zoo.asimo()
    tasks = TaskSet(
        model, [pose("left_hand"), relative("right_hand", "left_foot", "local"), center_of_mass(), momentum()]
    )
    near = model.random_configuration(np.random.default_rng(0))
    far = near.copy()
    far[:3] += 1e6
    expected = definition(tasks, near)
    for method in METHODS:
        (actual,) = interpret(*prepare(method, tasks), far)
        np.testing.assert_allclose(actual, expected, atol=1e-9 * np.abs(expected).max(), err_msg=method)
        exact, place = slice(0, 12), 1e-13 * np.abs(expected[:12, :12]).max()
        np.testing.assert_allclose(actual[exact, exact], expected[exact, exact], atol=place, err_msg=method)


def test_two_robots_are_independent_unless_a_task_joins_them():
    builder = bough.Builder("two")
    for robot in "ab":
        up = "world"
        for k in range(3):
            up = builder.add_body(
                f"{robot}{k}", up, "revolute", (0.3, 0.1 * k, 0.2), axis=(k, 1, 1), mass=1.0, inertia=np.eye(3)
            )
    model = builder.build()
    q = model.random_configuration(np.random.default_rng(1))
    tasks = TaskSet(model, [position("a2"), position("b2"), relative("a2", "b1")])
    expected = definition(tasks, q)
    assert not expected[:3, 3:6].any()
    assert expected[6:, :3].any()
    assert expected[6:, 3:6].any()
    for method in METHODS:
        (actual,) = interpret(*prepare(method, tasks), q)
        np.testing.assert_allclose(actual, expected, atol=1e-12 * np.abs(expected).max(), err_msg=method)


@pytest.mark.parametrize("method", ["pv", "ltdl"])
def test_general_code_in_single_precision(method):
    _, tasks = random_case(7, size=8)
    q = tasks.model.random_configuration(np.random.default_rng(0))
    single = bind_arrays(*prepare(method, tasks), general=True)(q.astype(np.float32))
    assert single.dtype == np.float32
    expected = definition(tasks, q)
    np.testing.assert_allclose(single, expected, atol=1e-3 * np.abs(expected).max())


def test_float32_stays_float32():
    space = OperationalSpace(zoo.arm(7), [pose("hand")], method="pv")
    q = space.model.random_configuration(np.random.default_rng(0))
    single = space.inverse_inertia(q.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, space.inverse_inertia(q), rtol=1e-3, atol=1e-3)
