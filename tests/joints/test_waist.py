"""Transforms between a body and its parent, beside dense matrices, for every type of joint."""

import numpy as np

import naive
from bough.joints import force_to_parent, joint_motion, motion_to_body, origin_in_parent, turn_to_body, turn_to_parent
from models import JOINT_TYPES, laid_placements, random_state, random_twin


def test_motions_forces_and_turns():
    model = random_twin(0, list(range(-1, len(JOINT_TYPES) - 1)), JOINT_TYPES).model
    m, q = model.mechanism, random_state(model, 0)[0]
    X = np.zeros((len(m.parent), 12))
    joint_motion(m, q, X)
    R, p = laid_placements(model, q)
    R = R.reshape(-1, 3, 3)
    rng = np.random.default_rng(0)
    for i in range(1, len(m.parent)):
        up = int(m.parent[i])
        turn, shift = R[up].T @ R[i], R[up].T @ (p[i] - p[up])
        to_parent = naive.motion_transform(turn, shift)
        x, a = rng.normal(size=6), rng.normal(size=3)
        np.testing.assert_allclose(motion_to_body(m, X, i, tuple(x)), np.linalg.solve(to_parent, x), atol=1e-12)
        # power is the same on both sides
        np.testing.assert_allclose(force_to_parent(m, X, i, tuple(x)), np.linalg.inv(to_parent).T @ x, atol=1e-12)
        np.testing.assert_allclose(turn_to_parent(m, X, i, tuple(a)), turn @ a, atol=1e-13)
        np.testing.assert_allclose(turn_to_body(m, X, i, tuple(a)), turn.T @ a, atol=1e-13)
        np.testing.assert_allclose(origin_in_parent(m, X, i), shift, atol=1e-13)
