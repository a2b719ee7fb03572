"""Mobilities: they go outward as the inverse of an inertia does."""

import numpy as np

import naive
from bough import zoo
from bough.joints import joint_motion
from bough.opspace.methods.blocks import mobility_to_body
from models import laid_placements, random_state


def dense(Om):
    """The 21 numbers of a mobility as a matrix, angular part first."""
    A = np.array([[Om[0], Om[3], Om[4]], [Om[3], Om[1], Om[5]], [Om[4], Om[5], Om[2]]])
    B = np.array(Om[6:15]).reshape(3, 3)
    C = np.array([[Om[15], Om[18], Om[19]], [Om[18], Om[16], Om[20]], [Om[19], Om[20], Om[17]]])
    return np.block([[C, B.T], [B, A]])


def test_forces_there_make_the_motions_here():
    model = zoo.arm(3)
    m, q = model.mechanism, random_state(model, 0)[0]
    X = np.zeros((3, 12))
    joint_motion(m, q, X)
    Om = tuple(np.random.default_rng(0).normal(size=21))
    R, p = laid_placements(model, q)
    R = R.reshape(-1, 3, 3)
    up = naive.motion_transform(R[0].T @ R[1], R[0].T @ (p[1] - p[0]))  # motions of body 1 in the frame of body 0
    back = np.linalg.inv(up)
    expected = back @ dense(Om) @ back.T
    np.testing.assert_allclose(dense(mobility_to_body(m, X, 1, Om)), expected, atol=1e-12)
