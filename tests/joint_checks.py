"""What holds for every primitive joint, by definition of its four kernels; q and v of a model of one joint."""

import numpy as np
from scipy.spatial.transform import Rotation

from bough import Builder
from bough.joints import configuration_rate, move_joint

SOLID = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.3, 0.4, 0.5])}


def one(joint, **options):
    builder = Builder()
    builder.add_body("body", joint=joint, **SOLID, **options)
    return builder.build()


def states(model, count=5):
    rng = np.random.default_rng(0)
    return zip(model.random_configuration(rng, batch=count), rng.normal(size=(count, model.nv)), strict=True)


def placement(model, q):
    """(R, p) of the joint, from row 0 of X: of a screw about z, or as it stands there."""
    X = np.zeros((1, 12))
    move_joint(model.mechanism, q, 0, X)
    if model.mechanism.kind[0] > 1:
        return X[0, :9].reshape(3, 3), X[0, 9:]
    c, s, d = X[0, :3]
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.array([0.0, 0.0, d])


def rate_is_the_derivative_of_integrate(model):
    """N v = d/dh integrate(q, h v) at h = 0, by differences of fourth order."""
    h = 1e-3
    for q, v in states(model):
        N = np.zeros((model.nq, model.nv))
        configuration_rate(model.mechanism, q, N)
        a, b, c, d = (model.integrate(q, x * h * v) for x in (-2, -1, 1, 2))
        np.testing.assert_allclose(N @ v, (a - 8 * b + 8 * c - d) / (12 * h), rtol=0, atol=1e-10)


def motion_follows_the_velocity(model):
    """The placement after a step is that before it, times the exponential of the body's own velocity (a small one)."""
    axes, h = model.mechanism.axis, 1e-4
    for q, v in states(model):
        twist = np.zeros(6)
        twist[axes] = v
        twist[5] += model.mechanism.pitch[0] * twist[2]
        (R, p), (R1, p1) = placement(model, q), placement(model, model.integrate(q, h * v))
        np.testing.assert_allclose(Rotation.from_matrix(R.T @ R1).as_rotvec() / h, twist[:3], rtol=0, atol=1e-9)
        np.testing.assert_allclose(R.T @ (p1 - p) / h, twist[3:], rtol=0, atol=2e-3)


def neutral_is_no_motion(model):
    R, p = placement(model, model.neutral)
    assert np.array_equal(R, np.eye(3))
    assert not p.any()


def holds(model):
    neutral_is_no_motion(model)
    motion_follows_the_velocity(model)
    rate_is_the_derivative_of_integrate(model)
