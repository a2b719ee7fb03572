"""What follows from the factor of H, interpreted, beside dense matrices: Jbar, N, joint forces, beta."""

import numpy as np
import pytest

import bough
from bough.compile.routine import interpret
from bough.opspace.methods.ltdl import dof_tree
from bough.opspace.sweeps.factored import DYNAMICS, FACTORED, JBAR, JOINT_FORCES, NULLSPACE
from opspace.cases import interpreted_jacobian, random_case


@pytest.mark.parametrize("seed", [1, 2, 5, 8])
def test_as_dense_matrices(seed):
    twin, tasks = random_case(seed)
    model, rng = twin.model, np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    m, f, dyn = model.mechanism, dof_tree(tasks), bough.Dynamics(model, general=True)
    groups = (m, tasks.with_placements, tasks.pattern, f)
    packed, L, YD, Lam_inv = interpret(FACTORED, groups, tasks.sizes, q)
    J, H = interpreted_jacobian(tasks, q), dyn.mass_matrix(q)
    scale = max(1.0, np.abs(Lam_inv).max())
    Lam = rng.normal(size=Lam_inv.shape)
    (Jbar,) = interpret(JBAR, (m, tasks.pattern, f), tasks.sizes, L, YD, Lam)
    np.testing.assert_allclose(Jbar, np.linalg.solve(H, J.T) @ Lam, atol=1e-9 * max(1.0, np.abs(Jbar).max()))
    (N,) = interpret(NULLSPACE, (m, tasks.pattern), tasks.sizes, packed, Jbar)
    np.testing.assert_allclose(N, np.eye(model.nv) - Jbar @ J, atol=1e-9 * max(1.0, np.abs(N).max()))
    F, tau0 = rng.normal(size=tasks.size), rng.normal(size=model.nv)
    (tau,) = interpret(JOINT_FORCES, (m, tasks.pattern, f), tasks.sizes, packed, L, Lam, F, tau0)
    wanted = J.T @ F + tau0 - J.T @ Lam @ J @ np.linalg.solve(H, tau0)
    np.testing.assert_allclose(tau, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))
    *_, X, again, beta = interpret(DYNAMICS, groups, tasks.sizes, q, v)
    np.testing.assert_allclose(X, np.linalg.solve(H, J.T), atol=1e-9 * max(1.0, np.abs(X).max()))
    np.testing.assert_allclose(again, Lam_inv, atol=1e-12 * scale)
    drift = bough.OperationalSpace(model, tasks, general=True).drift(q, v)
    wanted = drift - J @ np.linalg.solve(H, dyn.bias_force(q, v))
    np.testing.assert_allclose(beta, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))
