"""Laid frames lie near their bodies: where a mechanism stands in the world costs no digits."""

import numpy as np
import pytest

from bough.dynamics.crba import MASS_MATRIX
from models import JOINT_TYPES, Twin, interpreted, random_state, random_twin
from quantities import QUANTITIES, State

DISTANCES = [1.0, 1e2, 1e3, 1e4, 1e5]
PARENTS = [[-1], [-1, 0], [-1, 0, 0, 1], [-1, -1, 1, 1, 3]]


def shifted(twin, distance, rng):
    """The same mechanism with all that hangs on the world moved by `distance` in one direction."""
    way = rng.normal(size=3)
    step = distance * way / np.linalg.norm(way)
    bodies = [type(b)(**vars(b) | {"p": b.p + step if b.parent < 0 else b.p}) for b in twin.bodies]
    return Twin(bodies).model


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(12))
def test_where_a_mechanism_stands_does_not_matter(seed, distance):
    rng = np.random.default_rng(seed)
    parent = PARENTS[seed % len(PARENTS)]
    twin = random_twin(seed, parent, [str(rng.choice(JOINT_TYPES)) for _ in parent])
    there = shifted(twin, distance, rng)
    q, v, tau, qdd = random_state(twin.model, seed)
    state = State(q, v, tau, qdd)
    for name in ("mass_matrix", "inverse_dynamics", "forward_dynamics"):
        expected, found = (QUANTITIES[name].by(interpreted, m, state, "b0") for m in (twin.model, there))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-13 * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize("joint", JOINT_TYPES)
def test_a_lone_joint_far_away(joint):
    twin = random_twin(3, [-1], [joint])
    q = random_state(twin.model, 0)[0]
    expected = interpreted(MASS_MATRIX, twin.model, (), q)
    for distance in DISTANCES:
        found = interpreted(MASS_MATRIX, shifted(twin, distance, np.random.default_rng(0)), (), q)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


def test_a_joint_near_by_is_laid_where_it_is_cheapest():
    """On the common normal with the world's z axis, where the joint's own screw has no constant part."""
    model = random_twin(3, [-1], ["revolute"]).model
    assert model.mechanism.offset[0, :2].tolist() == [0.0, 0.0]
