"""One step of elimination: what is left of an inertia does not resist the freedom that was taken out of it."""

import numpy as np
import pytest

from bough import zoo
from bough.compile.routine import Routine, interpret, scratch
from bough.dynamics.articulated import ARTICULATED_WORK, eliminate_all, propagate, split_freedom
from bough.dynamics.crba import MASS_MATRIX
from bough.joints import freedom, joint_motion
from bough.spatial import articulated, articulated_times, get6
from opspace.cases import random_case


def test_what_is_left_does_not_resist_the_freedom():
    m = zoo.arm(3).mechanism
    for i in range(3):
        IA = articulated(tuple(m.inertia[i]), 0.0)
        D, W, left = split_freedom(m, i, IA)
        S = freedom(m, i, 1.0)
        U = articulated_times(IA, S)
        np.testing.assert_allclose(D, np.dot(S, U) + m.armature[i])
        np.testing.assert_allclose(W, np.array(U) / D)
        if m.armature[i] == 0.0:
            np.testing.assert_allclose(articulated_times(left, S), np.zeros(6), atol=1e-14)


def eliminated(model, q):
    routine = Routine("articulated", eliminate_all, {}, {}, ARTICULATED_WORK)
    w = scratch(routine, model.sizes, float)
    joint_motion(model.mechanism, q, w.X)
    eliminate_all(model.mechanism, w)
    return w


@pytest.mark.parametrize("seed", range(8))
def test_the_product_of_pivots_is_the_determinant(seed):
    twin, _ = random_case(seed)
    model = twin.model
    q = model.random_configuration(np.random.default_rng(seed))
    (H,) = interpret(MASS_MATRIX, (model.mechanism,), model.sizes, q)
    assert np.log(eliminated(model, q).D).sum() == pytest.approx(np.linalg.slogdet(H)[1], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_an_acceleration_that_came_through_a_joint_asks_nothing_more_of_it(seed):
    """W a = 0 after the last freedom has given way, unless its rotor holds it back."""
    twin, _ = random_case(2 * seed)  # without rotors
    model, m = twin.model, twin.model.mechanism
    rng = np.random.default_rng(seed)
    w = eliminated(model, model.random_configuration(rng))
    for i in range(len(m.parent)):
        a = propagate(m, i, tuple(rng.normal(size=6)), w)
        if m.dof[i + 1] > m.dof[i]:
            last = m.dof[i + 1] - 1
            assert np.dot(get6(w.W, last), a) == pytest.approx(0.0, abs=1e-11 * np.abs(get6(w.W, last)).max())
