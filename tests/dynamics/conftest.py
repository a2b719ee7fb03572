"""What tests of derivatives have in common."""

import pytest

import bough
from dynamics.derivative_case import JOINTS, PARENT
from models import random_state, random_twin


@pytest.fixture(scope="package")
def case():
    """A mechanism with its twin in Pinocchio, its dynamics, and a state: q, v, tau, qdd."""
    twin = random_twin(5, PARENT, JOINTS)
    return twin, bough.Dynamics(twin.model), *random_state(twin.model, 6)
