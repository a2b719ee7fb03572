"""The centroidal momentum matrix and its drift, by identities, differences and Pinocchio."""

import numpy as np
import pytest

import bough
from models import JOINT_TYPES, random_state, random_twin

pin = pytest.importorskip("pinocchio")


@pytest.mark.parametrize("general", [False, True])
def test_matrix_and_drift(general):
    twin = random_twin(3, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES))
    model, (q, v) = twin.model, random_state(twin.model, 1)[:2]
    dyn = bough.Dynamics(model, general=general)
    A = dyn.centroidal_momentum_matrix(q)
    np.testing.assert_allclose(A @ v, dyn.centroidal_momentum(q, v), atol=1e-12)
    np.testing.assert_allclose(A[:3], model.total_mass * dyn.center_of_mass_jacobian(q), atol=1e-12)
    drift = dyn.centroidal_momentum_drift(q, v)
    ahead, behind = (dyn.centroidal_momentum(model.integrate(q, x * v), v) for x in (1e-6, -1e-6))
    np.testing.assert_allclose(drift, (ahead - behind) / 2e-6, atol=1e-7)
    at = twin.q_to_pin(q), twin.v_to_pin(v)
    theirs = pin.computeCentroidalMap(twin.pin, twin.data, at[0])
    np.testing.assert_allclose(A, twin.from_pin(theirs, (1,)), atol=1e-12)
    pin.computeCentroidalMomentumTimeVariation(twin.pin, twin.data, *at, 0 * at[1])
    np.testing.assert_allclose(drift, twin.data.dhg.vector, atol=1e-11)
