"""Walks over screws: inward and outward undo each other, for motions and forces alike."""

import numpy as np

from bough.joints import inward, joint_motion, motion_to_body, outward
from bough.spatial import force_in, x_force_in, z_force_in
from models import JOINT_TYPES, random_state, random_twin


def test_names_and_ways_back():
    model = random_twin(1, list(range(-1, len(JOINT_TYPES) - 1)), JOINT_TYPES).model
    m, q = model.mechanism, random_state(model, 0)[0]
    X = np.zeros((len(m.parent), 12))
    joint_motion(m, q, X)

    def linear_first(f, *screw):
        """A motion is carried inward as a force is, with its halves exchanged."""
        y = f(*screw[:-1], (*screw[-1][3:], *screw[-1][:3]))
        return (*y[3:], *y[:3])

    to_parent = inward(
        "to_parent", "Back.",
        lambda c, s, d, x: linear_first(z_force_in, c, s, d, x),
        lambda c, s, d, x: linear_first(x_force_in, c, s, d, x),
        lambda R, p, x: linear_first(force_in, R, p, x),
    )  # fmt: skip
    assert (to_parent.__name__, to_parent.__doc__) == ("to_parent", "Back.")
    assert outward("away", "Out.", None, None, None).__name__ == "away"
    for i in range(len(m.parent)):
        x = tuple(np.random.default_rng(i).normal(size=6))
        np.testing.assert_allclose(to_parent(m, X, i, motion_to_body(m, X, i, x)), x, atol=1e-12)
