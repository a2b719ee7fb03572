"""Strict priorities, constrained dynamics, and small changes of the factor."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import OptionError, TaskError
from bough.opspace import OperationalSpace, center_of_mass, pose, position, relative
from bough.opspace.constrained import ConstrainedDynamics
from bough.opspace.hierarchy import Hierarchy

pytestmark = pytest.mark.interpreted


def problem(model, tasks, seed=0, **options):
    space = OperationalSpace(model, tasks, general=True, **options)
    rng = np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    return space, q, v, rng.normal(size=space.tasks.size)


def projected(space, q, levels):
    """J_k N and its inverse inertia, by the projectors that the hierarchy does without."""
    H, J = bough.Dynamics(space.model, general=True).mass_matrix(q), space.jacobian(q)
    N, found = np.eye(space.model.nv), []
    for rows in levels:
        JN = J[rows] @ N
        D = JN @ np.linalg.solve(H, JN.T)
        found.append(D)
        N = N - np.linalg.solve(H, JN.T) @ np.linalg.pinv(D, rcond=1e-9, hermitian=True) @ JN
    return found


def test_pivot_blocks_are_inverse_inertias_in_the_null_space():
    space, q, *_ = problem(zoo.humanoid(), [pose("left_foot"), position("right_hand"), center_of_mass()])
    hierarchy = Hierarchy(space)
    blocks = hierarchy._factorize(space.inverse_inertia(q))[1]
    for D, expected in zip(blocks, projected(space, q, hierarchy.levels), strict=True):
        np.testing.assert_allclose(D, expected, atol=1e-9 * np.abs(expected).max())


def test_compatible_tasks_are_all_met():
    space, q, v, wanted = problem(zoo.humanoid(), [pose("left_foot"), position("right_hand"), center_of_mass()])
    op = space(q, v)
    result = Hierarchy(space).forces(op.inverse_inertia, op.bias, wanted)
    np.testing.assert_allclose(result.acceleration, wanted, atol=1e-8)
    qdd = bough.Dynamics(space.model, general=True).forward_dynamics(q, v, op.transpose_times(result.force))
    np.testing.assert_allclose(op.J @ qdd + op.drift, wanted, atol=1e-6)
    assert result.rank.tolist() == [6, 3, 3]


def test_a_conflict_costs_the_lower_priority_only():
    model = zoo.arm(7)
    tasks = [pose("hand"), position("link5"), position("link6")]
    space, q, v, wanted = problem(model, tasks)
    op = space(q, v)
    hierarchy = Hierarchy(space, [["position(link5)"], ["pose(hand)"], ["position(link6)"]])
    result = hierarchy.forces(op.inverse_inertia, op.bias, wanted)
    first = space.tasks.slices["position(link5)"]
    np.testing.assert_allclose(result.acceleration[first], wanted[first], atol=1e-8)
    assert result.rank[0] == 3
    assert result.rank[1] < 6
    qdd = bough.Dynamics(model, general=True).forward_dynamics(q, v, op.transpose_times(result.force))
    np.testing.assert_allclose(op.J @ qdd + op.drift, result.acceleration, atol=1e-6)


def test_hierarchies_of_batches():
    space, *_ = problem(zoo.humanoid(), [pose("left_foot"), position("right_hand")])
    rng = np.random.default_rng(1)
    q, v = space.model.random_configuration(rng, 3), rng.normal(size=(3, space.model.nv))
    wanted, op, hierarchy = rng.normal(size=(3, 9)), space(q, v), Hierarchy(space)
    many = hierarchy.forces(op.inverse_inertia, op.bias, wanted)
    for k in range(3):
        one = hierarchy.forces(op.inverse_inertia[k], op.bias[k], wanted[k])
        np.testing.assert_allclose(many.force[k], one.force, rtol=1e-9)


def test_bad_levels():
    space, *_ = problem(zoo.arm(7), [pose("hand"), position("link5")])
    with pytest.raises(TaskError, match="no task 'elbow'"):
        Hierarchy(space, [["elbow"]])
    with pytest.raises(TaskError, match="is in 0 levels"):
        Hierarchy(space, [["pose(hand)"]])
    with pytest.raises(OptionError, match="between 0 and 1"):
        Hierarchy(space, threshold=0.0)


# Constrained dynamics


@pytest.mark.parametrize("redundant", [False, True])
def test_constraints_are_met(redundant):
    tasks = [pose("left_foot"), pose("right_foot"), relative("left_hand", "right_hand")]
    if redundant:
        tasks.append(relative("right_hand", "left_hand", "local"))
    space, q, v, _ = problem(zoo.humanoid(), tasks)
    rng = np.random.default_rng(2)
    tau, wanted = rng.normal(size=space.model.nv), np.zeros(space.tasks.size)
    result = ConstrainedDynamics(space)(q, v, tau, wanted)
    op, dynamics = space(q, v), bough.Dynamics(space.model, general=True)
    free = op.drift + op.J @ dynamics.forward_dynamics(q, v, tau)
    scale = np.abs(free).max()
    if not redundant:
        assert result.residual < 1e-9 * scale
        np.testing.assert_allclose(op.J @ result.qdd + op.drift, wanted, atol=1e-7 * scale)
    H, C = dynamics.mass_matrix(q), dynamics.bias_force(q, v)
    np.testing.assert_allclose(H @ result.qdd + C, tau + op.J.T @ result.force, atol=1e-7 * np.abs(C).max())


def test_redundant_consistent_rows_are_met():
    tasks = [pose("hand"), pose("hand", "local", name="again")]
    space, q, _, _ = problem(zoo.arm(9), tasks)
    result = ConstrainedDynamics(space)(q, np.zeros(9), np.ones(9))
    assert result.residual < 1e-8 * np.abs(result.qdd).max()
    np.testing.assert_allclose(space.jacobian(q) @ result.qdd, 0, atol=1e-7)


def test_standing_on_two_feet_carries_the_weight():
    model = zoo.humanoid()
    space = OperationalSpace(model, [pose("left_foot"), pose("right_foot")], general=True)
    q = model.random_configuration(np.random.default_rng(0))
    tau = np.zeros(model.nv)
    constrained = ConstrainedDynamics(space)
    dynamics = bough.Dynamics(model, general=True)
    tau[6:] = dynamics.gravity(q)[6:]
    result = constrained(q, np.zeros(model.nv), tau)
    com = OperationalSpace(model, [center_of_mass()], general=True)(q, np.zeros(model.nv))
    force = model.total_mass * (com.J @ result.qdd + com.drift - model.mechanism.gravity)
    np.testing.assert_allclose(result.force[:3] + result.force[6:9], force, atol=1e-6)


# Changes of the factor
