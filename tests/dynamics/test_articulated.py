"""One step of elimination: what is left of an inertia does not resist the freedom that was taken out of it."""

import numpy as np

from bough import zoo
from bough.dynamics.articulated import split_freedom
from bough.joints import freedom
from bough.spatial import articulated, articulated_times


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
