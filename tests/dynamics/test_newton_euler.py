"""The force on one body, beside the spatial equation f = I a + v x* I v."""

import numpy as np

import naive
from bough import zoo
from bough.dynamics.newton_euler import body_force
from bough.spatial import inertia_matrix


def test_spatial_equation():
    m, rng = zoo.arm(3).mechanism, np.random.default_rng(0)
    for row in m.inertia:
        w, alpha, a, linear = rng.normal(size=(4, 3))
        h, mass = naive.skew(row[6:9]), row[9]
        I = np.block([[inertia_matrix(row[None])[0], h], [h.T, mass * np.eye(3)]])
        v = np.concatenate([w, linear])
        spatial = np.concatenate([alpha, a - np.cross(w, linear)])  # a is of the point, not of the field
        expected = I @ spatial - naive.motion_cross(v).T @ I @ v
        np.testing.assert_allclose(body_force(tuple(row), tuple(w), tuple(alpha), tuple(a)), expected, atol=1e-10)
