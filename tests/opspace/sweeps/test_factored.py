"""What follows from the factor of H, interpreted, beside dense matrices: J, H^-1 J', Lambda^-1 and beta."""

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.opspace.methods.ltdl import dof_tree
from bough.opspace.sweeps.factored import DYNAMICS, FACTORED
from opspace.cases import interpreted_jacobian, random_case


@pytest.mark.parametrize("seed", [1, 2, 5, 8])
def test_as_dense_matrices(seed):
    twin, tasks = random_case(seed)
    model, rng = twin.model, np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    m, f, dyn = model.mechanism, dof_tree(tasks), bough.Dynamics(model, general=True)
    groups = (m, tasks.with_placements, tasks.pattern, f)
    *_, Lam_inv = interpret(FACTORED, groups, tasks.sizes, q)
    J, H = interpreted_jacobian(tasks, q), dyn.mass_matrix(q)
    scale = max(1.0, np.abs(Lam_inv).max())
    *_, X, again, beta = interpret(DYNAMICS, groups, tasks.sizes, q, v)
    np.testing.assert_allclose(X, np.linalg.solve(H, J.T), atol=1e-9 * max(1.0, np.abs(X).max()))
    np.testing.assert_allclose(again, Lam_inv, atol=1e-12 * scale)
    drift = bough.OperationalSpace(model, tasks, general=True).drift(q, v)
    wanted = drift - J @ np.linalg.solve(H, dyn.bias_force(q, v))
    np.testing.assert_allclose(beta, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))
