"""Held rows, interpreted: beside the dense equations of motion with constraints, rows without rank included."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import Routine, interpret
from bough.opspace.loops import held_constants
from bough.opspace.sweeps.factored import LDL_WORK
from bough.opspace.sweeps.held import CONSTRAINED_BY_FACTOR, CONSTRAINED_DYNAMICS, IMPACT, Proximal, row_forces
from models import random_state

ROW_FORCES = Routine(
    "row_forces",
    row_forces,
    inputs={"A": "rows rows", "gap": "rows", "proximal": "1"},
    outputs={"force": "rows", "residual": "1"},
    work=LDL_WORK | {"left": "rows"},
)
EXACT = Proximal(np.array([3]), np.array([1.0]))


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_least_force_that_fits(rank):
    rng = np.random.default_rng(rank)
    B = rng.normal(size=(5, rank))
    A, gap = B @ B.T, B @ rng.normal(size=rank)
    way = EXACT._replace(share=np.array([0.2]))
    f, residual = interpret(ROW_FORCES, (zoo.arm(1).mechanism, way), {"rows": 5}, A, gap, [1e-9])
    np.testing.assert_allclose(f, np.linalg.pinv(A, rcond=1e-10) @ gap, atol=1e-6)
    assert residual[0] < 1e-8 * np.linalg.norm(gap)


def constants(model, tasks):
    space = bough.opspace.TaskSet(model, tasks)
    groups = (model.mechanism, space.with_placements, space.slots, space.pattern)
    return space, (*groups, EXACT._replace(share=np.array([1.0 / space.size])))


def test_motion_and_impact_by_the_dense_equations():
    model = zoo.humanoid()
    dyn, tasks = bough.Dynamics(model, general=True), [bough.pose("left_foot"), bough.position("right_foot")]
    space, groups = constants(model, tasks)
    dense = bough.OperationalSpace(model, tasks, general=True)
    q, v, tau = random_state(model, 3)[:3]
    H, C, J, drift = dyn.mass_matrix(q), dyn.bias_force(q, v), dense.jacobian(q), dense.drift(q, v)
    target = np.linspace(-1.0, 1.0, space.size)
    factor = (*held_constants(space)[:-1], groups[-1])
    kkt = np.block([[H, -J.T], [J, np.zeros((space.size,) * 2)]])
    wanted = np.linalg.solve(kkt, np.concatenate([tau - C, target - 2.0 * J @ v - drift]))
    for routine, given in ((CONSTRAINED_DYNAMICS, groups), (CONSTRAINED_BY_FACTOR, factor)):
        qdd, f, residual = interpret(routine, given, space.sizes, q, v, tau, target, [2.0], [1e-10])
        np.testing.assert_allclose(np.concatenate([qdd, f]), wanted, atol=1e-7 * np.abs(wanted).max())
        assert residual[0] < 1e-8
    after, impulse, _ = interpret(IMPACT, factor, space.sizes, q, v, np.full(space.size, 0.5), [1e-10])
    np.testing.assert_allclose(J @ after, -0.5 * J @ v, atol=1e-7)
    np.testing.assert_allclose(H @ (after - v), J.T @ impulse, atol=1e-8 * np.abs(impulse).max())
