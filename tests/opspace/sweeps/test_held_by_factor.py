"""Held rows by the sparse factor, interpreted: beside the dense equations of motion with constraints."""

import numpy as np

import bough
from bough import zoo
from bough.compile.routine import interpret
from bough.opspace.constrained import Routes
from models import random_state


def test_motion_by_the_dense_equations():
    model = zoo.humanoid()
    dyn, tasks = bough.Dynamics(model, general=True), [bough.pose("left_foot"), bough.position("right_foot")]
    dense = bough.OperationalSpace(model, tasks, general=True)
    q, v, tau = random_state(model, 3)[:3]
    H, C, J, drift = dyn.mass_matrix(q), dyn.bias_force(q, v), dense.jacobian(q), dense.drift(q, v)
    n = dense.tasks.size
    target = np.linspace(-1.0, 1.0, n)
    way = Routes(dense.tasks, 3).by_name["factor"]
    qdd, f, residual = interpret(*way, q, v, tau, target, [2.0], [1e-10])
    kkt = np.block([[H, -J.T], [J, np.zeros((n, n))]])
    wanted = np.linalg.solve(kkt, np.concatenate([tau - C, target - 2.0 * J @ v - drift]))
    np.testing.assert_allclose(np.concatenate([qdd, f]), wanted, atol=1e-7 * np.abs(wanted).max())
    assert residual[0] < 1e-8
