"""The Coriolis matrix: C v is the bias force without gravity, Hdot - 2 C is skew, and Pinocchio's is the same."""

import numpy as np
import pytest

import bough
from bough import zoo
from models import JOINT_TYPES, random_state, random_twin

pin = pytest.importorskip("pinocchio")

# Pinocchio's own C v is not its bias force where a joint is universal
KNOWN_THERE = [joint for joint in JOINT_TYPES if joint != "universal"]


def rate(model, dyn, q, v, step=1e-6):
    """Hdot, by central differences."""
    ahead, behind = (dyn.mass_matrix(model.integrate(q, sign * step * v)) for sign in (1.0, -1.0))
    return (ahead - behind) / (2 * step)


@pytest.mark.parametrize("general", [False, True])
def test_identities(general):
    model = random_twin(3, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES), armature=True).model
    q, v = random_state(model, 1)[:2]
    dyn = bough.Dynamics(model, general=general)
    C = dyn.coriolis_matrix(q, v)
    np.testing.assert_allclose(C @ v, dyn.bias_force(q, v) - dyn.gravity(q), atol=1e-12)
    skew = rate(model, dyn, q, v) - 2 * C
    np.testing.assert_allclose(skew, -skew.T, atol=1e-7)


def test_pinocchio():
    twin = random_twin(4, [-1, 0, 0, 1, 1, 2, 3, 4], KNOWN_THERE)
    q, v = random_state(twin.model, 1)[:2]
    theirs = pin.computeCoriolisMatrix(twin.pin, twin.data, twin.q_to_pin(q), twin.v_to_pin(v))
    found = bough.Dynamics(twin.model).coriolis_matrix(q, v)
    np.testing.assert_allclose(found, twin.from_pin(theirs, (0, 1)), atol=1e-12)


def test_far_from_the_origin():
    """A floating base that has flown away computes what it computed at home."""
    model = zoo.floating_chain(4)
    q, v = random_state(model, 1)[:2]
    away = q.copy()
    away[:3] += 1e7
    dyn = bough.Dynamics(model)
    np.testing.assert_allclose(dyn.coriolis_matrix(away, v), dyn.coriolis_matrix(q, v), atol=1e-6)


def test_batches():
    model = zoo.star(3)
    q, v = (np.array([random_state(model, s)[k] for s in range(4)]) for k in range(2))
    dyn = bough.Dynamics(model)
    found = dyn.coriolis_matrix(q, v)
    for k in range(4):
        np.testing.assert_allclose(found[k], dyn.coriolis_matrix(q[k], v[k]), atol=1e-13)
