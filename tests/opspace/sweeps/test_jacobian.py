"""The task Jacobian beside differences of positions, and its packed products beside dense ones."""

import numpy as np

import bough
from bough import zoo
from bough.opspace import TaskSet
from bough.opspace.sweeps.jacobian import jacobian_times, jacobian_transpose_times
from opspace.cases import interpreted_jacobian


def test_positions_move_along_it():
    model = zoo.arm(4)
    tasks = TaskSet(model, [bough.position("hand")])
    q, v = np.random.default_rng(0).normal(size=(2, 4))
    dyn, h = bough.Dynamics(model), 1e-6
    ahead, behind = (dyn.placement(q + s * h * v, "hand")[:3, 3] for s in (1.0, -1.0))
    np.testing.assert_allclose(interpreted_jacobian(tasks, q) @ v, (ahead - behind) / (2 * h), atol=1e-8)


def test_packed_products():
    model = zoo.arm(4)
    p = TaskSet(model, [bough.pose("hand")]).pattern
    rng = np.random.default_rng(1)
    packed, x, f = rng.normal(size=len(p.dof)), rng.normal(size=4), rng.normal(size=6)
    J = np.zeros((6, 4))
    for r in range(6):
        for e in range(p.of_row[r], p.of_row[r + 1]):
            J[r, p.dof[e]] = packed[e]
    y, z = np.zeros(6), np.zeros(4)
    jacobian_times(p, packed, x, y)
    jacobian_transpose_times(p, packed, f, z, 0.0)
    np.testing.assert_allclose(y, J @ x, atol=1e-13)
    np.testing.assert_allclose(z, J.T @ f, atol=1e-13)
