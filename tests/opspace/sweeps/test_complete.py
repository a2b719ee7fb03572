"""Everything about tasks in one sweep, interpreted, beside the definitions (Featherstone 2010, eqs. 5 to 10)."""

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.opspace.methods.ltdl import dof_tree
from bough.opspace.sweeps.complete import COMPLETE, MU_RHO
from opspace.cases import interpreted_jacobian, random_case


@pytest.mark.parametrize("seed", [1, 4, 7])
@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_the_definitions(seed, damping):
    twin, tasks = random_case(seed)
    model, rng = twin.model, np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    groups = (model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
    J, drift, beta, Lam_inv, Lam, Jbar, N = interpret(COMPLETE, groups, tasks.sizes, q, [damping], v)
    dyn, space = bough.Dynamics(model, general=True), bough.OperationalSpace(model, tasks, general=True)
    H, C = dyn.mass_matrix(q), dyn.bias_force(q, v)
    np.testing.assert_allclose(J, interpreted_jacobian(tasks, q), atol=1e-12)
    _near(drift, space.drift(q, v))
    _near(beta, drift - J @ np.linalg.solve(H, C))
    _near(Lam_inv, J @ np.linalg.solve(H, J.T))
    _near(Lam, np.linalg.inv(Lam_inv + damping * np.eye(tasks.size)))
    _near(Jbar, np.linalg.solve(H, J.T) @ Lam)
    _near(N, np.eye(model.nv) - Jbar @ J)
    (mu_rho,) = interpret(MU_RHO, groups, tasks.sizes, q, [damping], v)
    _near(mu_rho, -Lam @ beta)


def _near(x, y):
    np.testing.assert_allclose(x, y, atol=1e-8 * max(1.0, np.abs(y).max()))
